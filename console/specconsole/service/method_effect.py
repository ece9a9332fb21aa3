"""What speculation changes without failing: scheduler, model runner, parameters that do not work, made-up acceptance; pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from specconsole.load.wording import release
from specconsole.service.finding import OURS, Finding
from specconsole.service.method_table import (
    ASYNC,
    ASYNC_DEFAULT,
    RUNNER_V1,
    RUNNER_V2_LISTED,
    SAMPLING,
)
from specconsole.service.release import has, span, told
from specconsole.text import one_line

if TYPE_CHECKING:
    from specconsole.service.method import Facts, Spec


IDS = frozenset(
    {"async-off", "runner-v1", "sampling-limits", "synthetic", "method-alias", "not-a-speed-up", "dynamic-dropped"}
    | {"dynamic-graphs", "mtp-repeated", "first-use"}
)
"""Findings that belong to a choice, not to a mistake."""


def effects(known: Facts, spec: Spec) -> Iterator[Finding]:
    """Everything that is different, slower or untrue because of the configuration, though it starts."""
    for effect in EFFECTS:
        yield from effect(known, spec)


def _async(known: Facts, spec: Spec) -> Iterator[Finding]:
    """Async scheduling: refused where it was asked for, off without a word where it is the default."""
    if not spec.method or told(known.version) is None or known.given.has("no-async-scheduling"):
        return
    asked = known.given.switch("async-scheduling")
    row = next((row for row in ASYNC if has(known.version, row[0], row[1])), None)
    if row is None:
        if asked and spec.method in ("suffix", "ngram", "medusa") and has(known.version, "0.33.0"):
            yield _off(
                spec, "vLLM 0.33.0: `Async scheduling is disabled because the V1 model runner does not support it`"
            )
        return
    first, last, methods = row
    if spec.method in methods:
        return
    if asked:
        what = "no speculation" if not methods else ", ".join(methods)
        source = (
            f"{span(first, last)}: `Currently, speculative decoding is not supported with async scheduling.`"
            if not methods
            else f"{span(first, last)}: `Currently, async scheduling is only supported with …`"
        )
        sentence = f"--async-scheduling goes with {what} here, not with {spec.method}."
        yield Finding("async-asked", "refuse", sentence, f"--async-scheduling, method {spec.method}", source)
    elif has(known.version, ASYNC_DEFAULT):
        yield _off(
            spec,
            f"{span(ASYNC_DEFAULT, '0.32.0')}: `Async scheduling not supported with {spec.method}-based speculative"
            " decoding and will be disabled.`",
        )


def _off(spec: Spec, source: str) -> Finding:
    sentence = (
        f"Async scheduling goes off with {spec.method}, which the baseline keeps: part of any difference in time per token"
        " is that."
    )
    return Finding("async-off", "warn", sentence, f"method {spec.method}", source)


def _runner(known: Facts, spec: Spec) -> Iterator[Finding]:
    """The V1 model runner for this unit, and the V2 one for its baseline."""
    version = known.version
    if known.environment.get("VLLM_USE_V2_MODEL_RUNNER", "") == "0" or not spec.method:
        return
    fallback = "`Model Runner V2 does not yet support …; using the V1 model runner instead.`"
    for first, last, methods in RUNNER_V1:
        if has(version, first, last) and spec.method in methods:
            sentence = f"This unit runs on the V1 model runner with {spec.method}, and its baseline on V2: they are two engines."
            yield Finding("runner-v1", "warn", sentence, f"method {spec.method}", f"{span(first, last)}: {fallback}")
            return
    listed = has(version, *RUNNER_V2_LISTED)
    if listed and spec.method in ("ngram", "ngram_gpu", "suffix", "medusa", "mlp_speculator"):
        sentence = (
            f"Where this model's baseline runs on the V2 model runner, {spec.method} takes this unit to V1: they may be two"
            " engines."
        )
        source = f"{span(*RUNNER_V2_LISTED)}, models on its list: {fallback}"
        yield Finding("runner-v1", "note", sentence, f"method {spec.method}", source)


def _sampling(known: Facts, _: Spec) -> Iterator[Finding]:
    for first, last, effect, source in SAMPLING:
        if has(known.version, first, last):
            sentence = f"With speculation {effect}."
            yield Finding("sampling-limits", "warn", sentence, f"vLLM {known.version}", source)


def _synthetic(_: Facts, spec: Spec) -> Iterator[Finding]:
    keys = [key for key in spec.config if key.startswith("synthetic_acceptance")]
    if spec.config.get("rejection_sample_method") == "synthetic" or keys:
        sentence = "Acceptance is made up here: text is wrong, and no figure of this unit says what speculation brings."
        shown = one_line(
            json.dumps({key: spec.config[key] for key in ("rejection_sample_method", *keys) if key in spec.config})
        )
        source = "vLLM 0.19.1 and later: 'synthetic' accepts drafts by a given rate, whatever the model says"
        yield Finding("synthetic", "warn", sentence, shown, source)


def _alias(known: Facts, spec: Spec) -> Iterator[Finding]:
    if spec.method == "mtp" and spec.written not in ("mtp", "") and has(known.version, "0.11.0"):
        source = f"vLLM 0.11.0 and later: `method `{spec.written}` is deprecated and replaced with mtp.`"
        sentence = f"{spec.written} is an old name of the method mtp."
        yield Finding("method-alias", "note", sentence, f'"method": "{spec.written}"', source)


def _collector(_: Facts, spec: Spec) -> Iterator[Finding]:
    if spec.method == "extract_hidden_states":
        sentence = "extract_hidden_states collects data for training a drafter; it makes nothing faster."
        yield Finding("not-a-speed-up", "warn", sentence, "method extract_hidden_states", OURS)


def _dynamic(known: Facts, spec: Spec) -> Iterator[Finding]:
    """A number of drafts that follows the batch: off with data parallelism, and dearer graphs."""
    if "num_speculative_tokens_per_batch_size" not in spec.config:
        return
    evidence = '"num_speculative_tokens_per_batch_size"'
    if (known.given.number("data-parallel-size") or 1) > 1:
        source = "vLLM 0.24.0 and later: `Dynamic speculative decoding is not supported with data parallelism … falling back`"
        sentence = "The schedule by batch size is dropped with data parallelism, and the fixed number counts."
        yield Finding("dynamic-dropped", "warn", sentence, evidence, source)
    else:
        source = "vLLM 0.24.0 and later: dynamic speculation forces piecewise CUDA graphs on the V1 model runner"
        sentence = "The schedule by batch size may cost full CUDA graphs, so single streams can get slower."
        yield Finding("dynamic-graphs", "note", sentence, evidence, source)


def _repeated(known: Facts, spec: Spec) -> Iterator[Finding]:
    """More drafts than the model has layers for."""
    predicts = known.target.n_predict if known.target and spec.own_layers else None
    if spec.method == "mtp" and predicts and spec.k and spec.k > predicts and spec.k % predicts == 0:
        sentence = f"With {spec.k} tokens and {predicts} such layer{'s' if predicts > 1 else ''} the same one drafts several times, and acceptance falls."
        source = (
            "vLLM 0.9.0 and later: `Enabling num_speculative_tokens > 1 will run multiple times of forward on same MTP layer"
            " ,which may result in lower acceptance rate`"
        )
        yield Finding(
            "mtp-repeated", "note", sentence, f"num_speculative_tokens {spec.k}, n_predict {predicts}", source
        )


def _first_use(known: Facts, spec: Spec) -> Iterator[Finding]:
    if spec.method == "ngram" and told(known.version) and release(known.version or "") >= (0, 8, 0):
        sentence = "The first requests after a start take seconds longer: n-gram search compiles on first use."
        source = "measured on vLLM 0.24.0: 2.0 to 2.8 s to the first token, then one stall of 0.3 to 0.5 s"
        yield Finding("first-use", "note", sentence, f"method {spec.method}", source)


EFFECTS: tuple[Callable[[Facts, Spec], Iterator[Finding]], ...] = (
    _async,
    _runner,
    _sampling,
    _synthetic,
    _alias,
    _collector,
    _dynamic,
    _repeated,
    _first_use,
)

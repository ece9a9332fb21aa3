"""What a vLLM release refuses of flags, method, keys and numbers, each by its own text; pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from specconsole.remote import outside
from specconsole.service.finding import OURS, Finding, Severity
from specconsole.service.method_table import (
    CONFIG_SINCE,
    DOTTED_SINCE,
    GONE,
    KEYS,
    METHODS,
    NEW_FLAGS,
    NEW_FLAGS_SINCE,
    OLD_FLAGS,
    REJECTION,
    UNSERVED,
)
from specconsole.service.release import LATEST, has, newer, span, told
from specconsole.service.shellword import UNKNOWN
from specconsole.text import one_line

if TYPE_CHECKING:
    from specconsole.service.method import Facts, Spec

UNRECOGNIZED = "`error: unrecognized arguments`"
PORT = 8000


def flags(known: Facts) -> Iterator[Finding]:
    """Options that the release does not know, or not any more."""
    version = known.version
    for name in known.given.values:
        head, dot, _ = name.partition(".")
        if head in GONE:
            yield from _gone(version, head, known.given.values[name])
        elif head == "speculative-config" and has(version, CONFIG_SINCE) is False:
            yield _refused("flag-unknown", f"--{head}", version, f"it came with {CONFIG_SINCE}", UNRECOGNIZED)
        elif head == "speculative-config" and dot and has(version, DOTTED_SINCE) is False:
            yield _refused("flag-unknown", f"--{name}", version, f"dotted keys came with {DOTTED_SINCE}", UNRECOGNIZED)
        elif head in NEW_FLAGS and has(version, NEW_FLAGS_SINCE) is False:
            yield _refused("flag-unknown", f"--{head}", version, f"it came with {NEW_FLAGS_SINCE}", UNRECOGNIZED)


def _gone(version: str | None, flag: str, values: list[str]) -> Iterator[Finding]:
    last, first = GONE[flag]
    evidence = one_line(f"--{flag} {' '.join(values)}", 120)
    source = f"vLLM {first} and later: {UNRECOGNIZED}"
    there = has(version, SAMPLED_FROM, last)
    if there:
        return
    if has(version, first):
        hint = "; use --speculative-config" if flag in OLD_FLAGS else ""
        yield Finding("flag-gone", "refuse", f"vLLM {version} does not take --{flag} any more{hint}.", evidence, source)
    elif told(version):
        sentence = f"vLLM {version} may not take --{flag} any more: {last} took it, {first} does not."
        yield Finding("flag-gone", "warn", sentence, evidence, source)


SAMPLED_FROM = "0.6.0"


def ports(known: Facts) -> Iterator[Finding]:
    """Other units of the host that listen where this one would."""
    port = known.given.number("port") if known.given.has("port") else PORT
    if known.given.text("uds") or known.launch.container is not None or port is None:
        return
    for other in known.neighbours:
        if other.port != port or other.stopped_by_start:
            continue
        source = "every vLLM: `OSError: [Errno 98] Address already in use`, before the load"
        evidence = f"port {port} in both commands, and no Conflicts= between them"
        remedy = f"[Unit]\nConflicts={other.key}\nAfter={other.key}\n" if "/" not in other.key else ""
        state = "listens there now" if other.running else "would listen there too"
        sentence = f"Port {port} is also {other.key}'s, which {state}, and starting this unit does not stop it."
        yield Finding("port-clash", "refuse" if other.running else "warn", sentence, evidence, source, remedy)


def rules(known: Facts, spec: Spec) -> Iterator[Finding]:
    """Everything that fails by the configuration alone."""
    if told(known.version) is None:
        why = f"vLLM's version reads {known.version}" if known.version else "vLLM's version could not be read"
        sentence = "Which methods and keys this vLLM knows was not checked: its version is not known."
        yield Finding("version-unknown", "note", sentence, why, OURS)
    if not known.launch.certain or known.given.uncertain:
        sentence = "The command is not known in full, so what is not seen is not checked."
        yield Finding("command-uncertain", "note", sentence, "a script, a variable or a file that cannot be read", OURS)
    for rule in RULES:
        yield from rule(known, spec)


def _json(known: Facts, _: Spec) -> Iterator[Finding]:
    text = known.given.text("speculative-config")
    if text is None:
        return
    try:
        good = isinstance(outside.parse(text), dict) or outside.parse(text) is None
    except ValueError:
        good = False
    if not good:
        sentence = "The value of --speculative-config is no JSON object."
        yield Finding(
            "config-json",
            "refuse",
            sentence,
            one_line(text, 160),
            "vLLM 0.8.2 and later: `argument --speculative-config: … cannot be converted`",
        )


def _method(known: Facts, spec: Spec) -> Iterator[Finding]:
    name = spec.written.strip("[]")
    if not name:
        if not spec.method and not spec.model and UNKNOWN not in str(spec.config.get("method", "")):
            sentence = "Neither a method nor a model is named, so nothing drafts."
            source = "vLLM 0.11.0 and later: `num_speculative_tokens was provided but without speculative model.`"
            yield Finding("method-none", "refuse", sentence, _shown(spec), source)
        return
    evidence = f'"method": "{one_line(name, 60)}"'
    source = "vLLM 0.16.0 and later: `Unsupported speculative method`; before: `Unknown speculative decoding method`"
    if name not in METHODS:
        sure = told(known.version) is not None and not newer(known.version)
        sentence = f"No vLLM up to {LATEST} has a method of this name{_nearest(name)}."
        yield Finding("method-unknown", "refuse" if sure else "warn", sentence, evidence, source)
        return
    first, last, _ = METHODS[name]
    there = has(known.version, first, last)
    if there is False:
        bounds = f"it is in {span(first, last)}"
        yield _refused("method-unknown", f"method {name}", known.version, bounds, source, evidence)
    elif there is None and told(known.version):
        yield Finding(
            "method-unknown",
            "warn",
            f"vLLM {known.version} may not have the method {name}: {span(first, last)} has it for certain.",
            evidence,
            source,
        )
    if name in UNSERVED and has(known.version, *UNSERVED[name][:2]):
        first, last, text = UNSERVED[name]
        yield _refused(
            "method-unserved",
            f"method {name}",
            known.version,
            "the name is known there and nothing behind it",
            f"{span(first, last)}: `{text}`",
            evidence,
        )


def _keys(known: Facts, spec: Spec) -> Iterator[Finding]:
    forbidden = "a key that is no field of its SpeculativeConfig: `Unexpected keyword argument`"
    given = any(name.partition(".")[0] == "speculative-config" for name in known.given.values)
    for key in spec.config if given else ():
        evidence = one_line(f'"{key}": {json.dumps(spec.config[key])}', 120)
        if key == "tensor_parallel_size":
            source = (
                "vLLM 0.16.0 and later: `'tensor_parallel_size' is not a valid argument in the speculative_config. Please"
                " pass 'draft_tensor_parallel_size' instead.`"
            )
            sentence = (
                "tensor_parallel_size is refused in a speculative configuration; draft_tensor_parallel_size is meant."
            )
            yield Finding("key-unknown", "refuse", sentence, evidence, source)
        elif key not in KEYS:
            sure = told(known.version) is not None and not newer(known.version)
            sentence = f"No vLLM up to {LATEST} knows the key {one_line(key, 60)} of --speculative-config."
            yield Finding("key-unknown", "refuse" if sure else "warn", sentence, evidence, f"every vLLM: {forbidden}")
        elif (there := has(known.version, *KEYS[key])) is not True and told(known.version):
            bounds = span(*KEYS[key])
            severe: Severity = "refuse" if there is False else "warn"
            word = "does not know" if there is False else "may not know"
            sentence = f"vLLM {known.version} {word} the key {key} of --speculative-config; {bounds} does."
            yield Finding("key-unknown", severe, sentence, evidence, f"vLLM {known.version}: {forbidden}")


def _tokens(known: Facts, spec: Spec) -> Iterator[Finding]:
    """How many tokens to draft: needed, and above zero."""
    given = spec.config.get("num_speculative_tokens")
    evidence = f'"num_speculative_tokens": {json.dumps(given)}'
    if given is None:
        own = known.drafter.n_predict if known.drafter else None
        unread = spec.model is not None and (known.drafter is None or bool(known.drafter.unread))
        if spec.method in ("suffix", "", "dspark") or (spec.model is not None and own):
            return
        source = (
            "every vLLM: `num_speculative_tokens must be provided with speculative model unless the draft model config"
            " contains an n_predict parameter.`"
        )
        sentence = "num_speculative_tokens is missing, and nothing else says how many tokens to draft."
        yield Finding("tokens-missing", "warn" if unread else "refuse", sentence, _shown(spec), source)
    elif spec.k is None and UNKNOWN not in str(given):
        sentence = "num_speculative_tokens is no whole number."
        yield Finding("tokens-wrong", "refuse", sentence, evidence, "vLLM 0.8.2 and later: a field of type int")
    elif spec.k is not None and spec.k <= 0:
        source = "every vLLM: `Expected num_speculative_tokens to be greater than zero`"
        yield Finding("tokens-wrong", "refuse", "num_speculative_tokens must be above zero.", evidence, source)


def _lookup(_: Facts, spec: Spec) -> Iterator[Finding]:
    """The window of n-gram methods."""
    if spec.method not in ("ngram", "ngram_gpu"):
        return
    low, high = (spec.config.get(f"prompt_lookup_{end}") for end in ("min", "max"))
    shown = ", ".join(
        f"prompt_lookup_{end} {'not given' if value is None else value}" for end, value in (("min", low), ("max", high))
    )
    for name, value in (("prompt_lookup_min", low), ("prompt_lookup_max", high)):
        if isinstance(value, int) and value < 1:
            source = "vLLM 0.8.2 to 0.11.0: `prompt_lookup_max=… must be > 0`; later: `greater than or equal to 1`"
            yield Finding("lookup-wrong", "refuse", f"{name} must be 1 or more.", shown, source)
    if isinstance(low, int) and isinstance(high, int) and low > high:
        source = "vLLM 0.8.2 and later: `prompt_lookup_min=… must be <= prompt_lookup_max=…`"
        yield Finding("lookup-wrong", "refuse", "prompt_lookup_min is larger than prompt_lookup_max.", shown, source)
    if low is None and high is None:
        sentence = "Without prompt_lookup_max only a match of 5 tokens drafts: few steps will have a draft."
        source = "vLLM 0.8.2 and later: both default to 5, arbitrarily, as its source says"
        yield Finding("lookup-default", "note", sentence, _shown(spec), source)
    elif low is None:
        sentence = f"Without prompt_lookup_min only a match of exactly {high} tokens drafts."
        source = "vLLM 0.8.2 and later: the one that is not given takes the other's value"
        yield Finding("lookup-default", "note", sentence, shown, source)


def _parallel(known: Facts, spec: Spec) -> Iterator[Finding]:
    tp = known.given.number("tensor-parallel-size") or 1
    draft = spec.config.get("draft_tensor_parallel_size")
    if isinstance(draft, int) and draft not in (1, tp) and not known.given.uncertain:
        source = (
            "every vLLM: `speculative_draft_tensor_parallel_size=… cannot be other value than 1 or target model"
            " tensor_parallel_size`"
        )
        sentence = f"The drafter's tensor parallelism must be 1 or the model's, which is {tp}."
        yield Finding("draft-tp", "refuse", sentence, f'"draft_tensor_parallel_size": {draft}', source)
    pp = known.given.number("pipeline-parallel-size") or 1
    if pp > 1:
        yield from _pipeline(known, spec, f"--pipeline-parallel-size {pp}")


def _pipeline(known: Facts, spec: Spec, evidence: str) -> Iterator[Finding]:
    version, forced = known.version, known.environment.get("VLLM_USE_V2_MODEL_RUNNER", "") in ("1", "true", "True")
    if has(version, "0.6.0", "0.9.2"):
        source = (
            "vLLM to 0.9.2, the V0 engine: `Speculative decoding is currently incompatible with pipeline parallelism`"
        )
        severe: Severity = "refuse" if has(version, "0.6.0", "0.7.3") else "warn"
        yield Finding("pipeline", severe, "Speculation and pipeline parallelism do not go together.", evidence, source)
    elif has(version, "0.17.1", "0.29.0"):
        any_method = bool(has(version, "0.24.0", "0.29.0"))
        if not any_method and spec.method != "eagle3":
            return
        source = (
            "vLLM 0.17.1 to 0.29.0, the V2 model runner: `EAGLE3 with pipeline parallel is not supported.`, and from 0.24.0"
            " on the same for every method"
        )
        on_v2 = forced or bool(has(version, "0.29.0", "0.29.0"))
        sentence = "The V2 model runner refuses speculation with pipeline parallelism" + (
            "." if on_v2 else ", where it serves this model."
        )
        yield Finding("pipeline", "refuse" if on_v2 else "warn", sentence, evidence, source)
    elif spec.method in ("eagle3", "dflash", "dspark") and has(version, "0.30.0"):
        source = "vLLM 0.32.0: `… does not support … with pipeline parallelism`, decided by the model's class"
        sentence = "Not every model can hand its hidden states to this drafter over pipeline stages."
        yield Finding("pipeline", "warn", sentence, evidence, source)


def _engine(known: Facts, _: Spec) -> Iterator[Finding]:
    """V0 where V1 is needed, and a scheduler that was asked for and is refused."""
    if known.environment.get("VLLM_USE_V1") == "0" and has(known.version, "0.10.0", "0.11.0"):
        source = "vLLM 0.10.0 to 0.11.0: `Speculative decoding is not supported on vLLM V0.`"
        sentence = "The old engine was asked for, and it does not speculate any more."
        yield Finding("engine-v0", "refuse", sentence, "VLLM_USE_V1=0", source)


def _rejection(known: Facts, spec: Spec) -> Iterator[Finding]:
    value = spec.config.get("rejection_sample_method")
    if value is None:
        return
    evidence = f'"rejection_sample_method": {json.dumps(value)}'
    first, last = REJECTION.get(str(value), (LATEST, LATEST))
    there = has(known.version, first, last)
    if (str(value) not in REJECTION and not newer(known.version)) or there is False:
        good = ", ".join(name for name, bounds in REJECTION.items() if has(known.version, *bounds))
        sentence = (
            f"rejection_sample_method cannot be {one_line(str(value), 40)} here; it takes {good or 'other words'}."
        )
        source = (
            "vLLM 0.18.0 and later: the literal values of that field, which changed with 0.19.1, 0.20.2, 0.25.1, 0.33.0"
        )
        yield Finding("rejection-unknown", "refuse", sentence, evidence, source)
    elif value == "synthetic" and has(known.version, "0.20.2"):
        ways = [key for key in ("synthetic_acceptance_rates", "synthetic_acceptance_length") if key in spec.config]
        if len(ways) != 1:
            source = (
                "vLLM 0.20.2 and later: `rejection_sample_method='synthetic' requires exactly one of"
                " synthetic_acceptance_rates or synthetic_acceptance_length.`"
            )
            sentence = "Synthetic acceptance needs either rates or a length."
            yield Finding("synthetic-incomplete", "refuse", sentence, evidence, source)


def _suffix(known: Facts, spec: Spec) -> Iterator[Finding]:
    if spec.method == "suffix" and known.packages is not None and known.packages.get("arctic_inference") is None:
        source = (
            "vLLM 0.11.1 and later: `ImportError: Arctic Inference is required for suffix decoding. Install via"
            " `pip install arctic-inference==0.1.1`.`"
        )
        sentence = "Suffix decoding needs the package arctic-inference, which is not in this environment."
        yield Finding("suffix-package", "refuse", sentence, "no arctic_inference-*.dist-info beside vLLM's", source)


def _vocabulary_switch(_: Facts, spec: Spec) -> Iterator[Finding]:
    if spec.config.get("use_heterogeneous_vocab") is True and spec.method not in ("draft_model", ""):
        source = "vLLM 0.25.1 and later: `use_heterogeneous_vocab only works with method='draft_model'`"
        sentence = "use_heterogeneous_vocab is refused with this method."
        yield Finding("vocabulary-switch", "refuse", sentence, f"method {spec.method}", source)


RULES: tuple[Callable[[Facts, Spec], Iterator[Finding]], ...] = (
    _json,
    _method,
    _keys,
    _tokens,
    _lookup,
    _parallel,
    _engine,
    _rejection,
    _suffix,
    _vocabulary_switch,
)


def _refused(
    ident: str, what: str, version: str | None, bounds: str, source: str, evidence: str | None = None
) -> Finding:
    return Finding(ident, "refuse", f"vLLM {version} has no {what}: {bounds}.", evidence or what, source)


def _nearest(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name.replace("-", "_").lower(), METHODS, 1)
    return f"; {close[0]} is meant?" if close else ""


def _shown(spec: Spec) -> str:
    return one_line(json.dumps(dict(spec.config), ensure_ascii=False), 160)

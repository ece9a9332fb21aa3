"""Whether model and drafter are there and fit each other, by their configs; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from specconsole.remote.checkpoint import UNMOUNTED
from specconsole.service.checkpoint import Checkpoint
from specconsole.service.finding import OURS, Finding
from specconsole.service.method_table import (
    ARCHITECTURES,
    EAGLE3_LISTED_UNTIL,
    EAGLE3_TARGETS,
    METHODS,
    MTP_FAMILIES,
)
from specconsole.service.release import has, newer, told

if TYPE_CHECKING:
    from specconsole.service.method import Facts, Spec

NOT_FOUND = "every vLLM: `Cannot find the config file for …`, `Invalid repository ID or local directory specified`"
OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


def served(known: Facts) -> Iterator[Finding]:
    """What is wrong with the served model, speculation or not."""
    target = known.target
    if target is None:
        return
    if target.missing:
        sentence = f"The model cannot be loaded: {target.missing}."
        yield Finding("model-missing", "refuse", sentence, target.path, NOT_FOUND)
    yield from _unmounted(target, "model")
    yield from _offline(known, target, "model")
    for name in target.architectures:
        since = ARCHITECTURES.get(name)
        if since and has(known.version, since) is False:
            sentence = f"vLLM {known.version} does not know this model: {since} is the first that does."
            source = "every vLLM: `Model architectures [...] are not supported for now.`"
            yield Finding("model-unknown", "refuse", sentence, f"architectures: {name}", source)


def _unmounted(one: Checkpoint, what: str) -> Iterator[Finding]:
    if one.unread == UNMOUNTED:
        sentence = f"The {what} is not there now, and nothing lies beside it: is its disk mounted when the unit starts?"
        yield Finding(f"{what}-unmounted", "warn", sentence, one.path, NOT_FOUND)


def _offline(known: Facts, one: Checkpoint, what: str) -> Iterator[Finding]:
    offline = [name for name in OFFLINE if known.environment.get(name, "") in ("1", "true", "True", "YES", "yes", "ON")]
    if offline and one.unread.startswith("it is in no cache"):
        sentence = f"The {what} is in no cache of this host, and downloads are off."
        source = "every vLLM: `LocalEntryNotFoundError`"
        yield Finding(f"{what}-offline", "refuse", sentence, f"{one.path}, {offline[0]} is set", source)


def rules(known: Facts, spec: Spec) -> Iterator[Finding]:
    """Everything that will not work with this drafter on this model."""
    for rule in RULES:
        yield from rule(known, spec)


def fits(drafter: Checkpoint, target: Checkpoint, version: str | None, method: str) -> tuple[Finding, ...]:
    """What speaks against a drafter for a model, where nothing but the two is known yet."""
    found = [*_sizes(drafter, target), *_words(drafter, target, method), *_kind(drafter, method)]
    return (*found, *_listed(target, version)) if method == "eagle3" else tuple(found)


def _needed(known: Facts, spec: Spec) -> Iterator[Finding]:
    """A method that drafts with a model needs one, and it must be there."""
    if METHODS.get(spec.method, ("", "", ""))[2] == "drafter" and spec.config.get("model") is None:
        source = "vLLM 0.11.0 and later: `num_speculative_tokens was provided but without speculative model.`"
        sentence = f"The method {spec.method} drafts with a model, and none is named: `specconsole lint HOST UNIT --drafters` finds those that are there."
        yield Finding("drafter-none", "refuse", sentence, 'no "model" in --speculative-config', source)
    if known.drafter is None:
        return
    if known.drafter.missing and spec.method != "custom_class":
        sentence = f"The drafter cannot be loaded: {known.drafter.missing}."
        yield Finding("drafter-missing", "refuse", sentence, known.drafter.path, NOT_FOUND)
    yield from _unmounted(known.drafter, "drafter")
    yield from _offline(known, known.drafter, "drafter")
    if known.drafter.unread.startswith("it is in no cache") and spec.method != "custom_class":
        sentence = "The drafter is in no cache of this host: its download comes on top of the load, and nothing of it was checked."
        yield Finding("drafter-download", "note", sentence, known.drafter.path, OURS)


def _predicts(known: Facts, spec: Spec) -> Iterator[Finding]:
    """The number of drafts and the number that a drafter, or the model's own layers, predict."""
    holder = known.drafter if spec.model else known.target
    predicts = holder.n_predict if holder else None
    if spec.method not in ("mtp", "eagle", "eagle3", "mlp_speculator") or not predicts or not spec.k:
        return
    if spec.method != "mtp" and holder is known.target:
        return
    if spec.k > predicts and spec.k % predicts:
        source = "every vLLM: `num_speculative_tokens:… must be divisible by n_predict=…`"
        sentence = (
            f"num_speculative_tokens must be a multiple of {predicts}, which is what the drafter predicts at once."
        )
        yield Finding(
            "tokens-divide", "refuse", sentence, f"num_speculative_tokens {spec.k}, n_predict {predicts}", source
        )


def _own_layers(known: Facts, spec: Spec) -> Iterator[Finding]:
    """A model that has no layers to draft with, or had them and lost their weights."""
    target = known.target
    if spec.method != "mtp" or spec.model or target is None or not target.known:
        return
    what = f"model_type {target.model_type}, num_nextn_predict_layers {target.n_predict}"
    if target.mtp_weights is False and target.n_predict:
        source = (
            "vLLM 0.17.1 and later, after the whole load: `MTP speculative decoding layer … weights missing from"
            " checkpoint. The checkpoint may have been quantized without including the MTP layers.`"
        )
        sentence = "The model's config names layers to draft with, and their weights are not in the checkpoint."
        yield Finding("mtp-weights", "refuse", sentence, f"{what}; no tensor of such a layer in its index", source)
    elif target.model_type and target.model_type not in MTP_FAMILIES and not target.n_predict:
        sure = told(known.version) is not None and not newer(known.version)
        source = "vLLM 0.16.0 and later: `Unsupported speculative method: 'mtp'`; before: `Unknown speculative decoding method`"
        sentence = "This model has no layers to draft with."
        yield Finding("mtp-none", "refuse" if sure else "warn", sentence, what, source)
    elif target.n_predict == 0:
        sentence = "This checkpoint says that it has no layers to draft with."
        yield Finding("mtp-none", "refuse", sentence, what, OURS)


def _together(known: Facts, spec: Spec) -> Iterator[Finding]:
    drafter, target = known.drafter, known.target
    if spec.method == "eagle3" and target is not None:
        yield from _listed(target, known.version)
    if drafter is None or not drafter.known or spec.method == "custom_class":
        return
    yield from _kind(drafter, spec.method)
    if target is not None and target.known:
        yield from _sizes(drafter, target)
        loose = spec.config.get("use_heterogeneous_vocab") is True
        if not loose:
            yield from _words(drafter, target, spec.method)


def _listed(target: Checkpoint, version: str | None) -> Iterator[Finding]:
    """EAGLE-3 goes with some models only; which, each release has its own list."""
    kind = target.text_type
    if not kind or not target.known:
        return
    rows = [bounds for part, bounds in EAGLE3_TARGETS.items() if part in kind]
    source = (
        "vLLM 0.8.5 to 0.21.0: `Eagle3 is only supported for [...] models. Got …model_type=…`; from 0.19.1 on also"
        " `EAGLE-3 speculative decoding requires the language model to support EAGLE-3, but … does not.`"
    )
    evidence = f"model_type {kind}"
    if not rows:
        if has(version, "0.8.5", EAGLE3_LISTED_UNTIL):
            sentence = f"vLLM {version} has no EAGLE-3 for models of type {kind}."
            yield Finding("eagle3-model", "refuse", sentence, evidence, source)
        elif told(version):
            sentence = f"Whether vLLM {version} has EAGLE-3 for models of type {kind} is not known here."
            yield Finding("eagle3-model", "note", sentence, evidence, source)
        return
    if any(has(version, first) for _, first in rows) or told(version) is None:
        return
    last, first = max(rows, key=lambda bounds: bounds[1])
    refused = bool(last) and all(has(version, "0.6.0", bounds[0]) for bounds in rows)
    word = "has no" if refused else "may have no"
    sentence = f"vLLM {version} {word} EAGLE-3 for models of type {kind}; {first} has it."
    yield Finding("eagle3-model", "refuse" if refused else "warn", sentence, evidence, source)


def _kind(drafter: Checkpoint, method: str) -> Iterator[Finding]:
    """A drafter of one kind given to the method of another one."""
    kinds = {"eagle", "eagle3", "medusa", "mlp_speculator", "dflash", "dspark"}
    if method not in kinds | {"draft_model", "mtp"} or drafter.kind not in kinds or drafter.kind == method:
        return
    told_by = ", ".join(drafter.architectures) or drafter.model_type or drafter.called
    certain = any(drafter.kind in name.lower() for name in drafter.architectures)
    sentence = f"The drafter is one for {drafter.kind}, not for {method}."
    source = "every vLLM, after the model is loaded: `Model architectures [...] are not supported`, or weights that do not fit"
    yield Finding("drafter-kind", "refuse" if certain else "warn", sentence, f"architectures: {told_by}", source)


def _sizes(drafter: Checkpoint, target: Checkpoint) -> Iterator[Finding]:
    """EAGLE reads the model's hidden states, so their size must be the one that it was trained on."""
    if drafter.kind not in ("eagle", "eagle3") or not target.hidden_size:
        return
    size = drafter.target_hidden_size or drafter.hidden_size
    if size and size != target.hidden_size:
        sentence = (
            f"The drafter reads hidden states of {size}, and the model's have {target.hidden_size}: it was trained for another"
            " model, and a start does not say so."
        )
        evidence = f"hidden_size {size} in {drafter.called}, {target.hidden_size} in {target.called}"
        yield Finding("drafter-size", "refuse", sentence, evidence, OURS)


def _words(drafter: Checkpoint, target: Checkpoint, method: str) -> Iterator[Finding]:
    """Drafts are token numbers: both must mean the same by them."""
    theirs, ours = drafter.vocab_size, target.vocab_size
    if not theirs or not ours:
        return
    evidence = f"vocab_size {theirs} in {drafter.called}, {ours} in {target.called}"
    if method == "draft_model" and theirs != ours:
        source = "vLLM 0.16.0 and later: `Target and draft model should have the same vocabulary size. …`"
        sentence = f"The drafter's vocabulary has {theirs} tokens and the model's {ours}."
        yield Finding("vocabulary", "refuse", sentence, evidence, source)
    elif theirs != ours:
        sentence = f"The drafter's vocabulary has {theirs} tokens and the model's {ours}: is it one for this model?"
        yield Finding("vocabulary", "warn", sentence, evidence, OURS)
    elif drafter.draft_vocab_size and drafter.draft_vocab_size > ours:
        sentence = "The drafter proposes more tokens than the model knows."
        more = f"draft_vocab_size {drafter.draft_vocab_size}, vocab_size {ours}"
        yield Finding("vocabulary", "refuse", sentence, more, OURS)


RULES: tuple[Callable[[Facts, Spec], Iterator[Finding]], ...] = (_needed, _predicts, _own_layers, _together)

"""What a vLLM release refuses and what it changes silently: for each, a command that has it and one that just has not."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from specconsole.remote.checkpoint import UNMOUNTED
from specconsole.service import method
from specconsole.service.checkpoint import Checkpoint
from specconsole.service.finding import Finding, refused
from specconsole.service.launch import Files
from specconsole.service.method import Neighbour
from specconsole.service.method_table import KEYS, METHODS, SAMPLED
from specconsole.service.release import has, newer, told

QWEN = Checkpoint(
    "/models/Qwen3-32B", model_type="qwen3", text_type="qwen3", hidden_size=5120, vocab_size=151936, layers=64
)
DEEPSEEK = Checkpoint(
    "/models/V3", model_type="deepseek_v3", text_type="deepseek_v3", hidden_size=7168, vocab_size=129280, n_predict=2
)
KIMI = Checkpoint(
    "/models/K2.5",
    architectures=("KimiK25ForConditionalGeneration",),
    model_type="kimi_k25",
    text_type="kimi_k2",
    hidden_size=7168,
    vocab_size=163840,
    n_predict=0,
)
EAGLE3 = Checkpoint(
    "/models/Qwen3-32B-eagle3",
    architectures=("LlamaForCausalLMEagle3",),
    model_type="llama",
    hidden_size=5120,
    vocab_size=151936,
    draft_vocab_size=32000,
    kind="eagle3",
)
SMALL = Checkpoint("/models/Qwen3-0.6B", model_type="qwen3", hidden_size=1024, vocab_size=151936)
NGRAM = {"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_max": 4, "prompt_lookup_min": 2}
DRAFT = {"method": "eagle3", "model": "/models/Qwen3-32B-eagle3", "num_speculative_tokens": 3}
MTP = {"method": "mtp", "num_speculative_tokens": 2}


@dataclass(frozen=True)
class Unit:
    """A command and what is known beside it."""

    spec: Any = field(default_factory=lambda: NGRAM)
    words: str = ""
    version: str | None = "0.18.0"
    target: Checkpoint | None = QWEN
    drafter: Checkpoint | None = None
    env: dict[str, str] = field(default_factory=dict)
    neighbours: tuple[Neighbour, ...] = ()
    packages: dict[str, str | None] | None = None

    def found(self) -> tuple[Finding, ...]:
        spec = self.spec if isinstance(self.spec, str) else json.dumps(self.spec)
        argv = ["/opt/vllm/bin/vllm", "serve", "/models/m", *self.words.split()]
        argv += ["--speculative-config", spec] if self.spec else []
        facts = method.facts(
            argv,
            self.env,
            Files(),
            version=self.version,
            target=self.target,
            drafter=self.drafter,
            neighbours=self.neighbours,
            packages=self.packages,
        )
        assert facts
        return method.check(facts)


def of(ident: str, severity: str, has_it: Unit, has_not: Unit) -> Any:
    return pytest.param(ident, severity, has_it, has_not, id=f"{ident}-{has_it.version}-{has_it.spec}"[:60])


def ngram(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in {**NGRAM, **values}.items() if value is not None}


BASELINE = Neighbour("vllm-base.service", 8000, running=True, stopped_by_start=False)
U = Unit

CASES = [
    # flags
    of("flag-gone", "refuse", U(None, "--speculative-model [ngram] --num-speculative-tokens 5", "0.8.3"),
       U(None, "--speculative-model [ngram] --num-speculative-tokens 5", "0.8.2")),
    of("flag-gone", "refuse", U(None, "--disable-log-requests", "0.32.0"), U(None, "--disable-log-requests", "0.10.2")),
    of("flag-gone", "warn", U(None, "--disable-log-requests", "0.16.0"), U(None, "--disable-log-stats", "0.16.0")),
    of("flag-unknown", "refuse", U(version="0.8.0"), U(version="0.8.2")),
    of("flag-unknown", "refuse", U(None, "--speculative-config.method ngram", "0.8.5"),
       U(None, "--speculative-config.method ngram", "0.9.0")),
    of("flag-unknown", "refuse", U(None, "--spec-method ngram --spec-tokens 3", "0.21.0"),
       U(None, "--spec-method ngram --spec-tokens 3", "0.22.1")),
    # ports
    of("port-clash", "refuse", U(neighbours=(BASELINE,)), U(neighbours=(replace(BASELINE, stopped_by_start=True),))),
    of("port-clash", "warn", U(neighbours=(replace(BASELINE, running=False),)), U(words="--port 8001", neighbours=(BASELINE,))),
    # the configuration
    of("config-json", "refuse", U("{method: ngram}"), U(NGRAM)),
    of("method-none", "refuse", U({"num_speculative_tokens": 5}), U(NGRAM)),
    of("method-unknown", "refuse", U(ngram(method="n-gram")), U(NGRAM)),
    of("method-unknown", "refuse", U(ngram(method="suffix"), version="0.11.0"), U(ngram(method="suffix"), version="0.11.1")),
    of("method-unknown", "refuse", U({**DRAFT, "method": "medusa"}, version="0.33.0"), U({**DRAFT, "method": "medusa"}, version="0.32.0")),
    of("method-unknown", "warn", U({**MTP, "method": "new_mtp"}, version="0.40.0"), U(MTP, version="0.40.0", target=DEEPSEEK)),
    of("method-unserved", "refuse", U({**DRAFT, "method": "draft_model"}, version="0.14.1"), U({**DRAFT, "method": "draft_model"}, version="0.16.0")),
    of("key-unknown", "refuse", U(ngram(disable_by_batch_size=4), version="0.17.1"), U(ngram(disable_by_batch_size=4), version="0.16.0")),
    of("key-unknown", "refuse", U(ngram(moe_backend="triton"), version="0.18.1"), U(ngram(moe_backend="triton"), version="0.19.1")),
    of("key-unknown", "warn", U(ngram(parallel_drafting=False), version="0.15.1"), U(ngram(parallel_drafting=False), version="0.16.0")),
    of("key-unknown", "refuse", U(ngram(ngram_size=4)), U(NGRAM)),
    of("key-unknown", "refuse", U({**DRAFT, "tensor_parallel_size": 2}), U({**DRAFT, "draft_tensor_parallel_size": 1})),
    of("tokens-missing", "refuse", U(ngram(num_speculative_tokens=None)), U({"method": "suffix"})),
    of("tokens-missing", "refuse", U({"method": "eagle3", "model": "/d"}, drafter=EAGLE3), U({"method": "eagle3", "model": "/d"}, drafter=replace(EAGLE3, n_predict=3))),
    of("tokens-missing", "warn", U({"method": "eagle3", "model": "org/d"}), U(DRAFT)),
    of("tokens-wrong", "refuse", U(ngram(num_speculative_tokens=0)), U(ngram(num_speculative_tokens=1))),
    of("tokens-wrong", "refuse", U(ngram(num_speculative_tokens=2.5)), U(ngram(num_speculative_tokens=2))),
    of("lookup-wrong", "refuse", U(ngram(prompt_lookup_min=5)), U(ngram(prompt_lookup_min=4))),
    of("lookup-wrong", "refuse", U(ngram(prompt_lookup_min=0)), U(ngram(prompt_lookup_min=1))),
    of("lookup-default", "note", U(ngram(prompt_lookup_min=None)), U(NGRAM)),
    of("draft-tp", "refuse", U({**DRAFT, "draft_tensor_parallel_size": 2}, "-tp 8"), U({**DRAFT, "draft_tensor_parallel_size": 8}, "-tp 8")),
    of("pipeline", "refuse", U(words="-pp 2", version="0.7.3", spec=NGRAM), U(words="-pp 1", version="0.7.3")),
    of("pipeline", "warn", U(DRAFT, "-pp 2", "0.18.0"), U(NGRAM, "-pp 2", "0.18.0")),
    of("pipeline", "refuse", U(NGRAM, "-pp 2", "0.29.0"), U(NGRAM, "-pp 2", "0.30.0")),
    of("engine-v0", "refuse", U(version="0.10.2", env={"VLLM_USE_V1": "0"}), U(version="0.10.2", env={"VLLM_USE_V1": "1"})),
    of("rejection-unknown", "refuse", U(ngram(rejection_sample_method="strict"), version="0.20.2"), U(ngram(rejection_sample_method="strict"), version="0.19.1")),
    of("synthetic-incomplete", "refuse", U(ngram(rejection_sample_method="synthetic"), version="0.21.0"),
       U(ngram(rejection_sample_method="synthetic", synthetic_acceptance_length=2.5), version="0.21.0")),
    of("suffix-package", "refuse", U({"method": "suffix"}, packages={"arctic_inference": None}), U({"method": "suffix"}, packages={"arctic_inference": "0.1.1"})),
    of("vocabulary-switch", "refuse", U({**DRAFT, "use_heterogeneous_vocab": True}, version="0.26.0"),
       U({**DRAFT, "method": "draft_model", "use_heterogeneous_vocab": True}, version="0.26.0")),
    of("version-unknown", "note", U(version=None), U()),
    of("version-unknown", "note", U(version="0.1.dev9+gabc"), U(version="0.18.1rc1.dev3+gabc")),
    of("command-uncertain", "note", U(words="--config /etc/v.yaml"), U()),
    # model and drafter
    of("model-missing", "refuse", U(target=Checkpoint("/models/m", missing="no such folder")), U()),
    of("model-unmounted", "warn", U(target=Checkpoint("/models/m", unread=UNMOUNTED)), U(target=Checkpoint("/models/m", unread="it is a single file"))),
    of("drafter-unmounted", "warn", U(DRAFT, drafter=Checkpoint("/d/e", unread=UNMOUNTED)), U(DRAFT, drafter=EAGLE3)),
    of("model-offline", "refuse", U(target=Checkpoint("a/b", unread="it is in no cache of this host"), env={"HF_HUB_OFFLINE": "1"}),
       U(target=Checkpoint("a/b", unread="it is in no cache of this host"))),
    of("model-unknown", "refuse", U(target=KIMI, version="0.14.1"), U(target=KIMI, version="0.16.0")),
    of("drafter-none", "refuse", U({"method": "eagle3", "num_speculative_tokens": 3}), U(DRAFT)),
    of("drafter-missing", "refuse", U(DRAFT, drafter=Checkpoint("/d", missing="no config.json in it")), U(DRAFT, drafter=EAGLE3)),
    of("drafter-download", "note", U({**DRAFT, "model": "a/b"}, drafter=Checkpoint("a/b", unread="it is in no cache of this host")), U(DRAFT, drafter=EAGLE3)),
    of("tokens-divide", "refuse", U({**MTP, "num_speculative_tokens": 3}, target=DEEPSEEK), U({**MTP, "num_speculative_tokens": 4}, target=DEEPSEEK)),
    of("tokens-divide", "refuse", U({**DRAFT, "num_speculative_tokens": 5}, drafter=replace(EAGLE3, n_predict=2)), U({**DRAFT, "num_speculative_tokens": 1}, drafter=replace(EAGLE3, n_predict=2))),
    of("mtp-weights", "refuse", U(MTP, target=replace(DEEPSEEK, mtp_weights=False)), U(MTP, target=replace(DEEPSEEK, mtp_weights=True))),
    of("mtp-none", "refuse", U(MTP, target=QWEN), U(MTP, target=DEEPSEEK)),
    of("mtp-none", "refuse", U(MTP, target=KIMI), U(MTP, target=replace(DEEPSEEK, n_predict=None))),
    of("eagle3-model", "refuse", U(DRAFT, target=KIMI, version="0.17.1"), U(DRAFT, target=KIMI, version="0.18.0")),
    of("eagle3-model", "refuse", U(DRAFT, target=replace(QWEN, text_type="gemma3_text"), version="0.16.0"), U(DRAFT, version="0.16.0")),
    of("eagle3-model", "note", U(DRAFT, target=replace(QWEN, text_type="gemma3_text"), version="0.24.0"), U(DRAFT, version="0.24.0")),
    of("eagle3-model", "warn", U(DRAFT, version="0.10.1"), U(DRAFT, version="0.10.2")),
    of("drafter-kind", "refuse", U({**DRAFT, "method": "eagle"}, drafter=EAGLE3), U(DRAFT, drafter=EAGLE3)),
    of("drafter-size", "refuse", U(DRAFT, drafter=replace(EAGLE3, hidden_size=4096)), U(DRAFT, drafter=replace(EAGLE3, hidden_size=4096, target_hidden_size=5120))),
    of("vocabulary", "refuse", U({**DRAFT, "method": "draft_model"}, drafter=replace(SMALL, vocab_size=151669)), U({**DRAFT, "method": "draft_model"}, drafter=SMALL)),
    of("vocabulary", "warn", U(DRAFT, drafter=replace(EAGLE3, vocab_size=128256)), U(DRAFT, drafter=EAGLE3)),
    # what changes silently
    of("async-asked", "refuse", U(words="--async-scheduling", version="0.10.2"), U(words="--async-scheduling", spec=None, version="0.10.2")),
    of("async-asked", "refuse", U(words="--async-scheduling", version="0.24.0"), U(DRAFT, "--async-scheduling", "0.24.0")),
    of("async-off", "warn", U(version="0.24.0"), U(ngram(method="ngram_gpu"), version="0.24.0")),
    of("async-off", "warn", U(version="0.14.0"), U(version="0.13.0")),
    of("async-off", "warn", U(version="0.32.0"), U(words="--no-async-scheduling", version="0.32.0")),
    of("runner-v1", "warn", U(version="0.31.0"), U(version="0.32.0")),
    of("runner-v1", "warn", U(version="0.29.0"), U(version="0.29.0", env={"VLLM_USE_V2_MODEL_RUNNER": "0"})),
    of("runner-v1", "note", U(version="0.24.0"), U(DRAFT, version="0.24.0")),
    of("sampling-limits", "warn", U(version="0.16.0"), U(None, version="0.16.0")),
    of("synthetic", "warn", U(ngram(rejection_sample_method="synthetic", synthetic_acceptance_length=2.5), version="0.24.0"), U(ngram(rejection_sample_method="standard"), version="0.24.0")),
    of("method-alias", "note", U({**MTP, "method": "deepseek_mtp"}, target=DEEPSEEK), U({**MTP, "method": "deepseek_mtp"}, target=DEEPSEEK, version="0.9.2")),
    of("not-a-speed-up", "warn", U(ngram(method="extract_hidden_states")), U(NGRAM)),
    of("dynamic-dropped", "warn", U(ngram(num_speculative_tokens_per_batch_size=[[1, 4, 5]]), "-dp 2", "0.24.0"), U(NGRAM, "-dp 2", "0.24.0")),
    of("dynamic-graphs", "note", U(ngram(num_speculative_tokens_per_batch_size=[[1, 4, 5]]), version="0.24.0"), U(NGRAM, version="0.24.0")),
    of("mtp-repeated", "note", U({**MTP, "num_speculative_tokens": 4}, target=DEEPSEEK), U(MTP, target=DEEPSEEK)),
    of("first-use", "note", U(version="0.24.0"), U(DRAFT, version="0.24.0")),
]  # fmt: skip


@pytest.mark.parametrize(("ident", "severity", "has_it", "has_not"), CASES)
def test_one_that_has_it_and_one_that_just_has_not(ident: str, severity: str, has_it: Unit, has_not: Unit) -> None:
    found = [finding for finding in has_it.found() if finding.id == ident]
    assert {finding.severity for finding in found} == {severity}
    assert ident not in {finding.id for finding in has_not.found()}
    for finding in found:
        assert finding.sentence.endswith((".", "?"))
        assert finding.evidence
        assert finding.source


def test_refusals_come_first() -> None:
    found = Unit(ngram(prompt_lookup_min=9), version="0.24.0").found()
    assert found[0].severity == "refuse"
    assert refused(found) == found[:1]


@pytest.mark.parametrize("version", SAMPLED)
def test_a_plain_unit_is_refused_by_no_release(version: str) -> None:
    spec = NGRAM if has(version, "0.8.2") else None
    assert not refused(Unit(spec, version=version).found())


@pytest.mark.parametrize("version", ["0.18.0", "0.24.0", "0.32.0", "0.33.0", "0.34.1", None])
def test_the_published_drafter_of_kimi_is_refused_by_none_that_takes_it(version: str | None) -> None:
    drafter = replace(EAGLE3, hidden_size=7168, vocab_size=163840, architectures=("Eagle3DeepseekV2ForCausalLM",))
    assert not refused(Unit(DRAFT, "-tp 8", version, KIMI, drafter).found())


def test_what_was_not_looked_into_is_never_refused() -> None:
    assert has("0.15.0", "0.16.0") is None
    assert has("0.14.1", "0.16.0") is False
    assert has("0.16.0", "0.16.0") is True
    assert has("0.16.2", "0.8.2", "0.16.0") is None
    assert has("0.17.1", "0.8.2", "0.16.0") is False
    assert has("1.2.0", "0.16.0") is True
    assert has(None, "0.16.0") is None
    assert newer("0.34.0")
    assert not newer("0.33.0")
    assert told("0.0.0") is None


def test_tables_name_releases_that_were_looked_into() -> None:
    for first, last, *_ in (*METHODS.values(), *((*bounds, "") for bounds in KEYS.values())):
        assert first in SAMPLED
        assert last in ("", *SAMPLED)


def test_the_method_is_inferred_as_vllm_does() -> None:
    def inferred(spec: dict[str, Any], drafter: Checkpoint | None = None) -> str | None:
        facts = method.facts(["vllm", "serve", "m", "--speculative-config", json.dumps(spec)], {}, Files())
        assert facts
        found = method.spec_of(facts.given, drafter)
        return found.method if found else None

    assert inferred({"model": "ngram", "num_speculative_tokens": 2}) == "ngram"
    assert inferred({"model": "yuhuili/EAGLE-LLaMA3-Instruct-8B"}) == "eagle"
    assert inferred({"model": "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B"}) == "eagle3"
    assert inferred({"model": "/d/heads"}, Checkpoint("/d/heads", kind="medusa")) == "medusa"
    assert inferred({"model": "/d/small"}) == "draft_model"
    assert inferred({"method": "glm4_moe_mtp", "num_speculative_tokens": 1}) == "mtp"

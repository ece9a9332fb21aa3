"""Drafters that are on a host: which of them fit the model that is served."""

from __future__ import annotations

import json
from typing import Any

from specconsole.service import drafter, method, premise
from specconsole.service.drafter import Offer, Offers
from specconsole.service.launch import Files
from specconsole.service.method import Facts
from tests.fakes import FakeHost

QWEN = {
    "path": "/models/Qwen3-32B",
    "model_type": "qwen3",
    "text_type": "qwen3",
    "hidden_size": 5120,
    "vocab_size": 151936,
}
EAGLE3 = {
    "path": "/models/d",
    "kind": "eagle3",
    "architectures": ["LlamaForCausalLMEagle3"],
    "hidden_size": 5120,
    "vocab_size": 151936,
    "draft_vocab_size": 32000,
}


def known(*argv: str, env: dict[str, str] | None = None) -> Facts:
    words = argv or ("/opt/vllm/bin/vllm", "serve", "/models/Qwen3-32B")
    found = method.facts(words, env or {"HOME": "/home/ops"}, Files(), version="0.18.0")
    assert found
    return found


async def offered(*found: dict[str, Any], facts: Facts | None = None, target: dict[str, Any] | None = None) -> Offers:
    facts = facts or known()
    host = FakeHost()
    place = premise.on_host(facts.model or "", facts.launch)
    lines: list[dict[str, Any]] = [{"look": place, **(target or QWEN)}] if place else []
    lines += [{"found": one} for one in found] + [{"end": {"folders": 9, "cut": ""}}]
    host.script("drafters", ["".join(f"{json.dumps(line)}\n" for line in lines).encode()])
    offers = await drafter.offers(host, facts)
    (process,) = host.processes
    assert process.what.arguments["search"] == list(offers.searched)  # type: ignore[union-attr]
    return offers


async def one(found: dict[str, Any], **more: Any) -> Offer:
    (offer,) = (await offered(found, **more)).offers
    return offer


async def test_one_that_fits_is_offered_with_a_configuration() -> None:
    offers = await offered(EAGLE3)
    (offer,) = offers.offers
    assert offer.fits is True
    assert json.loads(offer.config) == {"method": "eagle3", "model": "/models/d", "num_speculative_tokens": 3}
    assert offers.searched == ("/models/Qwen3-32B", "/models", "/home/ops/.cache/huggingface/hub")
    assert offers.cut == ""


async def test_one_of_another_size_or_vocabulary_is_told_apart() -> None:
    assert (await one({**EAGLE3, "hidden_size": 4096})).fits is False
    assert (await one({**EAGLE3, "target_hidden_size": 4096})).fits is False
    assert (await one({**EAGLE3, "vocab_size": 128256})).fits is None
    assert (await one({**EAGLE3, "vocab_size": None})).fits is None
    assert (await one({**EAGLE3, "draft_vocab_size": 200000})).fits is False


async def test_one_that_was_trained_for_another_model_is_doubted() -> None:
    offer = await one({**EAGLE3, "target": "meta-llama/Llama-3.3-70B"})
    assert [finding.id for finding in offer.findings] == ["drafter-target"]
    assert offer.fits is None
    assert (await one({**EAGLE3, "target": "Qwen/Qwen3-32B"})).fits is True


async def test_those_that_fit_come_first() -> None:
    offers = await offered({**EAGLE3, "path": "/models/a", "hidden_size": 1}, {**EAGLE3, "path": "/models/z"})
    assert [offer.place for offer in offers.offers] == ["/models/z", "/models/a"]


async def test_layers_of_the_model_itself_are_offered_when_their_weights_are_there() -> None:
    layers = {**QWEN, "model_type": "deepseek_v3", "n_predict": 1}
    (own,) = (await offered(target={**layers, "mtp_weights": True})).offers
    assert (own.method, own.place, own.fits) == ("mtp", "", True)
    assert json.loads(own.config) == {"method": "mtp", "num_speculative_tokens": 1}
    assert (await offered(target={**layers, "mtp_weights": False})).offers == ()


async def test_a_container_is_looked_at_where_its_folders_are_mounted() -> None:
    facts = known(
        *[
            "docker",
            "run",
            "--gpus",
            "all",
            "-v",
            "/srv/models:/models:ro",
            "--mount",
            "type=bind,source=/srv/hf,target=/root/.cache/huggingface",
            "vllm/vllm-openai:v0.18.0",
            "--model",
            "/models/Qwen3-32B",
        ]
    )
    offer = await one(
        {**EAGLE3, "path": "/srv/models/d"}, facts=facts, target={**QWEN, "path": "/srv/models/Qwen3-32B"}
    )
    assert offer.place == "/models/d"
    assert premise.hubs(facts.launch) == ["/srv/hf/hub"]
    inside = known(*["docker", "run", "vllm/vllm-openai:v0.18.0", "--model", "/models/Qwen3-32B"])
    assert premise.on_host("/models/Qwen3-32B", inside.launch) is None


async def test_a_host_that_runs_no_program_says_so() -> None:
    offers = await drafter.offers(FakeHost(), known())
    assert (offers.target, offers.offers) == (None, ())
    assert offers.cut.startswith("this host runs no search: no such program"), "the error, not a guess"


def test_caches_by_the_unit_s_environment() -> None:
    assert premise.hubs(known(env={"HF_HOME": "/data/hf", "HOME": "/root"}).launch) == ["/data/hf/hub"]
    assert premise.hubs(known(env={"HF_HUB_CACHE": "/c", "HOME": "/root"}).launch)[0] == "/c"

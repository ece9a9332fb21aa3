"""What the port says, and the one proof of readiness."""

from __future__ import annotations

import json

import pytest

from specconsole.engine.client import EngineClient
from specconsole.engine.health import Health, check, prove
from specconsole.engine.key import ApiKey
from specconsole.errors import LinkLost
from specconsole.host.base import Endpoint
from tests.engine.server import CLOSE, HANG, Reply, Request, answer, serve, vllm
from tests.fakes import FakeHost

LIST = "/v1/models"


@pytest.mark.parametrize(
    ("changed", "health", "said"),
    [
        ({}, Health.ANSWERING, ""),
        ({"/health": answer("", 503)}, Health.DEAD, "503"),
        ({"/health": answer({"error": {"message": "EngineCore died"}}, 500)}, Health.DEAD, "EngineCore died"),
        ({"/health": answer("", 404)}, Health.WRONG, "not look like vLLM"),
        ({"/health": answer("Forbidden", 403)}, Health.WRONG, "403"),
        ({"/health": HANG}, Health.SILENT, "s: busy, or it hangs; its log and the GPUs tell which."),
        ({"/health": CLOSE}, Health.STARTING, "without an answer"),
        ({"/health": b"SSH-2.0-OpenSSH_9.2\r\n\r\n"}, Health.WRONG, "not answer in HTTP"),
        ({LIST: answer({"data": []})}, Health.STARTING, "empty"),
        ({LIST: answer({"error": "Unauthorized"}, 401)}, Health.ANSWERING, "asks for an API key"),
        ({LIST: answer("", 500)}, Health.DEAD, "500"),
        ({LIST: answer({"detail": "Not Found"}, 404)}, Health.WRONG, "404"),
        ({LIST: answer("hello")}, Health.WRONG, "no model list"),
        ({LIST: answer({"data": [{"id": "other"}]})}, Health.WRONG, "serves other, not tiny"),
    ],
)
async def test_what_the_port_says(changed: dict[str, Reply], health: Health, said: str) -> None:
    host = FakeHost()
    async with serve(host, {**vllm(), **changed}) as it, EngineClient(host, it.endpoint, deadline_s=0.2) as client:
        report = await check(client, ["tiny"], deadline_s=0.2)
        assert report.health is health
        assert said in report.reason
        assert bool(said) == bool(report.reason)


async def test_refused_is_no_failure_and_a_cut_link_is_no_answer() -> None:
    host = FakeHost()
    async with EngineClient(host, Endpoint()) as client:
        assert (await check(client)).health is Health.REFUSED
        host.cut()
        with pytest.raises(LinkLost):
            await check(client)


async def test_a_refused_key_is_told_from_a_missing_one() -> None:
    host = FakeHost()
    routes = {**vllm(), LIST: answer({"error": "Unauthorized"}, 401)}
    async with serve(host, routes) as it, EngineClient(host, it.endpoint, ApiKey("k")) as client:
        assert "refuses our API key" in (await check(client)).reason


async def test_one_token_is_the_proof() -> None:
    host = FakeHost()
    async with serve(host, vllm()) as it, EngineClient(host, it.endpoint) as client:
        proof = await prove(client, "tiny")
        assert (proof.ok, proof.tokens) == (True, 1)
        asked = json.loads(it.requests[0].body)
        assert (asked["model"], asked["max_tokens"], asked["temperature"]) == ("tiny", 1, 0)


@pytest.mark.parametrize(
    ("reply", "ok", "said"),
    [
        (answer({"error": {"message": "EngineCore encountered an issue"}}, 500), False, "encountered an issue"),
        (answer({"error": "Unauthorized"}, 401), None, "asks for an API key"),
        (answer({"error": {"message": "The model `tiny` does not exist."}}, 404), False, "does not exist"),
        (answer({"usage": {"completion_tokens": 0}}), False, "without generating"),
        (answer({"choices": [{"text": "a"}]}), None, "how many tokens"),
        (answer("[]"), False, "200"),
        (CLOSE, False, "without an answer"),
        (HANG, False, "no answer"),
    ],
)
async def test_what_is_no_proof(reply: bytes, ok: bool | None, said: str) -> None:
    host = FakeHost()
    async with serve(host, {**vllm(), "/v1/completions": reply}) as it, EngineClient(host, it.endpoint) as client:
        proof = await prove(client, "tiny", deadline_s=0.2)
        assert proof.ok is ok
        assert said in proof.reason


async def test_a_server_that_only_chats_is_asked_to_chat() -> None:
    def chat(request: Request) -> bytes:
        assert json.loads(request.body)["messages"]
        return answer({"usage": {"completion_tokens": 1}})

    host, routes = FakeHost(), vllm()
    del routes["/v1/completions"]
    routes["/v1/chat/completions"] = chat
    async with serve(host, routes) as it, EngineClient(host, it.endpoint) as client:
        assert (await prove(client, "tiny")).ok

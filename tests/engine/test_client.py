"""The client over real sockets: one connection, deadlines, and a name for every way to fail."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path

import pytest

from specconsole.engine.client import EngineClient, Model, NoAnswer, Refused, Rejected
from specconsole.engine.key import ApiKey
from specconsole.errors import DeadlineExceeded, LinkLost
from specconsole.host.base import Endpoint
from tests.engine import scraped, server
from tests.engine.server import CLOSE, HANG, answer, serve, vllm
from tests.fakes import FakeHost, settle


async def test_all_questions_go_over_one_connection() -> None:
    host = FakeHost()
    async with serve(host, vllm(metrics=scraped.text("0.32-base"))) as it, EngineClient(host, it.endpoint) as client:
        assert (await client.health()).status == 200
        assert await client.models() == (Model("tiny", "/models/tiny", 8192),)
        assert await client.version() == "0.24.0"
        assert (await client.metrics()).model == "tiny"
        assert it.connections == 1
        assert it.requests[0].headers["user-agent"] == "specconsole"


async def test_a_connection_closed_meanwhile_is_replaced_unseen() -> None:
    host = FakeHost()
    async with serve(host, vllm()) as it, EngineClient(host, it.endpoint) as client:
        await client.health()
        it.drop()
        assert (await client.health()).status == 200
        assert it.connections == 2


async def test_a_post_is_never_sent_into_a_closed_connection() -> None:
    host = FakeHost()
    async with serve(host, vllm()) as it, EngineClient(host, it.endpoint) as client:
        await client.health()
        it.drop()
        await settle()
        await asyncio.wait_for(it.dropped.wait(), 5)
        assert (await client.post("/v1/completions", {"model": "tiny"})).status == 200


async def test_only_a_kept_connection_is_tried_again() -> None:
    host = FakeHost()
    async with serve(host, {"/health": CLOSE, **vllm()}) as it, EngineClient(host, it.endpoint) as client:
        it.routes["/health"] = CLOSE
        with pytest.raises(NoAnswer):
            await client.health()
        assert it.connections == 1


async def test_tls_without_a_check_and_it_says_so(tmp_path: Path) -> None:
    host = FakeHost()
    tls = server.self_signed(tmp_path)
    async with serve(host, vllm(metrics="x" * 300_000), tls=tls) as it, EngineClient(host, it.endpoint) as client:
        assert client.tls_unverified
        assert (await client.get("/metrics")).body == b"x" * 300_000
        it.drop()
        assert (await client.health()).status == 200


async def test_a_server_without_tls_is_told() -> None:
    host = FakeHost()
    async with serve(host, vllm()), EngineClient(host, Endpoint(tls=True)) as client:
        with pytest.raises(NoAnswer, match="TLS"):
            await client.health()


async def test_a_unix_socket(tmp_path: Path) -> None:
    host = FakeHost()
    async with serve(host, vllm(), uds=tmp_path / "vllm.sock") as it, EngineClient(host, it.endpoint) as client:
        assert await client.version() == "0.24.0"


async def test_refused_silent_and_cut_are_three_things() -> None:
    host = FakeHost()
    async with EngineClient(host, Endpoint(port=9)) as client:
        with pytest.raises(Refused, match=r"127\.0\.0\.1:9"):
            await client.health()
        host.cut()
        with pytest.raises(LinkLost):
            await client.health()
    host.mend()
    async with serve(host, {"/health": HANG}) as it, EngineClient(host, it.endpoint) as client:
        with pytest.raises(DeadlineExceeded, match="/health"):
            await client.get("/health", deadline_s=0.05)


async def test_the_key_goes_to_v1_only_and_is_never_shown() -> None:
    host, key = FakeHost(), ApiKey("sk-very-secret", "the profile's command")
    async with serve(host, vllm()) as it, EngineClient(host, it.endpoint, key) as client:
        await client.models()
        await client.metrics()
        assert [request.headers.get("authorization") for request in it.requests] == ["Bearer sk-very-secret", None]
    assert "secret" not in repr(key) + str(key) + f"{key}" + repr({"k": key}) + repr(vars(client))
    with pytest.raises(TypeError):
        pickle.dumps(key)


@pytest.mark.parametrize(
    ("reply", "status", "said"),
    [
        (answer({"error": "Unauthorized"}, 401), 401, "Unauthorized"),
        (answer({"error": {"message": "engine\x1b[31m died", "type": "x"}}, 503), 503, "engine died"),
        (answer({"object": "error", "message": "flat", "code": 500}, 500), 500, "flat"),
        (answer({"detail": "Not Found"}, 404), 404, "Not Found"),
        (answer("<html>\nBad gateway", 502), 502, "<html> Bad gateway"),
        (answer("no json"), 200, "no model list"),
        (answer({"data": 3}), 200, "no model list"),
    ],
)
async def test_every_shape_of_an_error_is_read(reply: bytes, status: int, said: str) -> None:
    host = FakeHost()
    async with serve(host, {"/v1/models": reply}) as it, EngineClient(host, it.endpoint) as client:
        with pytest.raises(Rejected, match=said.replace("[", ".")) as error:
            await client.models()
        assert error.value.status == status


async def test_an_endless_answer_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    host = FakeHost()
    monkeypatch.setattr("specconsole.engine.client.MAX_BODY", 1000)
    async with serve(host, {"/metrics": answer("a 1\n" * 5000)}) as it, EngineClient(host, it.endpoint) as client:
        assert len((await client.get("/metrics")).body) == 1000


async def test_old_versions_send_metrics_elsewhere() -> None:
    host = FakeHost()
    moved = answer("", 307, extra="location: http://localhost:8000/metrics/\r\n")
    routes = {"/metrics": moved, "/metrics/": answer("a 1\n")}
    async with serve(host, routes) as it, EngineClient(host, it.endpoint) as client:
        assert (await client.metrics()).value("a") == 1

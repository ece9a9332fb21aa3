"""Following a server through a start, traffic, a restart and a cut, with time that moves by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import pytest

from specconsole.engine.health import Health
from specconsole.engine.snapshot import EngineSnapshot
from specconsole.engine.watch import watch
from specconsole.errors import LinkRefused
from specconsole.host.base import Endpoint, LinkKind
from tests.engine import scraped, server
from tests.engine.server import HANG, answer, serve, vllm
from tests.fakes import FakeClock, FakeHost, failed, settle

GREP = "grep * /proc/net/tcp*"


def counters(generated: float, running: int = 1, start: float = 100.0) -> bytes:
    return answer(
        f'vllm:num_requests_running{{engine="0"}} {running}\nvllm:num_requests_waiting{{engine="0"}} 2\n'
        f'vllm:generation_tokens_total{{engine="0"}} {generated}\nvllm:kv_cache_usage_perc{{engine="0"}} 0.5\n'
        f"process_start_time_seconds {start}\n"
    )


def watching(host: FakeHost) -> AsyncGenerator[EngineSnapshot, None]:
    host.clock.auto = True
    return watch(host, Endpoint(), clock=host.clock)


async def test_a_start_is_followed_without_a_connect_until_the_port_listens() -> None:
    host = FakeHost()
    host.answer(GREP, [failed(1, "")] * 5 + [failed(0, "")])
    async with aclosing(watching(host)) as snapshots:
        assert (await anext(snapshots)).health is Health.REFUSED
        for _ in range(5):
            assert (await anext(snapshots)).health is Health.REFUSED
        assert host.clock.slept == [0.4] * 5
        async with serve(host, vllm(metrics=scraped.text("0.32-base"))) as it:
            ready = await anext(snapshots)
            assert ready.health is Health.ANSWERING
            assert ready.model is not None
            assert (ready.model.id, ready.version, ready.running) == ("tiny", "0.24.0", 0)
            assert ready.window is None
            assert it.connections == 1
            await anext(snapshots)
            assert it.paths() == ["/health", "/v1/models", "/version", "/metrics", "/metrics"]
            assert it.connections == 1


async def test_a_port_that_seems_closed_is_tried_now_and_then() -> None:
    host = FakeHost()
    host.answer(GREP, failed(1, ""))
    async with serve(host, vllm()) as it, aclosing(watching(host)) as snapshots:
        host.refuse(it.endpoint)
        assert (await anext(snapshots)).health is Health.REFUSED
        host.listen(it.endpoint, port=it.port)
        seen = 0
        async for snapshot in snapshots:
            if snapshot.health is Health.ANSWERING:
                break
            seen += 1
        assert 20 <= seen <= 26, "10 s at 0.4 s each"


async def test_rates_come_from_the_last_ten_seconds() -> None:
    host = FakeHost()
    async with serve(host, vllm()) as it, aclosing(watching(host)) as snapshots:
        rates = []
        for generated in (0, 100, 300, 300, 300, 300, 300, 300):
            it.routes["/metrics"] = counters(generated)
            snapshot = await anext(snapshots)
            rates.append(snapshot.window and snapshot.window.generation_tok_s)
        assert rates[:3] == [None, 50, 75]
        assert rates[-1] == 0
        assert snapshot.window is not None
        assert snapshot.window.seconds == 10
        assert (snapshot.running, snapshot.waiting, snapshot.kv_use, snapshot.engines) == (1, 2, 0.5, 1)


async def test_running_requests_without_tokens_are_seen() -> None:
    host = FakeHost()
    async with serve(host, {**vllm(), "/metrics": counters(5)}) as it, aclosing(watching(host)) as snapshots:
        quiet = [(await anext(snapshots)).quiet_s for _ in range(4)]
        assert quiet == [0, 2, 4, 6]
        it.routes["/metrics"] = counters(6)
        assert (await anext(snapshots)).quiet_s == 0
        it.routes["/metrics"] = counters(6, running=0)
        assert (await anext(snapshots)).quiet_s is None


async def test_a_restart_forgets_what_was_measured() -> None:
    host = FakeHost()
    async with serve(host, {**vllm(), "/metrics": counters(50)}) as it, aclosing(watching(host)) as snapshots:
        await anext(snapshots)
        assert (await anext(snapshots)).window is not None
        it.routes["/metrics"] = counters(900, start=200.0)
        it.routes["/version"] = answer({"version": "0.25.0"})
        again = await anext(snapshots)
        assert (again.window, again.version, again.started) == (None, "0.25.0", 200)


async def test_no_data_is_said_and_is_no_zero() -> None:
    host = FakeHost()
    async with serve(host, vllm(metrics="")) as it, aclosing(watching(host)) as snapshots:
        empty = await anext(snapshots)
        assert empty.health is Health.ANSWERING
        assert "answered with nothing" in empty.no_data
        assert (empty.running, empty.kv_use, empty.spec, empty.engines, empty.quiet_s) == (None,) * 5
        it.routes["/metrics"] = answer({"detail": "Not Found"}, 404)
        assert "404" in (await anext(snapshots)).no_data


async def test_a_dead_engine_is_seen_at_once_when_the_metrics_end() -> None:
    host = FakeHost()
    async with serve(host, {**vllm(), "/metrics": counters(5)}) as it, aclosing(watching(host)) as snapshots:
        assert (await anext(snapshots)).health is Health.ANSWERING
        it.routes.update({"/metrics": server.CLOSE, "/health": answer("", 503)})
        dead = await anext(snapshots)
        assert (dead.health, dead.running, dead.version) == (Health.DEAD, None, None)


async def test_health_is_asked_again_every_ten_seconds() -> None:
    host = FakeHost()
    async with serve(host, {**vllm(), "/metrics": counters(5)}) as it, aclosing(watching(host)) as snapshots:
        for _ in range(7):
            await anext(snapshots)
        assert it.paths().count("/health") == 2
        it.routes["/health"] = answer("", 503)
        assert Health.DEAD in [(await anext(snapshots)).health for _ in range(6)]


async def test_a_cut_link_yields_nothing_and_goes_on_after_it() -> None:
    host = FakeHost()
    async with serve(host, vllm(metrics=scraped.text("0.24-M5-end"))), aclosing(watching(host)) as snapshots:
        await anext(snapshots)
        host.cut()
        waiting = asyncio.create_task(anext(snapshots))
        await settle()
        assert not waiting.done()
        host.mend(boot_id="c" * 32)
        assert (await waiting).health is Health.ANSWERING
        host.set_link(LinkKind.REFUSED, reason="host key changed")
        with pytest.raises(LinkRefused):
            await anext(snapshots)


async def test_a_refusal_over_a_link_that_is_not_up_is_no_answer_of_the_server() -> None:
    host = FakeHost()
    host.answer(GREP, failed(1, ""))
    async with serve(host, vllm()) as it, aclosing(watching(host)) as snapshots:
        assert (await anext(snapshots)).health is Health.ANSWERING
        host.refuse(it.endpoint)
        host.cut()  # the kept connection goes, too
        host.set_link(LinkKind.STALE)
        waiting = asyncio.create_task(anext(snapshots))
        await settle()
        assert not waiting.done(), "what was known ages"
        host.listen(it.endpoint, port=it.port)
        host.set_link(LinkKind.UP)
        assert (await waiting).health is Health.ANSWERING
        host.refuse(it.endpoint)
        host.cut()
        host.mend()
        assert (await anext(snapshots)).health is Health.REFUSED, "over a link that is up it is one"


async def test_the_wrong_model_and_an_unchecked_certificate_are_said(tmp_path: Path) -> None:
    host = FakeHost()
    endpoint = Endpoint(tls=True)
    async with serve(host, vllm(), endpoint=endpoint, tls=server.self_signed(tmp_path)):
        watched = watch(host, endpoint, clock=FakeClock(auto=True), expected=["kimi"])
        async with aclosing(watched) as snapshots:
            snapshot = await anext(snapshots)
            assert snapshot.health is Health.WRONG
            assert snapshot.reason == "It serves tiny, not kimi."
            assert snapshot.notes == ("The server's certificate is not checked.",)


async def test_a_silent_server_ends_no_feed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specconsole.engine.health.check.__kwdefaults__", {"deadline_s": 0.05})
    host = FakeHost()
    async with serve(host, {**vllm(), "/health": HANG}), aclosing(watching(host)) as snapshots:
        assert (await anext(snapshots)).health is Health.SILENT


def test_age() -> None:
    snapshot = EngineSnapshot(Health.ANSWERING, at=1.0, mono=10.0)
    assert (snapshot.age(12.5), snapshot.age(9.0)) == (2.5, 0.0)

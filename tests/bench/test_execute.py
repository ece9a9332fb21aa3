"""A run on a host: through a scripted host, and on this machine with the real load generator behind the lease."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from specconsole.bench.book import Book, Progress
from specconsole.bench.check import Level, check
from specconsole.bench.execute import execute
from specconsole.bench.prompt import Prompt
from specconsole.bench.run import BenchRun, Identity
from specconsole.bench.spec import BenchSpec
from specconsole.clock import SystemClock
from specconsole.errors import CommandFailed, LinkLost
from specconsole.host.base import Endpoint, Exit, Program
from specconsole.host.local import LocalHost
from tests.bench.scripted import CHUNKED, ScriptedServer, Step, chunk, event, reply
from tests.fakes import FACTS, FakeHost, FakeProcess

SPEC = BenchSpec((Prompt("a", "Say a."), Prompt("b", "Say b.")), repeat=1, max_tokens=13, warmup=0)
HERE = Endpoint(port=8000)
IDENTITY = {"event": "identity", "v": 1, "version": "0.32.0", "models": [{"id": "m", "root": "/m", "max_model_len": 9}]}
SPECULATES = "vllm:generation_tokens_total 0\nvllm:spec_decode_num_drafts_total 0\n" + "".join(
    f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{position="{place}"}} 0\n' for place in range(5)
)


def line(event_: str | dict[str, Any], **values: Any) -> bytes:
    told = event_ if isinstance(event_, dict) else {"event": event_}
    return json.dumps({**told, **values}).encode() + b"\n"


def result(ident: str, **values: Any) -> bytes:
    told = {
        "id": ident, "prompt": ident[0], "repeat": 0, "warmup": None, "status": 200, "error": "", "headers_ns": 5,
        "chunks": [[10, 1], [20, 4]], "usage": {"prompt_tokens": 7, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 3}},
        "finish": "length", "text": "x", "text_cut": False, "token_ids": [1, 2], "end_ns": 25, "sent_ns": 1, "sent_at": 7.5,
    }  # fmt: skip
    return line("result", **{**told, **values})


WHOLE = (
    line(IDENTITY, at=77.5, cache="salt")
    + line("scrape", index=0, at=78.0, took_s=0.01, text=SPECULATES, error="")
    + line("warmup", round=1, tpot_s=0.002, agrees=False)
    + line("warmed", rounds=1, agreed=None)
    + line("started", id="a/0")
    + line("progress", tokens={"a/0": 3})
    + line("finished", id="a/0")
    + line("scrape", index=1, at=79.0, took_s=0.01, text=None, error="HTTP 500")
    + line("window", requests=["warm-up 1/1"], before=0, after=1)
    + line("window", requests=["a/0"], before=0, after=1)
    + result("warm-up 1/1", warmup=1)
    + result("a/0")
    + line("something-newer", value=1)
)
END = line("end", why="finished", error="", health={"bunched": 0.01, "chunks": 2, "late_p99_s": None, "cpu_s": 0.1})


async def told_to_cancel(process: FakeProcess) -> None:
    """Wait until the load generator has been asked to stop."""

    async def told() -> None:
        while b"cancel" not in process.written:
            await asyncio.sleep(0)

    await asyncio.wait_for(told(), 20)


async def all_of(host: Any, spec: BenchSpec = SPEC, endpoint: Endpoint = HERE, **more: Any) -> list[Progress]:
    return [progress async for progress in execute(host, spec, endpoint, **more)]


async def test_lines_become_a_run() -> None:
    host = FakeHost()
    host.script("drive", [WHOLE[:300], WHOLE[300:], END, Exit(0)])
    told = await all_of(host, identity=Identity(unit="u.service", method="ngram"), api_key="sesame", number=4)
    run = told[-1].run
    assert run.why == "finished"
    assert run.identity == Identity(
        unit="u.service",
        method="ngram",
        k=5,
        speculation=True,
        version="0.32.0",
        model="m",
        model_root="/m",
        max_model_len=9,
    )
    assert (run.started, run.number, run.cache) == (77.5, 4, "salt")
    assert [one.id for one in run.results] == ["a/0"]
    one = run.results[0]
    assert (one.chunks, one.completion_tokens, one.cached_tokens) == (((10, 1), (20, 4)), 4, 3)
    assert (one.sent_s, one.headers_s, one.end_s, one.sent_at) == (1e-9, 5e-9, 25e-9, 7.5)
    assert [window.requests for window in run.windows] == [("a/0",)]
    assert [scrape.error for scrape in run.scrapes] == ["", "HTTP 500"]
    assert run.warmup.tpots_s == (0.002,)
    assert [one.id for one in run.warmup.results] == ["warm-up 1/1"]
    assert run.health.bunched == 0.01
    assert run.health.late_max_s is None
    phases = [progress.phase for progress in told]
    assert phases == sorted(phases, key=["starting", "warming up", "measuring", "ended"].index)
    assert any(progress.active == {"a/0": 3} for progress in told)
    assert all(progress.total == 2 for progress in told)


async def test_the_units_name_goes_along_so_that_its_gpus_are_found() -> None:
    host = FakeHost()
    host.script("drive", [WHOLE, END, Exit(0)])
    await all_of(host, identity=Identity(unit="alice/vllm.service"))
    await all_of(host)
    asked = [process.what.arguments for process in host.processes if isinstance(process.what, Program)]
    assert (asked[0]["unit"], "unit" in asked[1]) == ("vllm.service", False)


async def test_prompts_and_key_travel_on_standard_input_only() -> None:
    host = FakeHost()
    host.script("drive", [WHOLE, END, Exit(0)])
    await all_of(host, api_key="sesame", endpoint=Endpoint(uds="/run/v.sock"))
    process = host.processes[0]
    assert isinstance(process.what, Program)
    assert "sesame" not in json.dumps(dict(process.what.arguments))
    assert "Say a." not in json.dumps(dict(process.what.arguments))
    assert process.what.arguments["endpoint"] == {
        "port": 8000,
        "address": "127.0.0.1",
        "uds": "/run/v.sock",
        "tls": False,
    }
    assert process.messages[0] == {"key": "sesame"}
    assert [message["request"]["id"] for message in process.messages[1:-1]] == ["a/0", "b/0"]
    assert process.messages[-1] == {"go": True}


async def test_a_lost_link_keeps_what_arrived() -> None:
    host = FakeHost()
    host.script("drive", [WHOLE, LinkLost("The cable is out.")])
    run = (await all_of(host))[-1].run
    assert (run.why, run.error) == ("link lost", "The cable is out.")
    assert [one.id for one in run.kept] == ["a/0"]


async def test_a_program_that_dies_is_a_failed_run() -> None:
    host = FakeHost()
    host.script("drive", [WHOLE, Exit(1, b"Traceback\nMemoryError\n")])
    run = (await all_of(host))[-1].run
    assert run.why == "failed"
    assert "MemoryError" in run.error
    assert len(run.results) == 1


async def test_no_program_and_no_link_are_errors() -> None:
    host = FakeHost()
    with pytest.raises(CommandFailed):
        await all_of(host)
    host.cut()
    with pytest.raises(LinkLost):
        await all_of(host)


async def test_a_cancel_is_sent_and_the_rest_is_read() -> None:
    host, cancel, cancelled = FakeHost(), asyncio.Event(), asyncio.Event()

    async def ask(process: FakeProcess) -> None:
        cancel.set()
        await told_to_cancel(process)
        cancelled.set()

    end = line("end", why="cancelled", error="", health={})
    host.script("drive", [WHOLE, ask, cancelled, end, Exit(0)])
    run = (await all_of(host, cancel=cancel))[-1].run
    assert host.processes[0].messages[-1] == {"cancel": True}
    assert run.why == "cancelled"
    assert len(run.kept) == 1


async def test_leaving_early_ends_the_program() -> None:
    host = FakeHost()
    host.script("drive", [WHOLE, asyncio.Event()])
    running = execute(host, SPEC, HERE)
    await anext(running)
    await running.aclose()
    assert host.processes[0].left


async def test_a_baseline_is_told_by_its_counters() -> None:
    host = FakeHost()
    plain = line("scrape", index=0, at=1.0, took_s=0.0, text="vllm:generation_tokens_total 3\n", error="")
    host.script(
        "drive",
        [line(IDENTITY, at=1.0, cache="salt"), plain, END, Exit(0)],
        [line(IDENTITY, at=1.0, cache="salt"), END, Exit(0)],
    )
    assert (await all_of(host))[-1].run.identity.speculation is False
    assert (await all_of(host))[-1].run.identity.speculation is None


async def test_text_of_the_server_is_made_harmless() -> None:
    host = FakeHost()
    bad = result("a/0", error="\x1b]0;x\x07bad\nline", chunks=[])
    host.script("drive", [line(IDENTITY, at=1.0, cache="salt"), bad, END, Exit(0)])
    told = await all_of(host)
    assert told[-1].run.results[0].error == "bad line"
    assert not any("\x1b" in progress.news for progress in told)


async def test_on_this_machine_with_the_real_load_generator() -> None:
    host = LocalHost("localhost", clock=SystemClock(), read_only=False)
    with ScriptedServer([reply((1, 3, 6, 1, 2))]) as server:
        await host.open()
        try:
            endpoint = Endpoint(port=server.endpoint["port"])
            run = (await all_of(host, endpoint=endpoint, api_key="sesame"))[-1].run
        finally:
            await host.close()
    assert (run.why, run.error) == ("finished", "")
    assert [one.tokens for one in run.kept] == [13, 13]
    assert run.timing().tau == 3
    assert server.posts[0][1]["authorization"] == "Bearer sesame"


async def test_on_this_machine_a_cancel_keeps_what_was_measured() -> None:
    host, cancel, go = LocalHost("localhost", clock=SystemClock(), read_only=False), asyncio.Event(), threading.Event()
    slow: list[Step] = [CHUNKED, chunk(event("a", 1)), chunk(event("bc", 3)), go]
    with ScriptedServer([reply((1, 3)), slow]) as server:
        await host.open()
        try:
            endpoint, run = Endpoint(port=server.endpoint["port"]), None
            async for progress in execute(host, SPEC, endpoint, cancel=cancel):
                run = progress.run
                if progress.active.get("b/0") == 3:
                    cancel.set()
        finally:
            go.set()
            await host.close()
    assert run is not None
    assert run.why == "cancelled"
    assert [(one.id, one.error) for one in run.results] == [("a/0", ""), ("b/0", "cancelled")]
    assert [count for _, count in run.results[1].chunks] == [1, 3]


def without_python(server: ScriptedServer, **facts: Any) -> FakeHost:
    host = FakeHost(facts=replace(FACTS, python=None, **facts))
    host.listen(HERE, port=server.endpoint["port"])
    return host


async def test_a_host_without_python_is_measured_from_here() -> None:
    with ScriptedServer([reply((1, 3, 6, 1, 2))]) as server:
        host = without_python(server, clock_skew_s=100_000.0)
        run = (await all_of(host, api_key="sesame"))[-1].run
    assert (run.why, run.error, run.tunnel) == ("finished", "", True)
    assert [one.tokens for one in run.kept] == [13, 13]
    assert run.timing().tau == 3
    assert server.posts[0][1]["authorization"] == "Bearer sesame"
    assert any(remark.code == "tunnel" and remark.level is Level.WEAK for remark in check(run))
    # Stamps are the host's own time, as its log's are.
    assert all(one.sent_at > time.time() + 90_000 for one in run.results)
    assert run.started > time.time() + 90_000
    assert BenchRun.from_json(json.loads(json.dumps(run.to_json()))) == run


async def test_a_link_that_breaks_under_a_run_from_here_ends_it() -> None:
    go = threading.Event()
    slow: list[Step] = [CHUNKED, chunk(event("a", 1)), chunk(event("bc", 3)), go]
    with ScriptedServer([reply((1, 3)), slow]) as server:
        host, run = without_python(server), None
        try:
            async for progress in execute(host, SPEC, HERE):
                run = progress.run
                if progress.active.get("b/0") == 3:
                    host.cut()
        finally:
            go.set()
    assert run is not None
    assert (run.why, run.error) == ("link lost", "no answer for 5 s")
    assert [one.id for one in run.kept] == ["a/0"]


def test_a_run_whose_last_streams_went_with_the_link_is_not_finished() -> None:
    def ended(error: str) -> BenchRun:
        book = Book(SPEC, Identity(), 0, tunnel=True)
        book.take({"event": "result", "id": "a/0", "prompt": "a", "chunks": [], "error": error})
        book.take({"event": "end", "why": "finished"})
        book.broken = "no answer for 5 s"
        book.close(Exit(0, b""))
        return book.run

    assert ended("connection closed").why == "link lost"
    assert ended("").why == "finished"


async def test_a_server_that_is_not_there_fails_a_run_from_here() -> None:
    host = FakeHost(facts=replace(FACTS, python=None))
    run = (await all_of(host))[-1].run
    assert not run.kept
    assert any(remark.level is Level.WRONG for remark in check(run))

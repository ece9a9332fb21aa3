"""`specconsole engine`: figures that agree with the counters, bounds where only those are known, honest exit codes."""

from __future__ import annotations

import argparse
import asyncio
import json
from typing import Any

import pytest
from tests.engine import scraped
from tests.engine.server import answer, serve, vllm
from tests.fakes import FakeClock, until
from tests.service.machine import Machine
from tests.ui.engines import GROUP
from tests.ui.engines import full_window as window
from tests.ui.scene import engine as snapshot
from tests.ui.scene import unit

from specconsole import cli
from specconsole.errors import NotRunning, UsageError
from specconsole.host.base import Endpoint
from specconsole.verb import engine, session
from specconsole.verb.engine_page import facts, page

PORT = Endpoint(8011)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(user=False)
    machine.change("vllm@tiny.service", ActiveState="inactive", SubState="dead", MainPID="0")
    machine.host.clock = FakeClock(auto=True)
    monkeypatch.setattr(session, "make_host", lambda *_: machine.host)
    return machine


def look(*words: str) -> Any:
    parser = argparse.ArgumentParser()
    engine.configure(parser)
    return engine._run(parser.parse_args(["root@gpu-1", *words]))


async def test_once_waits_for_its_window_and_agrees_with_the_counters(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = [scraped.text("0.24-M5-ready"), scraped.text("0.24-M5-ready"), scraped.text("0.24-M5-end")]
    routes = {**vllm("kimi-k2.5"), "/metrics": lambda _: answer(pages.pop(0) if len(pages) > 1 else pages[0])}
    async with serve(machine.host, routes, endpoint=PORT):
        assert await look("--once", "--window", "4", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    window = said["window"]
    assert (said["unit"], said["health"], window["seconds"]) == ("vllm-kimi.service", "answering", 4)
    assert window["generation_tok_s"] == 15384 / 4
    assert window["tokens_per_step"] == (15384 - 67) / 5082
    assert window["coverage"] == 4368 / 5082
    assert window["spec"]["per_position"] == [2696, 2217, 1965, 1804, 1708]
    assert window["tpot"]["count"] == 67
    assert window["tpot"]["mean_s"] == pytest.approx(0.2919442310803171 / 67)
    assert (window["tpot"]["p50_s"], window["tpot"]["p50_between_s"]) == (None, [0, 0.01])
    assert window["ttft"]["p50_s"] == pytest.approx(0.0205)
    assert window["ended"] == {"length": 67}
    assert "mono" not in said


async def test_it_goes_on_until_interrupted(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    async with serve(machine.host, vllm("kimi-k2.5", metrics=scraped.text("0.24-M5-end")), endpoint=PORT):
        going = asyncio.create_task(look("--json"))
        lines: list[str] = []

        def three() -> bool:
            lines.extend(capsys.readouterr().out.splitlines())
            return len(lines) >= 3

        await until(three, going)
        going.cancel()
    assert [json.loads(line)["schema"] for line in lines[:3]] == [1, 1, 1]


@pytest.mark.parametrize(
    ("metrics", "code", "said"),
    [
        ("", 5, "no numbers: the metrics endpoint answered with nothing"),
        (None, 3, "Nothing listens at 127.0.0.1:8011."),
    ],
)
async def test_why_there_are_no_numbers(
    machine: Machine, capsys: pytest.CaptureFixture[str], metrics: str | None, code: int, said: str
) -> None:
    if metrics is None:
        assert await look("--once") == code
    else:
        async with serve(machine.host, vllm("kimi-k2.5", metrics=metrics), endpoint=PORT):
            assert await look("--once") == code
    out = capsys.readouterr().out
    assert said in out
    assert " 0 " not in out


async def test_nothing_runs_and_a_window_out_of_range(machine: Machine) -> None:
    machine.change("vllm-kimi.service", ActiveState="inactive", SubState="dead", MainPID="0")
    with pytest.raises(NotRunning):
        await look("--once")
    with pytest.raises(UsageError, match="out of range"):
        engine.run(cli.parse(["engine", "h", "--window", "0.5"]))


def lines(**changes: Any) -> list[str]:
    return page("root@gpu-1", unit(label="baseline"), snapshot(**changes), 0.3).splitlines()


def test_a_page() -> None:
    said = lines()
    assert said[0] == "root@gpu-1   baseline   answering   Kimi-K2.5-INT4   vLLM 0.16.0   read 0.3 s ago"
    assert said[2] == "now           running 3   waiting 0   KV 41.0 %"
    assert said[3].startswith("over 10.0 s   out 73.5 tok/s   in 120.0 tok/s   prefix hits 12 % (— since the start)")
    assert said[4] == "over 60.0 s   requests ended: none"
    tpot = next(line for line in said if line.startswith("TPOT"))
    assert tpot.split()[:6] == ["TPOT", "100", "13.60", "ms", "12.1", "ms"]
    assert any(line.startswith("of all drafts") and line.endswith("0.60  0.40  0.22  0.12  0.06") for line in said)
    assert any(line.startswith("of those so far") and line.endswith("0.60  0.67  0.55  0.55  0.50") for line in said)


def test_a_page_of_several_engines_and_of_requests_of_one_token() -> None:
    said = lines(engines=4, window=window(engines=GROUP, one_token=12.0))
    assert "4 engines" in said[0]
    assert "KV 41.0 % (12 % to 87 %)" in said[2]
    assert "TPOT is without 12 requests of one token, which vLLM counts as 0 ms." in said
    assert said[-4].split() == ["0", "3", "0", "12", "%", "20.0", "100.0", "0"]
    assert any("may hold requests of one token" in line for line in lines(window=window(tpot_mixed=True)))


def test_unknown_is_null_and_a_dash() -> None:
    bare = snapshot(window=window(ttft=None, tpot=None, spec=None, generation_tok_s=None), kv_use=None, spec=None)
    plain: Any = facts(bare)
    assert (plain["kv_use"], plain["window"]["ttft"], plain["window"]["generation_tok_s"]) == (None, None, None)
    said = page("h", unit(label="b"), bare, 0.0)
    assert "KV —" in said
    assert "out — tok/s" in said
    assert "TTFT" not in said


def test_escapes_of_a_server_stay_out() -> None:
    said = page("h", unit(label="b"), snapshot(version="0.1\x1b[2J", window=window(ended=(("st\x1bop", 1.0),))), 0.0)
    assert "\x1b" not in said

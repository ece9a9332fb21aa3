"""Discovery, the units' watch and the command line over the simulated host."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing

import pytest

from specconsole import cli
from specconsole.host.simulated import SimulatedHost, story
from specconsole.host.simulated.fixture import unit_of
from specconsole.service.discover import discover
from specconsole.service.unit import Role, Unit
from specconsole.service.watch import watch
from tests.fakes import FakeClock


async def test_discovery_understands_the_units() -> None:
    host = SimulatedHost(clock=FakeClock())
    await host.open()
    units = {unit.name: unit for unit in await discover(host)}
    await host.close()
    assert set(units) == set(host.machine.units)
    ngram = units[unit_of("moe-ngram")]
    assert ngram.role is Role.VARIANT
    assert ngram.serving.speculation is not None
    assert (ngram.serving.speculation.method, ngram.serving.speculation.tokens) == ("ngram", 5)
    assert (ngram.serving.model, ngram.serving.served_names) == ("/tmp/moe/moe-30b-a3b", ("moe-30b-a3b",))
    assert (ngram.serving.endpoint.port, ngram.version) == (8201, "0.24.0")
    eagle = units[unit_of("moe-eagle3")].serving.speculation
    assert eagle is not None
    assert (eagle.method, eagle.tokens, eagle.model) == ("eagle3", 3, "/tmp/m/eagle3-qwen3-30b-a3b")
    assert units[unit_of("moe-baseline")].role is Role.BASELINE
    assert units[unit_of("moe-baseline")].group == ngram.group != units[unit_of("dense-baseline")].group
    assert (ngram.state.active, ngram.state.main_pid) == ("active", 3208)
    assert ngram.state.since_s == pytest.approx(140.3 + story.SERVING_S, abs=0.1)


async def test_the_watch_sees_the_swap_of_the_story() -> None:
    clock = FakeClock()
    host = SimulatedHost(clock=clock, begin=story.tour(60.0))
    await host.open()
    seen: list[tuple[str, str]] = []

    async def note() -> None:
        async with aclosing(watch(host, clock=clock)) as changes:
            async for units in changes:
                states = (_active(units, "moe-ngram"), _active(units, "moe-baseline"))
                if not seen or seen[-1] != states:
                    seen.append(states)

    task = asyncio.ensure_future(note())
    for _ in range(45):
        await clock.advance(5.0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await host.close()
    assert seen == [
        ("active", "inactive"),
        ("deactivating", "inactive"),
        ("inactive", "inactive"),
        ("inactive", "active"),
    ]


def _active(units: tuple[Unit, ...], recorded: str) -> str:
    return next(unit.state.active for unit in units if unit.name == unit_of(recorded))


def test_status_speaks_of_what_serves(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["status", "demo", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["running"] is True
    assert [unit["name"] for unit in told["units"] if unit["state"]["active"] == "active"] == [unit_of("moe-ngram")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["units", "demo"], "ngram k=5"),
        (["gpus", "demo", "--once"], "NVIDIA H200"),
        (["logs", "demo", "-n", "20"], "POST /v1/completions"),
        (["doctor", "demo"], "systemd 255"),
    ],
)
def test_verbs_work_on_the_demo(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == 0
    assert said.replace("NVIDIA ", "") in capsys.readouterr().out

"""A benchmark of a unit that still loads is refused before anything is begun."""

from __future__ import annotations

import argparse
import asyncio
from types import SimpleNamespace

import pytest
from tests.fakes import FakeHost
from tests.ui.scene import units

from specconsole import cli
from specconsole.engine import health
from specconsole.engine.health import Health
from specconsole.errors import CommandFailed, LinkLost, NotRunning
from specconsole.host.base import Host, Program
from specconsole.host.simulated import make
from specconsole.host.target import Demo
from specconsole.load.phase import Phase
from specconsole.load.timeline import Stage
from specconsole.verb import bench, session
from specconsole.verb.bench_ready import refuse_loading, typed


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that a simulated host with a slow disk is asked to run."""
    names: list[str] = []

    def made(*_: object) -> Host:
        host = make(Demo("slow-disk", speed=60.0))
        process = host.process

        def counted(what: object) -> object:
            if isinstance(what, Program):
                names.append(what.name)
            return process(what)  # type: ignore[arg-type]  # the host's own union

        monkeypatch.setattr(host, "process", counted)
        return host

    monkeypatch.setattr(session, "make_host", made)
    return names


@pytest.mark.parametrize("words", [(), ("--concurrency", "1,4")])
def test_a_unit_that_loads_is_not_measured_and_the_command_that_waits_is_said(
    words: tuple[str, ...], begun: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", "demo:slow-disk@60", "--max-tokens", "8", *words]) == 3
    out, err = capsys.readouterr()
    assert not out
    (said,) = err.splitlines()
    assert "vllm-kimi-k25-int4.service still loads (phase " in said
    more = "".join(f" {word}" for word in ("--max-tokens", "8", *words))
    commands = said.rpartition(": ")[2]
    assert "specconsole watch demo:slow-disk@60 vllm-kimi-k25-int4 && specconsole bench demo:slow-disk@60 " in commands
    assert commands.endswith(more) or all(word in commands for word in words)
    assert "drive" not in begun


def test_the_command_that_waits_says_what_was_asked_and_no_more() -> None:
    parser = argparse.ArgumentParser()
    bench.configure(parser)
    host = FakeHost()
    assert typed(host, parser.parse_args([host.typed])) == f"specconsole bench {host.typed}"
    words = ["--max-tokens", "8", "--seed", "3", "--label", "a b", "--allow-random", "--json"]
    said = typed(host, parser.parse_args([host.typed, *words]))
    assert said.startswith(f"specconsole bench {host.typed} ")
    for part in ("--max-tokens 8", "--seed 3", "--label 'a b'", "--allow-random", "--json"):
        assert part in said
    assert "True" not in said
    assert "--warmup" not in said
    assert typed(host, parser.parse_args([host.typed, "--seed", "0"])).endswith(host.typed)


LOADING = SimpleNamespace(stage=Stage.LOADING, heard_at=1.0, span=SimpleNamespace(phase=Phase.WEIGHTS))


def told(monkeypatch: pytest.MonkeyPatch, port: Health, start: object) -> None:
    """The server and the log of its start say this; an exception is raised."""

    async def check(*_: object, **__: object) -> health.Report:
        return health.Report(port)

    async def failure(*_: object) -> object:
        if isinstance(start, BaseException):
            raise start
        return SimpleNamespace(attempt=start)

    monkeypatch.setattr(health, "check", check)
    monkeypatch.setattr("specconsole.service.failure.failure", failure)


async def refused() -> bool:
    try:
        await refuse_loading(FakeHost(), units()[0], argparse.Namespace())
    except NotRunning as error:
        return "still loads (phase " in str(error)
    return False


@pytest.mark.parametrize(
    ("port", "start", "no"),
    [
        (Health.REFUSED, LOADING, True),
        (Health.STARTING, LOADING, True),
        (Health.ANSWERING, LOADING, False),
        (Health.SILENT, LOADING, False),
        (Health.REFUSED, SimpleNamespace(**{**vars(LOADING), "stage": Stage.FAILED}), False),
        (Health.REFUSED, SimpleNamespace(**{**vars(LOADING), "heard_at": None}), False),
        (Health.REFUSED, SimpleNamespace(**{**vars(LOADING), "span": None}), False),
        (Health.REFUSED, CommandFailed("no journal"), False),
        (Health.REFUSED, asyncio.TimeoutError(), False),
    ],
)
async def test_only_a_start_that_is_known_to_load_is_refused(
    monkeypatch: pytest.MonkeyPatch, port: Health, start: object, no: bool
) -> None:
    told(monkeypatch, port, start)
    assert await refused() is no


async def test_a_link_that_breaks_is_no_leave_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    told(monkeypatch, Health.REFUSED, LinkLost("cut"))
    with pytest.raises(LinkLost):
        await refused()

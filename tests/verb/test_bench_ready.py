"""A benchmark of a unit that still loads is refused before anything is begun."""

from __future__ import annotations

import pytest

from specconsole import cli
from specconsole.host.base import Host, Program
from specconsole.host.simulated import make
from specconsole.host.target import Demo
from specconsole.verb import session


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

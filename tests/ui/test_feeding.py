"""A source is followed over its faults: told once, written with traceback, tried again, ended when refused."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from specconsole.errors import CommandFailed, LinkRefused
from specconsole.ui.fault import FaultLog
from specconsole.ui.part.feeding import RETRY_S, Source, follow
from tests.fakes import FakeClock, settle


class Played:
    """A source that plays lists of items and errors, one list an opening; it counts what was closed."""

    def __init__(self, *plays: list[object]) -> None:
        self.plays = list(plays)
        self.taken: list[object] = []
        self.failures: list[str] = []
        self.told: list[str] = []
        self.closed = 0

    async def open(self) -> AsyncGenerator[object, None]:
        try:
            for item in self.plays.pop(0):
                if isinstance(item, BaseException):
                    raise item
                yield item
            if self.plays:
                return
            await asyncio.Event().wait()
        finally:
            self.closed += 1

    def start(self, clock: FakeClock, folder: Path | None = None) -> asyncio.Task[None]:
        source = Source("gpus", self.open, self.taken.append, self.failures.append)
        self.log = FaultLog(folder)
        return asyncio.create_task(follow(source, clock, self.log, self.told.append))


async def test_a_fault_is_told_once_written_down_and_tried_again(tmp_path: Path) -> None:
    clock, played = FakeClock(), Played([1, ZeroDivisionError("by [/zero]")], [2, KeyError("x")], [3])
    task = played.start(clock, tmp_path / "state")
    await clock.advance(RETRY_S)
    await clock.advance(RETRY_S)
    assert played.taken == [1, 2, 3]
    assert played.failures == ["ZeroDivisionError: by [/zero]", "KeyError: 'x'"]
    assert len(played.told) == 1
    file = tmp_path / "state" / "specconsole.log"
    assert str(file) in played.told[0]
    assert "Traceback" in file.read_text()
    assert "by [/zero]" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert played.closed == 3
    played.log.close()


async def test_what_the_domain_calls_by_name_is_shown_not_toasted() -> None:
    clock, played = FakeClock(), Played([CommandFailed("journalctl is missing.", "Install systemd.")], [1])
    task = played.start(clock)
    await clock.advance(RETRY_S)
    assert played.failures == ["journalctl is missing. Install systemd."]
    assert played.told == []
    assert played.taken == [1]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_refused_link_ends_the_source() -> None:
    clock, played = FakeClock(), Played([LinkRefused("The password was refused.")], [1])
    await played.start(clock)
    assert played.failures == ["The password was refused."]
    assert clock.slept == []


async def test_leaving_closes_the_source() -> None:
    played = Played([1])
    task = played.start(FakeClock())
    await settle()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert played.closed == 1


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    log = FaultLog(tmp_path / "file" / "below")
    assert log.write("It failed", ValueError("x")) == "It failed: ValueError: x."


def test_the_log_rotates(tmp_path: Path) -> None:
    log = FaultLog(tmp_path)
    for _ in range(30):
        log.write("x" * 100_000, ValueError("x"))
    log.close()
    files = sorted(file.name for file in tmp_path.iterdir())
    assert files == ["specconsole.log", "specconsole.log.1", "specconsole.log.2"]
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in tmp_path.iterdir())


def test_a_fault_that_cannot_be_written_down_is_told_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = FaultLog(tmp_path)
    (tmp_path / "specconsole.log").symlink_to("/dev/full")
    assert log.write("It failed", ValueError("x")) == "It failed: ValueError: x."
    log.close()
    assert capsys.readouterr().err == "", "what logging prints would stand on the screen"

"""Log files followed: offsets, rotation, truncation, bars that still run, with Python on the host and without."""

from __future__ import annotations

import asyncio
import io
import os
import zlib
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specconsole.errors import CommandFailed, LinkLost, NotPermitted
from specconsole.host.base import Completed, Exit, Program
from specconsole.logs import journal, tail
from specconsole.logs.entry import Entry
from specconsole.logs.record import Kind
from specconsole.logs.source import Source
from specconsole.remote.tail import Tail
from tests.fakes import FACTS, FakeClock, FakeProcess, until
from tests.logs.journald import JournalHost


@dataclass
class FileHost(JournalHost):
    """Runs the follower of files on the test's own files, a step each time something waits for it."""

    steps: int = 0
    cut_after: list[int] = field(default_factory=list)
    """After how many steps the link breaks, process by process."""
    on_step: Callable[[int], None] = lambda _: None
    """What happens on the host before the follower looks again, by the number of the step."""
    pieces: list[dict[str, Any]] = field(default_factory=list)

    @asynccontextmanager
    async def process(self, what: Sequence[str] | Program) -> AsyncGenerator[FakeProcess, None]:
        if not isinstance(what, Program) and what[0] == "journalctl":
            async with super().process(what) as process:
                yield process
            return
        self._need_link()
        yield _Follower(self, what) if isinstance(what, Program) else _OwnTools(self, what)

    async def run(self, argv: Sequence[str], *, stdin: bytes = b"", deadline_s: float = 10.0) -> Completed:
        self.calls.append(tuple(argv))
        running = await asyncio.create_subprocess_exec(*argv, stdout=-1, stderr=-1)
        out, err = await running.communicate()
        return Completed(tuple(argv), running.returncode or 0, out, err)

    def turn(self, budget: int | None) -> int | None:
        """One more look at the files; raises when the link is to break now."""
        if budget == 0:
            if self.on_cut:
                self.on_cut()
            raise LinkLost("cut")
        self.on_step(self.steps)
        self.steps += 1
        return None if budget is None else budget - 1


class _Follower(FakeProcess):
    def __init__(self, host: FileHost, program: Program) -> None:
        super().__init__(program, [])
        self.host = host
        self.arguments: dict[str, Any] = dict(program.arguments)

    async def read(self) -> AsyncGenerator[bytes, None]:
        out = io.BytesIO()
        budget = self.host.cut_after.pop(0) if self.host.cut_after else None
        follower = Tail(self.arguments["path"], out)
        try:
            follower.begin(self.arguments["places"], self.arguments["lines"])
            while True:
                budget = self.host.turn(budget)
                moved = follower.step()
                yield out.getvalue()
                out.seek(0)
                out.truncate()
                if self.arguments["once"] and not moved:
                    break
                await asyncio.sleep(0)
        finally:
            for followed in follower.files:
                followed.close()
        self._end(Exit(0))


class _OwnTools(FakeProcess):
    """`tail -c +N [-f]`, a read at a time, ended as `timeout` would."""

    def __init__(self, host: FileHost, argv: Sequence[str]) -> None:
        super().__init__(tuple(argv), [])
        self.host = host
        self.argv = list(argv)

    async def read(self) -> AsyncGenerator[bytes, None]:
        budget = self.host.cut_after.pop(0) if self.host.cut_after else 3
        with Path(self.argv[-1]).open("rb") as handle:
            handle.seek(int(self.argv[2][1:]) - 1)
            while "-f" in self.argv and budget:
                self.host.turn(None)
                budget -= 1
                if data := handle.read():
                    yield data
                await asyncio.sleep(0)
            if data := handle.read():
                yield data
        self._end(Exit(124 if "-f" in self.argv else 0))


def now() -> float:
    return 1000.0


async def follow(host: FileHost, path: Path, last: str, *, lines: int | None = None) -> list[Entry]:
    """Follow until an entry with that text came."""

    async def gather() -> list[Entry]:
        found: list[Entry] = []
        source = Source("vllm.service", log_file=str(path))
        followed = tail.entries(host, source, lines=lines, now=now, pause=FakeClock(auto=True).sleep, live=True)
        async with aclosing(followed) as parts:
            async for part in parts:
                found += part
                if part[-1].message in (last, last.encode()):
                    return found
        raise AssertionError("the log ended")

    return await asyncio.wait_for(gather(), 20)


def texts(found: list[Entry]) -> list[str]:
    return [entry.message.decode() if isinstance(entry.message, bytes) else f"! {entry.message}" for entry in found]


BARE = replace(FACTS, python=None)
BOTH = pytest.mark.parametrize("facts", [FACTS, BARE], ids=["python", "bare"])


@BOTH
async def test_lines_are_followed_from_the_beginning_or_some_lines_from_the_end(tmp_path: Path, facts: Any) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"line {i}\n" for i in range(5)))

    def write(step: int) -> None:
        if step == 2:
            with log.open("a") as handle:
                handle.write("more\n\nend\n")

    assert texts(await follow(FileHost(facts=facts, on_step=write), log, "end")) == [
        "line 0",
        "line 1",
        "line 2",
        "line 3",
        "line 4",
        "more",
        "end",
    ]
    assert texts(await follow(FileHost(facts=facts), log, "end", lines=3)) == [
        "more",
        "end",
    ]  # an empty line counts, and is none
    log.write_text("old\n")
    assert texts(await follow(FileHost(facts=facts, on_step=write), log, "end", lines=0)) == ["more", "end"]


async def test_entries_say_that_their_time_is_ours(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("end\n")
    (entry,) = await follow(FileHost(), tmp_path / "log", "end")
    assert (entry.at, entry.arrived, entry.unit, entry.cursor) == (1000.0, True, "vllm.service", "")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.lists(st.sampled_from(["write", "half", "rotate", "nothing"]), max_size=25),
    st.lists(st.integers(0, 6), max_size=5),
    st.sampled_from([FACTS, replace(FACTS, python=None)]),
)
def test_no_cut_and_no_rotation_loses_or_doubles_a_line(
    tmp_path_factory: pytest.TempPathFactory, deeds: list[str], cuts: list[int], facts: Any
) -> None:
    log = tmp_path_factory.mktemp("log") / "vllm.log"
    handle = log.open("ab", buffering=0)
    written: list[str] = []
    rotated = 0

    def write(count: int) -> None:
        for _ in range(count):
            written.append(f"line {len(written)}")
            handle.write(written[-1].encode() + b"\n")

    def act(step: int) -> None:
        nonlocal handle, rotated
        deed = deeds[step] if step < len(deeds) else "end" if step == len(deeds) else "nothing"
        if deed == "write":
            write(3)
        elif deed == "half":
            written.append(f"line {len(written)} in halves")
            first, second = written[-1][:7].encode(), written[-1][7:].encode() + b"\n"
            handle.write(first)
            handle.write(second)
        elif deed == "rotate":
            rotated += 1
            log.rename(log.with_name(f"vllm.log.{rotated}"))
            write(1)  # the writer has the old file open still
            handle.close()
            handle = log.open("ab", buffering=0)
        elif deed == "end":
            write(1)
            written.append("end")
            handle.write(b"end\n")

    if not facts.python:  # without Python a second rotation within one run of 45 s is not seen
        first = deeds.index("rotate") if "rotate" in deeds else 0
        deeds = [deed for i, deed in enumerate(deeds) if i <= first or deed != "rotate"]
    write(2)
    found = texts(asyncio.run(follow(FileHost(facts=facts, on_step=act, cut_after=list(cuts)), log, "end")))
    handle.close()
    lines = [text for text in found if not text.startswith("! ")]
    assert sorted(lines) == sorted(written)
    if "rotate" not in deeds:
        assert lines == written
        assert found == lines


@BOTH
async def test_a_file_cut_to_nothing_is_a_gap(tmp_path: Path, facts: Any) -> None:
    log = tmp_path / "log"
    log.write_text("one\ntwo\nthree\n")

    def cut(step: int) -> None:
        if step == 1:
            log.write_text("end\n")

    found = await follow(FileHost(facts=facts, on_step=cut, cut_after=[2]), log, "end")
    assert texts(found)[:3] + texts(found)[-1:] == ["one", "two", "three", "end"]
    gaps = [entry for entry in found if entry.kind is Kind.GAP]
    assert [str(gap.message)[:27] for gap in gaps] == ["The file was cut to nothing"]


async def test_a_file_cut_while_it_is_followed_is_a_gap(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("one\ntwo\nthree\n")

    def cut(step: int) -> None:
        if step == 1:
            log.write_text("end\n")

    found = texts(await follow(FileHost(on_step=cut), log, "end"))
    assert [text[:29] for text in found] == ["one", "two", "three", "! The file was cut to nothing", "end"]


def test_half_a_line_is_read_again_from_its_beginning() -> None:
    progress = tail.Progress(Source("vllm.service", log_file="x"), now)
    assert texts(progress.add((1, 2), 8, b"one\nhalf")) == ["one"]
    assert progress.places() == [[1, 2, 4, 4, zlib.crc32(b"one\n")]]
    assert texts(progress.add((1, 2), 12, b"half all")) == []
    assert texts(progress.add((1, 2), 13, b"\n")) == ["half all"]
    assert progress.places() == [[1, 2, 13, 13, zlib.crc32(b"one\nhalf all\n")]]


async def test_a_file_rewritten_while_the_link_was_down_is_seen_though_it_is_longer(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("one\ntwo\n")

    def rewrite() -> None:
        log.write_text("quite another and longer file\nend\n")

    host = FileHost(cut_after=[1], on_cut=rewrite)
    found = await follow(host, log, "end")
    assert [text[:29] for text in texts(found)] == [
        "one",
        "two",
        "! The file was cut to nothing",
        "quite another and longer file",
        "end",
    ]


async def test_a_hole_left_by_truncation_is_no_text(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"\0" * 5000 + b"one\nend\n")
    assert texts(await follow(FileHost(), log, "end")) == ["one", "end"]


async def test_a_bar_that_still_runs_is_shown_before_its_line_ends(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(
        b"(Worker_TP0 pid=1) \rCapturing:   0%|   | 0/9 [00:00<?, ?it/s]\rCapturing:  11%|#  | 1/9 [00:01<00:08,  1.0it/s]\r"
    )

    def go_on(step: int) -> None:
        with log.open("ab") as handle:
            handle.write(b"Capturing: 100%|###| 9/9 [00:09<00:00,  1.0it/s]\nend\n" if step == 3 else b"")

    found = await follow(FileHost(on_step=go_on), log, "end")
    assert [text.split("\r")[-1][:15] for text in texts(found)] == ["Capturing:  11%", "Capturing: 100%", "end"]


async def test_half_a_line_that_is_no_bar_waits_for_its_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"(A pid=1) ERROR 02-05 14:07:01 [a.py:1] first\r")

    def go_on(step: int) -> None:
        if step == 2:
            with log.open("ab") as handle:
                handle.write(b"\nend\n")

    assert len(await follow(FileHost(on_step=go_on), log, "end")) == 2


async def test_a_line_without_an_end_is_cut(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"x" * 3_000_000 + b"\nend\n")
    found = await follow(FileHost(), tmp_path / "log", "end")
    assert sum(len(text) for text in texts(found)) == 3_000_003
    assert max(len(text) for text in texts(found)) < 1_200_000


@BOTH
async def test_a_file_that_is_not_there_yet_is_waited_for(tmp_path: Path, facts: Any) -> None:
    log = tmp_path / "log"
    host = FileHost(facts=facts)

    def appear(step: int) -> None:
        if step == 3:
            log.write_text("end\n")

    host.on_step = appear
    if facts is BARE:  # it looks by `stat`, not by a step
        task = asyncio.ensure_future(follow(host, log, "end"))
        await until(lambda: len(host.calls) >= 3, task)
        log.write_text("end\n")
        found = await task
    else:
        found = await follow(host, log, "end")
    assert texts(found) == [f"! {log} is not there yet.", "end"]
    assert found[0].kind is Kind.SYSTEMD


async def test_no_permission_and_no_file_are_errors(tmp_path: Path) -> None:
    progress = tail.Progress(Source("vllm.service", log_file="/var/log/vllm.log"), now)
    with pytest.raises(NotPermitted, match=r"/var/log/vllm.log of vllm.service may not be read"):
        progress.take({"error": "denied"})
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(CommandFailed, match="not a regular file"):
        await follow(FileHost(), tmp_path / "fifo", "end")


async def test_reading_without_following_ends(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("one\ntwo\n")
    source = Source("vllm.service", log_file=str(log))
    for facts in (FACTS, BARE):
        host = FileHost(facts=facts)
        read = tail.entries(host, source, lines=None, now=now, pause=FakeClock(auto=True).sleep, live=False)
        assert texts([entry async for part in read for entry in part]) == ["one", "two"]


async def test_a_unit_with_a_file_is_read_from_both(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("INFO 02-05 14:07:01 [core.py:12] from the file\n")
    host = FileHost(facts=replace(FACTS, clock_skew_s=2.0))
    host.journal.systemd("Started vLLM.")
    records = [
        record
        async for batch in journal.read_all(host, [Source("vllm.service", log_file=str(log))], now=now)
        for record in batch
    ]
    assert {(record.text, record.kind, record.arrived) for record in records} == {
        ("Started vLLM.", Kind.SYSTEMD, False),
        ("from the file", Kind.LINE, True),
    }
    assert [record.at for record in records if record.arrived] == [1002.0]  # by the host's clock
    assert sorted(record.seq for record in records) == [1, 2]

"""The screen's store of a log: bounded, numbered, filtered, searched."""

from __future__ import annotations

import errno
import os
import stat
from array import array
from collections.abc import Iterator
from pathlib import Path

import pytest

from specconsole.logs.buffer import Filter, LogBuffer
from specconsole.logs.pattern import Pattern
from specconsole.logs.record import Kind, Level, LogRecord
from specconsole.logs.spool import Spool


@pytest.fixture
def log() -> Iterator[LogBuffer]:
    made = LogBuffer()
    yield made
    made.close()


def record(text: str = "x", seq: int = 0, **fields: object) -> LogRecord:
    return LogRecord(**{"seq": seq, "at": 5.0, "unit": "a.service", "text": text, **fields})  # type: ignore[arg-type]


def texts(log: LogBuffer) -> list[str]:
    return [found.text for found in log.get(log.first, log.next)]


def test_records_come_back_as_they_were_but_for_number_and_cursor(log: LogBuffer) -> None:
    one = LogRecord(
        7,
        5.5,
        "a",
        "two\nlines ✓",
        Level.ERROR,
        Kind.LINE,
        "Worker_TP1",
        1,
        9,
        "core.py:1",
        "cursor",
        "inv",
        "id",
        True,
        3,
    )
    log.append([one, record("next")])
    first, second = log.get(1, 3)
    assert first == LogRecord(
        1, 5.5, "a", "two\nlines ✓", Level.ERROR, Kind.LINE, "Worker_TP1", 1, 9, "core.py:1", "", "inv", "id", True, 3
    )
    assert (second.seq, second.text, len(log), log.first, log.next) == (2, "next", 2, 1, 3)


def test_ranges_are_clipped(log: LogBuffer) -> None:
    log.append([record(str(i)) for i in range(5)])
    assert [found.text for found in log.get(-3, 3)] == ["0", "1"]
    assert [found.text for found in log.get(4, 99)] == ["3", "4"]
    assert log.get(9, 12) == []
    assert LogBuffer().get(0, 5) == []


def test_the_oldest_are_dropped_and_counted() -> None:
    log = LogBuffer(limit=100, spool_records=10)
    for i in range(0, 300, 7):
        log.append(
            [record(str(number), level=Level.ERROR if number % 5 == 0 else Level.INFO) for number in range(i, i + 7)]
        )
        assert len(log) <= 100 + 20
        assert log.next - 1 == i + 7
        assert log.dropped == log.first - 1
        assert texts(log) == [str(number) for number in range(log.first - 1, log.next - 1)]
        kept = [found.level for found in log.get(log.first, log.next)]
        assert {level: count for level, count in log.levels.items() if count} == {
            level: kept.count(level) for level in set(kept)
        }
    assert len(log) >= 100
    log.close()
    assert (len(log), log.next) == (0, 302)


def test_a_batch_beyond_the_limit_keeps_the_newest() -> None:
    log = LogBuffer(limit=100, spool_records=10)
    log.append([record(str(i)) for i in range(1000)])
    assert texts(log)[-100:] == [str(i) for i in range(900, 1000)]
    log.close()


def test_filters(log: LogBuffer) -> None:
    log.append(
        [
            record("info", rank=0, process="Worker_TP0"),
            record("error", rank=1, process="Worker_TP1", level=Level.ERROR),
            record("other", unit="b.service", level=Level.WARNING),
            record("gone", kind=Kind.GAP),
            record("started", kind=Kind.SYSTEMD, unit="b.service"),
        ]
    )

    def found(wanted: Filter) -> list[str]:
        return [log.get(i, i + 1)[0].text for i in log.choose(wanted, log.first, log.next)]

    assert found(Filter()) == ["info", "error", "other", "gone", "started"]
    assert found(Filter(level=Level.WARNING)) == ["error", "other", "gone", "started"]
    assert found(Filter(units=frozenset({"b.service"}))) == ["other", "started"]
    assert found(Filter(ranks=frozenset({1}))) == ["error"]
    assert found(Filter(processes=frozenset({"Worker_TP0", None}))) == ["info", "other", "gone", "started"]  # type: ignore[arg-type]
    assert found(Filter(kinds=frozenset({Kind.LINE}), level=Level.ERROR)) == ["error"]
    assert log.units == ("a.service", "b.service")


def test_errors_are_found_both_ways() -> None:
    log = LogBuffer(spool_records=10)
    grave = {3: Level.WARNING, 14: Level.ERROR, 15: Level.CRITICAL, 40: Level.ERROR}
    log.append([record(level=grave.get(i, Level.INFO)) for i in range(1, 60)])
    assert [log.next_grave(at) for at in (0, 13, 14, 15, 40)] == [14, 14, 15, 40, None]
    assert [log.previous_grave(at) for at in (60, 40, 15, 14)] == [40, 15, 14, None]
    assert log.next_grave(0, Level.WARNING) == 3
    assert log.previous_grave(14, Level.WARNING) == 3
    log.close()


def test_a_text_must_stand_in_some_line_and_gaps_pass_always(log: LogBuffer) -> None:
    log.append([record("one\ntwo oom"), record("gone", kind=Kind.GAP), record("OOM"), record("x", unit="b.service")])
    wanted = Filter(units=frozenset({"a.service"}), text=Pattern("oom"))
    assert log.choose(wanted, 1, 99) == [1, 2, 3]
    assert log.choose(wanted, 2, 3) == [2]
    assert log.find(Pattern("o"), wanted, 1, 99) == [(1, 0), (1, 1), (2, 0), (3, 0)]
    assert log.find(Pattern("x"), wanted, 1, 99) == []


def test_ranges_are_cut_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    log = LogBuffer(spool_records=4)
    log.append([record("y" * 9) for _ in range(10)])
    assert [log.forth(1, 20), log.forth(1, 1), log.forth(4, 99), log.forth(10, 99), log.forth(99, 9)] == [
        3,
        2,
        5,
        11,
        11,
    ]
    assert [log.back(11, 20), log.back(9, 99), log.back(5, 1), log.back(2, 99), log.back(1, 9)] == [9, 5, 4, 1, 1]
    log.close()


def test_what_other_ranks_repeat_is_one_line_that_counts_them(log: LogBuffer) -> None:
    said = [record("loaded", rank=rank, process=f"Worker_TP{rank}", pid=rank) for rank in range(4)]
    log.append([said[0], record("else"), *said[1:], record("mine", rank=1, pid=1)])
    once = Filter(repeats=False)
    assert [log.get(i, i + 1)[0].text for i in log.choose(once, 1, 99)] == ["loaded", "else", "mine"]
    assert log.repeated_by(1) == (1, 2, 3)
    assert log.repeated_by(2) == ()
    assert log.repeats == 3
    assert log.choose(Filter(), 1, 99) == [1, 2, 3, 4, 5, 6], "no line is lost"
    assert log.choose(Filter(ranks=frozenset({2})), 1, 99) == [4]
    assert log.ranks == (0, 1, 2, 3)


def test_a_moment_is_found_among_the_records_of_a_unit(log: LogBuffer) -> None:
    log.append([record(at=float(i)) for i in range(10)] + [record(at=float(i), unit="b.service") for i in range(5)])
    mine = Filter(units=frozenset({"b.service"}))
    assert log.since(3.0, Filter()) == 4
    assert log.since(3.0, mine) == 14
    assert log.since(3.5, mine) == 15
    assert log.since(7.0, mine) is None


def test_the_file_is_private_and_has_no_name(log: LogBuffer, own_home: Path) -> None:
    log.append([record("secret")])
    targets = [_target(fd) for fd in Path("/proc/self/fd").iterdir()]
    (opened,) = [target for target in targets if str(own_home) in target]
    assert opened.endswith("(deleted)")
    assert opened.startswith(str(own_home / ".cache" / "specconsole"))
    assert stat.S_IMODE((own_home / ".cache" / "specconsole").stat().st_mode) == 0o700
    assert list((own_home / ".cache" / "specconsole").iterdir()) == []


def _target(fd: Path) -> str:
    try:
        return str(fd.readlink())
    except OSError:
        return ""


def test_a_full_disk_drops_the_oldest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    log = LogBuffer(spool_records=10)
    for begin in range(0, 30, 10):
        log.append([record(str(i)) for i in range(begin, begin + 10)])
    write, failures = os.pwrite, [OSError(errno.ENOSPC, "full")] * 3  # the first one is met on sealing the newest

    def full(fd: int, data: bytes, at: int) -> int:
        if failures:
            raise failures.pop()
        return write(fd, data, at)

    monkeypatch.setattr(os, "pwrite", full)
    log.append([record("30")])
    assert texts(log) == [str(i) for i in range(20, 31)]
    assert log.dropped == 20
    failures += [OSError(errno.ENOSPC, "full")] * 9
    with pytest.raises(OSError, match="full"):
        log.append([record("31")])
    log.close()


def test_a_sealed_spool_reads_as_before_and_holds_no_memory() -> None:
    spools = [Spool(), Spool()]
    for spool in spools:
        spool.append([b"one", b"two words", b""], [1.5, 2.5, 2.5], [7, 8, 7], [False, True, False])
    known, sealed = spools
    sealed.seal()
    sealed.seal()
    for column in ("ends", "at", "shapes", "grave"):
        assert list(getattr(sealed, column)) == list(getattr(known, column))
    assert (len(sealed), sealed.size, sealed.texts(0, 3)) == (3, 15, ["one", "two words", ""])
    assert not [column for column in (sealed.ends, sealed.at, sealed.shapes) if isinstance(column, array)]
    with pytest.raises(ValueError, match="sealed"):
        sealed.append([b"more"], [3.0], [7], [False])
    for spool in spools:
        spool.close()


def test_without_a_home_the_file_lies_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    log = LogBuffer()
    log.append([record("kept")])
    assert texts(log) == ["kept"]
    log.close()

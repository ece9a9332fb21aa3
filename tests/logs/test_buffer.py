"""The screen's store of a log: bounded, numbered, filtered, searched."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from specconsole.logs import buffer as buffers
from specconsole.logs.buffer import Filter, LogBuffer
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
        return [log.get(i, i + 1)[0].text for part in log.select(wanted) for i in part]

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


TEXTS = st.lists(st.text(st.sampled_from(["a", "b", "é", "\n", " ", "1"]), max_size=8), min_size=1, max_size=40)


@settings(max_examples=200)
@example(["a", "b", "xb", "a\nb"], "a\\nb", 0)  # found over the end of a record it is not found
@example(["1", "b"], "[^a]b", 0)
@given(
    TEXTS,
    st.sampled_from(
        ["a", "ab", "^a", "b$", "a.b", "[^a]b", "a\\nb", "(?s)a.b", "é", "\\d", "", "a*", "\\Aa", "A", "a\\Z"]
    ),
    st.sampled_from([0, re.IGNORECASE]),
)
def test_search_finds_what_searching_each_record_finds(found: list[str], pattern: str, flags: int) -> None:
    log = LogBuffer(spool_records=7)
    log.append([record(text) for text in found])
    wanted = re.compile(pattern, flags)
    lines = re.compile(pattern, flags | re.MULTILINE)
    assert [i for part in log.search(wanted) for i in part] == [
        i for i, text in enumerate(found, 1) if lines.search(text)
    ]
    assert [i for part in log.search(wanted, 5, 20) for i in part] == [
        i for i, text in enumerate(found, 1) if 5 <= i < 20 and lines.search(text)
    ]
    log.close()


def test_a_search_gives_way_after_64_kib(log: LogBuffer, monkeypatch: pytest.MonkeyPatch) -> None:
    log.append([record("y" * 1000) for _ in range(300)])
    sizes: list[int] = []
    blob = Spool.blob

    def watched(self: Spool, first: int, stop: int) -> bytes:
        sizes.append(len(found := blob(self, first, stop)))
        return found

    monkeypatch.setattr(Spool, "blob", watched)
    parts = list(log.search(re.compile("y")))
    assert len(parts) == len(sizes) == 5
    assert max(sizes) <= buffers.SLICE_BYTES + 1001
    assert sum(map(len, parts)) == 300


def test_a_filter_gives_way_too(log: LogBuffer) -> None:
    log.append([record("y") for _ in range(40_000)])
    assert [len(part) for part in log.select(Filter())] == [
        buffers.SLICE_RECORDS,
        buffers.SLICE_RECORDS,
        40_000 - 2 * buffers.SLICE_RECORDS,
    ]


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
    write, failures = os.pwrite, [OSError(errno.ENOSPC, "full"), OSError(errno.ENOSPC, "full")]

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


def test_without_a_home_the_file_lies_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    log = LogBuffer()
    log.append([record("kept")])
    assert texts(log) == ["kept"]
    log.close()

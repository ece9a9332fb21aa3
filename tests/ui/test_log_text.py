"""Records as text: for the clipboard, for a file, field by field."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from datetime import timezone
from pathlib import Path

import pytest

from specconsole.errors import UsageError
from specconsole.logs.buffer import Filter, LogBuffer
from specconsole.logs.pattern import Pattern
from specconsole.logs.record import Kind, Level
from specconsole.ui.local_time import LocalTime
from specconsole.ui.log.text import details, plain, write
from specconsole.ui.rows.row import plain as text_of
from tests.ui.scene import record

WHEN = LocalTime(timezone.utc).full


@pytest.fixture
def log() -> Iterator[LogBuffer]:
    made = LogBuffer()
    yield made
    made.close()


def test_a_record_as_text() -> None:
    one = record(1, "boom\n  File x\x1b[31m", level=Level.ERROR, at=1_700_000_000.25)
    assert plain(one, WHEN) == (
        "2023-11-14 22:13:20.250 +0000 ERROR    vllm-kimi-k25-ngram EngineCore_DP0 boom\n      File x"
    )
    assert " GAP " in plain(record(1, "gone", kind=Kind.GAP), WHEN)
    assert plain(record(1, "x", rank=0, process="Worker_TP0"), WHEN, (1, 2)).endswith("x  (×3: TP0, TP1, TP2)")
    assert plain(record(1, "x", folded=3), WHEN).endswith("x  (+3 like it)")
    assert WHEN(float("inf")) == "—"


async def test_what_passes_is_written_for_the_users_eyes_only(log: LogBuffer, tmp_path: Path) -> None:
    log.append([record(i, f"line {i}\nmore", unit="a" if i % 2 else "b") for i in range(5000)])
    os.umask(old := os.umask(0))
    wanted = Filter(units=frozenset("a"), text=Pattern("line"))
    count = await write(tmp_path / "out.log", log, wanted, WHEN)
    written = (tmp_path / "out.log").read_text().splitlines()
    assert count == 2500
    assert [line.split()[-1] for line in written[::2]] == [str(i) for i in range(1, 5000, 2)]
    assert written[1] == "    more"
    assert stat.S_IMODE((tmp_path / "out.log").stat().st_mode) == 0o600
    assert old == os.umask(old)


async def test_no_file_is_written_over(log: LogBuffer, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("keep")
    with pytest.raises(UsageError, match="exists already"):
        await write(tmp_path / "mine", log, Filter(), WHEN)
    assert (tmp_path / "mine").read_text() == "keep"


def test_all_fields_and_the_whole_text() -> None:
    one = record(
        7, "x" * 100 + "\nsecond", rank=3, level=Level.WARNING, source="core.py:12", invocation="f" * 32, arrived=True
    )
    shown = [text_of(row).strip() for row in details(one, (0, 1), WHEN, 40)]
    for words in (
        "time          2023-11-14 22:03:27.000 +0000 (when it came here: its source keeps no time)",
        "level         warning",
        "rank          3",
        "source        core.py:12",
        "said too by   ranks 0, 1, word for word",
        "invocation    " + "f" * 32,
        "text, 107 characters",
    ):
        assert words in shown
    assert shown[-4:] == ["x" * 40, "x" * 40, "x" * 20, "second"]
    unknown = [text_of(row) for row in details(record(1, "x", pid=None, process=None), (), WHEN, 40)]
    assert "pid           —" in unknown
    assert not [row for row in unknown if row.startswith("invocation")]

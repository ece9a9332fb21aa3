"""Records written for people and read back: nothing of what they say is lost on the way through a file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from specconsole.logs.header import rank_of
from specconsole.logs.peel import peel
from specconsole.logs.printed import Printer
from specconsole.logs.reader import read
from specconsole.logs.record import Kind, Level, LogRecord
from specconsole.logs.stamp import Stamps
from tests.logs.journald import capture

CAPTURES = sorted(path.name.removesuffix(".log.gz") for path in (Path(__file__).parent / "data").glob("*.log.gz"))
AT = 1_760_000_000.0


def printed(records: list[LogRecord], *, named: bool = False) -> bytes:
    printer = Printer(named=named)
    return "\n".join(line for record in records for line in printer.lines(record)).encode()


def what_is_kept(record: LogRecord) -> tuple[object, ...]:
    """All but the place in the source, the pid, and a rank that only the pid told."""
    told = record.rank if record.process and rank_of(record.process) is not None else None
    return record.text, record.level, record.kind, record.process, told


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("name", CAPTURES)
def test_what_was_written_is_read_back(name: str, named: bool) -> None:
    captured = [record._replace(unit="vllm-a.service", at=AT) for record in read(capture(name))]
    before = [record._replace(text=record.text.lstrip()) for record in captured]
    after = read(printed(captured, named=named))
    said = "\n".join(record.text for record in after)
    assert said == "\n".join(record.text for record in before), "every line, with its own indentation"
    kept = {what_is_kept(record) for record in after}
    assert [one for one in before if "\n" not in one.text and what_is_kept(one) not in kept] == []


def test_a_traceback_stays_one_message_with_its_exception() -> None:
    trace = 'Traceback (most recent call last):\n  File "/x/core.py", line 3, in run\n    raise ValueError("no")\nValueError: no'
    before = [
        LogRecord(1, AT, "u", "before", process="EngineCore_DP0"),
        LogRecord(2, AT, "u", trace, Level.ERROR, process="EngineCore_DP0"),
        LogRecord(3, AT, "u", "after", process="APIServer"),
    ]
    assert [(one.text, one.level, one.process) for one in read(printed(before))] == [
        ("before", Level.INFO, "EngineCore_DP0"),
        (trace, Level.ERROR, "EngineCore_DP0"),
        ("after", Level.INFO, "APIServer"),
    ]


def test_systemd_gaps_and_nameless_writers_stay_what_they_are() -> None:
    before = [
        LogRecord(1, AT, "u", "Started x.service - vLLM.", kind=Kind.SYSTEMD, source="systemd", pid=1),
        LogRecord(2, AT, "u", "Suppressed 3 messages", Level.WARNING, Kind.GAP),
        LogRecord(3, AT, "u", "Loading it", pid=77),
        LogRecord(4, AT, "u", "Loading it"),
        LogRecord(5, AT, "u", "Loading it", arrived=True),
    ]
    after = read(printed(before))
    assert [one.kind for one in after] == [Kind.SYSTEMD, Kind.GAP, Kind.LINE, Kind.LINE, Kind.LINE]
    assert [one.text for one in after[2:]] == ["Loading it"] * 3


def test_its_stamps_tell_the_time_of_its_lines() -> None:
    first, second = (printed([LogRecord(1, at, "u", "x", process="APIServer")]) for at in (AT, AT + 75))
    stamps = Stamps()
    begin = stamps.of(first)
    assert begin is not None
    assert stamps.of(second) == begin + 75


@pytest.mark.parametrize(
    "line",
    [" 11-30 14:44:06 INFORMED x", " 11-30 14:44 INFO     x", "    | x", " 11-30 14:44:06 info     x"],
)
def test_what_only_looks_like_it_is_left_as_it_is(line: str) -> None:
    (found,) = peel(line)
    assert found.text == re.sub(r"\s+$", "", line)


def test_the_same_as_json_is_read_back_whole() -> None:
    trace = 'Traceback (most recent call last):\n  File "/x/core.py", line 3, in run\nValueError: no'
    before = [
        LogRecord(1, AT, "u", "Started it.", kind=Kind.SYSTEMD, source="systemd", pid=1),
        LogRecord(2, AT + 75, "u", trace, Level.ERROR, process="Worker_TP3", rank=3, pid=77, source="core.py:3"),
    ]
    lines = [
        json.dumps(
            {"schema": 1, **one._asdict(), "level": one.level.name.lower(), "kind": one.kind.name.lower()}
        ).encode()
        for one in before
    ]
    stamps = Stamps()
    assert [stamps.of(line) for line in lines] == [AT, AT + 75]
    kept = ("text", "level", "kind", "process", "rank", "pid", "source")
    assert [[getattr(one, name) for name in kept] for one in read(b"\n".join(lines))] == [
        [getattr(one, name) for name in kept] for one in before
    ]
    strange = {"seq": 1, "at": 2, "kind": [], "text": 5, "rank": "x", "pid": True}
    assert peel(json.dumps(strange)) == []

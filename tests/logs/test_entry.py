"""journalctl's JSON in all its spellings."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.logs.entry import SUPPRESSED, Entry, Owner, read
from specconsole.logs.record import Kind, Level

KEYS = {Owner("vllm.service"): "vllm.service", Owner("vllm.service", "1000"): "ops/vllm.service"}
BASE = {"__CURSOR": "s=1;i=2", "__REALTIME_TIMESTAMP": "1795968736857927", "_BOOT_ID": "b", "_UID": "0"}
OUTPUT = {**BASE, "_SYSTEMD_UNIT": "vllm.service", "_PID": "7", "_SYSTEMD_INVOCATION_ID": "i", "PRIORITY": "6"}
PID_1 = {
    **BASE,
    "_SYSTEMD_UNIT": "init.scope",
    "_PID": "1",
    "UNIT": "vllm.service",
    "INVOCATION_ID": "i",
    "MESSAGE": "Failed.",
}


def entry(value: dict[str, Any]) -> Entry:
    found = read(json.dumps(value).encode(), KEYS)
    assert found
    return found


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("text", "text"),
        ([27, 91, 49, 109, 226, 150, 136], b"\x1b[1m\xe2\x96\x88"),
        ([255, -1], b"\xff\xff"),  # some versions wrote bytes as signed
        (["one", "two"], "one\ntwo"),
        (["one", [116, 119, 111]], "one\ntwo"),
        ([], b""),
        ("bar \uffffffe2\uffffff96\uffffff88 end", "bar █ end"),  # systemd 208
    ],
)
def test_messages(message: Any, expected: bytes | str) -> None:
    found = entry({**OUTPUT, "MESSAGE": message})
    assert found == Entry(
        1795968736.857927, "vllm.service", expected, pid=7, cursor="s=1;i=2", boot="b", invocation="i"
    )  # fmt: skip


def test_null_is_a_gap_and_absent_is_nothing() -> None:
    assert entry({**OUTPUT, "MESSAGE": None}).kind is Kind.GAP
    assert read(json.dumps(OUTPUT).encode(), KEYS) is None


def test_the_priority_of_output_means_nothing() -> None:
    assert entry({**OUTPUT, "MESSAGE": "x", "PRIORITY": "3"}).level is Level.INFO


@pytest.mark.parametrize(
    ("priority", "level"),
    [
        ("2", Level.CRITICAL),
        ("3", Level.ERROR),
        ("4", Level.WARNING),
        ("5", Level.INFO),
        ("6", Level.INFO),
        ("7", Level.DEBUG),
        (None, Level.INFO),
    ],
)
def test_pid_1_speaks_of_the_unit(priority: str | None, level: Level) -> None:
    found = entry({**PID_1, "PRIORITY": priority, "MESSAGE_ID": "d9b3"})
    assert (found.kind, found.level, found.source, found.message_id) == (Kind.SYSTEMD, level, "systemd", "d9b3")
    assert (found.unit, found.invocation, found.pid) == ("vllm.service", "i", 1)


def test_only_a_manager_may_speak_for_a_unit() -> None:
    assert read(json.dumps({**PID_1, "_PID": "8", "_SYSTEMD_UNIT": "evil.service"}).encode(), KEYS) is None
    own = entry({**OUTPUT, "UNIT": "other.service", "MESSAGE": "x"})
    assert (own.kind, own.unit) == (Kind.LINE, "vllm.service")


def test_units_of_a_user() -> None:
    user = {**BASE, "_UID": "1000", "_SYSTEMD_UNIT": "user@1000.service", "MESSAGE": "x"}
    printed = entry({**user, "_SYSTEMD_USER_UNIT": "vllm.service", "_PID": "105"})
    assert (printed.unit, printed.kind, printed.pid) == ("ops/vllm.service", Kind.LINE, 105)
    about = entry({**user, "_SYSTEMD_USER_UNIT": "init.scope", "USER_UNIT": "vllm.service", "USER_INVOCATION_ID": "u"})
    assert (about.unit, about.kind, about.invocation) == ("ops/vllm.service", Kind.SYSTEMD, "u")
    assert read(json.dumps({**user, "_UID": "1001", "_SYSTEMD_USER_UNIT": "vllm.service"}).encode(), KEYS) is None


NOTICE = {**BASE, "_SYSTEMD_UNIT": "systemd-journald.service", "_PID": "63", "MESSAGE_ID": SUPPRESSED}


@pytest.mark.parametrize(
    "notice",
    [
        {
            "MESSAGE": "Suppressed 82500 messages from vllm.service",
            "N_DROPPED": "82500",
            "OBJECT_SYSTEMD_UNIT": "vllm.service",
        },
        {"MESSAGE": "Suppressed 82500 messages from vllm.service"},
        {"MESSAGE": "Suppressed 82500 messages from /system.slice/vllm.service"},  # before 236
    ],
)
def test_suppressed_lines_are_a_gap_with_their_number(notice: dict[str, str]) -> None:
    found = entry({**NOTICE, **notice})
    assert (found.kind, found.level, found.unit, found.source) == (Kind.GAP, Level.WARNING, "vllm.service", "journald")
    assert "82,500 lines missing here" in str(found.message)
    assert "LogRateLimitIntervalSec=0" in str(found.message)


def test_suppressed_lines_of_a_users_unit() -> None:
    notice = {"MESSAGE": "Suppressed 1 messages from x", "N_DROPPED": "1", "OBJECT_SYSTEMD_UNIT": "user@1000.service"}
    found = entry({**NOTICE, **notice, "OBJECT_SYSTEMD_USER_UNIT": "vllm.service", "OBJECT_UID": "1000"})
    assert (found.unit, str(found.message)[:6]) == ("ops/vllm.service", "1 line")


def test_suppressed_lines_of_others_are_none() -> None:
    assert read(json.dumps({**NOTICE, "MESSAGE": "Suppressed 5 messages from other.service"}).encode(), KEYS) is None


def test_a_core_dump_is_said() -> None:
    dump = {**BASE, "_SYSTEMD_UNIT": "systemd-coredump@1.service", "COREDUMP_UNIT": "vllm.service", "PRIORITY": "2"}
    found = entry({**dump, "MESSAGE": "Process 9 (VLLM::Worker_TP) dumped core."})
    assert (found.kind, found.source, found.level) == (Kind.SYSTEMD, "systemd-coredump", Level.CRITICAL)


def test_a_cut_line_is_marked() -> None:
    assert entry({**OUTPUT, "MESSAGE": "x", "_LINE_BREAK": "line-max"}).cut
    assert not entry({**OUTPUT, "MESSAGE": "x", "_LINE_BREAK": "pid-change"}).cut


@pytest.mark.parametrize("line", [b"not json \x1b[1m", b"[1]", b'"x"', b"\xff"])
def test_what_is_no_entry_is_a_gap(line: bytes) -> None:
    found = read(line, KEYS)
    assert found
    assert found.kind is Kind.GAP
    assert "\x1b" not in str(found.message)


@given(st.dictionaries(st.sampled_from(["MESSAGE", "_PID", "_UID", "UNIT", "PRIORITY", "MESSAGE_ID", "_SYSTEMD_UNIT", "N_DROPPED"]), st.one_of(st.none(), st.text(max_size=8), st.lists(st.one_of(st.text(max_size=3), st.integers(-200, 300)), max_size=3))))  # fmt: skip
def test_fields_of_any_kind_are_taken(fields: dict[str, Any]) -> None:
    read(json.dumps({**OUTPUT, **fields}).encode(), KEYS)

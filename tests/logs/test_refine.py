"""Raw entries made records: assembled, attributed, folded, cleaned, counted; nothing lost on the way."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.logs.entry import Entry
from specconsole.logs.peel import peel
from specconsole.logs.record import Kind, Level, LogRecord
from specconsole.logs.refine import Refinery
from tests.logs.journald import as_journald_keeps, capture

HEAD = "INFO 02-05 14:07:01 [core.py:12] "
FAIL = "ERROR 02-05 14:07:01 [core.py:99] "
RUNS = (
    "D0-dense8b-base",
    "D5-dense8b-ngram-k5",
    "E3-moe30b-eagle3-k3",
    "M0-moe30b-base",
    "M0s-moe30b-base-sync",
    "M5-moe30b-ngram-k5",
)


def line(
    text: str | bytes, *, pid: int | None = 100, at: float = 0.0, unit: str = "u", cursor: str = "", **fields: Any
) -> Entry:
    return Entry(at, unit, text, pid=pid, cursor=cursor)._replace(**fields)


def refined(*entries: Entry | str) -> list[LogRecord]:
    refinery = Refinery()
    return refinery.feed([line(entry) if isinstance(entry, str) else entry for entry in entries]) + refinery.end()


def texts(*entries: Entry | str) -> list[str]:
    return [record.text for record in refined(*entries)]


# -- whole logs --


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("batch", [1, 7, 10_000])
def test_recorded_logs_keep_every_line(run: str, batch: int) -> None:
    lines = as_journald_keeps(capture(run))
    refinery = Refinery()
    records: list[LogRecord] = []
    for begin in range(0, len(lines), batch):
        records += refinery.feed([line(raw) for raw in lines[begin : begin + batch]]) + refinery.age()
    records += refinery.end()
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    wanted = Counter(part.text for raw in lines for part in peel(raw))
    shown = Counter(
        text
        for record in records
        for text in ([record.text] if record.kind is Kind.ACCESS else record.text.split("\n"))
    )
    polls = sum(record.folded for record in records)
    assert sum(wanted.values()) == sum(shown.values()) + polls
    assert not {text: count for text, count in (wanted - shown).items() if ' - "GET /' not in text}
    assert len([record for record in records if record.kind is Kind.BAR]) in (12, 20, 22)


def test_a_recorded_failure_is_three_tracebacks() -> None:
    errors = [
        record
        for record in refined(*map(line, as_journald_keeps(capture("engine-dies-after-weights"))))
        if record.level is Level.ERROR
    ]
    assert [(record.process, record.text.split("\n")[0], record.text.split("\n")[-1]) for record in errors] == [
        ("EngineCore", "EngineCore failed to start.", "ModuleNotFoundError: No module named 'flashinfer'"),
        ("EngineCore", "Process EngineCore:", "ModuleNotFoundError: No module named 'flashinfer'"),
        ("APIServer", "Traceback (most recent call last):", "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"),
    ]  # fmt: skip
    assert [len(record.text.split("\n")) for record in errors] == [27, 33, 57]


# -- one message of many lines --


def test_a_traceback_with_a_header_on_each_line() -> None:
    lines = [
        f"(EngineCore pid=1) {FAIL}{text}"
        for text in ("boom", "Traceback (most recent call last):", '  File "x"', "ValueError: no", "and more of it")
    ]
    (record,) = refined(*lines)
    assert record.text == 'boom\nTraceback (most recent call last):\n  File "x"\nValueError: no\nand more of it'
    assert (record.level, record.source, record.process) == (Level.ERROR, "core.py:99", "EngineCore")


def test_the_same_error_twice_within_a_second_is_two() -> None:
    once = [f"{FAIL}boom", f"{FAIL}Traceback (most recent call last):", f"{FAIL}ValueError: no"]
    assert texts(*once, *once) == ["boom\nTraceback (most recent call last):\nValueError: no"] * 2


def test_two_calls_of_one_place_are_two() -> None:
    assert texts(f"{FAIL}first", f"{FAIL}second", f"{HEAD}a", f"{HEAD}b") == ["first", "second", "a", "b"]


def test_indented_lines_of_one_call_are_one() -> None:
    assert texts(f"{HEAD}binding:", f"{HEAD}\tone=1", f"{HEAD}\ttwo=2", f"{HEAD}next") == [
        "binding:\n\tone=1\n\ttwo=2",
        "next",
    ]


def test_chained_raw_tracebacks_are_one() -> None:
    raw = [
        "Process EngineCore:", "Traceback (most recent call last):", '  File "x"', "KeyError: 1",
        "During handling of the above exception, another exception occurred:", "Traceback (most recent call last):", '  File "y"', "ValueError: 2",
        "  with a note below", "unrelated",
    ]  # fmt: skip
    first, second = refined(*raw)
    assert first.text == "\n".join(raw[:-1])
    assert (first.level, second.text, second.level) == (Level.ERROR, "unrelated", Level.INFO)


def test_workers_that_fail_at_once_are_kept_apart() -> None:
    parts = ["Traceback (most recent call last):", '  File "x"', "    y()", "ValueError: {0}"]
    mixed = [line(part.format(pid), pid=pid) for part in parts for pid in (1, 2, 3)]
    assert texts(*mixed) == ["\n".join(parts).format(pid) for pid in (1, 2, 3)]


def test_a_log_that_begins_inside_a_traceback() -> None:
    (record,) = refined('  File "x.py", line 3, in f', "    g()", "ValueError: no")
    assert record.level is Level.ERROR


def test_warnings_take_their_source_line_along() -> None:
    (record,) = refined("/x/a.py:138: FutureWarning: old", "  if hasattr(value):")
    assert (record.text, record.level) == ("FutureWarning: old\n  if hasattr(value):", Level.WARNING)


def test_uvicorns_error_takes_its_traceback_along() -> None:
    (record,) = refined(
        "ERROR:    Exception in ASGI application", "Traceback (most recent call last):", '  File "x"', "KeyError: 1"
    )
    assert (record.source, record.level, record.text.count("\n")) == ("uvicorn", Level.ERROR, 3)


def test_records_leave_in_the_order_of_their_first_lines() -> None:
    entries = [
        line(f"{FAIL}boom", pid=1, cursor="1"),
        line(f"{HEAD}other", pid=2, cursor="2"),
        line(f"{FAIL}Traceback (most recent call last):", pid=1, cursor="3"),
    ]
    assert [(record.seq, record.text.split("\n")[0], record.cursor) for record in refined(*entries)] == [
        (1, "boom", "3"),
        (2, "other", "2"),
    ]


def test_a_line_waits_for_one_more_batch_and_no_longer() -> None:
    refinery = Refinery()
    assert refinery.feed([line(f"{HEAD}one")]) + refinery.age() == []
    assert refinery.feed([line("bar: 10%|#  | 1/10 [00:01<00:09,  1.0it/s]", pid=5)]) == []
    assert [record.text[:3] for record in refinery.age()] == ["one", "bar"]
    assert refinery.feed([line(f"{HEAD}two")]) == []
    assert [record.text for record in refinery.flush()] == ["two"]
    assert refinery.feed([line("  late continuation")]) == []
    assert [record.text for record in refinery.flush()] == ["  late continuation"]


def test_a_message_without_an_end_is_cut() -> None:
    records = refined("Traceback (most recent call last):", *["  x"] * 4500)
    assert [record.text.count("\n") + 1 for record in records] == [2000, 2000, 501]


def test_a_line_that_journald_cut_is_whole_again() -> None:
    parts = [
        line(f"(Worker_TP0 pid=1) {HEAD}" + "a" * 100, cut=True, at=1.0),
        line(f"{HEAD}else", pid=7),
        line("b" * 100, cut=True, at=2.0),
        line("c", at=3.0, cursor="4"),
    ]
    other, whole = refined(*parts)
    assert (whole.text, whole.at, whole.cursor, other.text) == ("a" * 100 + "b" * 100 + "c", 1.0, "4", "else")
    assert [len(record.text) for record in refined(line("d" * 50, cut=True))] == [50]  # its rest never came


# -- who printed it --


def test_bare_lines_get_the_name_and_rank_of_their_pid() -> None:
    first, second, third, other = refined(
        line(
            f"(Worker pid=7) {HEAD}rank 1 in world size 2 is assigned as DP rank 0, PP rank 0, PCP rank 0, TP rank 1, EP rank N/A",
            pid=7,
        ),
        line("terminate called after throwing", pid=7),
        line(f"(Worker_TP1 pid=7) {HEAD}named anew", pid=7),
        line("bare", pid=8),
    )
    assert [(record.process, record.rank, record.pid) for record in (first, second, third)] == [
        ("Worker", 1, 7),
        ("Worker", 1, 7),
        ("Worker_TP1", 1, 7),
    ]
    assert (other.process, other.rank, other.pid) == (None, None, 8)


def test_a_worker_says_its_rank_before_it_has_a_name_for_it() -> None:
    records = refined(
        line(f"(Worker pid=7) {HEAD}world_size=8 rank=5 local_rank=5 distributed_init_method=tcp://x", pid=7),
        line(f"(Worker pid=7) {HEAD}vLLM is using nccl", pid=7),
    )
    assert records[1].rank == 5


def test_in_a_container_the_hosts_pid_names_nobody() -> None:
    named, bare = refined(line(f"(EngineCore pid=7) {HEAD}x", pid=4000), line("bare", pid=4000))
    assert (named.pid, bare.process, bare.pid) == (7, None, 4000)


def test_a_new_start_forgets_who_was_who() -> None:
    old, new = refined(line(f"(EngineCore pid=7) {HEAD}x", pid=7, invocation="a"), line("bare", pid=7, invocation="b"))
    assert (old.process, new.process) == ("EngineCore", None)


def test_last_words_belong_to_the_newest_start() -> None:
    records = refined(
        line("x", invocation="a"),
        line("y", invocation="b"),
        line("late of a", invocation="a"),
        line("last words", pid=3),
    )
    assert [record.invocation for record in records] == ["a", "b", "a", "b"]


# -- our own polls --


def access(
    path: str = "/health", status: int = 200, client: str = "127.0.0.1", at: float = 0.0, method: str = "GET"
) -> Entry:
    return line(f'INFO:     {client}:4000 - "{method} {path} HTTP/1.1" {status} OK', at=at)


def test_our_polls_are_counted() -> None:
    records = refined(*[access(at=float(second)) for second in range(150)])
    assert [(record.at, record.folded) for record in records] == [(0.0, 0), (60.0, 59), (120.0, 59), (149.0, 28)]
    assert sum(1 + record.folded for record in records) == 150


def test_polls_that_stopped_are_counted_before_what_came_later() -> None:
    refinery = Refinery()
    entries = [access(at=0.0), access(at=1.0), access(at=2.0), line(f"{HEAD}x", at=30.0), line(f"{HEAD}y", at=61.0)]
    records = refinery.feed(entries) + refinery.flush()
    assert [(record.at, record.folded) for record in records] == [(0.0, 0), (2.0, 1), (30.0, 0), (61.0, 0)]


def test_a_poll_that_is_late_is_still_of_its_run() -> None:
    every_20_s = [access(at=20.0 * number) for number in range(3)]
    records = Refinery().feed([*every_20_s, line(f"{HEAD}x", at=58.0), access(at=59.0), access(at=61.0)])
    assert [(record.at, record.folded) for record in records] == [(0.0, 0), (58.0, 0), (61.0, 3)]


def test_another_status_is_seen_at_once() -> None:
    records = refined(access(at=0), access(at=1), access(at=2, status=503), access(at=3, status=503))
    assert [(record.at, record.folded, "503" in record.text) for record in records] == [
        (0, 0, False),
        (2, 0, True),
        (1, 0, False),
        (3, 0, True),
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"path": "/v1/chat/completions", "method": "POST"},
        {"client": "10.0.0.1"},
        {"path": "/health?x=1"},
        {"method": "POST"},
        {"path": "/health/"},
    ],
)
def test_others_stay(other: dict[str, Any]) -> None:
    assert len(refined(*[access(at=1.0, **other) for _ in range(5)])) == 5


def test_polls_over_a_unix_socket_and_ipv6_are_ours() -> None:
    bare = [line('INFO:      - "GET /metrics HTTP/1.1" 200 OK') for _ in range(4)]
    assert sum(1 + record.folded for record in refined(*bare)) == 4
    assert len(refined(*bare)) == 2
    assert len(refined(*[access(client="::1") for _ in range(4)])) == 2


# -- what reaches a terminal --


@given(st.lists(st.one_of(st.binary(max_size=60), st.text(max_size=60)), max_size=12))
def test_records_are_harmless_and_countable(raw: list[bytes | str]) -> None:
    records = refined(*[line(text, pid=i % 3) for i, text in enumerate(raw)])
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    for record in records:
        record.text.encode()
        assert not [
            c
            for c in record.text + record.source + (record.process or "")
            if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0
        ]


def test_systemds_lines_and_gaps_pass_as_they_are() -> None:
    (record,) = refined(
        line(
            "vllm.service: Failed with result 'exit-code'.",
            kind=Kind.SYSTEMD,
            level=Level.WARNING,
            source="systemd",
            pid=1,
            message_id="d9",
        )
    )
    assert (record.kind, record.level, record.source, record.message_id, record.pid) == (
        Kind.SYSTEMD,
        Level.WARNING,
        "systemd",
        "d9",
        1,
    )

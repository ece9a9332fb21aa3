"""Eight ranks that say the same at once are one saying; nothing else is."""

from __future__ import annotations

import pytest

from specconsole.logs import rank_fold
from specconsole.logs.rank_fold import RankFold
from specconsole.logs.record import Level, LogRecord


def said(text: str = "loaded", rank: int | None = 0, at: float = 0.0, **fields: object) -> LogRecord:
    values = {"seq": 0, "unit": "a", "process": f"Worker_TP{rank}", "pid": rank, **fields}
    return LogRecord(**{"at": at, "text": text, "rank": rank, **values})  # type: ignore[arg-type]


def leads(*records: LogRecord) -> list[int | None]:
    made = RankFold()
    return [made.feed(record, number) for number, record in enumerate(records)]


def test_ranks_that_say_the_same_follow_the_first_one() -> None:
    assert leads(*(said(rank=rank) for rank in range(4))) == [None, 0, 0, 0]


def test_other_lines_may_stand_between() -> None:
    assert leads(said("a", 0), said("b", 0), said("a", 1), said("none", None), said("b", 1)) == [None, None, 0, None, 1]


@pytest.mark.parametrize(
    "other",
    [
        said("other", 1),
        said(rank=1, level=Level.ERROR),
        said(rank=1, unit="b"),
        said(rank=1, at=11.0),
        said(rank=0),
        said(rank=None),
    ],
)
def test_what_differs_is_no_repetition(other: LogRecord) -> None:
    assert leads(said(), other) == [None, None]


def test_a_rank_that_says_it_again_begins_a_new_saying() -> None:
    assert leads(said(rank=0), said(rank=1), said(rank=0), said(rank=1)) == [None, 0, None, 2]


def test_engines_with_the_same_ranks_are_told_apart() -> None:
    one, two = (said(process=f"Worker_DP{i}_TP0", pid=i) for i in (0, 1))
    assert leads(one, two) == [None, 0]


def test_it_remembers_no_more_than_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_fold, "_OPEN", 3)
    made = RankFold()
    for number in range(9):
        made.feed(said(str(number)), number)
    assert made.feed(said("8", 1), 9) == 8
    assert made.feed(said("2", 1), 10) is None
    assert made.feed(said("x" * 5000, 0), 11) is None
    assert made.feed(said("x" * 5000, 1), 12) is None

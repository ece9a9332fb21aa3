"""What of the log is shown: small steps round and back, words for the title, a filter for the buffer."""

from __future__ import annotations

from specconsole.logs.buffer import Filter
from specconsole.logs.pattern import Pattern
from specconsole.logs.record import Level
from specconsole.ui.log.choice import ALL, Choice, quoted


def test_levels_ranks_and_units_go_round() -> None:
    choice = Choice()
    levels = []
    for _ in range(3):
        choice = choice.next_level()
        levels.append(choice.level)
    assert levels == [Level.WARNING, Level.ERROR, None]
    ranks = [choice := choice.next_rank((0, 1, 7), 1) for _ in range(4)]
    assert [one.rank for one in ranks] == [0, 1, 7, None]
    assert choice.next_rank((0, 1, 7), -1).rank == 7
    units = [choice := choice.next_unit(("a", "b", "c"), "b") for _ in range(4)]
    assert [one.unit for one in units] == ["a", "c", ALL, ""]
    assert Choice().next_unit(("b",), "b").unit == ""


def test_a_rank_that_went_away_leads_back_to_all() -> None:
    assert Choice(rank=9).next_rank((0, 1), 1).rank == 0


def test_the_filter_says_what_was_chosen() -> None:
    assert Choice().filter("a") == Filter(units=frozenset("a"), repeats=False)
    assert Choice(unit="b").filter("a").units == frozenset("b")
    assert Choice(unit=ALL).filter("a").units is None
    assert Choice(folded=False).filter("a").repeats
    assert Choice(rank=3).filter("a").repeats, "a rank's own log holds what it repeats"
    assert Choice(text=Pattern("(", regex=True)).filter("a").text is None, "a wrong expression hides nothing"


def test_what_is_left_out_is_said() -> None:
    choice = Choice(Level.ERROR, 3, "b", Pattern("oom\x1b[2J"))
    assert choice.filters == ("errors", "TP3", '"oom"')
    assert not choice.plain
    assert not Choice(unit="b").plain
    assert choice.cleared().plain
    assert quoted(Pattern("a.b", regex=True)) == "/a.b/"

"""Where the log goes on: what is new, what is missing, and when a host was started anew."""

from __future__ import annotations

from specconsole.logs.entry import Entry
from specconsole.logs.place import Place
from specconsole.logs.query import Query


def entry(number: int, boot: str = "a") -> Entry:
    return Entry(float(number), "u", f"line {number}", cursor=f"c{number}", boot=boot)


def told(*entries: Entry) -> list[str]:
    place = Place(Query({}), "", None, None, 0.0, live=True)
    return [str(one.message) for one in place.take(entries)]


def test_a_line_between_two_boots_says_so_once() -> None:
    assert told(entry(1), entry(2), entry(3, "b"), entry(4, "b")) == [
        "line 1", "line 2", "The host was started anew.", "line 3", "line 4",
    ]  # fmt: skip


def test_an_entry_that_names_no_boot_is_no_new_start() -> None:
    assert told(entry(1), entry(2, ""), entry(3)) == ["line 1", "line 2", "line 3"]
    assert told(entry(1), entry(2, ""), entry(3, "b"))[2:] == ["The host was started anew.", "line 3"]

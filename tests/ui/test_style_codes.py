"""From one style to another by few codes, as terminals read them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from specconsole.ui.paint.style_codes import PLAIN, Style, after, change

BACK = "48;2;16;20;26"
COLOURS = st.sampled_from(["", "31", "94", "38;5;120", "38;2;1;2;3"])
STYLES = st.builds(
    Style,
    st.sets(st.sampled_from("12347"), max_size=2).map(lambda kinds: tuple(sorted(kinds))),
    COLOURS,
    st.sampled_from(["", "41", "102", BACK]),
)


@given(STYLES, STYLES)
def test_a_change_leads_there(before: Style, then: Style) -> None:
    code = change(before, then)
    assert after(before, code[2:-1]) == then if code else before == then
    assert after(before, change(None, then)[2:-1]) == then


def test_only_what_changes_is_asked_for() -> None:
    muted, bright = Style((), "38;2;1;2;3", BACK), Style((), "38;2;4;5;6", BACK)
    assert change(muted, bright) == "\x1b[38;2;4;5;6m"
    assert change(bright, muted._replace(kinds=("1",))) == "\x1b[1;38;2;1;2;3m"
    assert change(bright, PLAIN) == "\x1b[m"


def test_an_attribute_that_ends_is_not_kept() -> None:
    assert change(Style(("1",), "31"), Style((), "31")) == "\x1b[0;31m"


def test_codes_are_read_as_terminals_do() -> None:
    style = after(PLAIN, "1;38;2;1;2;3;48;5;7")
    assert style == (("1",), "38;2;1;2;3", "48;5;7")
    assert after(style, "39;07;91") == (("1", "7"), "91", "48;5;7")
    assert after(style, "0") == after(style, "") == PLAIN


def test_what_is_not_known_is_said_so() -> None:
    assert [after(PLAIN, codes) for codes in ("4:3", "58;5;1", "38;7", "38;5")] == [None] * 4

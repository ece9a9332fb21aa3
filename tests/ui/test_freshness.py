"""Ages: fresh within three intervals and over a link that is up; all else is stale, and nothing stale looks live."""

from __future__ import annotations

import pytest

from specconsole.host.base import Link, LinkKind
from specconsole.ui.freshness import Feed, held_until, judge, label
from specconsole.ui.rows.row import plain

UP = Link(LinkKind.UP, 50.0)


@pytest.mark.parametrize(
    ("feed", "link", "words"),
    [
        (Feed(), UP, "…"),
        (Feed(100.0, 1.0), UP, "<1 s"),
        (Feed(97.5, 1.0), UP, "2 s"),
        (Feed(96.9, 1.0), UP, "◌ stale 3 s"),
        (Feed(99.0, 0.1), UP, "1 s"),
        (Feed(90.0, 5.0), UP, "10 s"),
        (Feed(84.0, 5.0), UP, "◌ stale 16 s"),
        (Feed(99.9, 1.0), Link(LinkKind.STALE, 99.0), "◌ stale <1 s"),
        (Feed(99.9, 1.0), None, "◌ stale <1 s"),
        (Feed(20.0), UP, "live"),
        (Feed(20.0, played=True), UP, "replay"),
        (Feed(97.5, 1.0, played=True), UP, "2 s"),
        (Feed(88.0), Link(LinkKind.LOST, 88.0), "◌ stale 12 s"),
        (Feed(88.0), Link(LinkKind.CONNECTING, 98.0), "◌ stale 12 s"),
        (Feed(20.0, None, "journalctl is missing"), UP, "✖ journalctl is missing"),
        (Feed(None, None, "[/x] no rights"), UP, "✖ [/x] no rights"),
    ],
)
def test_words(feed: Feed, link: Link | None, words: str) -> None:
    assert plain(label(judge(feed, link, 100.2))) == words


@pytest.mark.parametrize("kind", [kind for kind in LinkKind if kind is not LinkKind.UP])
def test_no_data_is_fresh_over_a_link_that_is_not_up(kind: LinkKind) -> None:
    for feed in (Feed(100.0, 1.0), Feed(100.0), Feed()):
        assert judge(feed, Link(kind, 90.0), 100.0).stale


def test_a_source_that_failed_makes_its_data_stale() -> None:
    assert judge(Feed(100.0, 1.0, "it broke"), UP, 100.0).stale


def test_what_comes_on_change_held_until_the_link_broke() -> None:
    feeds = {"units": Feed(20.0), "gpus": Feed(80.0, 1.0), "log": Feed()}
    assert held_until(feeds, 90.0) == {"units": Feed(90.0), "gpus": Feed(80.0, 1.0), "log": Feed()}


def test_what_is_late_in_a_demo_is_so_by_the_viewers_clock() -> None:
    feed = Feed(1000.0, 3.0, pace=60.0)
    assert plain(label(judge(feed, UP, 1060.0))) == "1 s"
    assert not judge(feed, UP, 1170.0).stale
    assert judge(feed, UP, 1190.0).stale

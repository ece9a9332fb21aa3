"""How old what a pane shows is, and whether it may still be taken for the present."""

from __future__ import annotations

from dataclasses import dataclass, replace

from specconsole import text
from specconsole.host.base import Link, LinkKind
from specconsole.ui.rows.row import Row

INTERVALS = 3
"""Data older than this many of its intervals is stale."""


@dataclass(frozen=True)
class Feed:
    """The state of one source of data, as the app keeps it."""

    at: float | None = None
    """Monotonic seconds at which the last data came, or until which it was known to hold; None: nothing yet."""
    interval_s: float | None = None
    """How often data is to come; None: it comes when something changes, and holds while the link is up."""
    problem: str = ""
    """Why the source ended, in one sentence; "" while it runs."""
    pace: float = 1.0
    """How many seconds of the host passed in one of the viewer's when it came: above 1 in a demo only."""
    played: bool = False
    """It comes out of a bundle: nothing of it is now."""


def log_feed(unit: str) -> str:
    """The name of the feed that brings a unit's log, by the unit's key."""
    return f"log {unit}"


@dataclass(frozen=True)
class Freshness:
    """A judgement on a feed at one moment."""

    age_s: float | None
    """None: nothing has come yet, or the data holds until a change is told."""
    stale: bool
    problem: str = ""
    waiting: bool = False
    """Nothing has come yet."""
    pace: float = 1.0
    """How many seconds of the host pass in one of the viewer's."""
    played: bool = False
    """It comes out of a bundle."""


def held_until(feeds: dict[str, Feed], moment: float) -> dict[str, Feed]:
    """The feeds when the link broke: what comes only when it changes held until then."""
    held = {name: feed for name, feed in feeds.items() if feed.interval_s is None and feed.at is not None}
    return {**feeds, **{name: replace(feed, at=moment) for name, feed in held.items()}}


def judge(feed: Feed, link: Link | None, now: float) -> Freshness:
    """Say how fresh a feed's data is; what a dead link cannot renew is stale at once."""
    up = link is not None and link.kind is LinkKind.UP
    if feed.at is None:
        return Freshness(None, stale=not up, problem=feed.problem, waiting=True)
    age = max(now - feed.at, 0.0)
    if feed.interval_s is not None:
        # What is late is so by the viewer's clock: the way from a demo's host to the screen takes as long at any speed.
        least = 0.5 if feed.pace == 1.0 else feed.pace
        late = age > INTERVALS * max(feed.interval_s, least)
        return Freshness(
            age, stale=late or not up or bool(feed.problem), problem=feed.problem, pace=feed.pace, played=feed.played
        )
    if up and not feed.problem:
        return Freshness(None, stale=False, played=feed.played)
    return Freshness(age, stale=True, problem=feed.problem)


def label(fresh: Freshness) -> Row:
    """The words for a pane's title: live (of what is played: replay), <1 s, 2 s, stale 14 s, or why nothing comes."""
    if fresh.problem:
        return (("✖ " + text.one_line(fresh.problem, 60), "bad"),)
    if fresh.waiting:
        return (("…", "muted"),)
    if fresh.stale:
        return ((f"◌ stale {whole(fresh.age_s)}", "stale"),)
    word = "replay" if fresh.played else "live"
    return ((word if fresh.age_s is None else whole(fresh.age_s / fresh.pace), "muted"),)


def whole(seconds: float | None) -> str:
    """An age in whole seconds, so that it does not flicker."""
    if seconds is None:
        return text.UNKNOWN
    return "<1 s" if seconds < 1 else f"{int(seconds)} s" if seconds < 120 else text.age(seconds)

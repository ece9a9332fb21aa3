"""The moments that people write."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timezone

import pytest

from specconsole.errors import UsageError
from specconsole.logs.since import parse

NOW = datetime(2026, 11, 29, 15, 30, 20, tzinfo=timezone.utc).timestamp()


@pytest.fixture(params=["UTC", "Asia/Tokyo"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with monkeypatch.context() as there:
        there.setenv("TZ", request.param)
        time.tzset()
        yield str(request.param)
    time.tzset()


@pytest.mark.parametrize(
    ("text", "back"),
    [("10m", 600), ("2h", 7200), ("1h30m", 5400), ("90s", 90), ("3d", 259200), ("1w", 604800), ("0.5h", 1800), ("10 min ago", 600), ("-10m", 600), ("2 days", 172800), ("now", 0), ("0m", 0), ("5 minutes ago", 300), ("2 hours", 7200), ("1 hour 30 minutes ago", 5400), ("45 seconds", 45), ("2weeks", 1209600), ("1hr", 3600)],
)  # fmt: skip
def test_spans(text: str, back: float) -> None:
    assert parse(text, NOW) == NOW - back


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-29 14:00", "2026-11-29 14:00:00"),
        ("2026-11-29T14:00:05", "2026-11-29 14:00:05"),
        ("2026-11-28", "2026-11-28 00:00:00"),
        ("2026-11-29 00:30", "2026-11-29 00:30:00"),
    ],
)
def test_without_a_zone_it_is_the_readers_time(zone: str, text: str, moment: str) -> None:
    assert datetime.fromtimestamp(parse(text, NOW)).strftime("%Y-%m-%d %H:%M:%S") == moment


@pytest.mark.parametrize("text", ["999999999999h", "@-5", "1960-01-01"])
def test_what_no_journal_can_hold_is_all_of_it(text: str) -> None:
    assert parse(text, NOW) == 0.0


def test_hours_are_of_today(zone: str) -> None:
    today = datetime.fromtimestamp(NOW).date()
    assert datetime.fromtimestamp(parse("00:10", NOW)) == datetime(today.year, today.month, today.day, 0, 10)
    assert datetime.fromtimestamp(parse("today", NOW)) == datetime(today.year, today.month, today.day)
    assert parse("today", NOW) - parse("yesterday", NOW) == 86400


@pytest.mark.parametrize("text", ["2026-11-29T14:00Z", "2026-11-29 14:00 UTC", "2026-11-29T16:00+02:00", "@1795960800"])
def test_a_zone_counts(zone: str, text: str) -> None:
    assert parse(text, NOW) == 1795960800


@pytest.mark.parametrize(
    "text", ["", "soon", "10", "m", "25:00", "2026-13-01", "@x", "10m later", "nan", "@nan", "@inf"]
)
def test_what_is_no_time_is_said_with_what_is(text: str) -> None:
    with pytest.raises(UsageError, match="last start"):
        parse(text, NOW)


@pytest.mark.parametrize("text", ["2026-12-24", "2026-11-29T15:31:00Z", "@1795999999"])
def test_what_lies_ahead_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="lies ahead"):
        parse(text, NOW)

"""The recent starts of a unit, by what its manager said of them in the journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from specconsole.host.base import Host, HostFacts
from specconsole.logs.permit import permit
from specconsole.logs.query import all_said, ask_for
from specconsole.logs.source import Source
from specconsole.remote import outside
from specconsole.text import one_line, whole_number

WORDS = 400
"""Entries that are read: a start and its end take four to eight."""

_STARTING = "7d4958e842da4a758f6c1cdc7b36dcc5"
_STARTED = "39f53479d3a045ac8e11786248231fbf"
_ENDS = {
    "9d1aaa27d60140bd96365438aad20286": "stopped",
    "7ad2d189f7e94e70a38c781354912448": "ended by itself",
    "98e322203f7a4ed290d09fe03c09fe15": "ended",
    "d9b373ed55a64feb8242e02dbe79a49c": "failed",
    "be02cf6855d2428ba40df7e9d022f03d": "failed",
}
"""MESSAGE_IDs of what a manager says when a unit ends (systemd's sd-messages.h), and the word for each."""
_GRAVITY = ("", "ended", "ended by itself", "stopped", "failed")
"""Several of them come for one end; the last of this order tells most."""


@dataclass(frozen=True)
class Start:
    """One start of a unit; times are seconds since the epoch by the host's clock."""

    invocation: str
    """systemd's id of it; "" where the journal does not tell."""
    began: float
    ended: float | None = None
    """When the manager said that it ended; None: it did not say so."""
    how: str = ""
    """stopped, ended by itself, ended or failed; "" while it runs, or when nothing was said."""
    said: str = ""
    """The manager's own words for a failure."""


async def recent(host: Host, source: Source, facts: HostFacts) -> tuple[Start, ...]:
    """Read the recent starts of a unit, the newest first.

    Raises:
        NotPermitted: this login may not read the journal.
        NotRunning: there is no such user.
        CommandFailed: journalctl is missing or fails.
        LinkLost: the link is down.
    """
    await permit(host, [source], facts)
    (owner,) = (await ask_for(host, [source])).keys
    done = (await host.run(all_said(owner, WORDS), deadline_s=30)).check()
    return told(done.text.splitlines())


def told(lines: Iterable[str]) -> tuple[Start, ...]:
    """Make starts of a manager's words, given as journalctl's JSON, oldest first; returns the newest first."""
    starts: dict[str, Start] = {}
    last = ""
    for line in lines:
        value = _entry(line)
        if value is None:
            continue
        kind = str(value.get("MESSAGE_ID", ""))
        at = int(value["__REALTIME_TIMESTAMP"]) / 1_000_000
        invocation = str(value.get("INVOCATION_ID") or value.get("USER_INVOCATION_ID") or "")
        # Without an id (before systemd 234) a start goes on until the next one begins.
        key = invocation or (f"at {at}" if kind == _STARTING or not last else last)
        if key not in starts and kind in (_STARTING, _STARTED):
            starts[key] = Start(invocation, at)
        last = key
        if kind in _ENDS and key in starts:
            starts[key] = _ended(starts[key], at, _ENDS[kind], one_line(str(value.get("MESSAGE", "")), 200))
    return tuple(sorted(starts.values(), key=lambda start: -start.began))


def _ended(start: Start, at: float, how: str, said: str) -> Start:
    graver = _GRAVITY.index(how) >= _GRAVITY.index(start.how)
    words = said if how in ("failed", "ended") and graver else start.said
    return replace(start, ended=at, how=how if graver else start.how, said=words)


def _entry(line: str) -> Mapping[str, Any] | None:
    try:
        value = outside.parse(line)
    except ValueError:
        return None
    if not isinstance(value, dict) or whole_number(str(value.get("__REALTIME_TIMESTAMP"))) is None:
        return None
    return value

"""What a bundle tells beside what can be played: the doctor's checks as they were, and what was remembered of the host.

Like all of a bundle it may come from anybody: what is damaged is said to be so, and never passes for good.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from shlex import quote

from specconsole.errors import UsageError
from specconsole.history import exchange
from specconsole.history.entry import Load, Swap
from specconsole.history.exchange import Entry
from specconsole.host.simulated.replay import bundle
from specconsole.remote import outside
from specconsole.service.check import Check, Level
from specconsole.text import clean, one_line

MOST = 1000
"""Checks, and records of each kind, that are believed."""
SETTINGS = (
    *("FragmentPath", "Type", "Restart", "TimeoutStartUSec", "TimeoutStopUSec", "KillMode", "OOMPolicy"),
    *("UnitFileState", "NeedDaemonReload"),
)
"""Properties that tell how a unit is set up; the others tell how it is."""
_LONGEST = 4000
"""Characters of one part of a check."""


@dataclass(frozen=True)
class Collected:
    """What was collected with the log."""

    host: str
    """The host that it is about, as a command names it."""
    made: float
    """When, in seconds since the epoch."""
    checks: tuple[Check, ...] = ()
    """(): the bundle holds none, or none that can be read."""
    loads: tuple[Load, ...] = ()
    swaps: tuple[Swap, ...] = ()
    damaged: int = 0
    """Records of the history that could not be read."""
    properties: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What systemctl said of each unit's settings, by key."""


def collected(parts: Mapping[str, bytes]) -> Collected:
    """Read it from the files of a bundle, by name. Raises UsageError: it is no bundle."""
    about, told = _object(parts.get("bundle.json")), _object(parts.get("history.json"))
    made = about.get("made")
    if isinstance(made, bool) or not isinstance(made, (int, float)):
        raise UsageError("This is no bundle of specconsole.", "`specconsole bundle HOST` makes one.")
    loads, swaps = list(_entries(told, "load")), list(_entries(told, "swap"))
    return Collected(
        host=one_line(str(about.get("typed") or quote(str(about.get("host") or "unknown"))), 200),
        made=float(made),
        checks=tuple(_check(value) for value in _list(_object(parts.get("doctor.json")), "checks")),
        loads=tuple(one for one in loads if isinstance(one, Load)),
        swaps=tuple(one for one in swaps if isinstance(one, Swap)),
        damaged=sum(one is None for one in (*loads, *swaps)),
        properties=dict(_properties(parts)),
    )


def _properties(parts: Mapping[str, bytes]) -> Iterator[tuple[str, Mapping[str, str]]]:
    for unit in _list(_object(parts.get("units.json")), "units"):
        if isinstance(unit, dict) and isinstance(key := unit.get("key"), str):
            told = bundle.shown(parts, key)
            yield key, {name: one_line(told[name], 200) for name in SETTINGS if told.get(name)}


def _object(content: bytes | None) -> Mapping[str, object]:
    try:
        value = outside.parse(content or b"{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _list(told: Mapping[str, object], name: str) -> Sequence[object]:
    found = told.get(name)
    return found[:MOST] if isinstance(found, list) else ()


def _check(value: object) -> Check:
    names = ("name", "found", "works", "fails", "fix")
    said = value if isinstance(value, dict) else {}
    words = {name: clean(text)[:_LONGEST] for name in names if isinstance(text := said.get(name), str)}
    level = next((one for one in Level if one.value == said.get("level")), Level.UNKNOWN)
    return Check(words.pop("name", "?"), level, words.pop("found", "This check of the bundle is damaged."), **words)


def _entries(told: Mapping[str, object], kind: str) -> Iterator[Entry | None]:
    """The records of a kind; None for one that is damaged."""
    head = json.dumps({exchange.MARK: exchange.FORMAT}).encode()
    for value in _list(told, f"{kind}s"):
        line = json.dumps({**value, "kind": kind} if isinstance(value, dict) else value).encode()
        try:
            yield from (entry for _, entry in exchange.read((head, line)))
        except UsageError:
            yield None

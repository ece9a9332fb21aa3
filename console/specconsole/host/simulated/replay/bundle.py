"""The parts of a bundle, read with care: it may come from anybody."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specconsole.errors import UsageError
from specconsole.remote import outside

Values = Mapping[str, Any]

_SCRAPED = re.compile(r"# scraped at (\d{1,12}(?:\.\d+)?)\n")
_LATEST = 1e11
"""Seconds since the epoch after which nothing is a date."""


@dataclass(frozen=True)
class Bundle:
    """What was collected of a host; what is missing or damaged is empty."""

    host: str
    made: float
    """Seconds since the epoch."""
    units: Mapping[str, Values]
    """The definition of each unit by its key, in their order."""
    shows: Mapping[str, Mapping[str, str]]
    """What systemctl said of each at the end."""
    records: Mapping[str, Sequence[Values]]
    """The log of each, in order."""
    frames: Sequence[Values]
    """Samples of the host, in order."""
    pages: Mapping[str, Sequence[tuple[float, str]]]
    """The metrics of each with the moment at which they were read, in order."""


def read(parts: Mapping[str, bytes]) -> Bundle:
    """Read the files of a bundle, by name.

    Raises:
        UsageError: it is no bundle, or holds nothing that can be played.
    """
    about, told = _object(parts.get("bundle.json")), _object(parts.get("units.json"))
    if about.get("bundle") != 1 or not _is_moment(about.get("made")):
        raise UsageError("This is no bundle of specconsole.", "`specconsole bundle HOST` makes one.")
    units = {str(unit["key"]): unit for unit in told.get("units", ()) if isinstance(unit, dict) and _is_unit(unit)}
    if not units:
        raise UsageError(
            "This bundle tells of no unit, so there is nothing to play.", "`specconsole explain` reads it."
        )
    names = {key: _plain(key) for key in units}
    return Bundle(
        host=str(about.get("host") or "unknown")[:100],
        made=float(about["made"]),
        units=units,
        shows={key: shown(parts, key) for key in units},
        records={key: list(_records(parts.get(f"log-{name}.jsonl", b""))) for key, name in names.items()},
        frames=sorted(_frames(parts.get("samples.jsonl", b"")), key=lambda frame: float(frame["t"])),
        pages={key: sorted(_pages(parts, f"metrics-{name}-")) for key, name in names.items()},
    )


def _plain(key: str) -> str:
    """A unit's key as the names of its files have it."""
    return "".join(character if character.isalnum() or character in "-_.@" else "_" for character in key)[:120]


def _object(content: bytes | None) -> Values:
    try:
        value = outside.parse(content or b"{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _is_unit(value: Values) -> bool:
    argv = value.get("argv")
    return (
        isinstance(value.get("key"), str)
        and isinstance(value.get("name"), str)
        and isinstance(argv, list)
        and bool(argv)
        and all(isinstance(word, str) for word in argv)
    )


def _is_moment(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < _LATEST


def shown(parts: Mapping[str, bytes], key: str) -> Mapping[str, str]:
    """What systemctl said of a unit, by property."""
    lines = parts.get(f"unit-{_plain(key)}.txt", b"").decode(errors="replace").splitlines()
    return {name: value for name, equals, value in (line.partition("=") for line in lines) if equals}


def _records(content: bytes) -> Iterator[Values]:
    for line in content.splitlines():
        value = _object(line)
        if _is_moment(value.get("at")) and isinstance(value.get("text"), str):
            yield value


def _frames(content: bytes) -> Iterator[Values]:
    for line in content.splitlines():
        value = _object(line)
        gpus, host = value.get("gpus"), value.get("host", {})
        shaped = isinstance(gpus, list) and all(isinstance(gpu, dict) for gpu in gpus) and isinstance(host, dict)
        if shaped and _is_moment(value.get("t")) and _is_moment(value.get("mono")):
            yield value


def _pages(parts: Mapping[str, bytes], begin: str) -> Iterator[tuple[float, str]]:
    for name, content in parts.items():
        text = content.decode(errors="replace") if name.startswith(begin) else ""
        if (found := _SCRAPED.match(text)) and _is_moment(float(found[1])):
            yield float(found[1]), text[found.end() :]

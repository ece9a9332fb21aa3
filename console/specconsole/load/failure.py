"""How a failure is recognised in one line of a log, and what is said of it; the rows are in `failures`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache

from specconsole.load.diagnosis import Number
from specconsole.text import one_line


@cache
def compiled(text: str) -> re.Pattern[str]:
    """An expression of the table."""
    return re.compile(text)


class Rank(IntEnum):
    """How much a line tells of the cause."""

    CONSEQUENCE = 0
    """It only says that something else failed."""
    WRAPPER = 1
    """It says which step failed; why stands in another line, if anywhere."""
    CAUSE = 2


@dataclass(frozen=True)
class Failure:
    """One way in which a line tells a failure; several rows may share a name."""

    name: str
    """Stable: kv_cache_too_small, port_in_use …"""
    title: str
    pattern: str
    """Searched in the line; its named groups are vLLM's numbers. Compiled when it is first needed: a start of the
    program should not wait for a hundred expressions."""
    sentence: tuple[str, ...] = ()
    """Templates over the numbers; the first whose numbers are all known is said."""
    advice: tuple[str, ...] = ()
    """Templates, the smallest change first; those whose numbers are not known are left out."""
    option: str = ""
    """A template of the change itself, to paste."""
    phase: str = ""
    """The phase, where the failure belongs to one."""
    within: str = ""
    """Must also be found in the whole message, a traceback's frames included."""
    facts: Mapping[str, Number] = field(default_factory=dict)
    """What follows from the row itself."""
    rank: Rank = Rank.CAUSE

    def numbers(self, line: str, message: str) -> dict[str, Number] | None:
        """The numbers in a line, or None when the row does not fit."""
        found = compiled(self.pattern).search(line)
        if found is None or (self.within and not compiled(self.within).search(message)):
            return None
        given = {name: number_of(name, text) for name, text in found.groupdict().items() if text is not None}
        return {**self.facts, **{name.removesuffix("_word"): value for name, value in _converted(given).items()}}


def row(
    name: str,
    title: str,
    pattern: str,
    sentence: str | tuple[str, ...] = (),
    advice: str | tuple[str, ...] = (),
    option: str = "",
    *,
    phase: str = "",
    within: str = "",
    facts: Mapping[str, Number] | None = None,
    rank: Rank = Rank.CAUSE,
) -> Failure:
    """Write a row of the table shortly."""
    return Failure(
        name,
        title,
        pattern,
        (sentence,) if isinstance(sentence, str) else sentence,
        (advice,) if isinstance(advice, str) else advice,
        option,
        phase,
        within,
        facts or {},
        rank,
    )


def number_of(name: str, text: str) -> Number:
    """A number as vLLM prints it, 262,144 or 3.18; anything else, and what is called a word, stays text."""
    plain = text.replace(",", "").rstrip(".")
    if len(plain) <= 20 and not name.endswith(("_word", "_arch")):
        if re.fullmatch(r"-?\d+", plain):
            return int(plain)
        if re.fullmatch(r"-?\d*\.\d+", plain):
            return float(plain)
    return one_line(text, 200)


def _converted(numbers: dict[str, Number]) -> dict[str, Number]:
    """Sizes of an allocation, which torch prints in MiB when they are small, in GiB as the others are."""
    found: dict[str, Number] = {}
    allocation = any(name.startswith("tried_") for name in numbers)
    for name, value in numbers.items():
        if allocation and name.endswith("_mib") and isinstance(value, int | float):
            found[name.replace("_mib", "_gib")] = round(value / 1024, 3)
        else:
            found[name] = value
    return found


def said(template: str, numbers: Mapping[str, Number]) -> str | None:
    """Fill in a template, or the first of its forms; None when a number is not known, or none where one is needed."""
    return next((text for form in template.split(" || ") if (text := _filled(form, numbers)) is not None), None)


def _filled(form: str, numbers: Mapping[str, Number]) -> str | None:
    try:
        return one_line(form.format_map(dict(numbers)), 600)
    except (KeyError, ValueError, IndexError):
        return None

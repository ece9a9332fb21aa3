"""The command line as data: what every verb takes, read off its parser, for completion scripts and the manual page."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from specconsole.verb.grammar import VERBS, Parser, reader

_BY_DEST = {
    "profile": "profile",
    "theme": "theme",
    "scenario": "scenario",
    "level": "level",
    "plan": "plan",
    "name": "profile",
}
_BY_METAVAR = {
    "HOST": "host", "HOSTS": "hosts", "UNIT": "unit", "U": "unit", "TARGET": "unit", "BASELINE": "unit",
    "FILE": "file", "RUN": "file", "FOLDER": "folder", "NAME": "", "ARG": "file",
}  # fmt: skip
FILES = ("file", "folder")
"""Kinds that a shell completes by itself; a profile or plan may be a file too."""


@dataclass(frozen=True)
class Value:
    """What stands behind an option, or in a place of its own."""

    name: str
    """As help calls it: HOST."""
    kind: str
    """host, unit, file … or "": nothing is known of it."""
    choices: tuple[str, ...] = ()
    many: bool = False


@dataclass(frozen=True)
class Option:
    """One option."""

    names: tuple[str, ...]
    """-p, --port."""
    help: str
    value: Value | None
    """None: a flag."""


@dataclass(frozen=True)
class Syntax:
    """One verb."""

    verb: str
    line: str
    options: tuple[Option, ...]
    places: tuple[Value, ...]
    parser: Parser


def syntax() -> tuple[Syntax, ...]:
    """Every verb, in the order of help."""
    return tuple(of(name) for name in VERBS)


def of(name: str) -> Syntax:
    """One verb."""
    parser = reader(name)
    options = [
        Option(tuple(action.option_strings), plain(action.help), None if action.nargs == 0 else _value(action))
        for action in parser._actions
        if action.option_strings
    ]
    places = [_value(action) for action in parser._actions if not action.option_strings]
    return Syntax(name, VERBS[name], tuple(options), tuple(places), parser)


def plain(help_: str | None) -> str:
    """An option's help as a person reads it."""
    return (help_ or "").replace("%%", "%")


def _value(action: argparse.Action) -> Value:
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    name = metavar or (action.dest.upper() if action.option_strings else action.dest)
    kind = _BY_DEST.get(action.dest) or _BY_METAVAR.get(metavar, "")
    choices = tuple(str(choice) for choice in action.choices or ())
    return Value(name, "" if choices else kind, choices, action.nargs in ("+", "*"))

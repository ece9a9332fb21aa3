"""The environment that systemd gives a service: Environment=, then the files of EnvironmentFile=."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ESCAPABLE = '"\\`$\n'


def assignments(words: list[str]) -> dict[str, str]:
    """Read NAME=VALUE words; others mean nothing."""
    pairs = (word.partition("=") for word in words)
    return {name: value for name, equals, value in pairs if equals and _NAME.match(name)}


def parse_file(text: str) -> dict[str, str]:
    """Read a file of EnvironmentFile=: shell-like quotes and continued lines, but no variables and no `export`."""
    values: dict[str, str] = {}
    at = 0
    while at < len(text):
        while at < len(text) and text[at] in " \t\n\r":
            at += 1
        if text[at : at + 1] in ("#", ";"):
            at = _end_of_line(text, at)
            continue
        end = _end_of_line(text, at)
        name, equals, _ = text[at:end].partition("=")
        if not equals:
            at = end
            continue
        value, at = _value(text, at + len(name) + 1)
        if _NAME.match(name.strip()):
            values[name.strip()] = value
    return values


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _value(text: str, at: int) -> tuple[str, int]:
    """Read a value to the end of its line. Quotes count only where a value or a part of it begins."""
    value: list[str] = []
    kept = 0  # so many pieces are quoted or escaped: blanks at their end stay
    quote = ""
    begins = True
    while at < len(text):
        char, following = text[at], text[at + 1 : at + 2]
        at += 1
        if quote == "'" and char != quote:
            value.append(char)
        elif quote and char == quote:
            quote, begins, kept = "", True, len(value)
        elif char == "\\" and following:
            at += 1
            kept_as_is = quote and following not in _ESCAPABLE
            value.append("" if following == "\n" else char + following if kept_as_is else following)
            begins, kept = begins and bool(quote), len(value)
        elif quote:
            value.append(char)
        elif char == "\n":
            break
        elif begins and char in "\"'":
            quote = char
        elif not (begins and char in " \t"):
            value.append(char)
            begins = False
    return "".join(value[:kept]) + "".join(value[kept:]).rstrip(" \t\r"), at

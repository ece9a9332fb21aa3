"""What the verbs write to standard output: JSON, JSON lines, and plain tables of cleaned text."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import PurePath

from specconsole import glyph
from specconsole.errors import CannotWrite
from specconsole.text import CONTROLS, clean, one_line, reason

SCHEMA = 1
"""The version of every JSON document that a verb writes; it changes when a key changes its meaning or goes."""


def plain(value: object) -> object:
    """Turn dataclasses, enums, tuples, sets and paths into what JSON has; a number that is none becomes null."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item) for item in value), key=str)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, PurePath):
        return str(value)
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def document(value: object) -> dict[str, object]:
    """Make one JSON document: the schema's version first, then the keys of a mapping or the fields of a dataclass."""
    body = plain(value)
    return {"schema": SCHEMA, **body} if isinstance(body, dict) else {"schema": SCHEMA, "items": body}


def write_json(value: object) -> None:
    """Write one indented JSON document."""
    write(_harmless(json.dumps(document(value), indent=2, ensure_ascii=not speaks_utf8())) + "\n")


def write_json_line(value: object) -> None:
    """Write one JSON document as a line of its own, at once: a reader behind a pipe sees it now."""
    write(_harmless(json.dumps(document(value), separators=(",", ":"), ensure_ascii=not speaks_utf8())) + "\n")


def _harmless(text: str) -> str:
    """Spell what a terminal obeys, or shows out of order, as JSON's own \\uXXXX; the document means the same."""
    return text if text.isascii() and "\x7f" not in text else CONTROLS.sub(_spelt, text)


def _spelt(found: re.Match[str]) -> str:
    return found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}"


def speaks_utf8() -> bool:
    """Whether standard output takes every character; where it does not, letters alone can be relied on.

    Raises:
        CannotWrite: it is closed.
    """
    check_open()
    return (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"


def write_text(text: str = "") -> None:
    """Write lines for people, made harmless for their terminal."""
    write(clean(text) + "\n")


def check_open() -> None:
    """Raise CannotWrite where whoever started us has closed standard output (`>&-`): Python then has none."""
    if sys.stdout is None:
        raise CannotWrite("The output cannot be written: standard output is closed.", hint="Send it elsewhere.")


def at_terminal() -> bool:
    """Whether a person can be shown a screen and answer: standard input and output are a terminal, and not closed."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def write(text: str) -> None:
    """Write and flush; raises BrokenPipeError with standard output already turned away from the closed pipe."""
    check_open()
    with quiet_pipe():
        # A terminal or file that is not UTF-8 must not end the program, and should still be read.
        sys.stdout.write(glyph.within(text, sys.stdout.encoding or "utf-8"))
        sys.stdout.flush()


def write_bytes(content: bytes) -> None:
    """Write bytes as they are, and flush; raises as `write`."""
    check_open()
    with quiet_pipe():
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


@contextmanager
def quiet_pipe() -> Iterator[None]:
    """Let a reader that has gone end the program without a second complaint at exit (docs.python.org, SIGPIPE note).

    Raises:
        BrokenPipeError: it has gone.
        CannotWrite: the output cannot be written, as on a full disk.
    """
    try:
        yield
    except BrokenPipeError:
        _turn_away()
        raise
    except OSError as error:
        _turn_away()
        raise CannotWrite(f"The output cannot be written: {reason(error)}.", hint="Send it elsewhere.") from error


def _turn_away() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def width(text: str) -> int:
    """Columns that a terminal uses for a text: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def table(header: Sequence[str], rows: Iterable[Sequence[object]], *, right: Iterable[int] = ()) -> str:
    """Lay out cells in columns two blanks apart; `right` names the columns, by index, whose cells stand right."""
    cells = [[one_line(str(cell)) for cell in row] for row in [header, *rows]]
    widths = [max(width(row[i]) for row in cells) for i in range(len(header))]
    stand_right = set(right)
    lines = []
    for row in cells:
        padded = []
        for i, cell in enumerate(row):
            gap = " " * (widths[i] - width(cell))
            padded.append(gap + cell if i in stand_right else cell + gap)
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


class Overwritten:
    """One line on standard error that each newer one overwrites, until lines that stay are written."""

    def __init__(self) -> None:
        self._cells = 0

    def show(self, line: str) -> None:
        """Write it over the one before."""
        self.clear()
        self._cells = width(line)
        sys.stderr.write(line)
        sys.stderr.flush()

    def clear(self) -> None:
        """Leave a clean line."""
        if self._cells:
            sys.stderr.write("\r" + " " * self._cells + "\r")
            sys.stderr.flush()
            self._cells = 0

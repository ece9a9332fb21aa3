"""Files opened, recognised and read; logs of any size in pieces, all else up to a bound."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from typing import BinaryIO

from specconsole.errors import UsageError
from specconsole.explain.archive import opened
from specconsole.explain.judge import judge
from specconsole.explain.kind import Kind
from specconsole.explain.log import LogReader, LogReading
from specconsole.explain.paste import Paste
from specconsole.explain.readings import Readings, take
from specconsole.explain.recognise import HEAD, recognise
from specconsole.explain.report import FileSeen, Report
from specconsole.logs.redact import mask
from specconsole.logs.stamp import year_in
from specconsole.text import one_line, short_numbers, strip_escapes

WHOLE = 32 << 20
"""Bytes of a file that is no log; what is beyond is not read, and that is said."""
PIECE = 1 << 20
_LONG = 300
_DIGITS = re.compile(rb"[0-9]{300,}")
LONGEST = 1 << 20
"""Bytes of one line; what is longer is cut into several."""


def explain(files: Iterator[tuple[str, BinaryIO]]) -> Report:
    """Read files, each as (name, open file), and judge them together.

    Raises:
        UsageError: one cannot be read, or is packed and broken.
    """
    readings = Readings()
    for name, file in files:
        _whole(readings, name, file)
    return judge(readings)


def _whole(readings: Readings, name: str, file: BinaryIO) -> None:
    try:
        for inner, content in opened(name, file):
            _read(readings, one_line(inner, 200), content)
    except tarfile.TarError as error:  # a member that is cut, which whoever reads it finds
        raise UsageError(f"{name} is a broken archive.", f"{error}.") from error
    except OSError as error:  # a disk or a server behind the file that fails on the way
        raise UsageError(f"{name} cannot be read.", f"{error.strerror or error}.") from error


def _read(readings: Readings, name: str, file: BinaryIO) -> None:
    head = file.read(HEAD)
    kind = recognise(head)
    if kind in (Kind.LOG, Kind.RECORDS):
        readings.logs.append(_log(name, head, file, records=kind is Kind.RECORDS))
        readings.files.append(FileSeen(name, kind.value, kind.title))
        return
    rest = file.read(WHOLE) if len(head) == HEAD else b""
    cut = len(rest) == WHOLE and bool(file.read(1))
    text = short_numbers(mask(strip_escapes((head + rest).decode(errors="replace"))).replace("\r\n", "\n"))
    said = take(readings, kind, text)
    if cut:
        said = f"{said}; only its first 32 MiB were read".lstrip("; ")
    readings.files.append(FileSeen(name, kind.value, kind.title, one_line(said, 200)))


def _log(name: str, head: bytes, file: BinaryIO, *, records: bool) -> LogReading:
    reader, paste = LogReader(name, year_in(head)), Paste(head)
    rest = b""
    piece = head
    while piece:
        *lines, rest = (rest + piece).split(b"\n")
        lines = [_short(line) if len(line) >= _LONG else line for line in lines]
        if records:
            reader.feed_records(lines)
        else:
            reader.feed(paste.mend(lines))
        if len(rest) > LONGEST:
            reader.feed(paste.mend([_short(rest)]))
            rest = b""
        piece = file.read(PIECE)
    reader.feed(paste.mend([_short(rest)] if rest else []))
    reader.feed(paste.end())
    return reader.end()


def _short(line: bytes) -> bytes:
    return _DIGITS.sub(lambda found: found[0][:20] + b"~", line)

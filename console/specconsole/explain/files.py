"""Files opened, recognised and read; logs of any size in pieces, all else up to a bound."""

from __future__ import annotations

import codecs
import re
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
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
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""What a PowerShell writes that a log is redirected in."""
PIECE = 1 << 20
_LONG = 300
_DIGITS = re.compile(rb"[0-9]{300,}")
_ANY_NUMBER = (Kind.BENCH_TEXT, Kind.BENCH_JSON, Kind.AIPERF, Kind.GUIDELLM)
"""Their readers judge a number of any length, and one that is cut would be no JSON any more."""
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
    cuts: list[str] = []
    before = len(readings.files)
    try:
        for inner, content in opened(name, file, cuts.append):
            _read(readings, one_line(inner, 200), content)
            _remark(readings, cuts)
    except tarfile.TarError as error:  # a member that is cut, which whoever reads it finds
        if not cuts or len(readings.files) == before:
            raise UsageError(f"{name} is a broken archive.", f"{error}.") from error
        _remark(readings, [f"{cuts[0]}, and the files behind this one"])
    except OSError as error:  # a disk or a server behind the file that fails on the way
        raise UsageError(f"{name} cannot be read.", f"{error.strerror or error}.") from error


def _remark(readings: Readings, cuts: list[str]) -> None:
    """Say of the file that was read last how it ended."""
    if cuts:
        last = readings.files[-1]
        readings.files[-1] = replace(last, note=one_line("; ".join(filter(None, (*cuts[:1], last.note))), 200))


def _read(readings: Readings, name: str, file: BinaryIO) -> None:
    head = file.read(HEAD)
    if head.startswith(codecs.BOM_UTF8):  # it would hide the first line, and with it when the log begins
        head = head[len(codecs.BOM_UTF8) :] + file.read(len(codecs.BOM_UTF8))
    if head[:2] in _UTF16:
        file = BytesIO((head + file.read(WHOLE)).decode("utf-16", errors="replace").encode())
        head = file.read(HEAD)
    kind = recognise(head)
    if kind in (Kind.LOG, Kind.RECORDS):
        readings.logs.append(_log(name, head, file, records=kind is Kind.RECORDS))
        readings.files.append(FileSeen(name, kind.value, kind.title))
        return
    rest = file.read(WHOLE) if len(head) == HEAD else b""
    cut = len(rest) == WHOLE and bool(file.read(1))
    text = mask(strip_escapes((head + rest).decode(errors="replace"))).replace("\r\n", "\n")
    if kind not in _ANY_NUMBER:
        text = short_numbers(text)
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

"""The history written to a file and taken in from one: private, whole or not at all, the same records once."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from specconsole.errors import UsageError
from specconsole.history import exchange
from specconsole.history.entry import Experiment, Load, Run, Swap
from specconsole.history.store import Store
from specconsole.paths import new_file
from specconsole.text import reason

MOST_BYTES = 4 << 30
"""Of a file, unpacked: what grows beyond it is refused."""
_ALL = -1


@dataclass(frozen=True)
class Merged:
    """What a file brought."""

    new: Mapping[str, int]
    """How many loads, swaps, runs and experiments were not known before."""
    read: int
    """How many records the file holds, without those that were refused."""
    refused: tuple[str, ...] = ()
    """Which records were refused and why: file, line, kind and field, each in a sentence."""


def save(
    store: Store, path: Path, mask: Callable[[object], object], host: str | None = None, unit: str | None = None
) -> int:
    """Write all that is remembered (of a host, of a unit) to a new file, packed where its name ends in .gz.

    Raises:
        UsageError: the file exists, or cannot be written.
        HistoryUnavailable: the history cannot be read.
    """
    # Other users must not read what units were started with.
    with new_file(path) as plain, _packed(path, plain) as file:
        return write(store, file, mask, host, unit)


def write(
    store: Store, file: BinaryIO, mask: Callable[[object], object], host: str | None = None, unit: str | None = None
) -> int:
    """Write it to what is open, and return how many records that are. Raises OSError and HistoryUnavailable."""
    count = 0
    for line in exchange.write(_entries(store, host, unit), mask):
        file.write(line.encode() + b"\n")
        count += 1
    return count - 1  # the head


def _packed(path: Path, plain: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, gzip.GzipFile(fileobj=plain, mode="wb")) if path.suffix == ".gz" else plain


def _entries(store: Store, host: str | None, unit: str | None) -> Iterator[exchange.Entry]:
    yield from store.loads(host, unit, _ALL)
    yield from store.swaps(host, unit, _ALL)
    for short in store.runs(host, unit, _ALL):
        whole = store.run(short.id) if short.id is not None else None
        if whole is not None:
            yield whole
    yield from store.experiments(host, unit, _ALL)


def merge(store: Store, path: Path, check: Callable[[Run], None]) -> Merged:
    """Take in a file that `save` wrote; nothing of it unless all of it can be read. Records that cannot be stay out.

    `check` raises UsageError for a run whose body is none. What is known already stays one record; of a start that two
    machines saw, each stage stays that one of them saw.

    Raises:
        UsageError: the file cannot be read or is none of ours; the text names the line.
        HistoryUnavailable: the history cannot be written.
    """
    refused: dict[int, str] = {}
    read = 0

    def refuse(number: int, error: Exception) -> None:
        refused[number] = f"{path}, line {number}: {str(error).removesuffix('.')}."

    for number, entry in _read(path, refuse):
        if (error := _refusal(entry, check)) is not None:
            refuse(number, error)
        else:
            read += 1
    before = store.totals()
    for number, entry in _read(path, lambda *_: None):
        if number not in refused:
            _put(store, entry)
    after = store.totals()
    return Merged(
        {name: after[name] - before[name] for name in after}, read, tuple(refused[number] for number in sorted(refused))
    )


def _refusal(entry: exchange.Entry, check: Callable[[Run], None]) -> UsageError | None:
    try:
        if isinstance(entry, Run):
            check(entry)
    except UsageError as error:
        return error
    return None


def _put(store: Store, entry: exchange.Entry) -> None:
    if isinstance(entry, Load):
        store.put_load(entry)
    elif isinstance(entry, Swap):
        store.put_swap(entry)
    elif isinstance(entry, Experiment):
        store.put_experiment(entry)
    else:
        store.put_run(entry)


def _read(path: Path, wrong: Callable[[int, exchange.WrongRecord], None]) -> Iterator[tuple[int, exchange.Entry]]:
    try:
        with path.open("rb") as plain:
            packed = plain.read(2) == b"\x1f\x8b"
            plain.seek(0)
            file = cast(BinaryIO, gzip.GzipFile(fileobj=plain, mode="rb")) if packed else plain
            with closing(exchange.read(_lines(file), wrong)) as entries:
                yield from entries
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path} cannot be read.", f"{reason(error)}.") from error


def _lines(file: BinaryIO) -> Iterator[bytes]:
    left = MOST_BYTES
    while line := file.readline(exchange.LONGEST_LINE + 2):
        left -= len(line)
        if left < 0:
            raise UsageError(f"The file holds more than {MOST_BYTES >> 30} GiB.")
        yield line

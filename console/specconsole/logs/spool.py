"""A part of a log on disk: the texts in a file that has no name, where each begins in memory, or there too once it is full."""

from __future__ import annotations

import mmap
import os
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import BinaryIO, cast

from specconsole import paths


class Spool:
    """Texts appended once and read by number; numbers count from 0.

    The file has no name, mode 0600, and is gone with the process. A record costs 20 bytes of memory (a list of the
    texts: 250) until the spool is sealed, then none, and is found in 10 us.
    """

    def __init__(self) -> None:
        self._file = _nameless()
        self._columns: tuple[array[int], array[float], array[int]] | None = (array("Q", [0]), array("d"), array("I"))
        self.ends: Sequence[int]
        """Where each text ends, its newline included; one more than there are texts."""
        self.at: Sequence[float]
        """Seconds since the epoch."""
        self.shapes: Sequence[int]
        """What else is known of each, as a number that the buffer gives out."""
        self.ends, self.at, self.shapes = self._columns
        self.grave = array("I")
        """The numbers of those at WARNING or above."""

    def __len__(self) -> int:
        return len(self.at)

    @property
    def size(self) -> int:
        """The file's length."""
        return self.ends[-1]

    def append(self, texts: Sequence[bytes], at: Sequence[float], shapes: Sequence[int], grave: Sequence[bool]) -> None:
        """Add texts; raises OSError (the disk is full) with nothing added, and ValueError once it is sealed."""
        if self._columns is None:
            raise ValueError("nothing is added to a sealed spool")
        ends, moments, kinds = self._columns
        begin, number = self.size, len(self)
        self._write(b"\n".join(texts) + b"\n", begin)
        for text in texts:
            begin += len(text) + 1
            ends.append(begin)
        moments.extend(at)
        kinds.extend(shapes)
        self.grave.extend(number + i for i, is_grave in enumerate(grave) if is_grave)

    def seal(self) -> None:
        """Take no more texts, and let what is known of them lie behind them in the file; on a full disk it stays in memory."""
        columns, self._columns = self._columns, None
        if columns is None:
            return
        cut = [0, *accumulate(len(column) * column.itemsize for column in columns)]
        begin = self.size + -self.size % mmap.ALLOCATIONGRANULARITY
        try:
            self._write(b"".join(columns), begin)
            index = memoryview(mmap.mmap(self._file.fileno(), cut[-1], offset=begin, access=mmap.ACCESS_READ))
        except OSError:
            return
        ends, at, shapes = (index[low:high] for low, high in pairwise(cut))
        self.ends, self.at, self.shapes = ends.cast("Q"), at.cast("d"), shapes.cast("I")

    def _write(self, data: bytes, at: int) -> None:
        view = memoryview(data)
        while view:
            view = view[os.pwrite(self._file.fileno(), view, at + len(data) - len(view)) :]

    def blob(self, first: int, stop: int) -> bytes:
        """Read the texts from one number up to another, each with its newline."""
        begin, end = self.ends[first], self.ends[stop]
        return os.pread(self._file.fileno(), end - begin, begin)

    def texts(self, first: int, stop: int) -> list[str]:
        """Read the texts from one number up to another."""
        blob, begin = self.blob(first, stop), self.ends[first]
        return [blob[self.ends[i] - begin : self.ends[i + 1] - begin - 1].decode() for i in range(first, stop)]

    def slice_end(self, first: int, size: int) -> int:
        """Return the number up to which the texts from `first` on have about `size` bytes, one at least."""
        return min(max(bisect_left(self.ends, self.ends[first] + size), first + 1), len(self))

    def slice_begin(self, stop: int, size: int) -> int:
        """Return the number from which the texts up to `stop` have about `size` bytes, one at least."""
        return max(min(bisect_left(self.ends, self.ends[stop] - size), stop - 1), 0) if stop else 0

    def close(self) -> None:
        """Give the disk back; what is known of the texts is gone, too."""
        self.ends = self.at = self.shapes = ()
        self._file.close()


def _nameless() -> BinaryIO:
    try:
        folder = paths.private_dir(paths.cache_dir())
        return cast("BinaryIO", tempfile.TemporaryFile(dir=folder, buffering=0))
    except OSError:  # no home, or one that cannot be written
        return cast("BinaryIO", tempfile.TemporaryFile(buffering=0))

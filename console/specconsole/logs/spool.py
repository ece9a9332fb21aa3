"""A part of a log on disk: the texts in a file that has no name, where each begins in memory."""

from __future__ import annotations

import os
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import BinaryIO, cast

from specconsole import paths


class Spool:
    """Texts appended once and read by number; numbers count from 0.

    The file has no name, mode 0600, and is gone with the process. A record costs 20 bytes of memory (a list of the
    texts: 250) and is found in 10 us.
    """

    def __init__(self) -> None:
        self._file = _nameless()
        self.ends = array("Q", [0])
        """Where each text ends, its newline included; one more than there are texts."""
        self.at = array("d")
        """Seconds since the epoch."""
        self.shapes = array("I")
        """What else is known of each, as a number that the buffer gives out."""
        self.grave = array("I")
        """The numbers of those at WARNING or above."""

    def __len__(self) -> int:
        return len(self.at)

    @property
    def size(self) -> int:
        """The file's length."""
        return self.ends[-1]

    def append(self, texts: Sequence[bytes], at: Sequence[float], shapes: Sequence[int], grave: Sequence[bool]) -> None:
        """Add texts; raises OSError (the disk is full) with nothing added."""
        blob = b"\n".join(texts) + b"\n"
        begin = self.size
        view = memoryview(blob)
        while view:
            view = view[os.pwrite(self._file.fileno(), view, begin + len(blob) - len(view)) :]
        number = len(self)
        for text in texts:
            begin += len(text) + 1
            self.ends.append(begin)
        self.at.extend(at)
        self.shapes.extend(shapes)
        self.grave.extend(number + i for i, is_grave in enumerate(grave) if is_grave)

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
        """Give the disk back."""
        self._file.close()


def _nameless() -> BinaryIO:
    try:
        folder = paths.private_dir(paths.cache_dir())
        return cast("BinaryIO", tempfile.TemporaryFile(dir=folder, buffering=0))
    except OSError:  # no home, or one that cannot be written
        return cast("BinaryIO", tempfile.TemporaryFile(buffering=0))

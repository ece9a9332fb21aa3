"""Archives and compressed files opened as the files that they hold; nothing is written to disk, and sizes are bounded.

An archive may come from anybody: names in it are only ever shown, links and devices in it are passed over, and what is
packed so well that it fills memory or takes for ever is refused.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Callable, Iterator
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import BinaryIO, cast

from specconsole.errors import UsageError

MOST_FILES = 500
MOST_BYTES = 1 << 30
"""Of all files of an archive that is held in memory."""
MOST_UNPACKED = 64 << 30
"""Of a packed file that is read in pieces: ten times the longest log of a month."""
MOST_PACKINGS = 4
"""A file may be packed into a packed archive of packed files; one that unpacks to itself has no end."""
MOST_HEADER = 1 << 20
"""Bytes between two members of an archive: the library reads names of any length, as told, into memory."""
_GZIP = b"\x1f\x8b"
_TAR_AT, _TAR = 257, b"ustar"

Named = tuple[str, BinaryIO]
Cut = Callable[[str], None]
"""Told what is wrong with a packed file that ends or breaks on the way; what was unpacked until there counts."""


def opened(name: str, file: BinaryIO, cut: Cut | None = None, packings: int = 0) -> Iterator[Named]:
    """Give a file itself, or the files of an archive one after the other.

    With `cut`, a packed file that breaks off is told to it and ends there; without, it is broken as a whole.

    Raises:
        UsageError: it begins like an archive and is broken, or holds too much.
    """
    peeked = file if isinstance(file, BufferedReader) else BufferedReader(file)  # type: ignore[type-var]
    head = peeked.peek(512)[:512]
    try:
        if head[:2] == _GZIP:
            if packings >= MOST_PACKINGS:
                raise UsageError(f"{name} is packed more than {MOST_PACKINGS} times into itself.")
            inner = BufferedReader(_Bounded(gzip.GzipFile(fileobj=peeked), name, cut))
            yield from opened(name, inner, cut, packings + 1)
        elif head[_TAR_AT : _TAR_AT + 5] == _TAR:
            yield from _members(peeked)
        else:
            yield name, peeked
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UsageError(f"{name} is a broken archive.", f"{error}.") from error


class _Bounded(io.RawIOBase):
    """What is unpacked from a file, up to a bound."""

    def __init__(self, file: gzip.GzipFile, name: str, cut: Cut | None) -> None:
        super().__init__()
        self._file = file
        self._name = name
        self._cut = cut
        self._left = MOST_UNPACKED

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: object) -> int:
        """Unpack as much as comes at once; raises UsageError beyond the bound, and where it is broken and nobody hears of cuts."""
        room = cast("bytearray", buffer)
        try:
            data = self._file.read1(len(room))  # a whole read would lose what was unpacked before the cut
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:  # in whoever reads, which `opened` does not see
            if self._cut is None or self._left == MOST_UNPACKED:
                raise UsageError(f"{self._name} is a broken archive.", f"{error}.") from error
            self._cut("it is cut: its end is missing" if isinstance(error, EOFError) else f"it is damaged: {error}")
            return 0
        count = len(data)
        room[:count] = data
        self._left -= count
        if self._left < 0:
            raise UsageError(f"{self._name} unpacks to more than {MOST_UNPACKED >> 30} GiB.")
        return count


class _Headers:
    """An archive's bytes as the library reads them, with a bound on what it may read to find the next member."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.left: int | None = MOST_HEADER
        """None: inside a member, of which whoever reads it knows how much."""

    def read(self, size: int) -> bytes:
        """Read; raises tarfile.ReadError where a header has no end."""
        if self.left is not None:
            self.left -= size
            if self.left < 0:
                raise tarfile.ReadError("a header longer than any name")
        return self._file.read(size)


def _members(file: BinaryIO) -> Iterator[Named]:
    headers = _Headers(file)
    with tarfile.open(fileobj=cast("BinaryIO", headers), mode="r|") as archive:
        for _ in range(MOST_FILES):
            headers.left = MOST_HEADER
            member = archive.next()
            if member is None:
                return
            headers.left = None
            packed_size = archive.offset - member.offset_data  # a sparse file has another one
            if not (0 <= member.size <= MOST_UNPACKED and 0 <= packed_size <= MOST_UNPACKED):
                # The library would step over it in blocks, for years.
                raise tarfile.ReadError("a member says that it has no size that can be")
            # A sparse file of a few bytes may call itself an exabyte, and would be read as one.
            plain = member.isreg() and not member.issparse()
            content = archive.extractfile(member) if plain else None
            if content is not None:
                yield member.name, cast("BinaryIO", content)
            cast("BinaryIO", archive.fileobj).seek(archive.offset)  # what nobody read is no header


def contents(path: Path) -> dict[str, bytes]:
    """All files of an archive by name, in memory.

    Raises:
        UsageError: it cannot be read, is broken, or holds more than `MOST_BYTES`.
    """
    found: dict[str, bytes] = {}
    left = MOST_BYTES
    try:
        with path.open("rb") as file:
            for name, part in opened(path.name, file):
                found[name] = part.read(left + 1)
                left -= len(found[name])
                if left < 0:
                    raise UsageError(f"{path} holds more than {MOST_BYTES >> 20} MiB.")
    except (OSError, tarfile.TarError, zlib.error, EOFError) as error:
        raise UsageError(f"{path} cannot be read.", f"{getattr(error, 'strerror', None) or error}.") from error
    return found


def packed(files: Iterator[tuple[str, bytes]], at: float) -> bytes:
    """Make an archive (tar, compressed) of files, all with one time and no owner."""
    out = BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=6) as archive:
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.mode = len(content), int(at), 0o600
            archive.addfile(member, BytesIO(content))
    return out.getvalue()

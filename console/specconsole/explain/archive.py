"""Archives and compressed files opened as the files that they hold; nothing is written to disk, and sizes are bounded."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import BinaryIO, cast

from specconsole.errors import UsageError

MOST_FILES = 500
MOST_BYTES = 1 << 30
"""Of all files of an archive that is held in memory."""
_GZIP = b"\x1f\x8b"
_TAR_AT, _TAR = 257, b"ustar"

Named = tuple[str, BinaryIO]


def opened(name: str, file: BinaryIO) -> Iterator[Named]:
    """Give a file itself, or the files of an archive one after the other.

    Raises:
        UsageError: it begins like an archive and is broken.
    """
    peeked = file if isinstance(file, BufferedReader) else BufferedReader(file)  # type: ignore[type-var]
    head = peeked.peek(512)[:512]
    try:
        if head[:2] == _GZIP:
            inner = BufferedReader(gzip.GzipFile(fileobj=peeked))
            yield from opened(name.removesuffix(".gz"), inner)
        elif head[_TAR_AT : _TAR_AT + 5] == _TAR:
            yield from _members(peeked)
        else:
            yield name, peeked
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UsageError(f"{name} is a broken archive.", f"{error}.") from error


def _members(file: BinaryIO) -> Iterator[Named]:
    with tarfile.open(fileobj=file, mode="r|") as archive:
        for count, member in enumerate(archive):
            if count >= MOST_FILES:
                return
            content = archive.extractfile(member) if member.isreg() else None
            if content is not None:
                yield member.name, cast("BinaryIO", content)


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

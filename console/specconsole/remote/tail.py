"""Follows a growing file by name, over rotation and truncation, and resumes where it was told; one JSON line a piece.

A file that was renamed is followed on, since its writer keeps it open (a unit's StandardOutput=append: does so until its
next start), together with the new one. Pieces: {"file": [device, inode], "at": offset behind it, "data": latin-1},
{"gap": "rotated" or "truncated"}, {"error": "missing" or "denied" or text}.

Python 3.8, standard library.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import time
import zlib
from typing import Any, BinaryIO, Dict, List, Optional

PIECE = 1 << 16
KEPT = 3  # files followed at once: the newest and what it was before


class Tail:
    """The files behind one name, and how far each was read."""

    def __init__(self, path: str, out: BinaryIO) -> None:
        self.path = path
        self.out = out
        self.files = []  # type: List[Followed]
        self.said = ""

    def begin(self, places: List[List[int]], lines: Optional[int]) -> None:
        """Open what was followed before, or the file with so many lines from its end (None: all)."""
        for place in places:
            found = self._find(place[0], place[1])
            if found is None:
                self.say({"gap": "rotated"})
            else:
                self._resume(found, place)
        if not places:
            self._open_new(lines)

    def step(self) -> bool:
        """Read what is new; True: something was."""
        self._open_new(None)
        moved = False
        for followed in list(self.files):
            moved = followed.read(self) or moved
        while len(self.files) > KEPT:
            self.files.pop(0).close()
        return moved

    def say(self, piece: Dict[str, Any]) -> None:
        """Write one piece."""
        self.out.write(json.dumps(piece, separators=(",", ":")).encode() + b"\n")
        self.out.flush()

    def _open_new(self, lines: Optional[int]) -> None:
        try:
            status = os.stat(self.path)
            if any(followed.same(status) for followed in self.files):
                return
            followed = Followed(self.path)
        except OSError as error:
            self._complain(error)
            return
        self.said = ""
        if lines is not None:
            followed.offset = followed.find_line(lines)
        self.files.append(followed)
        self.say(followed.piece(b""))

    def _complain(self, error: OSError) -> None:
        kind = {errno.ENOENT: "missing", errno.EACCES: "denied"}.get(error.errno or 0, error.strerror or str(error))
        if kind != self.said:
            self.said = kind
            self.say({"error": kind})

    def _find(self, device: int, inode: int) -> Optional[str]:
        """Look for a file among its neighbours: rotation gives it another name in the same folder."""
        folder = os.path.dirname(self.path) or "."
        try:
            names = [self.path] + [os.path.join(folder, name) for name in os.listdir(folder)[:10000]]
        except OSError:
            names = [self.path]
        for name in names:
            try:
                status = os.stat(name)
            except OSError:
                continue
            if (status.st_dev, status.st_ino) == (device, inode):
                return name
        return None

    def _resume(self, name: str, place: List[int]) -> None:
        try:
            followed = Followed(name)
        except OSError as error:
            self._complain(error)
            return
        followed.offset = place[2]
        if not followed.reads(place[3], place[4]):
            followed.offset = 0
            self.say({"gap": "truncated"})
        self.files.append(followed)


class Followed:
    """One open file."""

    def __init__(self, path: str) -> None:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")  # opening a FIFO would wait for its writer
        self.handle = open(path, "rb", buffering=0)  # noqa: SIM115  closed when newer files have taken its place
        status = os.fstat(self.handle.fileno())
        self.file = (status.st_dev, status.st_ino)
        self.offset = 0

    def same(self, status: os.stat_result) -> bool:
        """Tell whether a name leads to this very file."""
        return (status.st_dev, status.st_ino) == self.file

    def read(self, tail: Tail) -> bool:
        """Say all that is new, and that it was cut where it is shorter than what was read."""
        if os.fstat(self.handle.fileno()).st_size < self.offset:
            self.offset = 0
            tail.say({"gap": "truncated"})
        moved = False
        for _ in range(64):  # then the others get a turn
            data = os.pread(self.handle.fileno(), PIECE, self.offset)
            if not data:
                break
            self.offset += len(data)
            moved = True
            tail.say(self.piece(data))
        return moved

    def piece(self, data: bytes) -> Dict[str, Any]:
        """Describe data that ends at the present offset."""
        return {"file": list(self.file), "at": self.offset, "data": data.decode("latin-1")}

    def reads(self, length: int, check: int) -> bool:
        """Tell whether the bytes before the offset are still the ones that were read."""
        before = os.pread(self.handle.fileno(), length, max(self.offset - length, 0))
        return len(before) == length and zlib.crc32(before) == check

    def find_line(self, lines: int) -> int:
        """Find the offset of the so-many-th line from the end; 0: the end, after its last whole line."""
        end = os.fstat(self.handle.fileno()).st_size
        at, left = end, lines + 1
        while at > 0:
            size = min(PIECE, at)
            block = os.pread(self.handle.fileno(), size, at - size)
            place = len(block)
            while (place := block.rfind(b"\n", 0, place)) >= 0:
                left -= 1
                if left == 0:
                    return at - size + place + 1
            at -= size
        return 0

    def close(self) -> None:
        """Let go of it."""
        self.handle.close()


def main(arguments: Dict[str, Any]) -> int:
    """Follow `path` from `places` or with `lines`, looking every `interval_s`; with `once`, to its present end."""
    tail = Tail(str(arguments["path"]), sys.stdout.buffer)
    tail.begin(list(arguments.get("places") or []), arguments.get("lines"))
    while True:
        moved = tail.step()
        if arguments.get("once"):
            if not moved:
                return 0
        else:
            time.sleep(0.02 if moved else float(arguments.get("interval_s") or 0.2))

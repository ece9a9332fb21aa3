"""What the programs of swaps and experiments stand on: the host's clock, its files, their own input and output; Python 3.8.

They touch their host only through here and through `swap_world`. So the same steps, rules and record can be run where
there is no host: the simulated one is another ground.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, Iterable, List, Optional, Tuple

from specconsole.remote.loader import own_blob


class Ground:
    """This host; all of it blocks, and none of it remembers anything."""

    # -- time --

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""
        return time.monotonic()

    def uptime(self) -> float:
        """Seconds since the boot, with those that the host slept."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def boot_at(self) -> float:
        """Seconds since the epoch at which this host booted, by its clock now."""
        return self.now() - self.uptime()

    def boot_id(self) -> str:
        """This boot's id; "" where it cannot be read."""
        try:
            with open("/proc/sys/kernel/random/boot_id") as file:
                return file.read().strip().replace("-", "")
        except OSError:
            return ""

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    # -- the program's own input and output --

    def hear(self) -> str:
        """The first line of standard input."""
        return sys.stdin.readline()

    def hear_until(self, last: bytes) -> List[bytes]:
        """The lines of standard input up to one that begins so; without it where the input ends before."""
        lines: List[bytes] = []
        for line in sys.stdin.buffer:
            lines.append(line)
            if line.startswith(last):
                break
        return lines

    def tell(self, **values: Any) -> None:
        """Print one JSON line."""
        sys.stdout.write(json.dumps(values, separators=(",", ":")) + "\n")
        sys.stdout.flush()

    def pass_on(self, data: bytes) -> None:
        """Print bytes as they are."""
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def say(self, text: str) -> None:
        """Write a line for people, which a unit's journal takes; a journal that is gone stops nothing."""
        try:
            sys.stdout.write(" ".join(text.split()) + "\n")
            sys.stdout.flush()
        except OSError:
            pass

    def program(self) -> Tuple[str, bytes]:
        """The interpreter that runs us, and the sources that it was sent."""
        return sys.executable, own_blob()

    # -- files; all raise OSError --

    def keep(self, path: str, data: bytes) -> None:
        """Append whole lines and force them to the disk, into a file of the owner's alone.

        A line that a power cut tore is ended first, so that it spoils no other. A line that does not fit is taken back.
        """
        folder = os.path.dirname(path)
        new = not os.path.exists(path)
        os.makedirs(folder, 0o700, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            size = os.fstat(fd).st_size
            if size and os.pread(fd, 1, size - 1) != b"\n":
                data = b"\n" + data
            try:
                written = os.write(fd, data)
                if written < len(data):
                    raise OSError(28, "No space left on device")  # ENOSPC: only a part of it went in
                os.fsync(fd)
            except OSError:
                os.ftruncate(fd, size)
                raise
        finally:
            os.close(fd)
        if new:  # the name itself must survive a power cut, too
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def add(self, path: str, data: bytes) -> None:
        """Append a short line, in one write: two that do it do not mix theirs."""
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(fd, data)
        finally:
            os.close(fd)

    def put(self, path: str, data: bytes) -> None:
        """Make a file anew, whole or not at all."""
        with open(path + ".new", "wb") as file:
            file.write(data)
        os.replace(path + ".new", path)

    def lay(self, folder: str, files: Iterable[Tuple[str, bytes]]) -> None:
        """Make a folder of root's alone with these files in it, forced to the disk, whole or not at all."""
        os.makedirs(os.path.dirname(folder), 0o700, exist_ok=True)
        os.mkdir(folder, 0o700)
        try:
            for name, data in files:
                _lay(os.path.join(folder, name), data)
        except OSError:
            self.clear(folder)
            raise

    def copy(self, source: str, target: str) -> None:
        """Copy a file to where it stays, whole or not at all, and force it to the disk."""
        import shutil

        os.makedirs(os.path.dirname(target), 0o700, exist_ok=True)
        with open(target + ".new", "wb") as file:
            with open(source, "rb") as told:
                shutil.copyfileobj(told, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(target + ".new", target)

    def names(self, folder: str) -> List[str]:
        """What lies in a folder, sorted; nothing where there is none."""
        try:
            return sorted(os.listdir(folder))
        except OSError:
            return []

    def clear(self, folder: str) -> None:
        """Take a folder away; one that is gone or held is no matter."""
        import shutil

        shutil.rmtree(folder, ignore_errors=True)

    def sweep(self, folder: str, stale_s: float) -> None:
        """Take away the folders in a folder that nobody has touched for so long."""
        at = self.now()
        for name in self.names(folder):
            inner = os.path.join(folder, name)
            try:
                newest = max(os.lstat(os.path.join(inner, one)).st_mtime for one in [".", *os.listdir(inner)])
            except (OSError, ValueError):
                continue
            if at - newest > stale_s:
                self.clear(inner)

    def read(self, path: str, offset: int = 0, limit: int = -1) -> bytes:
        """What is in a file, from an offset on."""
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read(limit)

    def size(self, path: Optional[str]) -> int:
        """How many bytes a file has; -1 where there is none."""
        try:
            return os.path.getsize(path) if path else -1
        except OSError:
            return -1

    def runs(self, path: str) -> bool:
        """Whether a program is there and may be run."""
        return os.access(path, os.X_OK)


GROUND = Ground()


def _lay(path: str, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if os.write(fd, data) != len(data):
            raise OSError(28, "No space left on device", path)
        os.fsync(fd)
    finally:
        os.close(fd)

"""A program on a terminal of its own: what it paints is read and counted, keys are sent, its CPU time is taken from /proc."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import termios
import time
from collections.abc import Sequence


def mark(number: int) -> str:
    """What stands after so many keys: no letter stays, since only cells that change are painted."""
    return 6 * chr(ord("a") + number % 26)


class Terminal:
    """Runs a command in a terminal of the given size until `close`."""

    def __init__(self, command: Sequence[str], columns: int = 200, rows: int = 50) -> None:
        self.begun = time.perf_counter()
        self.painted = 0
        """Bytes that the program wrote."""
        self._tail = b""
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            time.sleep(0.02)  # the size is set meanwhile
            environment = dict(os.environ, TERM="xterm-256color", COLORTERM="truecolor")
            environment.pop("PYTHONDONTWRITEBYTECODE", None)  # as installed: compiled once, not at each start
            os.execvpe(command[0], list(command), environment)
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self, timeout_s: float) -> bool:
        if not select.select([self.descriptor], [], [], timeout_s)[0]:
            return True
        try:
            data = os.read(self.descriptor, 1 << 16)
        except OSError:
            return False
        if b"\x1b[c" in data:  # a question that a terminal answers
            os.write(self.descriptor, b"\x1b[?62;c")
        self.painted += len(data)
        self._tail = (self._tail + data)[-(1 << 17) :]
        return bool(data)

    def until(self, mark: bytes, timeout_s: float = 60.0) -> float:
        """Seconds from the start until a text was painted."""
        end = time.perf_counter() + timeout_s
        while mark not in self._tail:
            if time.perf_counter() > end or not self._read(0.05):
                raise TimeoutError(f"never painted: {mark!r}")
        return time.perf_counter() - self.begun

    def read_for(self, seconds: float) -> int:
        """Read for so long; returns the bytes that were painted meanwhile."""
        before, end = self.painted, time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0 and self._read(left):
            pass
        return self.painted - before

    def send(self, keys: bytes) -> None:
        """Press keys."""
        self._tail = b""
        os.write(self.descriptor, keys)

    def cpu_s(self) -> float:
        """CPU seconds of the program so far, user and system."""
        with open(f"/proc/{self.pid}/stat") as file:  # noqa: PTH123
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mb(self) -> float:
        """Memory that the program holds now, resident."""
        with open(f"/proc/{self.pid}/statm") as file:  # noqa: PTH123
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def close(self) -> None:
        """End the program."""
        try:
            os.kill(self.pid, 15)
            while self._read(1.0):
                pass
        except OSError:
            pass
        os.close(self.descriptor)
        os.waitpid(self.pid, 0)

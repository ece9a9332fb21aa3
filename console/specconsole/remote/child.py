"""One child of the lease: started in a group of its own, read piece by piece, ended with everything in its group."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional

from specconsole.remote.frame import PIECE, Header
from specconsole.remote.loader import LOADER, own_blob, prologue

SANE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
STOP_GRACE_S = 2.0
"""Between SIGTERM and SIGKILL."""
DRAIN_GRACE_S = 0.5
"""How long a pipe that outlives its group is read on: somebody in another session holds it."""
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

Send = Callable[..., None]


def prctl(option: int, value: int) -> None:
    """Call prctl(2); a Python without ctypes does without (a child then ends at its next write or read)."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass


def environment() -> Dict[str, str]:
    """The login's own environment, but in the C locale, without colours, and with the system's programs on the path."""
    own = {name: value for name, value in os.environ.items() if name not in ("LANGUAGE", "SYSTEMD_PAGER", "LISTEN_FDS")}
    path = [
        part for part in own.get("PATH", "").split(":") if part.startswith("/") and part not in SANE_PATH.split(":")
    ]
    own.update(LC_ALL="C", LANG="C", TERM="dumb", SYSTEMD_COLORS="0", PATH=":".join([SANE_PATH, *path]))
    return own


class Pipe:
    """One of a child's outputs, and how many bytes of it the console has room for."""

    def __init__(self, name: str, fd: int, room: int) -> None:
        self.name = name
        self.fd = fd
        self.room = room

    def close(self) -> None:
        """Close it, once."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class Child:
    """A running child and what still has to pass between it and the console; `send` takes a header and a payload."""

    def __init__(self, header: Header, send: Send, grace_s: float = STOP_GRACE_S) -> None:
        self.id = header["id"]
        self.send = send
        self.grace_s = grace_s
        self.status: Optional[int] = None
        self.stopped = False
        self.kill_at: Optional[float] = None
        self.drain_until: Optional[float] = None
        self.input: Deque[memoryview] = deque()
        self.input_ends = False
        self.unreported = 0
        self._start(header)

    def _start(self, header: Header) -> None:
        argv: List[str] = header.get("argv") or [sys.executable, "-I", "-S", "-B", "-c", LOADER]
        wants_input = bool(header.get("input", True)) or "program" in header
        parent = os.getpid()

        def before_exec() -> None:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:  # it died before the line above
                os._exit(1)

        self.process: "subprocess.Popen[bytes]" = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE if wants_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            start_new_session=True,
            preexec_fn=before_exec,
            bufsize=0,
        )
        window = int(header.get("window", PIECE))
        self.pipes = [
            Pipe("out", self._own(self.process.stdout), window),
            Pipe("err", self._own(self.process.stderr), window),
        ]
        self.stdin = self._own(self.process.stdin) if wants_input else -1
        if "program" in header:
            self.feed(prologue(own_blob(), header["program"], header.get("arguments") or {}))
            self.unreported = -sum(len(part) for part in self.input)  # not the console's bytes
            self.input_ends = not header.get("input", True)

    @staticmethod
    def _own(stream: Any) -> int:
        fd = os.dup(stream.fileno())
        stream.close()
        os.set_blocking(fd, False)
        return fd

    # -- input --

    def feed(self, data: bytes) -> None:
        """Queue bytes for standard input; of a closed one they are only counted."""
        if self.stdin < 0:
            self._report(len(data))
        elif data:
            self.input.append(memoryview(data))

    def close_input(self) -> None:
        """Close standard input once all that is queued has gone."""
        self.input_ends = True
        if not self.input:
            self._close_stdin()

    def push(self) -> None:
        """Write what the child takes now."""
        while self.input:
            try:
                count = os.write(self.stdin, self.input[0][:PIECE])
            except BlockingIOError:
                break
            except OSError:  # it does not read any more: that is its right
                left = sum(len(part) for part in self.input)
                self.input.clear()
                self._close_stdin()
                self._report(left)
                return
            self._report(count)
            if count == len(self.input[0]):
                self.input.popleft()
            else:
                self.input[0] = self.input[0][count:]
        if self.input_ends and not self.input:
            self._close_stdin()

    def _report(self, count: int) -> None:
        self.unreported += count
        if self.unreported > 0:
            self.send({"op": "took", "id": self.id, "by": self.unreported})
            self.unreported = 0

    def _close_stdin(self) -> None:
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    # -- output --

    def pull(self, pipe: Pipe) -> bool:
        """Send on one piece of an output: one a turn, so that a child that prints without end starves no other.

        Returns False when there was nothing to read.
        """
        try:
            data = os.read(pipe.fd, PIECE if self.stopped else min(PIECE, pipe.room))
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            pipe.close()
        elif not self.stopped:
            pipe.room -= len(data)
            self.send({"op": pipe.name, "id": self.id}, data)
        return True

    def readable(self) -> List[Pipe]:
        """The outputs that are open and have room."""
        return [pipe for pipe in self.pipes if pipe.fd >= 0 and (pipe.room > 0 or self.stopped)]

    def more(self, name: str, by: int) -> None:
        """The console has room for more."""
        for pipe in self.pipes:
            if pipe.name == name:
                pipe.room += by

    # -- end --

    def signal_group(self, number: int) -> None:
        """Signal the child and all that it started in its group; only while it is not yet waited for."""
        if self.status is None:
            try:
                os.killpg(self.process.pid, number)
            except OSError:
                pass

    def stop(self, now: float) -> None:
        """Ask it to end, and see to it after the grace; what it still prints is read and dropped, so it can finish."""
        self.stopped = True
        self.signal_group(signal.SIGTERM)
        self.kill_at = now + self.grace_s
        self.input.clear()
        self._close_stdin()

    def ended(self, now: float) -> None:
        """The child is a zombie: end what it left in its group, then let go of its number."""
        self.signal_group(signal.SIGKILL)
        _, status = os.waitpid(self.process.pid, 0)
        self.status = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        self.process.returncode = self.status
        self.drain_until = now + DRAIN_GRACE_S
        self.input.clear()
        self._close_stdin()

    def tick(self, now: float, reading: bool) -> bool:
        """Do what is due; True when everything is over and the exit has been sent.

        `reading` is False while the way to the console is full: an output that nobody reads is not at its end.
        """
        if self.kill_at is not None and now >= self.kill_at:
            self.signal_group(signal.SIGKILL)
            self.kill_at = None
        if self.status is None:
            return False
        if reading and self.drain_until is not None and now >= self.drain_until:
            for pipe in self.readable():
                if not self.pull(pipe):
                    pipe.close()
        if any(pipe.fd >= 0 for pipe in self.pipes):
            return False
        self.send({"op": "exit", "id": self.id, "status": self.status})
        return True

    def due(self, reading: bool) -> Optional[float]:
        """When `tick` is wanted next, in monotonic seconds."""
        drain = self.drain_until if reading and self.readable() else None
        times = [at for at in (self.kill_at, drain) if at is not None]
        return min(times) if times else None

    def close(self) -> None:
        """Let go of its pipes."""
        for pipe in self.pipes:
            pipe.close()
        self._close_stdin()


def reason(error: BaseException) -> Dict[str, Any]:
    """Say why a child could not be started."""
    if isinstance(error, OSError) and error.errno:
        return {"errno": error.errno, "error": os.strerror(error.errno)}
    return {"errno": errno.EINVAL, "error": str(error)}

"""The one parent of all that we run on a host: one process, one pair of pipes to the console, no file, no thread.

It ends every child when its input closes or stays silent (30 s; the console pings every 2 s), and then itself: after a
pulled cable and after a killed console alike nothing of ours is left. Children end with it even when it is killed itself
(PR_SET_PDEATHSIG). What they print is read a piece a turn from each, and only while the console has room for it and the
way there is free: a burst of log lines waits in its own pipe, not in memory here, and not before the next GPU sample.
"""

from __future__ import annotations

import fcntl
import os
import platform
import select
import signal
import time
from collections import deque
from typing import Any, Deque, Dict, List

from specconsole.remote.child import PR_SET_CHILD_SUBREAPER, STOP_GRACE_S, Child, prctl, reason
from specconsole.remote.frame import MAGIC, PIECE, VERSION, Header, NoFrame, Splitter, pack

SILENCE_S = 30.0
QUEUE_BYTES = 2 * PIECE
"""More than this on its way to the console, and no output is read: what waits here delays the next sample and pong."""
END_GRACE_S = 1.0
"""Between SIGTERM and SIGKILL when everything ends: 2 s after quit nothing may be left."""
KILL_WAIT_S = 0.5
"""How long killed children are waited for; one in the driver's hands (state D) is left to the kernel."""


def main(arguments: Dict[str, Any]) -> int:
    """Serve the console at the other end of standard input and output until it goes."""
    os.chdir("/")  # holds no mount
    lease = Lease(0, 1, float(arguments.get("silence_s", SILENCE_S)), float(arguments.get("grace_s", STOP_GRACE_S)))
    try:
        lease.serve()
    finally:
        lease.end()
    return 0


class Lease:
    """The children and the two ways between them and the console."""

    def __init__(self, source: int, sink: int, silence_s: float, grace_s: float) -> None:
        self.source = source
        self.sink = sink
        self.silence_s = silence_s
        self.grace_s = grace_s
        self.children: Dict[int, Child] = {}
        self.splitter = Splitter()
        self.queue: Deque[memoryview] = deque()
        self.queued = 0
        self.over = False
        self.turn = 0
        self.heard = time.monotonic()
        self.wake, self.waker = os.pipe()

    def serve(self) -> None:
        """Pass frames until the console is gone."""
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        for fd in (self.sink, self.wake, self.waker):
            fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_NONBLOCK)
        signal.set_wakeup_fd(self.waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._told_to_end)
        self._enqueue(b"\n" + MAGIC + b"\n")
        self.send(
            {"op": "hello", "v": VERSION, "pid": os.getpid(), "python": platform.python_version(), "uid": os.geteuid()}
        )
        while not self.over:
            self._turn()

    def _told_to_end(self, *_: Any) -> None:
        self.over = True

    def send(self, header: Header, payload: bytes = b"", first: bool = False) -> None:
        """Queue a frame; `first` puts it before all that has not begun to leave."""
        self._enqueue(pack(header, payload), first)

    def _enqueue(self, data: bytes, first: bool = False) -> None:
        self.queued += len(data)
        if first and self.queue:
            self.queue.insert(1, memoryview(data))  # the one before it may be half gone
        else:
            self.queue.append(memoryview(data))

    def _turn(self) -> None:
        now = time.monotonic()
        reading = self.queued < QUEUE_BYTES
        poller = select.poll()
        poller.register(self.source, select.POLLIN)
        poller.register(self.wake, select.POLLIN)
        if self.queue:
            poller.register(self.sink, select.POLLOUT)
        outputs = {pipe.fd: (child, pipe) for child in self._in_turn() for pipe in child.readable()} if reading else {}
        inputs = {child.stdin: child for child in self.children.values() if child.input and child.stdin >= 0}
        for fd in outputs:
            poller.register(fd, select.POLLIN)
        for fd in inputs:
            poller.register(fd, select.POLLOUT)
        ready = {fd for fd, _ in poller.poll(self._patience_ms(now, reading))}
        if self.source in ready:
            self._hear()
        if self.wake in ready:
            os.read(self.wake, 4096)
        self._reap()
        for fd, (child, pipe) in outputs.items():
            if fd in ready and pipe.fd == fd:
                child.pull(pipe)
        for fd, child in inputs.items():
            if fd in ready and child.stdin == fd:
                child.push()
        now = time.monotonic()
        for child in list(self.children.values()):
            if child.tick(now, reading):
                child.close()
                del self.children[child.id]
        self._flush()
        if now - self.heard > self.silence_s:
            self.over = True

    def _in_turn(self) -> List[Child]:
        """The children, each turn another one first."""
        children = list(self.children.values())
        self.turn = (self.turn + 1) % max(len(children), 1)
        return children[self.turn :] + children[: self.turn]

    def _patience_ms(self, now: float, reading: bool) -> int:
        dues = [due for due in (child.due(reading) for child in self.children.values()) if due is not None]
        until = min([self.heard + self.silence_s, *dues])
        return max(int((until - now) * 1000) + 1, 0)

    def _flush(self) -> None:
        while self.queue:
            try:
                count = os.write(self.sink, self.queue[0])
            except BlockingIOError:
                return
            except OSError:  # nobody listens any more
                self.over = True
                return
            self.queued -= count
            if count < len(self.queue[0]):
                self.queue[0] = self.queue[0][count:]
                return
            self.queue.popleft()

    # -- what the console says --

    def _hear(self) -> None:
        try:
            data = os.read(self.source, PIECE)
        except OSError:
            data = b""
        if not data:
            self.over = True
            return
        self.heard = time.monotonic()
        try:
            frames = self.splitter.feed(data)
        except NoFrame:
            self.over = True
            return
        for header, payload in frames:
            self._obey(header, payload)

    def _obey(self, header: Header, payload: bytes) -> None:
        op = header.get("op")
        if op == "ping":
            self.send({"op": "pong", "stamp": header.get("stamp"), "time": time.time()}, first=True)
        elif op == "start":
            self._start(header)
        else:
            child = self.children.get(header.get("id", -1))
            if child:
                self._obey_for(child, op, header, payload)

    def _obey_for(self, child: Child, op: Any, header: Header, payload: bytes) -> None:
        if op == "in":
            child.feed(payload)
        elif op == "eof":
            child.close_input()
        elif op == "more":
            child.more(str(header.get("fd")), int(header.get("by", 0)))
        elif op == "stop":
            child.stop(time.monotonic())

    def _start(self, header: Header) -> None:
        try:
            child = Child(header, self.send, self.grace_s)
        except (OSError, ValueError, TypeError) as error:
            self.send(dict(reason(error), op="fail", id=header.get("id")))
            return
        self.children[child.id] = child
        self.send({"op": "began", "id": child.id, "pid": child.process.pid})

    # -- ends --

    def _reap(self) -> None:
        """Take note of children that have ended, and of orphans that were given to us."""
        for child in self.children.values():
            if child.status is None and _is_zombie(child.process.pid):
                child.ended(time.monotonic())
        while True:
            try:
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if found is None:
                return
            for child in self.children.values():
                if child.process.pid == found.si_pid:
                    child.ended(time.monotonic())
                    break
            else:
                os.waitpid(found.si_pid, 0)

    def end(self) -> None:
        """End every child and everything that fell to us from them."""
        signal.set_wakeup_fd(-1)
        for child in self.children.values():
            child.close()
            child.signal_group(signal.SIGTERM)
        for pid in _own_children():
            _kill(pid, signal.SIGTERM)
        self._wait_for_children(END_GRACE_S)
        for child in self.children.values():
            child.signal_group(signal.SIGKILL)
        deadline = time.monotonic() + KILL_WAIT_S
        while _has_children() and time.monotonic() < deadline:  # those that fall to us meanwhile, too
            for pid in _own_children():
                _kill(pid, signal.SIGKILL)
            self._wait_for_children(0.05)

    def _wait_for_children(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._reap()
            if not _has_children():
                return
            time.sleep(0.01)


def _is_zombie(pid: int) -> bool:
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _own_children() -> List[int]:
    """The pids whose parent we are; a kernel without that file gives none, and the groups are all that is ended."""
    try:
        with open("/proc/self/task/%d/children" % os.getpid()) as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass

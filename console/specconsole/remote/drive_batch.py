"""Streams at work: a thread each, and one watcher that tells progress four times a second and minds its own lateness."""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, Dict, List, Optional, Set

from specconsole.remote.drive_http import Capture, Target, tokens_so_far

TICK_S = 0.25


class Ticker:
    """Waits in ticks and keeps how late it woke: what this machine did to us, it may have done to a stream."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forget what was before: the measured run begins here."""
        self.began_ns = time.perf_counter_ns()
        self.cpu_s = 0.0
        """CPU time of this process while streams ran."""
        self.wall_s = 0.0
        self.late_s: List[float] = []

    def wait(self, event: threading.Event) -> None:
        """Wait for the event, one tick at most."""
        due = time.perf_counter() + TICK_S
        if not event.wait(TICK_S):
            self.late_s.append(max(time.perf_counter() - due, 0.0))
            del self.late_s[:-100_000]

    def health(self) -> Dict[str, Any]:
        """Lateness of the ticks (None: there was none), and this process's own cost while streams ran."""
        late = sorted(self.late_s)
        return {
            "late_p99_s": late[min(len(late) - 1, int(len(late) * 0.99))] if late else None,
            "late_max_s": late[-1] if late else None,
            "cpu_s": self.cpu_s,
            "wall_s": self.wall_s,
        }


class Batch:
    """Requests sent by a fixed number of threads, each taking the next one as soon as its last one ended."""

    def __init__(
        self,
        captures: List[Capture],
        target: Target,
        streams: int,
        *,
        silence_s: float,
        cap: int,
        budget: int,
    ) -> None:
        self.captures = captures
        self.begun: List[Capture] = []
        self.target = target
        self.streams = min(streams, len(captures))
        self.silence_s = silence_s
        self.cap = cap
        self.budget = budget
        self._lock = threading.Lock()
        self._working = self.streams
        self._over = threading.Event()
        self._stop = False
        self._tokens: Dict[str, int] = {}
        self._told = 0
        self._ended: Set[str] = set()

    def run(self, ticker: Ticker, emit: Callable[..., None], cancelled: Callable[[], bool]) -> None:
        """Run until every request taken has ended; a cancel ends those under way."""
        cpu_s, wall_s = time.process_time(), time.perf_counter()
        threads = [threading.Thread(target=self._work, name="stream %d" % n) for n in range(self.streams)]
        for thread in threads:
            thread.start()
        while not self._over.is_set():
            ticker.wait(self._over)
            if cancelled():
                self._cancel()
            self._tell(emit)
        for thread in threads:
            thread.join()
        ticker.cpu_s += time.process_time() - cpu_s
        ticker.wall_s += time.perf_counter() - wall_s

    def _work(self) -> None:
        capture = self._next()
        while capture is not None:
            capture.run(self.target, self.silence_s, self.cap)
            capture = self._next()

    def _next(self) -> Optional[Capture]:
        with self._lock:
            full = bool(self.begun) and sum(capture.size for capture in self.begun) > self.budget
            if self._stop or full or len(self.begun) == len(self.captures):
                self._working -= 1
                if not self._working:
                    self._over.set()
                return None
            self.begun.append(self.captures[len(self.begun)])
            return self.begun[-1]

    def _cancel(self) -> None:
        with self._lock:
            self._stop = True
            running = [capture for capture in self.begun if not capture.done]
        for capture in running:
            capture.cancel()

    def _tell(self, emit: Callable[..., None]) -> None:
        """Say what changed since the last time: which began, tokens so far, which ended."""
        begun = list(self.begun)
        for capture in begun[self._told :]:
            emit("started", id=capture.ident)
        self._told = len(begun)
        moved: Dict[str, int] = {}
        running = [capture for capture in begun if capture.ident not in self._ended]
        ended = [capture.ident for capture in running if capture.done]
        for capture in running:
            count = tokens_so_far(capture)
            if count > self._tokens.get(capture.ident, 0):
                self._tokens[capture.ident] = moved[capture.ident] = count
        if moved:
            emit("progress", tokens=moved)
        for ident in ended:
            self._ended.add(ident)
            emit("finished", id=ident)

"""Work that may never come back, in a thread of its own; Python 3.8, standard library.

A call into a hanging driver cannot be interrupted. It is therefore done by a thread that nobody waits for longer than
he wants to, and never twice at a time.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, List, Optional, Sequence, Tuple


class Errand:
    """One piece of work, done when asked, at most once at a time."""

    def __init__(self, work: Callable[..., Any], name: str) -> None:
        self.work = work
        self.result: Any = None
        self.error: Optional[BaseException] = None
        self.finished = float("-inf")
        """When the last round ended, in monotonic seconds."""
        self.since: Optional[float] = None
        """When the round that is on its way began; None while idle."""
        self._changed = threading.Condition()
        self._stopped = False
        self._arguments: Optional[List[Any]] = None
        threading.Thread(target=self._serve, name=name, daemon=True).start()

    def start(self, *arguments: Any) -> bool:
        """Begin a round; False when the one before is still on its way."""
        with self._changed:
            if self.since is not None:
                return False
            self.since = time.monotonic()
            self._arguments = list(arguments)
            self._changed.notify_all()
            return True

    def wait(self, until: float) -> bool:
        """Wait for the round on its way, up to a moment; True when nothing is on its way any more."""
        with self._changed:
            self._changed.wait_for(lambda: self.since is None, max(until - time.monotonic(), 0.0))
            return self.since is None

    def stop(self) -> None:
        """Let the thread end, at once or when its work comes back."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _done(self, arguments: List[Any]) -> Tuple[Any, Optional[BaseException]]:
        try:
            return self.work(*arguments), None
        except Exception as error:  # the edge of the thread: it must report a fault in the work, not end by it
            return None, error

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._arguments is not None or self._stopped)
                arguments, self._arguments = self._arguments or [], None
            if self._stopped:
                return
            result, error = self._done(arguments)
            with self._changed:
                self.result, self.error = result, error
                self.finished, self.since = time.monotonic(), None
                self._changed.notify_all()


def run_all(errands: Sequence[Errand], until: float, *arguments: Any) -> None:
    """Start every idle errand and wait for those until a moment; one that was on its way before is not waited for."""
    begun = [errand for errand in errands if errand.start(*arguments)]
    for errand in begun:
        errand.wait(until)

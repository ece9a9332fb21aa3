"""Blocking code that takes turns with the event loop: what the host runs as a program of its own runs here as a coroutine.

The code has a thread, yet thread and loop never run at the same time: while the code works the loop stands still, and
the other way round. So it may touch whatever the loop touches, and by a clock of a test it goes the same way each time.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Ended(BaseException):
    """The code's wait is over for good: whoever ran it has left."""


class Strand:
    """One piece of blocking code."""

    def __init__(self) -> None:
        self._its_turn = threading.Semaphore(0)
        self._our_turn = threading.Semaphore(0)
        self._wish: Awaitable[Any] | None = None
        self._given: Any = None
        self._ended = False
        self._over = False
        self._status: int | None = None

    async def run(self, work: Callable[[], int]) -> int | None:
        """Run the code to its end and return its status; None: it broke. Leaving early ends the code at its wait."""
        threading.Thread(target=self._work, args=(work,), daemon=True, name="strand").start()
        self._our_turn.acquire()
        try:
            while not self._over:
                assert self._wish is not None
                self._given = await self._wish
                self._switch()
        finally:
            self._ended = True
            while not self._over:
                if asyncio.iscoroutine(self._wish):
                    self._wish.close()
                self._switch()
        return self._status

    def _switch(self) -> None:
        self._its_turn.release()
        self._our_turn.acquire()

    def _work(self, work: Callable[[], int]) -> None:
        try:
            self._status = work()
        except Ended:
            pass
        finally:
            self._over = True
            self._our_turn.release()

    def wait(self, wish: Awaitable[T]) -> T:
        """From within the code: let the loop await something, and return what came of it. Raises Ended."""
        self._wish = wish
        self._our_turn.release()
        self._its_turn.acquire()
        if self._ended:
            raise Ended
        given: T = self._given
        return given

    def on_loop(self, work: Callable[[], T]) -> T:
        """From within the code: let the loop's thread do something now. What wakes a waiter may be done by no other thread.

        Standing still is not enough for that: in its debug mode asyncio refuses it, and it may, since it promises nothing.
        """

        async def do() -> T:
            return work()

        return self.wait(do())

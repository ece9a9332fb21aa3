"""Questions on the way to a host: unknown host keys, passphrases, passwords, second factors.

Before the screen opens they are asked on the terminal; the screen gives a prompter of its own for later reconnects.
What is answered is used once and never kept, logged or put on a command line.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from specconsole.glyph import within
from specconsole.text import clean

AGENT_S = 2.0
"""An agent that takes longer to sign waits for somebody: a touch of a security key, a confirmation (ssh-add -c)."""

T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """One question; host and server texts come from outside, so whoever shows them cleans them."""

    text: str
    """What is asked, in one line: "Password of ops@gpu-1"."""
    secret: bool = True
    """The answer is not shown while it is typed."""
    context: str = ""
    """What stands above it: a server's instructions, a fingerprint, why it is asked again."""


class Prompter(Protocol):
    """Who can ask the user."""

    async def ask(self, question: Question) -> str | None:
        """Return what was typed, or None when the user gave up or nobody can be asked."""
        ...

    async def confirm(self, question: Question) -> bool:
        """Return True only for a clear yes."""
        ...

    def tell(self, line: str) -> None:
        """Say something that wants no answer."""
        ...


class NoPrompter:
    """Nobody to ask: every question is given up, every confirmation is a no. Keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def ask(self, question: Question) -> str | None:  # noqa: ARG002  the protocol's name
        """Give up."""
        return None

    async def confirm(self, question: Question) -> bool:  # noqa: ARG002  the protocol's name
        """Say no."""
        return False

    def tell(self, line: str) -> None:
        """Keep it."""
        self.told.append(line)


class TerminalPrompter:
    """Asks on the terminal, never on standard output: that may be a pipe that wants JSON."""

    async def ask(self, question: Question) -> str | None:
        """Ask on the terminal; ctrl+d, or no terminal, gives up."""
        if question.context:
            self.tell(question.context)
        return await _read_line(f"{clean(question.text)}: ", question.secret)

    async def confirm(self, question: Question) -> bool:
        """Ask until the answer is yes or no; an empty one is a no, as is no terminal."""
        while True:
            answer = await self.ask(Question(f"{question.text} (yes/no)", secret=False, context=question.context))
            if answer is None or answer.strip().lower() in ("", "no", "n"):
                return False
            if answer.strip().lower() in ("yes", "y"):
                return True

    def tell(self, line: str) -> None:
        """Print to standard error."""
        print(within(clean(line), sys.stderr.encoding or "utf-8"), file=sys.stderr)  # noqa: T201  before the screen opens


class Patient:
    """A prompter that says whether it is waiting for the user: that time does not count against a deadline."""

    def __init__(self, prompter: Prompter) -> None:
        self.prompter = prompter
        self.waiting = False
        self.asked = False
        """Somebody was asked since the start."""
        self.answers = 0

    @contextmanager
    def _patience(self) -> Iterator[None]:
        self.waiting = self.asked = True
        try:
            yield
        finally:
            self.waiting = False
            self.answers += 1

    async def ask(self, question: Question) -> str | None:
        """As `Prompter.ask`."""
        with self._patience():
            return await self.prompter.ask(question)

    async def confirm(self, question: Question) -> bool:
        """As `Prompter.confirm`."""
        with self._patience():
            return await self.prompter.confirm(question)

    async def outside(self, work: Awaitable[T], line: str) -> T:
        """Wait for something that may wait for the user elsewhere; say so when it does."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task}, timeout=AGENT_S)
            if task.done():
                return task.result()
            self.tell(line)
            with self._patience():
                return await task
        finally:
            task.cancel()

    def tell(self, line: str) -> None:
        """As `Prompter.tell`."""
        self.prompter.tell(line)


async def _read_line(prompt: str, secret: bool) -> str | None:
    """Read a line from the terminal without blocking the loop, so that ctrl+c ends the question at once."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        with _echo_off(terminal) if secret else _as_it_is():
            os.write(terminal, prompt.encode())
            line = await _line(terminal)
        if secret or not line:
            os.write(terminal, b"\n")
    finally:
        os.close(terminal)
    return line.decode(errors="replace").rstrip("\r\n") if line else None


async def _line(terminal: int) -> bytes:
    """Wait for a line; the terminal's own line discipline hands out whole ones."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(terminal, ready.set)
    except OSError:  # macOS: kqueue refuses /dev/tty
        return await asyncio.to_thread(os.read, terminal, 4096)
    try:
        await ready.wait()
        return os.read(terminal, 4096)
    finally:
        loop.remove_reader(terminal)


@contextmanager
def _echo_off(terminal: int) -> Iterator[None]:
    import termios  # not on every system that can show the demo

    before = termios.tcgetattr(terminal)
    hidden = [*before]
    hidden[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSAFLUSH, hidden)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)


@contextmanager
def _as_it_is() -> Iterator[None]:
    yield

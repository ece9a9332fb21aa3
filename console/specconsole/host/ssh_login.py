"""What is asked of the user to log in to one hop, and how often; nothing of the answers is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from specconsole.host.prompts import Prompter, Question
from specconsole.host.ssh_hop import Hop

AGAIN = "Permission denied, please try again."
PASSPHRASE_TRIES = 3
AGENT_S = 2.0
"""An agent that takes longer to sign waits for somebody: a touch of a security key, a confirmation (ssh-add -c)."""

T = TypeVar("T")


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


class Login:
    """One attempt to log in."""

    def __init__(self, hop: Hop, prompter: Patient) -> None:
        self.hop = hop
        self.prompter = prompter
        self.banner = ""
        self.keys_tried = 0
        self.given_up = False
        self._passwords = 0
        self._rounds = 0

    async def password(self) -> str | None:
        """Ask for the password; None when it is not to be tried (again)."""
        if not self.hop.password or self.given_up or self._passwords >= self.hop.attempts:
            return None
        self._passwords += 1
        context = AGAIN if self._passwords > 1 else self.banner
        return await self._ask(Question(f"Password of {self.hop.login}", context=context))

    def keyboard(self) -> str | None:
        """Whether to try keyboard-interactive (again)."""
        if not self.hop.keyboard or self.given_up or self._rounds >= self.hop.attempts:
            return None
        self._rounds += 1
        return ""

    async def challenge(self, name: str, instructions: str, prompts: Sequence[tuple[str, bool]]) -> list[str] | None:
        """Ask what the server wants to know: passwords, one-time codes. A round without questions is only read."""
        context = "\n".join(part for part in (AGAIN if self._rounds > 1 else self.banner, name, instructions) if part)
        answers: list[str] = []
        for prompt, shown in prompts:
            text = f"{self.hop.login}: {prompt.strip().rstrip(':')}"
            answer = await self._ask(Question(text, secret=not shown, context=context))
            if answer is None:
                return None
            answers.append(answer)
            context = ""
        return answers

    async def passphrase(self, path: Path, attempt: int) -> str | None:
        """Ask for the passphrase of a key."""
        context = "That was not it." if attempt else ""
        return await self.prompter.ask(Question(f"Passphrase of {path}", context=context))

    async def _ask(self, question: Question) -> str | None:
        answer = await self.prompter.ask(question)
        self.given_up |= answer is None
        return answer

"""What is asked of the user to log in to one hop, and how often; nothing of the answers is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from specconsole.host.prompts import Patient, Question
from specconsole.host.ssh_hop import Hop

AGAIN = "Permission denied, please try again."
PASSPHRASE_TRIES = 3


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

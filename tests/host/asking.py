"""A user who answers from a script."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from specconsole.host.prompts import Question


class Script:
    """Answers in turn; keeps what was asked and told. An answer may be None (given up) or a function of the question."""

    def __init__(self, *answers: str | bool | Callable[[Question], str | None] | None) -> None:
        self.answers = list(answers)
        self.asked: list[Question] = []
        self.told: list[str] = []
        self.never = asyncio.Event()

    async def ask(self, question: Question) -> str | None:
        self.asked.append(question)
        answer = self.answers.pop(0)
        assert not isinstance(answer, bool)
        return answer(question) if callable(answer) else answer

    async def confirm(self, question: Question) -> bool:
        self.asked.append(question)
        answer = self.answers.pop(0)
        assert isinstance(answer, bool)
        return answer

    def tell(self, line: str) -> None:
        self.told.append(line)


class Silent(Script):
    """Somebody who never answers."""

    async def ask(self, question: Question) -> str | None:
        self.asked.append(question)
        await self.never.wait()
        return None

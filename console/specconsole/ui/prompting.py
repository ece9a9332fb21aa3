"""Who is asked on the way to a host: the terminal until the screen stands, then the screen; it loads no screen itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specconsole.host.prompts import Prompter, Question
    from specconsole.ui.app import SpecConsole


class ScreenPrompter:
    """Asks on the terminal until the screen stands, then in dialogs over it; one question at a time."""

    def __init__(self, before: Prompter) -> None:
        self._before = before
        self._console: SpecConsole | None = None
        self._turn = asyncio.Lock()

    def show_on(self, console: SpecConsole | None) -> None:
        """Ask on this screen from now on; None: on the terminal again."""
        self._console = console

    async def ask(self, question: Question) -> str | None:
        """Return what was typed, or None when the user gave up."""
        async with self._turn:
            console = self._console
            if console is None:
                return await self._before.ask(question)
            from specconsole.ui.screens.prompt import PromptScreen

            answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
            console.call_later(console.push_screen, PromptScreen(question), _fill(answer))
            return await answer

    async def confirm(self, question: Question) -> bool:
        """Return True only when yes was typed."""
        if self._console is None:
            return await self._before.confirm(question)
        from specconsole.host.prompts import Question

        answer = await self.ask(Question(question.text + " (yes/no)", secret=False, context=question.context))
        return answer is not None and answer.strip().lower() in ("yes", "y")

    def tell(self, line: str) -> None:
        """Say something that wants no answer."""
        if self._console is None:
            self._before.tell(line)
        else:
            self._console.tell(line)


def _fill(answer: asyncio.Future[str | None]) -> Callable[[str | None], None]:
    def fill(value: str | None) -> None:
        if not answer.done():
            answer.set_result(value)

    return fill

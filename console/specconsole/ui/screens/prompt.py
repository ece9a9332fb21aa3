"""A question on the way to the host, asked over the screen: a password, a second factor, a yes or no."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from specconsole.text import clean, one_line
from specconsole.ui import keys

if TYPE_CHECKING:
    from specconsole.host.prompts import Prompter, Question
    from specconsole.ui.app import SpecConsole


class PromptScreen(ModalScreen[str | None]):
    """Asks one question; Enter answers, Esc gives up. What is typed is kept nowhere."""

    CSS_PATH = "prompt.tcss"
    BINDINGS: ClassVar = keys.bindings(keys.Place.ASKED)
    NAME = "asked"

    def __init__(self, question: Question) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """The context, the question, the line to type in."""
        asked = self._question
        with Vertical(id="prompt"):
            if asked.context:
                yield Static(Content(clean(asked.context)), id="context")
            yield Static(Content(one_line(asked.text)), id="question")
            yield Input(password=asked.secret, compact=True)
            yield Static(Content("Enter answers, Esc gives up, F1 explains"), id="hint")

    @on(Input.Submitted)
    def _answered(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value)

    def action_give_up(self) -> None:
        """Close without an answer."""
        self.dismiss(None)


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

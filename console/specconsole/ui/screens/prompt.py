"""A question on the way to the host, asked over the screen: a password, a second factor, a yes or no."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from specconsole.text import clean, one_line
from specconsole.ui import keys
from specconsole.ui.leaving import LeftOnce
from specconsole.ui.resizing import Resized

if TYPE_CHECKING:
    from specconsole.host.prompts import Question


class PromptScreen(LeftOnce, Resized, ModalScreen[str | None]):
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

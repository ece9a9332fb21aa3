"""A question with a consequence: what will happen stands above it, and the default is No."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from specconsole.text import clean, one_line
from specconsole.ui import keys
from specconsole.ui.leaving import LeftOnce
from specconsole.ui.resizing import Resized


class ConfirmScreen(LeftOnce, Resized, ModalScreen[bool]):
    """Answers True only to y; Enter, Esc and n are No."""

    CSS_PATH = "confirm.tcss"
    BINDINGS: ClassVar = keys.bindings(keys.Place.QUESTION, keys.Place.DIALOG)
    NAME = "question"

    def __init__(self, consequence: str, question: str) -> None:
        super().__init__()
        self._consequence, self._question = consequence, question

    def compose(self) -> ComposeResult:
        """The consequence, the question, the keys."""
        with Vertical(id="confirm"):
            yield Static(Content(clean(self._consequence)), id="context")
            yield Static(Content(one_line(self._question)), id="question")
            yield Static(Content("y is yes; Enter, Esc and n are no; ? explains"), id="hint")

    def action_answer(self, answer: bool) -> None:
        """Close with the answer."""
        self.dismiss(answer)

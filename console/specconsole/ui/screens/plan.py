"""A plan that asks: what will happen and what it costs stands there, and the default is No."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from specconsole.service.plan import Plan
from specconsole.text import one_line
from specconsole.ui import keys
from specconsole.ui.leaving import LeftOnce
from specconsole.ui.resizing import Resized
from specconsole.ui.rows.row import Row
from specconsole.ui.rows.swap import plan_rows
from specconsole.ui.widgets.rows import Rows

AROUND, LOW, SPARED = 10, 30, 2
"""Rows of the frame, the title, the keys and the blanks around the plan: the keys must never be pushed out of view.

A screen with fewer rows than `LOW` spares the blanks inside the frame."""


class AskScreen(LeftOnce, Resized, ModalScreen[bool]):
    """Answers True only to y, and only where nothing stands in the way; Enter, Esc and n are No."""

    CSS_PATH = "plan.tcss"
    BINDINGS: ClassVar = keys.bindings(keys.Place.PLAN, keys.Place.DIALOG)
    NAME = "plan"
    _beyond = 0
    """Rows that have no room."""

    @property
    def title_text(self) -> str:
        """What it is about."""
        raise NotImplementedError

    @property
    def blocked(self) -> bool:
        """It cannot be done."""
        raise NotImplementedError

    def rows(self, cells: int) -> list[Row]:
        """What will happen."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """What it is about, the plan, the keys."""
        with Vertical(id="plan"):
            yield Static(Content(one_line(self.title_text)), id="what")
            with VerticalScroll(id="sheet"):
                yield Rows(id="steps")
            yield Static(Content(self._ask(0)), id="hint")

    def on_mount(self) -> None:
        """Say how much of the plan is still below, wherever it is scrolled to."""
        self.watch(self.query_one("#sheet"), "scroll_y", self._tell_rest, init=False)

    def _tell_rest(self) -> None:
        below = self._beyond - round(self.query_one("#sheet").scroll_y)
        self.query_one("#hint", Static).update(Content(self._ask(max(below, 0))))

    def _ask(self, below: int) -> str:
        answers = (
            "It cannot be done now; Esc closes, ? explains"
            if self.blocked
            else "y does it; Enter, Esc and n do not; ? explains"
        )
        return f"{below} row{'s' if below > 1 else ''} more: ↓ · {answers}" if below else answers

    def on_resize(self, _event: events.Resize) -> None:
        """Wrap for the new size."""
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        sheet, low = self.query_one("#sheet"), self.size.height < LOW
        self.query_one("#plan").styles.padding = (0 if low else 1, 2)
        rows = self.rows(sheet.size.width - 2)  # a scroll bar may come
        height = max(min(len(rows), self.size.height - AROUND + (SPARED if low else 0)), 1)
        sheet.styles.height = height
        self._beyond = len(rows) - height
        drawn = self.query_one("#steps", Rows)
        drawn.styles.height = max(len(rows), 1)
        drawn.show(rows)
        self._tell_rest()

    def action_answer(self, answer: bool) -> None:
        """Close with the answer."""
        self.dismiss(answer and not self.blocked)

    def action_lines(self, by: int) -> None:
        """Move by lines."""
        self.query_one("#sheet").scroll_relative(y=by, animate=False)


class PlanScreen(AskScreen):
    """The plan of a swap, a stop, a start or a restart."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._plan = plan

    @property
    def title_text(self) -> str:
        """What will be done."""
        return f"{self._plan.action} {self._plan.target.key} on {self._plan.host}"

    @property
    def blocked(self) -> bool:
        """Something stands in the way."""
        return bool(self._plan.blockers)

    def rows(self, cells: int) -> list[Row]:
        """Step by step, and what it costs."""
        return plan_rows(self._plan, cells)

"""A line at the foot of a log or a list to type in: a text to search for or to filter by, a time, a file's name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.keys import format_key
from textual.message import Message
from textual.reactive import var
from textual.widgets import Input

from specconsole.logs.pattern import Pattern
from specconsole.ui import keys
from specconsole.ui.rows.row import Row, width
from specconsole.ui.widgets.rows import Rows

LABELS = {"search": "search", "filter": "only with", "time": "go to", "save": "save to", "load": "import from"}
"""What can be asked for, and what stands ahead of the line."""
_KEPT = 50


class Typing(Input):
    """A line to type in; it takes every key that writes something, so that none is shown as a command meanwhile."""

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Whether a key is typed here; Textual does not know the characters of slash, plus and others."""
        written = format_key(key)
        return super().check_consume_key(key, character) or (len(written) == 1 and written.isascii())


class LogPrompt(Horizontal):
    """Hidden until it asks; what is typed is told at each key."""

    DEFAULT_CSS = """
    LogPrompt { height: 1; width: 1fr; display: none; background: $panel; }
    LogPrompt > Typing { width: 1fr; background: $panel; }
    LogPrompt > Rows { width: auto; height: 1; background: $panel; }
    """
    BINDINGS: ClassVar = keys.bindings(keys.Place.PROMPT)

    regex: var[bool] = var(False)
    """What is typed is a regular expression."""

    @dataclass
    class Typed(Message):
        """Something was typed, and maybe finished."""

        what: str
        """A key of `LABELS`."""
        pattern: Pattern
        finished: bool = False

    @dataclass
    class Dropped(Message):
        """The line was closed without an answer."""

        what: str

    def __init__(self) -> None:
        super().__init__()
        self.what = "search"
        self._typed: dict[str, list[str]] = {}
        self._back = 0

    def compose(self) -> ComposeResult:
        """What is asked, the line, what is said of it."""
        yield Rows(id="asked")
        line = Typing(compact=True, select_on_focus=False)
        line.cursor_blink = False
        yield line
        yield Rows(id="said")

    @property
    def line(self) -> Input:
        """The line to type in."""
        return self.query_one(Input)

    def ask(self, what: str, value: str = "", *, regex: bool = False) -> None:
        """Ask for something, with an answer to begin with."""
        self.what, self._back = what, 0
        self.set_reactive(LogPrompt.regex, regex)
        self.display = True
        with self.prevent(Input.Changed):
            self.line.value = value
        self.line.cursor_position = len(value)
        self.line.focus()
        self._label()
        self.say(())
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only a text can be an expression."""
        return (action != "regex" or self.what in ("search", "filter")) and super().check_action(action, parameters)

    def say(self, row: Row) -> None:
        """Show something at the right edge."""
        self._show("#said", ((" ", "text"), *row, (" ", "text")) if row else ())

    def close(self) -> None:
        """Hide."""
        self.display = False

    def _label(self) -> None:
        kind = (" /regex/" if self.regex else " text") if self.what in ("search", "filter") else ""
        self._show("#asked", ((f" {LABELS[self.what]}{kind} ", "accent"),))

    def _show(self, name: str, row: Row) -> None:
        rows = self.query_one(name, Rows)
        rows.styles.width = width(row)
        rows.show([row])

    def _tell(self, *, finished: bool = False) -> None:
        self.post_message(self.Typed(self.what, Pattern(self.line.value, self.regex), finished))

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self._tell()

    @on(Input.Submitted)
    def _finished(self, event: Input.Submitted) -> None:
        event.stop()
        typed = self._typed.setdefault(self.what, [])
        if event.value:
            typed[:] = [event.value, *(text for text in typed if text != event.value)][:_KEPT]
        self._tell(finished=True)

    def action_drop(self) -> None:
        """Close without an answer."""
        self.post_message(self.Dropped(self.what))

    def action_regex(self) -> None:
        """Take what is typed for an expression, or for plain text."""
        self.regex = not self.regex
        self._label()
        self._tell()

    def action_older(self, step: int) -> None:
        """Bring back what was typed before."""
        typed = self._typed.get(self.what, [])
        self._back = min(max(self._back + step, 0), len(typed))
        self.line.value = typed[self._back - 1] if self._back else ""
        self.line.cursor_position = len(self.line.value)

"""Dialogs under keys that come faster than they come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.await_complete import AwaitComplete

if TYPE_CHECKING:
    from textual.screen import Screen

    class _Base(Screen[Any]):
        """What it is mixed into."""
else:
    _Base = object


class LeftOnce(_Base):
    """A dialog, mixed in before Textual's own, that is left once, and not before it stands.

    A key that was pressed before was meant for what stood there: y would answer a question that nobody saw. In Textual 8.2.8
    a dialog that is left between its making and its mounting is mounted without its widgets, which ends the console.

    Two keys may be under way to it, Enter pressed twice, say. In Textual 8.2.8 the second one leaves whatever is on top by
    then: a screen that nobody wanted to leave, or the last one, and with it the app ends.
    """

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Leave it with an answer; what comes earlier or later does nothing."""
        return super().dismiss(result) if self.is_active and self.is_mounted else AwaitComplete()

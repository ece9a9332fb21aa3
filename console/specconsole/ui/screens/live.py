"""A screen over the live data: what it declares under the app's own names is bound to the app's, and it has its header."""

from __future__ import annotations

from functools import partial

from textual import events
from textual.app import App
from textual.reactive import Reactive, var
from textual.screen import Screen

from specconsole.host.base import Link
from specconsole.ui.resizing import Resized
from specconsole.ui.rows.row import Row
from specconsole.ui.widgets.header import Header, Served


class LiveScreen(Resized, Screen[None], inherit_bindings=False):
    """One of the app's main screens; subclasses declare what else they show, by the names that the app uses."""

    host_name: var[str] = var("")
    """What the user typed to get here."""
    rights: var[str] = var("")
    """What may be done on the host; "" before it is known."""
    link: var[Link | None] = var(None)
    """The state of the link."""
    played: var[Row] = var(())
    """How a replay stands; (): the host is there now."""
    served: var[Served] = var(Served())
    """What runs, for the header."""
    now: var[float] = var(0.0)
    """Monotonic seconds of the app's last tick."""
    clock_text: var[str] = var("")
    """The time of day."""

    def __init__(self) -> None:
        super().__init__()
        self._missed: set[str] = set()

    @classmethod
    def shared(cls, app: type[App[None]]) -> list[Reactive[object]]:
        """The app's reactives that this screen declares too; Textual's own are not among them."""
        names = {name for kind in cls.__mro__ if issubclass(kind, LiveScreen) for name in vars(kind)}
        return [theirs for name in sorted(names) if isinstance(theirs := getattr(app, name, None), Reactive)]

    def follow(self, app: App[None]) -> None:
        """Follow the app's reactives of the same names from now on, while this screen is on show."""
        for theirs in self.shared(type(app)):
            self.watch(app, theirs.name, partial(self._take, theirs.name))

    def _take(self, name: str, value: object) -> None:
        """Take a value now, or when this screen is shown again: drawing nine that nobody saw took a quarter of the CPU."""
        if self.is_mounted and self not in self.app.screen_stack:
            self._missed.add(name)
            return
        setattr(self, name, value)
        self._catch_up()

    def on_unmount(self) -> None:
        """Be forgotten by the app: Textual drops what a closed screen follows when that changes next, and the host's name never does."""
        for followers in getattr(self.app, "__watchers", {}).values():
            followers[:] = [(who, told) for who, told in followers if who is not self]

    def on_screen_resume(self, _event: events.ScreenResume) -> None:
        """Be as new as the app."""
        self._catch_up()

    def _catch_up(self) -> None:
        while self._missed:
            name = self._missed.pop()
            setattr(self, name, getattr(self.app, name))

    def header(self) -> Header:
        """The header, bound to this screen."""
        me = LiveScreen
        return Header().data_bind(me.host_name, me.rights, me.link, me.played, me.served, me.now, me.clock_text)

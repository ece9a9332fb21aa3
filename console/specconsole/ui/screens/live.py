"""A screen over the live data: what it declares under the app's own names is bound to the app's, and it has its header."""

from __future__ import annotations

from textual.app import App
from textual.reactive import Reactive, var
from textual.screen import Screen

from specconsole.host.base import Link
from specconsole.ui.widgets.header import Header, Served


class LiveScreen(Screen[None], inherit_bindings=False):
    """One of the app's main screens; subclasses declare what else they show, by the names that the app uses."""

    host_name: var[str] = var("")
    """What the user typed to get here."""
    rights: var[str] = var("")
    """What may be done on the host; "" before it is known."""
    link: var[Link | None] = var(None)
    """The state of the link."""
    served: var[Served] = var(Served())
    """What runs, for the header."""
    now: var[float] = var(0.0)
    """Monotonic seconds of the app's last tick."""
    clock_text: var[str] = var("")
    """The time of day."""

    @classmethod
    def shared(cls, app: type[App[None]]) -> list[Reactive[object]]:
        """The app's reactives that this screen declares too; Textual's own are not among them."""
        names = {name for kind in cls.__mro__ if issubclass(kind, LiveScreen) for name in vars(kind)}
        return [theirs for name in sorted(names) if isinstance(theirs := getattr(app, name, None), Reactive)]

    def header(self) -> Header:
        """The header, bound to this screen."""
        me = LiveScreen
        return Header().data_bind(me.host_name, me.rights, me.link, me.served, me.now, me.clock_text)

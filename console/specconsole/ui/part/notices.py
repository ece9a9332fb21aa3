"""An app that tells: short notices, and what goes on as long as it lasts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from textual.app import App
from textual.notifications import Notification, Notify

from specconsole.text import one_line

SHOWN_S = {"information": 3.0, "warning": 8.0, "error": 15.0}
"""How long a notice stays: what only says that a key worked must not cover what the key is for."""
_WHILE_IT_LASTS_S = 600.0
"""A notice of what goes on is taken away when that is done, sooner than this."""
_PAINTS = 3
"""A notice is on the screen after so many turns: it is posted, mounted, painted."""


class TellingApp(App[None]):
    """Texts of notices are never markup."""

    def notify(self, message: str, **options: Any) -> None:
        """Show a notice; one that says the same goes: a key that is pressed again must not fill the screen with its answer."""
        for same in [one for one in self._notifications if one.message == message]:
            self._unnotify(same)
        super().notify(message, markup=False, **{name: said for name, said in options.items() if name != "markup"})

    def tell(self, said: str, severity: str = "information") -> None:
        """Show a notice for as long as its severity asks."""
        level: Any = severity
        self.notify(one_line(said), severity=level, markup=False, timeout=SHOWN_S[severity])

    @asynccontextmanager
    async def announced(self, said: str) -> AsyncGenerator[None]:
        """Say what begins, from before it does (it may hold the loop for a while) until it is done: then it covers nothing."""
        notice = Notification(one_line(said), timeout=_WHILE_IT_LASTS_S, markup=False)
        self.post_message(Notify(notice))
        await self.painted()
        try:
            yield
        finally:
            if notice in self._notifications:
                self._unnotify(notice)

    async def painted(self) -> None:
        """Wait until what was shown just now is on the terminal."""
        for _ in range(_PAINTS):
            painted = asyncio.Event()
            self.call_after_refresh(painted.set)
            await painted.wait()

"""The entry for every verb that opens the screen: the host comes opened, and is closed by whoever opened it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from specconsole.clock import Clock
from specconsole.host.base import Host
from specconsole.service.hook import Hooks
from specconsole.ui.app import SpecConsole
from specconsole.ui.part.announcing import Announcer

if TYPE_CHECKING:
    from specconsole.host.simulated.replay import Player
    from specconsole.ui.feed.host import HostFeeds
    from specconsole.ui.prompting import ScreenPrompter


async def run(
    host: Host,
    feeds: HostFeeds,
    *,
    clock: Clock,
    state: Path | None = None,
    theme: str = "",
    keymap: Mapping[str, str] | None = None,
    interval_s: float = 1.0,
    mouse: bool = True,
    ascii_only: bool = False,
    environ: Mapping[str, str] | None = None,
    prompter: ScreenPrompter | None = None,
    hooks: Hooks | None = None,
    replay: Player | None = None,
) -> int:
    """Show the console until the user leaves it; returns the exit code of the command.

    Args:
        host: an open host; it is not closed here.
        feeds: where its data comes from; they are not closed here.
        clock: the time that ages are told by; the demo's own for a recording.
        state: the folder for what is remembered and for faults of ours; None: nothing is written.
        theme: a theme's name, before the remembered one; "" for none asked.
        keymap: the user's own keys by command id.
        interval_s: seconds between samples of the host.
        ascii_only: draw with no glyph beyond ASCII.
        mouse: take the mouse; without, the terminal's own selection works.
        environ: the console's own environment, where an API key may stand.
        prompter: asks in dialogs while the screen is up.
        hooks: commands and an address that are told when a load ends; the terminal always is.
        replay: what is played; it says afterwards whether a jump was asked for.
    """
    app = SpecConsole(
        host,
        feeds,
        clock=clock,
        state=state,
        theme_name=(replay.left.get("theme", "") if replay is not None else "") or theme,
        keymap=keymap,
        interval_s=interval_s,
        ascii_only=ascii_only,
    )
    app.replay = replay
    app.announcer = Announcer(host.name, clock, hooks or Hooks(), environ or {})
    if prompter is not None:
        prompter.show_on(app)
    if feeds.memory is not None:
        feeds.memory.on_trouble = lambda error: app.tell(str(error), "warning")
    try:
        with _ended_by_signals(app):
            await app.run_async(mouse=mouse)
    finally:
        if prompter is not None:
            prompter.show_on(None)
    return app.return_code or 0


@contextmanager
def _ended_by_signals(app: SpecConsole) -> Iterator[None]:
    """Leave in good order, with the terminal as it was, when the system or a closed terminal ends the program."""
    loop = asyncio.get_running_loop()
    signals = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    taken = []
    for number in signals:
        try:
            loop.add_signal_handler(number, app.exit, None, 130 if number == signal.SIGINT else 0)
            taken.append(number)
        except (NotImplementedError, RuntimeError):  # noqa: PERF203  Windows; not the main thread
            break
    try:
        yield
    finally:
        for number in taken:
            loop.remove_signal_handler(number)

"""The entry for every verb that opens the screen: the host comes opened, and is closed by whoever opened it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from specconsole.host.base import Host
from specconsole.service.hook import Hooks
from specconsole.settings import Settings
from specconsole.ui.app import SpecConsole
from specconsole.ui.part.announcing import Announcer

if TYPE_CHECKING:
    from specconsole.host.simulated.replay import Player
    from specconsole.ui.feed.host import HostFeeds
    from specconsole.ui.prompting import ScreenPrompter


@dataclass(frozen=True)
class Around:
    """What a session has beside its host and the user's settings."""

    state: Path | None = None
    """The folder for what is remembered and for faults of ours; None: nothing is written."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """The console's own environment, where an API key may stand."""
    hooks: Hooks = field(default_factory=Hooks)
    """Commands and an address that are told when a load ends; the terminal always is."""
    prompter: ScreenPrompter | None = None
    """Asks in dialogs while the screen is up."""
    replay: Player | None = None
    """What is played; it says afterwards whether a jump was asked for."""


async def run(host: Host, feeds: HostFeeds, own: Settings, around: Around) -> int:
    """Show the console until the user leaves it; returns the exit code of the command.

    Args:
        host: an open host, whose clock ages are told by; it is not closed here.
        feeds: where its data comes from; they are not closed here.
        own: the user's settings, the command line's already over them.
        around: what else there is.
    """
    replay, prompter = around.replay, around.prompter
    app = SpecConsole(
        host,
        feeds,
        clock=host.clock,
        state=around.state,
        theme_name=(replay.left.get("theme", "") if replay is not None else "") or own.theme or "",
        keymap=own.keymap,
        interval_s=1 / own.rate,
        ascii_only=own.ascii,
    )
    app.replay = replay
    app.announcer = Announcer(host.name, host.clock, around.hooks, around.environ)
    if prompter is not None:
        prompter.show_on(app)
    if feeds.memory is not None:
        feeds.memory.on_trouble = lambda error: app.tell(str(error), "warning")
    try:
        with _ended_by_signals(app):
            await app.run_async(mouse=own.mouse)
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

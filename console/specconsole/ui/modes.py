"""The main screens by the names of their modes; each is imported when it is shown first, or in an idle moment before.

All of them together took longer to import than the first paint may: half of what the console needs is for screens that
nobody has asked for yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specconsole.ui.arrangement import Arrangement
    from specconsole.ui.local_time import LocalTime
    from specconsole.ui.log.reading import LogReading
    from specconsole.ui.screens.live import LiveScreen

AHEAD_S = 3.0
"""So long after the first paint the other screens are imported: the panes have come to life by then."""
_AHEAD = (
    "screens.help",
    "screens.unit",
    "screens.bench",
    "screens.doctor",
    "screens.history",
    "screens.compare",
    "screens.swap",
    "screens.experiment",
)
"""What is imported ahead: 0.2 s of CPU that the first press of its key would else wait for, up to a second on a busy machine."""


async def ahead() -> None:
    """Import the screens that nobody has asked for yet, in a thread: keys are answered between two steps of it."""
    for name in _AHEAD:
        await asyncio.to_thread(import_module, f"specconsole.ui.{name}")


def screens(
    stamp: LocalTime, reading: LogReading, arrangement: Arrangement, own_host: Callable[[], str]
) -> Mapping[str, Callable[[], LiveScreen]]:
    """What makes the screen of each mode.

    Args:
        stamp: writes times of day.
        reading: how the log is read, on whatever screen it is shown.
        arrangement: how the dashboard was left.
        own_host: this host's name in the history.
    """

    def dashboard() -> LiveScreen:
        from specconsole.ui.screens.dashboard import DashboardScreen

        return DashboardScreen(stamp, reading, arrangement)

    def log() -> LiveScreen:
        from specconsole.ui.screens.log import LogScreen

        return LogScreen(stamp, reading)

    def bench() -> LiveScreen:
        from specconsole.ui.screens.bench import BenchScreen

        return BenchScreen()

    def compare() -> LiveScreen:
        from specconsole.ui.screens.compare import CompareScreen

        return CompareScreen(stamp)

    def history() -> LiveScreen:
        from specconsole.ui.screens.history import HistoryScreen

        return HistoryScreen(stamp, own_host())

    def load() -> LiveScreen:
        from specconsole.ui.screens.load import LoadScreen

        return LoadScreen()

    def doctor() -> LiveScreen:
        from specconsole.ui.screens.doctor import DoctorScreen

        return DoctorScreen(stamp)

    def swap() -> LiveScreen:
        from specconsole.ui.screens.swap import SwapScreen

        return SwapScreen()

    def experiment() -> LiveScreen:
        from specconsole.ui.screens.experiment import ExperimentScreen

        return ExperimentScreen(stamp)

    made = (dashboard, log, bench, compare, history, load, doctor, swap, experiment)
    return {make.__name__: make for make in made}

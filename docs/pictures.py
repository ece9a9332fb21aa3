"""Make the README's pictures from the product itself: ./dev pictures (needs rsvg-convert, of librsvg2-bin).

The demo's replay is played fast to a chosen moment, and what the screen shows then is the picture.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path

from specconsole.clock import SystemClock
from specconsole.engine.health import Health
from specconsole.host.simulated import ScaledClock, SimulatedHost, story
from specconsole.ui.app import SpecConsole
from specconsole.ui.feeds import HostFeeds
from specconsole.ui.screens.confirm import ConfirmScreen

HERE = Path(__file__).resolve().parent
SPEED = 8.0


def loading(app: SpecConsole) -> bool:
    """The weights are being read."""
    return bool(app.attempt and app.attempt.weights and app.attempt.weights.done >= 9)


def serving(app: SpecConsole) -> bool:
    """Tokens flow, and speculation has counters."""
    window = app.engine.window if app.engine else None
    return bool(app.engine and app.engine.health is Health.ANSWERING and window and window.tokens_per_step)


def asked(app: SpecConsole) -> bool:
    """Others' requests run, so the console asks first."""
    return isinstance(app.screen, ConfirmScreen)


def measured(app: SpecConsole) -> bool:
    """A benchmark has ended."""
    return bool(app.bench and app.bench.run.why)


async def picture(name: str, size: tuple[int, int], moments: list[tuple[Callable[[SpecConsole], bool], str]]) -> None:
    """Play until each moment, press its key, and save the screen after the last."""
    clock = ScaledClock(SystemClock(), SPEED)
    host = SimulatedHost("root@gpu-1", clock=clock, begin=story.loading("moe-ngram"))
    await host.open()
    viewer = host.clock
    app = SpecConsole(host, HostFeeds(host, viewer, None, {}), clock=viewer)
    async with app.run_test(size=size) as pilot:
        for moment, key in moments:
            for _ in range(1200):
                if moment(app):
                    break
                await asyncio.sleep(0.1)
            if key:
                await pilot.press(key)
            await asyncio.sleep(1.0)
        drawing = app.export_screenshot(title="specconsole")
    await host.close()
    # Without this the blanks at the ends of runs are dropped.
    drawing = drawing.replace("<text ", '<text xml:space="preserve" ')
    argv = ["rsvg-convert", "--zoom", "0.8", "-o", str(HERE / f"{name}.png")]
    await asyncio.to_thread(subprocess.run, argv, input=drawing.encode(), check=True)


async def main() -> None:
    """All of them."""
    await picture("loading", (120, 40), [(loading, "")])
    await picture("serving", (80, 24), [(serving, "")])
    await picture("bench", (120, 40), [(serving, "b"), (asked, "y"), (measured, "")])


if __name__ == "__main__":
    asyncio.run(main())

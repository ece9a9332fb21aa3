"""`specconsole demo`: the console on a recorded host. Nothing is needed, nothing is connected to."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from specconsole import paths, settings
from specconsole.clock import SystemClock
from specconsole.errors import UsageError
from specconsole.verb import output
from specconsole.verb.session import drive

if TYPE_CHECKING:
    from specconsole.profile import Profile
    from specconsole.settings import Settings

FASTEST = 60.0
DEFAULT_SPEED = 4.0
_SERVE_S = 90.0
"""Each server of the tour serves so long by the viewer's clock: time to look, and to measure."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Replay real vLLM starts, recorded on one NVIDIA H200: an n-gram unit loads, serves and stops, then the"
        " baseline, an EAGLE-3 unit, one that fails… The units can be started and stopped; then the story ends."
    )
    parser.add_argument("--speed", type=float, default=DEFAULT_SPEED, metavar="N", help="1 to 60 times as fast (4)")
    parser.add_argument("--run", metavar="NAME", dest="recording", help="load only this one and let it serve")
    parser.add_argument("--list", action="store_true", help="list the recordings and end")
    parser.add_argument("--gpus", type=int, default=1, metavar="N", help="show the one GPU up to 8 times, so marked")
    parser.add_argument("--read-only", action="store_true", help="offer nothing that changes the host")
    parser.add_argument("--theme", default="", metavar="NAME", help="colours of the screen")
    parser.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")


def run(args: argparse.Namespace) -> int:
    """Show the console on the replay until the user leaves it."""
    if not 1 <= args.speed <= FASTEST:
        raise UsageError(f"--speed {args.speed:g} is out of range.", hint=f"It takes 1 to {FASTEST:g}.")
    if not 1 <= args.gpus <= 8:
        raise UsageError(f"--gpus {args.gpus} is out of range.", hint="It takes 1 to 8.")
    from specconsole.host.simulated import recorded

    names = recorded.names()
    if args.list:
        output.write_text(listing({name: recorded.header(name) for name in names}))
        return 0
    if args.recording is not None and args.recording not in names:
        raise UsageError(f"There is no recording {args.recording}.", hint=f"There are {', '.join(names)}.")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("The console needs a terminal.", hint="Use specconsole status demo --json in scripts.")
    return drive(_show(args, settings.load()))


def listing(headers: Mapping[str, Mapping[str, Any]]) -> str:
    """A line a recording: its name, what ran, and how its start went."""
    return output.table(
        ("name", "what ran", "start"), [(name, head["title"], _end(head)) for name, head in headers.items()]
    )


def _end(head: Mapping[str, Any]) -> str:
    return f"ready after {head['ready']:.0f} s" if "ready" in head else f"failed after {head['exited']:.0f} s"


def title(speed: float) -> str:
    """What stands where a host's name stands: that this is a replay, and how fast."""
    return f"demo · H200 replay ×{speed:g}"


def _profile() -> Profile:
    """The units in the order of the story, the MoE model first; all else of them is found by discovery."""
    from specconsole.host.simulated.fixture import unit_files
    from specconsole.profile import Profile, UnitProfile

    names = unit_files()
    return Profile("demo", units=tuple(UnitProfile(_label(name), name) for name in names))


def _label(name: str) -> str:
    return name.removeprefix("vllm-").removesuffix(".service")


async def _show(args: argparse.Namespace, own: Settings) -> int:
    from specconsole.host.simulated import ScaledClock, SimulatedHost, story
    from specconsole.host.simulated.fixture import site
    from specconsole.ui.run import run as show

    clock = ScaledClock(SystemClock(), args.speed)
    host = SimulatedHost(
        title(args.speed),
        clock=clock,
        begin=story.loading(args.recording) if args.recording else story.tour(_SERVE_S * args.speed),
        site=site(args.gpus),
        read_only=args.read_only,
    )
    await host.open()
    try:
        return await show(
            host,
            clock=host.clock,
            profile=_profile(),
            state=paths.state_dir(),
            theme=args.theme or own.theme or "",
            keymap=own.keymap,
            interval_s=1 / own.rate,
            mouse=own.mouse and not args.no_mouse,
        )
    finally:
        await host.close()

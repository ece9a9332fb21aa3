"""`specconsole demo`: the console on a simulated host. Nothing is needed, nothing is connected to."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from specconsole import paths, settings
from specconsole.errors import UsageError
from specconsole.host.target import FASTEST, SLOWEST, Demo, demo
from specconsole.verb import output
from specconsole.verb.screen import add_screen_arguments, check_terminal, wanted
from specconsole.verb.session import drive

if TYPE_CHECKING:
    from specconsole.explain.collected import Collected
    from specconsole.host.simulated import SimulatedHost
    from specconsole.host.simulated.replay import Player
    from specconsole.profile import Profile
    from specconsole.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Show the console on a simulated host, whose time may pass faster. Without --scenario real vLLM starts are"
        " replayed, recorded on one NVIDIA H200. A written scenario has eight GPUs, a baseline and an n-gram unit of"
        " Kimi-K2.5, and a load of up to 90 minutes. Units can be started, stopped and measured; then the story ends."
        " Every verb takes a scenario as its HOST too: specconsole watch demo:slow-disk@600. A demo lives in the process that"
        " shows it: a second console cannot join it, and begins a story of its own. What it remembers is kept apart from your"
        " hosts: `history --demo` and `compare --demo` read it."
    )
    parser.add_argument("--scenario", default="h200", metavar="NAME", help="which (h200); NAME:UNIT: that unit serves")
    parser.add_argument(
        "--replay",
        metavar="FILE",
        help="play what `specconsole bundle` collected, by the time of its log; ) ( } { > < jump in it; nothing can be changed",
    )
    parser.add_argument(
        "--speed",
        type=float,
        metavar="N",
        help="1 to 600 times as fast; the usual one is listed, and a log is replayed in 90 s or as it was; its samples then pass as they did",
    )
    parser.add_argument(
        "--at",
        metavar="TIME",
        help="where a replay begins: error (the first one of its log), end, +SECONDS, or a time of day, HH:MM[:SS], here",
    )
    parser.add_argument("--list", action="store_true", help="list the scenarios and end")
    parser.add_argument(
        "--gpus", type=int, default=1, metavar="N", help="show a recording's GPU up to 8 times, so marked"
    )
    parser.add_argument("--read-only", action="store_true", help="offer nothing that changes the host")
    add_screen_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Show the console on the simulated host until the user leaves it."""
    if not 1 <= args.gpus <= 8:
        raise UsageError(f"--gpus {args.gpus} is out of range.", hint="It takes 1 to 8.")
    if args.list:
        output.write_text(listing())
        return 0
    if args.at is not None and not args.replay:
        raise UsageError("--at is for a replay.", hint="Say which: demo --replay FILE --at error.")
    if args.replay:
        return drive(_replay(args, wanted(args, settings.load())))
    asked = demo(f"demo:{args.scenario}") or Demo(args.scenario)
    return drive(_show(args, replace(asked, speed=args.speed or asked.speed), wanted(args, settings.load())))


def listing() -> str:
    """A line a scenario: its name, how fast it passes, and what happens."""
    from specconsole.host.simulated.make import scenarios, speed_of

    rows = [(name, f"{speed_of(Demo(name)):g}x", title) for name, title in scenarios().items()]
    return output.table(("name", "speed", "what happens"), rows)


def _profile() -> Profile:
    """The recorded units in the order of the story, the MoE model first; all else of them is found by discovery."""
    from specconsole.host.simulated.fixture import unit_files
    from specconsole.profile import Profile, UnitProfile

    names = unit_files()
    return Profile("demo", units=tuple(UnitProfile(_label(name), name) for name in names))


def _label(name: str) -> str:
    return name.removeprefix("vllm-").removesuffix(".service")


async def _replay(args: argparse.Namespace, own: Settings) -> int:
    """A bundle is somebody's: what this machine remembers of its own hosts is left alone."""
    from specconsole.explain.archive import contents
    from specconsole.explain.collected import collected
    from specconsole.explain.moments import moments
    from specconsole.host.simulated import replay

    if args.speed is not None and not SLOWEST <= args.speed <= FASTEST:
        raise UsageError(f"A speed of {args.speed:g} is out of range.", hint=f"It takes {SLOWEST:g} to {FASTEST:g}.")
    parts = contents(Path(args.replay))
    player = replay.Player.of(parts, args.speed, args.at, moments)
    played = (player, collected(parts))
    code = await _play(player.host(), own, None, played)
    while player.again:
        code = await _play(player.host(), own, None, played)
    return code


async def _show(args: argparse.Namespace, asked: Demo, own: Settings) -> int:
    from specconsole.host.simulated import make

    return await _play(make(asked, read_only=args.read_only, gpus=args.gpus), own, paths.state_dir())


async def _play(
    host: SimulatedHost, own: Settings, state: Path | None, played: tuple[Player, Collected] | None = None
) -> int:
    check_terminal("Use specconsole status demo --json")
    from specconsole.history.memory import folder
    from specconsole.ui.feed.host import feeds_of
    from specconsole.ui.run import Around
    from specconsole.ui.run import run as show

    player, told = played or (None, None)
    kept = folder(host.name) if state else None
    await host.open()
    try:
        async with feeds_of(host, host.clock, _profile() if host.recorded else None, kept, {}, told) as feeds:
            return await show(host, feeds, own, Around(state, replay=player))
    finally:
        await host.close()

"""`specconsole connect HOST`: the console on a host. Questions are asked before the screen opens."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
from dataclasses import replace
from importlib import import_module
from types import ModuleType

from specconsole import paths, settings
from specconsole.errors import UsageError
from specconsole.settings import RATES, Settings
from specconsole.verb.notifying import add_hook_arguments, hooks_of
from specconsole.verb.screen import add_screen_arguments, check_terminal, wanted
from specconsole.verb.session import add_host_arguments, drive, open_host, profile_for


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Open the console on a host: its GPUs, vLLM units, engine and log, live. Nothing is installed there, and what only"
        " reads ends with it; a swap or a benchmark that you began goes on. Press ? on the screen for its keys, q to leave."
    )
    add_host_arguments(parser, json=False)
    add_screen_arguments(parser).add_argument(
        "--rate", type=float, metavar="HZ", help="samples of the host a second, 0.2 to 10 (1)"
    )
    add_hook_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Show the console until the user leaves it."""
    check_terminal("Use status, gpus, units or logs with --json")
    if args.rate is not None and not RATES[0] <= args.rate <= RATES[1]:
        raise UsageError(f"--rate {args.rate:g} is out of range.", hint=f"It takes {RATES[0]:g} to {RATES[1]:g}.")
    hooks_of(args)  # what cannot work is told before the host is asked
    gc.disable()  # an eighth of what it takes to load all modules; the screen turns it on again when it stands
    try:
        own = wanted(args, settings.load())
        return drive(_show(args, replace(own, rate=args.rate or own.rate)))
    finally:
        gc.enable()  # no screen came: the host was not reached


async def _show(args: argparse.Namespace, own: Settings) -> int:
    from specconsole.host.prompts import TerminalPrompter
    from specconsole.ui.prompting import ScreenPrompter

    prompter = ScreenPrompter(TerminalPrompter())
    # The screen takes a second of work to load: it is loaded while the host's answers are waited for.
    screen = asyncio.create_task(asyncio.to_thread(_load_screen))
    environ, state = dict(os.environ), paths.state_dir()
    async with open_host(args, prompter) as host:
        from specconsole.history.memory import folder
        from specconsole.ui.feed.host import feeds_of

        async with feeds_of(host, host.clock, profile_for(args, host), folder(args.host), environ) as feeds:
            await feeds.begin(1 / own.rate)
            ui = await screen
            around = ui.Around(state, environ, hooks_of(args), prompter)
            return await ui.run(host, feeds, own, around)  # type: ignore[no-any-return]


def _load_screen() -> ModuleType:
    """Import what the first screen needs; at first what asks the host, which then answers during the rest."""
    for name in ("ui.feed.host", "gpu.follow", "service.watch", "ui.screens.dashboard"):
        import_module(f"specconsole.{name}")
    return import_module("specconsole.ui.run")

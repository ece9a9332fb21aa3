"""`specconsole swap HOST TARGET`: take a host from the unit that serves to another one, with a way back."""

from __future__ import annotations

import argparse

from specconsole.errors import NotRunning, UsageError
from specconsole.history.memory import Memory, path_for
from specconsole.verb import swapping
from specconsole.verb.link import say, telling_of_the_link
from specconsole.verb.session import drive, open_host, profile_for, typed


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Stop the unit that serves, see that nothing of it is left, start TARGET, and prove that it serves its model; on any"
        " failure after the stop return to the unit before. The host's own systemd does it: it goes on when the link or"
        " this program ends. The plan is shown first, and nothing is done without a yes."
    )
    parser.epilog = (
        "The record stays on the host in /var/lib/specconsole/swaps.jsonl; see also: specconsole history swaps,"
        " specconsole doctor HOST."
    )
    swapping.configure(parser)
    parser.add_argument("target", nargs="?", metavar="TARGET", help="the unit that shall serve")
    parser.add_argument(
        "--return-to", metavar="UNIT", help="what to return to on failure, where that is not clear; none for nothing"
    )
    parser.add_argument(
        "--follow", action="store_true", help="show the swap that runs, or ran last, from its first step"
    )
    parser.add_argument("--cancel", action="store_true", help="cancel the swap that runs: it rolls back")


def run(args: argparse.Namespace) -> int:
    """Swap, or look at one."""
    if args.follow or args.cancel:
        return drive(_join(args))
    if not args.target:
        raise UsageError(
            f"Swap {args.host} to which unit?",
            hint=f"specconsole swap HOST TARGET; specconsole units {typed(args)} lists those of that host.",
        )
    return swapping.run(args, "swap", args.target)


async def _join(args: argparse.Namespace) -> int:
    """Show, or cancel, a swap that this command did not begin."""
    from specconsole.service import swap

    memory = Memory(path_for(args.host), on_trouble=lambda error: say(str(error)))
    try:
        async with open_host(args) as host, telling_of_the_link(host):
            known = await swap.latest(host, 1)
            if args.cancel:
                if not known.running or not await swap.cancel(host, known.running):
                    raise NotRunning(f"No swap runs on {host.name}.")
                say("cancelled: it rolls back now")
            ident = known.running or (known.stories[-1].id if known.stories else "")
            if not ident:
                raise NotRunning(f"No swap runs on {host.name}, and none is recorded.", known.trouble)
            session = swapping.Session(args, host, profile_for(args, host), memory)
            view = await session.follow(ident)
            return swapping.INTERRUPTED if view is None else await session.end(view)
    finally:
        await memory.close()

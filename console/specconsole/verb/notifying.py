"""The options by which a person, a command or a web address is told when a load ends or hangs, and the telling."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from typing import TYPE_CHECKING

from specconsole.load.announce import Ended, attention
from specconsole.text import clean

if TYPE_CHECKING:
    from specconsole.service.hook import Hooks


def add_hook_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    group = parser.add_argument_group(
        "when a load ends or hangs",
        "The terminal's bell rings and a desktop notification is asked for. A command gets SPECCONSOLE_UNIT, _OUTCOME, _HOST,"
        " _SECONDS, _TEXT, _DIAGNOSIS, _TITLE, _CAUSE, _ADVICE, _EVIDENCE and more as variables, and all of it as JSON on its standard"
        " input; no shell reads it. It has 30 s; one that fails is told and changes nothing.",
    )
    group.add_argument(
        "--on-ready",
        metavar="CMD",
        help="run this here once it is ready: --on-ready 'say ready'; no shell reads it: for more, sh -c '…'",
    )
    group.add_argument("--on-fail", metavar="CMD", help="run this here when it has failed")
    group.add_argument("--on-stuck", metavar="CMD", help="run this here when it hangs by the evidence, once a start")
    group.add_argument("--webhook", metavar="URL", help="post the facts to this address as JSON, each time")


def hooks_of(args: argparse.Namespace) -> Hooks:
    """What the command line asks for; raises UsageError where that cannot work."""
    from specconsole.service.hook import hooks

    return hooks(args.on_ready, args.on_fail, args.webhook, args.on_stuck)


async def announce(end: Ended, hooks: Hooks) -> None:
    """Tell the terminal, then the hooks; what goes wrong with one is a line on standard error."""
    from specconsole.service.hook import fire

    await asyncio.to_thread(_ring, end)
    for said in await fire(hooks, end, os.environ):
        print(f"specconsole: {clean(said)}", file=sys.stderr)  # noqa: T201


def _ring(end: Ended) -> None:
    """Standard output may be read by a program; the notice goes to the terminal that standard error is."""
    if sys.stderr.isatty():
        sys.stderr.write(attention(end, os.environ))
        sys.stderr.flush()

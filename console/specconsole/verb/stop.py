"""`specconsole stop HOST UNIT`: stop a unit and see that nothing of it is left."""

from __future__ import annotations

import argparse

from specconsole.verb import swapping


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Stop a unit with the same care as a swap: drain, stop, see that nothing of it is left, write it down. Without UNIT the one that runs."
        " The plan is shown first, and nothing is done without a yes."
    )
    swapping.configure(parser, rollback=False)
    parser.add_argument("unit", nargs="?", metavar="UNIT", help="which unit")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    return swapping.run(args, "stop", args.unit)

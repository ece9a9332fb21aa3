"""`specconsole restart HOST UNIT`: stop a unit, start it again, and prove that it serves."""

from __future__ import annotations

import argparse

from specconsole.verb import swapping


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Stop a unit, see that nothing of it is left, start it and prove that it serves. Without UNIT the one that runs."
        " The plan is shown first, and nothing is done without a yes."
    )
    swapping.configure(parser)
    parser.add_argument("unit", nargs="?", metavar="UNIT", help="which unit")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    return swapping.run(args, "restart", args.unit)

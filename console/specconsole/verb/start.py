"""`specconsole start HOST UNIT`: start a unit and prove that it serves."""

from __future__ import annotations

import argparse

from specconsole.verb import swapping


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Start a unit and prove that it serves its model; one that fails is stopped again, so that it does not fail for ever."
        " The plan is shown first, and nothing is done without a yes."
    )
    swapping.configure(parser, stops=False)
    parser.add_argument("unit", metavar="UNIT", help="which unit")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    return swapping.run(args, "start", args.unit)

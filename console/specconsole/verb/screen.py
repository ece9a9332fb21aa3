"""How a verb that opens the console shows it: the user's settings, and what the command line says over them."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace

from specconsole.errors import UsageError
from specconsole.settings import Settings
from specconsole.verb import output

WITHOUT_A_SCREEN = ("dumb", "unknown")
"""What TERM says of a terminal that obeys no escape sequence, such as an editor's shell."""


def check_terminal(instead: str) -> None:
    """Refuse to draw where nobody would see it.

    Raises:
        UsageError: there is no terminal, or it can show lines alone; it names what to use `instead`.
    """
    if not output.at_terminal():
        raise UsageError("The console needs a terminal.", hint=f"{instead} in scripts.")
    if (kind := os.environ.get("TERM", "")) in WITHOUT_A_SCREEN:
        raise UsageError(f"This terminal shows no screens (TERM={kind}).", hint=f"{instead}, or another terminal.")


def add_screen_arguments(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Declare the arguments; returns their group, for those that one verb alone has."""
    group = parser.add_argument_group("screen")
    group.add_argument("--theme", default="", metavar="NAME", help="colours: dark, light, contrast, mono, ansi …")
    group.add_argument("--ascii", action="store_true", help="draw with no glyph beyond ASCII")
    group.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    return group


def wanted(args: argparse.Namespace, own: Settings) -> Settings:
    """The settings of this session."""
    return replace(
        own,
        theme=args.theme or own.theme,
        mouse=own.mouse and not args.no_mouse,
        ascii=own.ascii or args.ascii or not output.speaks_utf8(),
    )

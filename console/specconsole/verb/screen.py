"""How a verb that opens the console shows it: the user's settings, and what the command line says over them."""

from __future__ import annotations

import argparse
from dataclasses import replace

from specconsole.settings import Settings
from specconsole.verb import output


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

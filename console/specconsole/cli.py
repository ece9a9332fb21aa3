"""The command `specconsole`: one verb a call. A verb's module is imported when it runs or shows its help."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from specconsole import __version__

if TYPE_CHECKING:
    import argparse
    from types import TracebackType


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Read a command line; options may stand anywhere behind the verb, also between HOST and UNIT.

    A tree of parsers cannot do that (an optional argument behind an option is "unrecognized" to it), so a known verb's
    own parser reads what follows it.

    Raises:
        UsageError: it makes no sense.
    """
    from specconsole.errors import UsageError
    from specconsole.verb.grammar import reader

    if words[0] == "help":
        words = [*words[1:2], "--help"]
    verb, *rest = words
    if verb != "completions" and any(not word or (word[:2] == "--" and word[-1:] == "=") for word in rest):
        # `stop HOST "$UNIT"` with UNIT not set must not stop the only unit that runs.
        raise UsageError(
            f"{verb} was given an empty word.", hint="Is a variable not set? What is not meant is left out."
        )
    return reader(verb).parse_intermixed_args(rest)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (design §10)."""
    words = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        sys.excepthook = _fault
    try:
        if words in (["--version"], ["-V"]):
            return _version()
        return _run(words)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0


def _version() -> int:
    said = f"specconsole {__version__}"
    if sys.stdout is None:  # print would keep silent
        return _run(["--version"])
    try:
        print(said, flush=True)  # noqa: T201  before argparse: 20 ms instead of 60
    except BrokenPipeError:
        raise
    except OSError:
        return _run(["--version"])  # which says in a sentence why it cannot be written
    return 0


def _overview(*, asked: bool) -> int:
    """Show what there is; a command that names no verb is a mistake all the same."""
    from specconsole.verb.grammar import page
    from specconsole.verb.output import write_text

    write_text(page())
    return 0 if asked else 2


def _fault(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of a fault of ours as Python would, without secrets and without what a terminal obeys."""
    import traceback

    from specconsole.logs.redact import mask
    from specconsole.text import clean

    print(mask(clean("".join(traceback.format_exception(kind, error, trace)))), end="", file=sys.stderr)  # noqa: T201


def _run(words: Sequence[str]) -> int:
    from specconsole.errors import SpecConsoleError
    from specconsole.verb.output import write_text

    try:
        if words == ["--version"]:
            write_text(f"specconsole {__version__}")
            return 0
        if not words or words in (["-h"], ["--help"], ["help"]):
            return _overview(asked=bool(words))
        args = parse(words)
        return int(args.run(args))
    except SpecConsoleError as error:
        from specconsole.glyph import within
        from specconsole.text import one_line

        line = f"specconsole: {one_line(str(error))}"
        print(within(line, sys.stderr.encoding or "utf-8"), file=sys.stderr)  # noqa: T201
        return error.exit_code

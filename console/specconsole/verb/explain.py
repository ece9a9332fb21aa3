"""`specconsole explain FILE…`: what collected files mean, judged as the live console judges a host."""

from __future__ import annotations

import argparse
import os
import select
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from specconsole.errors import UsageError
from specconsole.verb import output

PATIENCE_S = 5.0
"""For the first byte of a named pipe."""
_OURS = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Read what an operator or a bug report has (vLLM logs in any wrapping, scrapes of /metrics, captured streams, benchmark"
        " results, nvidia-smi, ps, /proc, systemctl, lspci, df) and say what it is, whether it works, what is wrong and why,"
        " and what to do. Kinds are told by content, not by name; several files are judged together."
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file; - is standard input; a bundle of `bundle`")
    parser.add_argument("--json", action="store_true", help="write JSON; docs/explain.md names every key")
    parser.add_argument("--exit-code", action="store_true", help="end with 1 where what is told failed or is stuck")


def run(args: argparse.Namespace) -> int:
    """Explain; 5 when nothing was recognised, and 1 for a failure where that is asked for."""
    from specconsole.explain.document import document
    from specconsole.explain.files import explain
    from specconsole.explain.lines import lines

    report = explain(_opened(args.files))
    if args.json:
        output.write_json(document(report))
    else:
        output.write_text("\n".join(lines(report)))
    if all(file.kind in ("unknown", "empty") for file in report.files):
        return 5
    return 1 if args.exit_code and report.bad else 0


def _opened(names: list[str]) -> Iterator[tuple[str, BinaryIO]]:
    for name in names:
        if name == "-":
            yield "standard input", sys.stdin.buffer
            continue
        try:
            with _open(name) as file:
                yield name, file
        except OSError as error:
            raise UsageError(f"{name} cannot be read.", f"{error.strerror or error}.") from error


def _open(name: str) -> BinaryIO:
    """Open a file; a named pipe is waited for at its beginning only, since one that nobody writes to has no end.

    What the shell puts in the place of `<(command)` has a writer, however long that thinks.
    """
    path = Path(name)
    mode = path.stat().st_mode
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise UsageError(f"{name} is no file.", "It is a device or a socket.", "Give a file, or - for standard input.")
    if not stat.S_ISFIFO(mode) or name.startswith(_OURS):
        return path.open("rb")
    return _written(name, os.open(name, os.O_RDONLY | os.O_NONBLOCK))


def _written(name: str, pipe: int) -> BinaryIO:
    """A named pipe in which something stands, or whose writer has gone."""
    watch = select.poll()
    watch.register(pipe, select.POLLIN)
    if not watch.poll(PATIENCE_S * 1000):
        os.close(pipe)
        raise UsageError(
            f"{name} is a pipe into which nobody writes.",
            f"Nothing came in {PATIENCE_S:g} seconds.",
            "Begin what writes into it first, or give a file; - reads standard input.",
        )
    os.set_blocking(pipe, True)
    return os.fdopen(pipe, "rb")

"""`specconsole explain FILE…`: what collected files mean, judged as the live console judges a host."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from specconsole.errors import UsageError
from specconsole.verb import output


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Read what an operator or a bug report has (vLLM logs in any wrapping, scrapes of /metrics, captured streams, benchmark"
        " results, nvidia-smi, ps, /proc, systemctl, lspci, df) and say what it is, whether it works, what is wrong and why,"
        " and what to do. Kinds are told by content, not by name; several files are judged together."
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file; - is standard input; a bundle of `bundle`")
    parser.add_argument("--json", action="store_true", help="write JSON; docs/explain.md names every key")


def run(args: argparse.Namespace) -> int:
    """Explain; 5 when nothing was recognised."""
    from specconsole.explain.document import document
    from specconsole.explain.files import explain
    from specconsole.explain.lines import lines

    report = explain(_opened(args.files))
    if args.json:
        output.write_json(document(report))
    else:
        output.write_text("\n".join(lines(report)))
    return 0 if any(file.kind not in ("unknown", "empty") for file in report.files) else 5


def _opened(names: list[str]) -> Iterator[tuple[str, BinaryIO]]:
    for name in names:
        if name == "-":
            yield "standard input", sys.stdin.buffer
            continue
        try:
            with Path(name).open("rb") as file:
                yield name, file
        except OSError as error:
            raise UsageError(f"{name} cannot be read.", f"{error.strerror or error}.") from error

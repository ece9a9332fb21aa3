"""`specconsole compare A B`: two runs side by side, and whether speculation pays, as far as one start each can tell."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from specconsole.bench import side, table
from specconsole.bench.compare import break_even, compare, verdict
from specconsole.bench.run import BenchRun
from specconsole.errors import UsageError
from specconsole.history.memory import Memory
from specconsole.verb import output
from specconsole.verb.bench import show
from specconsole.verb.session import drive

NOT_COMPARABLE = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Compare two runs: A is usually the baseline. Each is a number of `history runs`, or a file of `bench --json`."
    )
    parser.add_argument("a", metavar="A", help="the first run: a number of the history, or a file")
    parser.add_argument("b", metavar="B", help="the second run")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="write JSON; its keys stand under schema 1")
    form.add_argument("--md", action="store_true", help="write Markdown")


def run(args: argparse.Namespace) -> int:
    """Compare; 5 when the two are not comparable."""
    return drive(_run(args))


async def _run(args: argparse.Namespace) -> int:
    memory = Memory()
    try:
        found = compare(await read(args.a, memory), await read(args.b, memory))
    finally:
        await memory.close()
    if args.json:
        output.write_json(
            {
                "a": table.summary(found.a),
                "b": table.summary(found.b),
                "comparable": found.comparable,
                "reasons": found.reasons,
                "remarks": found.remarks,
                "verdict": verdict(found),
                "break_even": break_even(found) or None,
                "tpot_ratio": found.mean_ratio,
                "tpot_ratio_by_tokens": found.token_ratio,
                "step_cost": found.step_cost,
                "tau": found.tau,
                "prompts": {
                    pair.name: {"tpot": pair.tpot, "ttft": pair.ttft, "speed": pair.speed} for pair in found.pairs
                },
                "likeness": found.likeness,
            }
        )
    elif args.md:
        output.write(side.markdown(found))
    else:
        show(side.side_by_side(found))
    return 0 if found.comparable else NOT_COMPARABLE


async def read(name: str, memory: Memory) -> BenchRun:
    """A run by its number in the history, or from a file.

    Raises:
        UsageError: there is none, or it is no run.
        HistoryUnavailable: the history cannot be read.
    """
    if name.isdigit():
        kept = await memory.run(int(name))
        if memory.trouble:
            raise memory.trouble
        if kept is None:
            raise UsageError(f"The history has no run {name}.", hint="`specconsole history runs` lists them.")
        return BenchRun.from_json(kept.body)
    return from_file(name)


def from_file(name: str) -> BenchRun:
    """A run from a file of `bench --json`. Raises UsageError."""
    try:
        value = json.loads(Path(name).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{name} cannot be read.", f"{error}.") from error
    except ValueError as error:
        raise UsageError(f"{name} is no JSON.", f"{error}.", "Give a file of bench --json.") from error
    return BenchRun.from_json(value if isinstance(value, dict) else {})

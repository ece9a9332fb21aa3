"""`specconsole history loads|runs|swaps`: what this machine remembers; no host is asked."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import datetime

from specconsole import text
from specconsole.errors import UsageError
from specconsole.history.entry import Load, Run, Swap
from specconsole.history.memory import Memory
from specconsole.verb import output
from specconsole.verb.session import drive


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("kind", choices=("loads", "runs", "swaps"), help="starts of units, benchmark runs, or swaps")
    parser.add_argument("--host", metavar="NAME", help="only of this host, by its own name")
    parser.add_argument("--unit", metavar="UNIT", help="only of this unit")
    parser.add_argument(
        "-n", "--limit", type=int, default=20, metavar="N", help="at most so many, the newest first (20)"
    )
    parser.add_argument("--json", action="store_true", help="write JSON; its keys stand under schema 1")


def run(args: argparse.Namespace) -> int:
    """List what is remembered."""
    if args.limit < 1:
        raise UsageError(f"-n {args.limit} is out of range.", hint="It takes 1 or more.")
    return drive(_run(args))


async def _run(args: argparse.Namespace) -> int:
    memory = Memory()
    try:
        wanted = (args.host, _key(args.unit), args.limit)
        found: Sequence[Load] | Sequence[Run] | Sequence[Swap]
        if args.kind == "swaps":
            found = await memory.swaps(*wanted)
        else:
            found = await (memory.loads(*wanted) if args.kind == "loads" else memory.runs(*wanted))
    finally:
        await memory.close()
    if memory.trouble:
        raise memory.trouble
    if args.json:
        output.write_json({args.kind: found})
    elif not found:
        which = "of these" if args.host or args.unit else "yet"
        output.write_text(f"No {args.kind} are remembered {which}.")
    else:
        output.write_text(table(found))
    return 0


def _key(unit: str | None) -> str | None:
    return unit if unit is None or unit.endswith(".service") else f"{unit}.service"


def table(found: Sequence[Load] | Sequence[Run] | Sequence[Swap]) -> str:
    """A line an entry."""
    loads = [item for item in found if isinstance(item, Load)]
    if loads:
        header = ("started", "host", "unit", "outcome", "weights", "answering after", "ready after", "why")
        return output.table(header, [_load(load) for load in loads], right=range(4, 7))
    swaps = [item for item in found if isinstance(item, Swap)]
    if swaps:
        names = ("started", "host", "did", "to", "from", "took", "outcome", "came to", "why")
        return output.table(names, [_swap(swap) for swap in swaps], right=(5,))
    columns = ("id", "started", "host", "unit", "label", "TPOT", "τ", "acceptance", "requests")
    return output.table(columns, [_run_row(item) for item in found if isinstance(item, Run)], right=(0, 5, 6, 7, 8))


def _swap(swap: Swap) -> tuple[str, ...]:
    took = text.duration(swap.ended - swap.started) if swap.ended is not None else text.UNKNOWN
    outcome = (swap.outcome or "not over when last seen").replace("_", " ")
    return (_when(swap.started), swap.host, swap.action, swap.unit, swap.origin, took, outcome, swap.step, swap.reason)


def _load(load: Load) -> tuple[str, ...]:
    answering, ready = (text.duration(at - load.started) if at else text.UNKNOWN for at in (load.answering, load.ready))
    weights = text.duration(load.weights_s)
    return (_when(load.started), load.host, load.unit, load.outcome, weights, answering, ready, load.reason)


def _run_row(item: Run) -> tuple[str, ...]:
    summary = item.summary
    return (
        text.number(item.id),
        _when(item.started),
        item.host,
        item.unit,
        item.label,
        text.milliseconds(summary.get("tpot_s")),
        text.number(summary.get("tau"), 2),
        text.percent(summary.get("acceptance_rate"), 1),
        text.number(summary.get("requests")),
    )


def _when(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")

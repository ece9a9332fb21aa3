"""`specconsole history …`: what this machine remembers, how a unit went over time, and all of it to and from a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from specconsole import text
from specconsole.errors import UsageError
from specconsole.history import told
from specconsole.history.entry import Experiment, Load, Run, Swap
from specconsole.history.memory import Memory, path_for
from specconsole.host.target import DEMO_NAME, demo
from specconsole.verb import history_import, output
from specconsole.verb.history_unit import meant
from specconsole.verb.session import drive

if TYPE_CHECKING:
    from specconsole.bench.trend import Trend

REGRESSION = 1
LISTS = ("loads", "runs", "swaps", "experiments")
Kept = Load | Run | Swap | Experiment
_WHY = 110
"""Cells of why a load failed: its name and the numbers; `--json` and the screen have all of it."""
WANTED: Mapping[str, tuple[str, ...]] = {"trend": ("HOST", "UNIT"), "export": ("FILE",), "import": ("FILE",)}
"""What stands behind each other word."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "What this machine remembers; no host is asked. `history loads`, `runs`, `swaps` and `experiments` list. `history trend HOST UNIT`"
        " lays the starts of a unit beside one another: an acceptance length that fell by 10 % is a regression even while"
        " the unit is still faster. `history export FILE` writes all of it to a new file, secrets masked (packed where the"
        " name ends in .gz; - is standard output); `history import FILE` takes in such a file of another machine, and the same records once. It also"
        " takes a result file of `vllm bench serve`, AIPerf or GuideLLM, with --host and --unit of what it measured: its runs are"
        " marked with their tool, and a trend never mixes them with runs of `bench` or of another tool."
    )
    parser.add_argument("kind", choices=(*LISTS, *WANTED), help="what to list, or what to do")
    parser.add_argument("rest", nargs="*", metavar="ARG", help="HOST UNIT of trend, FILE of export and import")
    parser.add_argument(
        "--host",
        metavar="NAME",
        help="only of this host, by its own name; of import: where another tool's file was measured",
    )
    parser.add_argument(
        "--unit", metavar="UNIT", help="only of this unit; of import: which one another tool's file measured"
    )
    parser.add_argument(
        "--started",
        metavar="TIME",
        type=moment,
        help="of import: when another tool's file was measured, where it does not tell (2026-11-30T14:05)",
    )
    parser.add_argument(
        "-n", "--limit", type=int, default=20, metavar="N", help="at most so many, the newest first (20)"
    )
    parser.add_argument(
        "--demo", action="store_true", help="what demos left, which is kept apart; a HOST demo:… means that by itself"
    )
    parser.add_argument("--json", action="store_true", help="write JSON; its keys stand under schema 1")


def moment(word: str) -> float:
    """A time of this machine's clock, or with its own zone, in seconds since the epoch."""
    try:
        return datetime.fromisoformat(word.removesuffix("Z") + ("+00:00" if word.endswith("Z") else "")).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise argparse.ArgumentTypeError(f"{word} is no time: write 2026-11-30T14:05") from error


def run(args: argparse.Namespace) -> int:
    """Do what was asked."""
    wanted = WANTED.get(args.kind, ())
    if len(args.rest) != len(wanted):
        raise UsageError(f"`history {' '.join((args.kind, *wanted))}` takes {_count(len(wanted))} behind {args.kind}.")
    if args.limit < 1:
        raise UsageError(f"-n {args.limit} is out of range.", hint="It takes 1 or more.")
    if args.kind == "export" and args.rest[0] == "-" and args.json:
        raise UsageError("`history export -` writes the records themselves.", hint="Leave --json out.")
    return drive(_run(args))


def _count(number: int) -> str:
    return ("nothing", "one argument", "two arguments")[number]


async def _run(args: argparse.Namespace) -> int:
    does: Mapping[str, Callable[[argparse.Namespace, Memory], Awaitable[int]]] = {
        "trend": _trend,
        "export": _export,
        "import": history_import.run,
    }
    memory = Memory(path_for(_host(args)))
    if args.host and (asked := demo(args.host)) is not None:
        args.host = asked.host
    try:
        return await does.get(args.kind, _list)(args, memory)
    finally:
        await memory.close()


def _host(args: argparse.Namespace) -> str:
    """The host that is asked about, as it is typed: a demo's history is another one."""
    if args.demo:
        return DEMO_NAME
    return str(args.rest[0] if args.kind == "trend" else args.host or "")


async def _list(args: argparse.Namespace, memory: Memory) -> int:
    wanted = (args.host, await _meant(args, memory), args.limit)
    asks: Mapping[str, Callable[..., Awaitable[Sequence[Kept]]]] = {
        "loads": memory.loads,
        "runs": memory.runs,
        "swaps": memory.swaps,
        "experiments": memory.experiments,
    }
    found = await asks[args.kind](*wanted)
    _usable(memory)
    if args.json:
        output.write_json({args.kind: found})
    elif not found:
        which = "of these" if args.host or args.unit else "yet"
        output.write_text(f"No {args.kind} are remembered {which}.")
    else:
        output.write_text(table(found))
    return 0


async def _trend(args: argparse.Namespace, memory: Memory) -> int:
    from specconsole.bench.trend import trends

    asked = demo(args.rest[0])
    host = args.rest[0].rpartition("@")[2] if asked is None else asked.host
    unit = await meant(memory, host, args.rest[1])
    runs, loads = await memory.runs(host, unit, 1000), await memory.loads(host, unit, 1000)
    _usable(memory)
    found = trends(runs, loads)
    if not found:
        raise UsageError(
            f"Nothing is remembered of {unit} on {host}.", hint="`specconsole history runs` shows hosts and units."
        )
    if args.json:
        output.write_json({"host": host, "unit": unit, "trends": [_facts(one) for one in found]})
    else:
        for one in found:
            _write_trend(one)
    return REGRESSION if any(one.regressions for one in found) else 0


def _facts(one: Trend) -> dict[str, object]:
    from specconsole.bench.trend import sentences

    courses = {
        course.key: {
            "points": course.points,
            "usual": course.usual,
            "change": course.change,
            "drift": course.drift.value,
        }
        for course in one.courses
    }
    return {"asked": one.asked, "courses": courses, "changed": one.changed, "sentences": list(sentences(one))}


def _write_trend(one: Trend) -> None:
    from specconsole.bench.trend import sentences
    from specconsole.bench.trend_words import FORMS

    output.write_text(one.asked)
    times = sorted({point.at for course in one.courses for point in course.points})
    header = ("start", *(FORMS[course.key].head for course in one.courses))
    by_time = [{point.at: point.value for point in course.points} for course in one.courses]
    rows = [
        (_when(at), *(FORMS[c.key].shown(found.get(at)) for c, found in zip(one.courses, by_time, strict=True)))
        for at in times
    ]
    usual = ("usual", *(FORMS[course.key].shown(course.usual) for course in one.courses))
    drift = ("newest", *(course.drift.value for course in one.courses))
    output.write_text(output.table(header, [*rows, usual, drift], right=range(1, len(header))))
    for line in sentences(one):
        output.write_text(line)
    output.write_text()


async def _export(args: argparse.Namespace, memory: Memory) -> int:
    from specconsole.logs.redact import mask_value

    wanted = (mask_value, args.host, await _meant(args, memory))
    if args.rest[0] == "-":
        output.check_open()
        with output.quiet_pipe():
            await memory.write(sys.stdout.buffer, *wanted)
            sys.stdout.buffer.flush()
        _usable(memory)
        return 0
    path = Path(args.rest[0])
    count = await memory.export(path, *wanted)
    _usable(memory)
    if args.json:
        output.write_json({"file": path, "records": count})
    else:
        output.write_text(f"{path} holds {count:,} records, readable by you alone.")
    return 0


def _usable(memory: Memory) -> None:
    if memory.trouble:
        raise memory.trouble


async def _meant(args: argparse.Namespace, memory: Memory) -> str | None:
    return None if args.unit is None else await meant(memory, args.host, args.unit)


def table(found: Sequence[Kept]) -> str:
    """A line an entry."""
    loads = [item for item in found if isinstance(item, Load)]
    if loads:
        header = (
            "started",
            "host",
            "unit",
            "outcome",
            "weights",
            "answering after",
            "ready after",
            "why, and what came after",
        )
        return output.table(header, [_load(load) for load in loads], right=range(4, 7))
    swaps = [item for item in found if isinstance(item, Swap)]
    if swaps:
        names = ("started", "host", "did", "to", "from", "took", "outcome", "came to", "why")
        return output.table(names, [_swap(swap) for swap in swaps], right=(5,))
    nights = [item for item in found if isinstance(item, Experiment)]
    if nights:
        heads = ("started", "host", "plan", "took", "outcome", "serves", "what came out")
        return output.table(heads, [_night(night) for night in nights], right=(3,))
    columns = ("id", "started", "host", "unit", "label", "TPOT", "τ", "acceptance", "J/token", "requests")
    return output.table(columns, [_run_row(item) for item in found if isinstance(item, Run)], right=(0, 5, 6, 7, 8, 9))


def _swap(swap: Swap) -> tuple[str, ...]:
    took = text.duration(swap.ended - swap.started) if swap.ended is not None else text.UNKNOWN
    outcome = (swap.outcome or "not over when last seen").replace("_", " ")
    return (_when(swap.started), swap.host, swap.action, swap.unit, swap.origin, took, outcome, swap.step, swap.reason)


def _night(one: Experiment) -> tuple[str, ...]:
    took = text.duration(one.ended - one.started) if one.ended is not None else text.UNKNOWN
    outcome = one.outcome or "not over when last seen"
    came = "; ".join(f"{verdict.get('arm')}: {verdict.get('said')}" for verdict in one.verdicts)
    return (_when(one.started), one.host, one.name, took, outcome, one.serves, came or text.UNKNOWN)


def _load(load: Load) -> tuple[str, ...]:
    answering, ready = (text.duration(at - load.started) if at else text.UNKNOWN for at in (load.answering, load.ready))
    weights = text.duration(load.weights_s)
    went = (told.outcome(load), weights, answering, ready, told.end(load, _WHY))
    return (_when(load.started), load.host, load.unit, *went)


def _run_row(item: Run) -> tuple[str, ...]:
    from specconsole.bench.trend import figure, selftest

    summary = item.summary
    return (
        text.number(item.id),
        _when(item.started),
        item.host,
        item.unit,
        selftest(summary) or item.label,
        text.milliseconds(figure(summary, "tpot_s")),
        text.number(figure(summary, "tau"), 2),
        text.percent(figure(summary, "acceptance_rate"), 1),
        text.number(figure(summary, "joules_per_token"), 2),
        text.number(figure(summary, "requests")),
    )


def _when(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")

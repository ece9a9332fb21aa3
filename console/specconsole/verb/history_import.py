"""`specconsole history import FILE`: the history of another machine, or the runs of another tool's result file."""

from __future__ import annotations

import argparse
from pathlib import Path

from specconsole.bench import foreign, taken
from specconsole.bench.run import BenchRun
from specconsole.errors import UsageError
from specconsole.history import exchange
from specconsole.history.entry import Run
from specconsole.history.memory import Memory
from specconsole.text import reason
from specconsole.verb import output
from specconsole.verb.link import say

HEAD = 4096
"""Bytes by which an exported history is known."""
SAID = 20
"""Refused records that are named one by one."""
REFUSED = 2
"""The exit code where records were refused; the others are imported."""
GZIP = b"\x1f\x8b"


async def run(args: argparse.Namespace, memory: Memory) -> int:
    """Take a file in, whichever it is."""
    path = Path(args.rest[0])
    if is_history(path):
        if args.host or args.unit or args.started is not None:
            raise UsageError(
                "An exported history is imported whole: it knows hosts, units and times itself.",
                hint="--host and --unit choose what `history export` writes.",
            )
        return await _merge(args, path, memory)
    return await _take(args, path, memory)


def is_history(path: Path) -> bool:
    """Whether it is what `history export` writes, by how it begins. Raises UsageError."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise UsageError(f"{path} cannot be read.", f"{reason(error)}.") from error
    return head.startswith(GZIP) or f'"{exchange.MARK}"'.encode() in head.split(b"\n", 1)[0]


async def _merge(args: argparse.Namespace, path: Path, memory: Memory) -> int:
    def check(run: Run) -> None:
        BenchRun.from_json(run.body)

    merged = await memory.merge(path, check)
    _usable(memory)
    for one in merged.refused[:SAID]:
        say(one)
    if len(merged.refused) > SAID:
        say(f"{path}: {len(merged.refused) - SAID:,} more records are refused.")
    if args.json:
        output.write_json({"file": path, "read": merged.read, "new": merged.new, "refused": merged.refused})
    else:
        news = ", ".join(f"{count} {name}" for name, count in merged.new.items())
        output.write_text(f"{path}: {merged.read:,} records; new here: {news}.")
    return REFUSED if merged.refused else 0


async def _take(args: argparse.Namespace, path: Path, memory: Memory) -> int:
    unit = args.unit if not args.unit or args.unit.endswith(".service") else f"{args.unit}.service"
    runs = taken.entries(foreign.text_of(str(path)), path.name, args.host or "", unit or "", args.started)
    if runs is None:
        raise UsageError(
            f"{path} is no exported history, and no result file of `vllm bench serve`, AIPerf or GuideLLM.",
            hint="`specconsole history export FILE` writes a history.",
        )
    new = await taken.keep(runs, memory)
    _usable(memory)
    if args.json:
        nothing = dict.fromkeys(("loads", "swaps", "runs", "experiments"), 0)
        output.write_json({"file": path, "read": len(runs), "new": {**nothing, "runs": new}, "refused": []})
    else:
        tools = ", ".join(dict.fromkeys(str(run.summary["tool"]) for run in runs))
        output.write_text(f"{path}: {len(runs):,} {'run' if len(runs) == 1 else 'runs'} from {tools}; new here: {new}.")
    return 0


def _usable(memory: Memory) -> None:
    if memory.trouble:
        raise memory.trouble

"""`specconsole doctor HOST`: what the console can and cannot do there and why; `--resources`: the program's own data."""

from __future__ import annotations

import argparse
from importlib.resources import files

from specconsole import resources
from specconsole.errors import UsageError
from specconsole.history.memory import Memory, path_for
from specconsole.service.check import Check, Level
from specconsole.service.doctor import judge, worst
from specconsole.service.examine import Readings, examine
from specconsole.service.swap import remembered
from specconsole.text import clean
from specconsole.verb import output
from specconsole.verb.session import add_host_arguments, drive, open_host, profile_for

SIGNS = {Level.OK: "ok", Level.LIMITED: "LIMITED", Level.MISSING: "MISSING", Level.UNKNOWN: "unknown"}
EXIT = {Level.OK: 0, Level.LIMITED: 0, Level.MISSING: 1}
KINDS = {"themes": ".toml", "profiles": ".toml"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_host_arguments(parser, optional=True)
    parser.add_argument("--resources", action="store_true", help="list themes, profiles and recordings; needs no HOST")


def run(args: argparse.Namespace) -> int:
    """Examine a host; 1 when something that the console leans on is missing there."""
    if args.resources:
        return _resources(as_json=args.json)
    if not args.host:
        raise UsageError("Which host?", hint="specconsole doctor HOST, or specconsole doctor --resources.")
    return drive(_examine(args))


async def _examine(args: argparse.Namespace) -> int:
    async with open_host(args) as host:
        readings = await examine(host, profile_for(args, host), host.clock)
        await remember(readings)
    checks = judge(readings)
    verdict = worst(checks)
    if args.json:
        output.write_json({"host": readings.name, "verdict": verdict, "facts": readings.facts, "checks": checks})
    else:
        output.write_text(f"{readings.name}\n" + "\n".join(_lines(check) for check in checks))
    return EXIT[verdict]


async def remember(readings: Readings) -> None:
    """Keep what the host's record tells of swaps: also of those that another console, or none, has seen."""
    memory = Memory(path_for(readings.name))
    try:
        for story in readings.swaps.stories:
            await memory.put_swap(remembered(readings.facts.hostname, story))
    finally:
        await memory.close()


def _lines(check: Check) -> str:
    parts = (("works", check.works), ("not", check.fails), ("fix", check.fix))
    more = [
        f"{'':24}{name + ':':<7}{clean(text)}"
        for name, text in parts
        if text and (name == "fix" or check.level is not Level.OK)
    ]
    return "\n".join([f"  {SIGNS[check.level]:<8} {check.name:<12} {clean(check.found)}", *more])


def _resources(*, as_json: bool) -> int:
    """List the data files and where each comes from."""
    found = {
        kind: {name: str(path) for name, path in resources.find(kind, suffix).items()} for kind, suffix in KINDS.items()
    }
    recordings = files("specconsole.host") / "recordings"
    found["recordings"] = {
        entry.name.partition(".")[0]: str(entry)
        for entry in (sorted(recordings.iterdir(), key=lambda item: item.name) if recordings.is_dir() else ())
        if entry.name.endswith(".gz")
    }
    if as_json:
        output.write_json(found)
    else:
        rows = [(kind, name, path) for kind, names in found.items() for name, path in names.items()]
        output.write_text(output.table(("KIND", "NAME", "FROM"), rows))
    return 0

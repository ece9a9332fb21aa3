"""The subcommand tree. Each verb is a module of `specconsole.verb`, imported when it runs or shows its help."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from specconsole import __version__

VERBS: dict[str, str] = {
    "connect": "open the console on a host",
    "demo": "the console on a simulated host, nothing needed",
    "status": "units, GPUs and engine of a host at one glance",
    "units": "the vLLM units of a host",
    "gpus": "the GPUs of a host",
    "engine": "what the server of the running unit does now: tokens per second, TTFT, TPOT, acceptance",
    "logs": "a unit's log, followed over link cuts",
    "bench": "measure the running unit: time per token, acceptance, and what weakens the figures",
    "compare": "two benchmark runs side by side, and whether speculation pays",
    "experiment": "swap to each arm of a plan and measure it, unattended, with one report in the end",
    "breakeven": "when speculation pays, from plain numbers",
    "bundle": "logs, samples, units, GPUs, doctor and history of a host in one archive, secrets masked",
    "explain": "what collected files mean: logs, metrics, streams, benchmarks, nvidia-smi, ps …",
    "watch": "follow a start until it is ready or has failed",
    "derive": "make a speculative unit from the baseline, shown as a diff before it is written",
    "underive": "take away a unit that derive wrote",
    "swap": "take a host from one unit to another, proven, with a way back",
    "stop": "stop a unit and see that nothing of it is left",
    "start": "start a unit and prove that it serves",
    "restart": "stop a unit, start it again, and prove that it serves",
    "lint": "what of the units' settings and speculation fails or ends badly, and what mends it",
    "history": "loads, benchmark runs and swaps that this machine remembers",
    "profile": "descriptions of deployments: list, show, validate, or begin one from what a host has",
    "doctor": "what the console can and cannot do on a host, and why",
}
"""Name and one line of help; the module is `specconsole.verb.NAME`, with `configure(parser)` and `run(args) -> int`."""


def parser() -> argparse.ArgumentParser:
    """The tree as help shows it: the verbs, without their own arguments."""
    tree = argparse.ArgumentParser(
        prog="specconsole",
        description="Operator console for hosts that serve one big model with vLLM under systemd.",
        epilog="Start with: specconsole demo, then: specconsole connect root@HOST",
    )
    tree.add_argument("--version", action="version", version=f"specconsole {__version__}")
    verbs = tree.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, line in VERBS.items():
        verbs.add_parser(name, help=line)
    return tree


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Read a command line; options may stand anywhere behind the verb, also between HOST and UNIT.

    A tree of parsers cannot do that (an optional argument behind an option is "unrecognized" to it), so a known verb's
    own parser reads what follows it.
    """
    if not words or words[0] not in VERBS:
        return parser().parse_args(words)
    name = words[0]
    line = VERBS[name]
    verb = argparse.ArgumentParser(prog=f"specconsole {name}", description=line[0].upper() + line[1:] + ".")
    module = importlib.import_module(f"specconsole.verb.{name}")
    module.configure(verb)
    verb.set_defaults(run=module.run, verb=name)
    return verb.parse_intermixed_args(words[1:])


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (design §10)."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words == ["--version"]:
        print(f"specconsole {__version__}")  # noqa: T201  before argparse: 20 ms instead of 60
        return 0
    try:
        return _run(words)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0


def _run(words: Sequence[str]) -> int:
    from specconsole.errors import SpecConsoleError

    try:
        args = parse(words)
        return int(args.run(args))
    except SpecConsoleError as error:
        from specconsole.text import clean

        print(f"specconsole: {clean(str(error))}", file=sys.stderr)  # noqa: T201
        return error.exit_code

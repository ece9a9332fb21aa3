"""The command line as a whole: which verbs there are, how one is read, and how a mistake in it is told."""

from __future__ import annotations

import argparse
import difflib
import importlib
import re
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from specconsole.errors import UsageError
from specconsole.verb.output import write_text

GROUPS: Mapping[str, Mapping[str, str]] = {
    "the console": {
        "connect": "open the console on a host",
        "demo": "the console on a simulated host, nothing needed",
    },
    "look at a host": {
        "status": "units, GPUs and engine of a host at one glance",
        "units": "the vLLM units of a host",
        "gpus": "the GPUs of a host",
        "engine": "what the server of the running unit does now: tokens per second, TTFT, TPOT, acceptance",
        "logs": "a unit's log, followed over link cuts",
        "watch": "follow a start until it is ready or has failed",
        "doctor": "what the console can and cannot do on a host, and why",
        "lint": "what of the units' settings and speculation fails or ends badly, and what mends it",
        "bundle": "logs, samples, units, GPUs, doctor and history of a host in one archive, secrets masked",
    },
    "change what it serves": {
        "swap": "take a host from one unit to another, proven, with a way back",
        "start": "start a unit and prove that it serves",
        "stop": "stop a unit and see that nothing of it is left",
        "restart": "stop a unit, start it again, and prove that it serves",
        "derive": "make a speculative unit from the baseline, shown as a diff before it is written",
        "underive": "take away a unit that derive wrote",
    },
    "measure": {
        "bench": "measure the running unit: time per token, acceptance, and what weakens the figures",
        "compare": "two benchmark runs side by side, and whether speculation pays",
        "experiment": "swap to each arm of a plan and measure it, unattended, with one report in the end",
        "breakeven": "when speculation pays, from plain numbers",
    },
    "on this machine": {
        "explain": "what collected files mean: logs, metrics, streams, benchmarks, nvidia-smi, ps …",
        "history": "loads, benchmark runs and swaps that this machine remembers",
        "profile": "descriptions of deployments: list, show, validate, or begin one from what a host has",
        "completions": "let a shell complete verbs, options, hosts and units: bash, zsh, fish",
    },
}
"""Heading, name and one line of help; the module is `specconsole.verb.NAME`, with `configure(parser)` and `run(args) -> int`."""

VERBS: Mapping[str, str] = {name: line for group in GROUPS.values() for name, line in group.items()}

DESCRIPTION = "Operator console for hosts that serve one big model with vLLM under systemd."
FIRST = ("specconsole demo", "specconsole doctor root@HOST", "specconsole connect root@HOST")
"""What a newcomer types, in this order."""


def page() -> str:
    """What `specconsole --help` prints: every verb with its line, and where to begin."""
    lines = ["usage: specconsole VERB [HOST] [OPTION …]", "", DESCRIPTION]
    for title, verbs in GROUPS.items():
        lines += ["", f"{title}:", *(f"  {name:<12} {line}" for name, line in verbs.items())]
    lines += ["", f"Start with: {', then: '.join(FIRST)}", "specconsole VERB --help teaches one; --version tells ours."]
    return "\n".join(lines)


def reader(name: str) -> Parser:
    """The parser of one verb, with what it teaches. Raises UsageError: there is no such verb."""
    if name not in VERBS:
        near = difflib.get_close_matches(name, VERBS, 1, 0.5)
        hint = f"Did you mean {near[0]}?" if near else "specconsole --help names them all."
        raise UsageError(f"There is no verb {name!r}.", hint=hint)
    from specconsole.verb.lesson import LESSONS

    line = VERBS[name]
    verb = Parser(
        prog=f"specconsole {name}", description=line[0].upper() + line[1:] + ".", formatter_class=Page, add_help=False
    )
    verb.add_argument("-h", "--help", action="help", help="show this page and end")
    module = importlib.import_module(f"specconsole.verb.{name}")
    module.configure(verb)
    lesson = LESSONS[name]
    verb.epilog = "\n\n".join([*([verb.epilog] if verb.epilog else ()), lesson.text()])
    verb.example = lesson.examples[0][0]
    verb.set_defaults(run=module.run, verb=name)
    return verb


class Page(argparse.HelpFormatter):
    """Fills paragraphs, and leaves lines that begin with a blank as they are: examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.split("\n\n")
        return "\n\n".join(
            "\n".join(
                line if line.startswith(" ") else super(Page, self)._fill_text(line, width, indent)
                for line in paragraph.split("\n")
            )
            for paragraph in paragraphs
        )


class Parser(argparse.ArgumentParser):
    """Tells a mistake in one sentence, with an example of what is right, instead of a page of usage."""

    example = ""

    def _print_message(self, message: str, file: object = None) -> None:
        """Write a help page as all else is written: argparse keeps silent where it cannot be, and ends well."""
        if file in (None, sys.stdout) and message:
            write_text(message.rstrip("\n"))
        elif message:
            super()._print_message(message, file)  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        """Raise UsageError for what argparse found."""
        verb = self.prog.rpartition(" ")[2]
        options = [name for action in self._actions for name in action.option_strings]
        title = _needed(verb, message) or _unknown(verb, message, options) or _value(message) or f"{verb}: {message}."
        hint = f"For example: {self.example}" if self.example else ""
        raise UsageError(title, hint=f"{hint}; {self.prog} --help tells all." if hint else "")


_PLACES = {"HOST": "USER@HOST[:PORT], an alias of ~/.ssh/config, localhost or demo"}
_KINDS = {"int": "a whole number", "float": "a number"}


def _needed(verb: str, message: str) -> str:
    found = re.fullmatch(r"the following arguments are required: (.+)", message)
    if found is None:
        one = re.fullmatch(r"one of the arguments (.+) is required", message)
        return f"{verb} needs one of {', '.join(one[1].split())}." if one else ""
    names = [f"{name} ({_PLACES[name]})" if name in _PLACES else name for name in found[1].split(", ")]
    return f"{verb} needs {' and '.join(names)}."


def _unknown(verb: str, message: str, options: Sequence[str]) -> str:
    found = re.fullmatch(r"unrecognized arguments: (.+)", message)
    if found is None:
        return ""
    word = found[1].split()[0]
    if not word.startswith("-"):
        return f"{verb} takes no word {found[1]}." + (f" Did you mean --unit {word}?" if "--unit" in options else "")
    near = difflib.get_close_matches(word.partition("=")[0], tuple(options), 1, 0.6)
    return f"{verb} takes no option {found[1]}." + (f" Did you mean {near[0]}?" if near else "")


def _value(message: str) -> str:
    name, _, said = message.removeprefix("argument ").partition(": ")
    name = name.rpartition("/")[2]
    if kind := re.fullmatch(r"invalid (\w+) value: (.+)", said):
        return f"{name} takes {_KINDS.get(kind[1], 'another value')}, not {kind[2]}."
    if choice := re.fullmatch(r"invalid choice: (.+?) \(choose from (.+)\)", said):
        return f"{name} takes one of {choice[2].replace(chr(39), '')}, not {choice[1]}."
    if said.startswith("expected "):
        return f"{name} needs a value."
    if other := re.fullmatch(r"not allowed with argument (.+)", said):
        return f"{name} and {other[1].rpartition('/')[2]} exclude each other."
    return f"{name}: {said}." if message.startswith("argument ") else ""

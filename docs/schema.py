"""Write docs/json.md from what the verbs print on simulated hosts: python docs/schema.py (./dev json)."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from specconsole import cli

PAGE = Path(__file__).resolve().with_name("json.md")
HOST = "demo:ngram-pays:ngram@600"
BASE = "demo:ngram-pays:baseline@600"
SHORT = ("--repeat", "1", "--max-tokens", "32")

Groups = dict[str, dict[str, None]]
"""By place ("" for the document itself, units[] for each element of a list, engines.* for each value of a map): its keys."""

RUNS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "status": (("status", HOST), "One look. `engines` is by unit key; so is `loads`, of units that load or have failed (the last three): a start as of `watch`, with its `verdict` after `--look` seconds, or its `diagnosis`; all is as it is at the end of the look; `trouble` says in sentences what could not be read; `gpus` is as of `gpus`, `engines.*` as of `engine`."),
    "units": (("units", HOST), "The units as systemd has them. `role` is baseline, variant or unknown; `word` is the state in one word. With `--follow` a line of JSON after each change; with `--lint` also `findings`, by unit key, as of `lint`."),
    "gpus": (("gpus", HOST, "--once"), "One sample; without `--once` a line of JSON each. Memory in bytes; `why` says for a key that is null why it is; `faults` are sentences; `last` is what a lost card said last."),
    "engine": (("engine", HOST, "--once", "--window", "2"), "The newest scrape, and under `window` what the counters gained. `spec` is null without speculation. `*_between_s` are the bounds of the bucket that a percentile lies in."),
    "logs": (("logs", HOST, "-n", "50"), "A line of JSON a record. `at` is the host's clock in seconds since 1970, `time` the same in your time zone; `cursor` is journald's."),
    "watch": (("watch", "demo:slow-disk@600"), "A line of JSON an event: `event` says which (`present`: the past has been told, this is now). The last line tells how it ended: `ready`, `failed` (with `diagnosis`), or neither."),
    "doctor": (("doctor", HOST), "`verdict` is the worst `level`: ok, limited, unknown or missing. `fix` is the command that mends it."),
    "lint": (("lint", HOST), "`severity`: refuse (it fails), warn, note. `source` is what it was seen by, `evidence` the text it stands on, `remedy` the setting that mends it."),
    "plan": (("swap", HOST, "baseline", "--dry-run"), "Of `swap`, `start`, `stop` and `restart`, with `--dry-run` the only document, else the first line. `lines` are the plan as shown, `blockers` why it cannot be begun."),
    "swap": (("swap", HOST, "baseline", "--yes"), "The lines behind the plan, one a change of a step, the last one the end: `outcome` is committed, rolled_back, unchanged or given_up. `load` is null but on a line of its own for each news of the load that it waits for: `event` `unit` `stage` `phase` `verdict`, and `text` as `watch` words it; all of it tells `watch --json`."),
    "derive": (("derive", HOST, "baseline", "--variant", "k3", "--method", "ngram", "--set", "num_speculative_tokens=3", "--dry-run"), "What would be written, and whether it was (`written`)."),
    "bench": (("bench", HOST, *SHORT), "One run, whole: it is what `compare` reads. `results` are the measured requests with the stamp and the number of tokens of each chunk, `summary` the table; several cells give `runs`, a list of these."),
    "compare": (("compare", "--demo", "1", "2"), "`a` and `b` are summaries as of `bench`; ratios are B's time by A's, below 1: B is faster."),
    "breakeven": (("breakeven", "--base", "13.6", "--spec", "16.2", "--tau", "1.31", "--k", "5", "--coverage", "0.4", "--other-k", "3", "--experts", "384/8"), "`step_cost` is R; it pays where `tau` is above it. What cannot be had is null."),
    "experiment": (("experiment", "run", "does-it-pay", BASE, "--dry-run"), "The plan as it would be begun. `experiment plans --json` gives `name`, `order`, `what` and `file` of each plan. While it runs `experiment watch --json` writes an event of the host's record a line; `experiment report --json` writes what `--to FOLDER` calls experiment.json."),
    "history loads": (("history", "loads", "--demo"), "The newest first. `phases` are seconds by phase."),
    "history runs": (("history", "runs", "--demo"), "Without the stamps; `history export FILE` has all of it."),
    "history swaps": (("history", "swaps", "--demo"), "As the host's own record told."),
    "profile": (("profile", "show", "minimal"), "Also of `validate`; `list` gives `name`, `hosts`, `source` and `description` only. Keys as in [profiles.md](profiles.md)."),
}  # fmt: skip
MAPS = (
    "load",
    "engines",
    "findings",
    "plan.arms",
    "plan.units",
    "plan.deadlines",
    "loads[].phases",
    "gpus[].why",
    "gpus.gpus[].why",
    "comparisons[].prompts",
    "window.ended",
    "engines.*.window.ended",
)
"""Objects whose keys are names of units, phases or fields: one row stands for all."""
HEAD = """\
# JSON

Made by `./dev json` from what the verbs print on simulated hosts; a test holds both together. `explain --json` has a page of its
own: [explain.md](explain.md).

- Every document and every line has `schema`, now 1. It changes when a key changes its meaning or goes; new keys may come without.
- null is unknown, or does not apply: never 0. An empty list is known to be empty.
- Keys that end in `_s` are seconds, `_ms` milliseconds, `_w` watts, `_mhz` MHz, `_c` °C; memory and sizes are bytes; rates of bytes are
  bytes a second; shares are 0 to 1. `at` and `started` are seconds since 1970 by the host's clock, `mono` by the host's monotonic one.
- Verbs that go on (`watch`, `logs`, `gpus`, `swap`, `engine` and `units --follow`) write a line of JSON each time, the others one document.
- Errors are one sentence on standard error, also with `--json`; exit codes: `specconsole VERB --help`.

Below, `units[]` is each element of a list, `engines.*` each value of an object whose keys are names; a row without a place is the
document itself. An object may be null where it is unknown, and then has none of its keys.
"""


def printed(words: Iterable[str]) -> list[dict[str, Any]]:
    """The documents that a command line prints with --json."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
        cli.main([*words, "--json"])
    text = output.getvalue()
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


def groups(documents: Iterable[Mapping[str, Any]]) -> Groups:
    """The keys of every object in some documents, by place."""
    found: Groups = {}
    for document in documents:
        _walk(document, "", found)
    return found


def _walk(value: object, place: str, found: Groups) -> None:
    if isinstance(value, list):
        for item in value:
            _walk(item, f"{place}[]", found)
    elif isinstance(value, dict):
        named = place in MAPS
        found.setdefault(place, {}).update(dict.fromkeys(["*"] if named and value else [] if named else value))
        for key, item in value.items():
            inner = "*" if named else key
            _walk(item, f"{place}.{inner}" if place else inner, found)


def everything() -> dict[str, Groups]:
    """What each verb prints; in this order, since some read what others have remembered."""
    printed(("bench", BASE, *SHORT))
    found = {name: groups(printed(words)) for name, (words, _) in RUNS.items()}
    first = printed(RUNS["swap"][0])[1:]
    return {**found, "swap": groups(first)}


def page(found: Mapping[str, Groups]) -> str:
    """The page."""
    return "\n".join([HEAD, *(line for name in RUNS for line in section(name, found[name]))])


def section(name: str, found: Groups) -> Iterator[str]:
    """One verb: what it means, and a row a place."""
    yield from (f"## {name}", "", RUNS[name][1], "", "| place | keys |", "| --- | --- |")
    for place, keys in found.items():
        if keys and list(keys) != ["*"]:
            yield f"| {f'`{place}`' if place else ''} | {' '.join(f'`{key}`' for key in keys)} |"
    yield ""


if __name__ == "__main__":
    PAGE.write_text(page(everything()), encoding="utf-8")
    sys.exit(0)

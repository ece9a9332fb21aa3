"""The report of an experiment: the answer first, then every figure it rests on, and all that is needed to repeat it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from specconsole import paths
from specconsole.bench import side, table
from specconsole.bench.arms import Sorted, best_k, sort
from specconsole.bench.compare import Comparison
from specconsole.experiment.chart import Bar, bars
from specconsole.experiment.fetch import Experiment, StepResult
from specconsole.text import UNKNOWN, duration, one_line, reason

NONE = Sorted(())
REPORT = "report.md"


def compared(found: Experiment) -> Sorted:
    """The arms compared with the baseline, by `bench`; nothing where fewer than two arms were measured."""
    runs = found.runs
    if len({run.identity.unit for run in runs}) < 2:
        return NONE
    return sort(runs, float(found.plan.get("margin") or 0.02))


def answer(found: Experiment) -> tuple[str, ...]:
    """What came out, in sentences: a verdict for each arm, which k, what was passed over, what serves."""
    made = compared(found)
    said = [f"{_arm(one)}: {side.verdict(one)}" for one in made.comparisons]
    said += [*best_k(made.comparisons), *made.alone]
    said += [f"{step.arm} (step {step.number + 1}) was passed over: {one_line(step.why)}" for step in _failed(found)]
    said += [one_line(str(why)) for why in (found.plan.get("about") or {}).get("refused", {}).values()]
    if not made.comparisons:
        said.insert(0, "Nothing to compare: fewer than two arms were measured to their end.")
    choice = next((event for event in reversed(found.events) if event["event"] == "choice"), None)
    if choice is not None:
        said.append(f"It ended on {choice['arm']}: {one_line(str(choice['why']))}.")
    if found.end is None:
        said.append("It has not come to its end.")
    elif found.end.get("outcome") != "finished":
        said.append(f"It ended as {found.end.get('outcome')}: {one_line(str(found.end.get('why')))}.")
    return tuple(said)


def _arm(one: Comparison) -> str:
    other = one.b if one.baseline is one.a else one.a
    return f"{one_line(other.identity.unit)} ({other.identity.arm})"


def _failed(found: Experiment) -> Iterator[StepResult]:
    return (step for step in found.steps if step.state == "failed")


def markdown(found: Experiment) -> str:
    """The report for people."""
    plan = found.plan
    parts = [f"# Experiment {plan.get('name')}", ""]
    parts += [f"- {table.escape(line)}" for line in answer(found)]
    parts += ["", "## Steps", "", *_steps(found)]
    for one in compared(found).comparisons:
        parts += ["", f"## {table.escape(_arm(one))} beside the baseline", "", side.markdown(one).rstrip()]
    for step in found.steps:
        if step.run is not None:
            parts += ["", f"## Step {step.number + 1}: {step.arm}", "", table.markdown(step.run).rstrip()]
    return "\n".join([*parts, "", "## To repeat it", "", *_repeat(found)]) + "\n"


def _steps(found: Experiment) -> list[str]:
    head = ("step", "arm", "ended as", "began (UTC)", "swap and load", "run", "GPU °C before", "after", "why")
    rows = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for step in found.steps:
        ran = None if step.ended is None or step.served is None else step.ended - step.served
        heats = [_degrees(step.heat[place]) if len(step.heat) > place else UNKNOWN for place in (0, 1)]
        cells = (
            str(step.number + 1), step.arm, step.state, when(step.began), duration(step.swap_s), duration(ran),
            *heats, one_line(step.why),
        )  # fmt: skip
        rows.append("| " + " | ".join(table.escape(cell) for cell in cells) + " |")
    return rows


def _degrees(rows: Sequence[Sequence[float | None]]) -> str:
    known = [row[1] for row in rows if len(row) > 1 and row[1] is not None]
    if not known:
        return UNKNOWN
    return f"{min(known):.0f}" if min(known) == max(known) else f"{min(known):.0f} to {max(known):.0f}"


def when(at: float | None) -> str:
    """A moment in UTC."""
    return UNKNOWN if at is None else datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def _repeat(found: Experiment) -> list[str]:
    known = found.plan.get("about") or {}
    lines = [
        f"Experiment {found.id}. The plan, as it was written:",
        "",
        "```toml",
        str(known.get("text", "")).rstrip(),
        "```",
        "",
    ]
    for name, arm in (known.get("arms") or {}).items():
        who: Mapping[str, Any] = arm["identity"]
        cards = ", ".join(who["environment"].get("gpus") or []) or UNKNOWN
        driver, version = who["environment"].get("driver") or UNKNOWN, who.get("version") or UNKNOWN
        unit = table.escape(str(who["unit"]))
        lines += [
            f"**{table.escape(name)}**: {unit}, vLLM {version}; GPUs {cards}; driver {driver}",
            "",
            "```",
            shlex.join(str(word) for word in who["environment"].get("argv") or []),
            "```",
            "",
        ]
    asked = known.get("spec") or {}
    lines += [f"Prompt {one['id']}: {len(one['text'])} characters." for one in asked.get("prompts") or []]
    return lines


def files(found: Experiment) -> dict[str, str]:
    """All that is written of it, by the name of the file."""
    return {REPORT: markdown(found), "experiment.json": json.dumps(found.to_json()), **charts(found)}


def written(folder: Path, found: Experiment) -> str:
    """Write it into a folder, which is made, for its owner alone; returns why that failed, or ""."""
    try:
        paths.private_dir(folder)
        for name, text in files(found).items():
            paths.write_private(folder / name, text.encode())
    except OSError as error:
        return f"{folder} cannot be written: {reason(error)}."
    return ""


def charts(found: Experiment) -> dict[str, str]:
    """SVG by the name of its file: time per token of each start, and of each prompt by arm."""
    arms = list(dict.fromkeys(step.arm for step in found.steps))
    starts = [
        Bar(f"{step.number + 1}: {step.arm}", _ms(step.run.timing().tpot_s if step.run else None), arms.index(step.arm))
        for step in found.steps
    ]
    prompts = [
        Bar(f"{name}, {step.arm}", _ms(step.run.timing(name).tpot_s), arms.index(step.arm))
        for name in dict.fromkeys(name for run in found.runs for name in run.prompt_ids)
        for step in found.steps
        if step.run is not None and step.state == "done"
    ]
    taken = [
        Bar(f"{step.number + 1}: {step.arm}", step.swap_s and step.swap_s / 60, arms.index(step.arm))
        for step in found.steps
    ]
    return {
        "tpot.svg": bars("Time per token of each start", "ms", starts),
        "prompts.svg": bars("Time per token by prompt", "ms", prompts),
        "loads.svg": bars("From the order to swap to the proof", "min", taken, 1),
    }


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000

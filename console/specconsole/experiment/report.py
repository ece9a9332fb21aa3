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
from specconsole.bench.cell_table import Cell, tables
from specconsole.bench.compare import Comparison
from specconsole.bench.grid import in_flight, kv_limited
from specconsole.bench.sentence import too_long
from specconsole.experiment import asked
from specconsole.experiment.chart import Bar, bars
from specconsole.experiment.fetch import Experiment, StepResult
from specconsole.text import UNKNOWN, duration, milliseconds, number, one_line, reason

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
    said = [sentence for sentence in _overall(found, made.comparisons) if sentence]
    said += [f"{_arm(one)}{_in(found, one)}: {side.verdict(one)}" for one in made.comparisons]
    said += [*(list(best_k(made.comparisons)) or _too_long(found, made.comparisons)), *made.alone]
    said += _left_out(found)
    said += _in_part(found)
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
    elif not found.whole:
        said.append("Cells without an answer can be measured again: `specconsole experiment run PLAN HOST --resume`.")
    return tuple(said)


def _overall(found: Experiment, comparisons: Sequence[Comparison]) -> Iterator[str]:
    """How often each arm came out as what, where it was measured in several cells; their figures are never pooled."""
    arms: dict[str, dict[str, list[str]]] = {}
    for one in comparisons:
        if name := cell(found, one):
            arms.setdefault(_arm(one), {}).setdefault(side.word(one), []).append(name)
    for arm, words in arms.items():
        count = sum(map(len, words.values()))
        if len(words) == 1:
            yield f"{arm}: each of its {count} cells says: {next(iter(words))}." if count > 1 else ""
            continue
        parts = (
            f"{len(names)} say{'s' if len(names) == 1 else ''} {word} ({'; '.join(names)})"
            for word, names in words.items()
        )
        yield f"{arm}: of its {count} cells {'; '.join(parts)}. They are not pooled: which of them is your traffic decides."


def _too_long(found: Experiment, comparisons: Sequence[Comparison]) -> list[str]:
    """Where one k of an arm was measured: whether a shorter draft would do."""
    told = [(one, too_long(one.measured)) for one in comparisons if one.measured is not None and one.comparable]
    return [f"{_arm(one)}{_in(found, one)}: {text}" for one, text in told if text]


def _in(found: Experiment, one: Comparison) -> str:
    name = cell(found, one)
    return f", {name}" if name else ""


def cell(found: Experiment, one: Comparison) -> str:
    """In which cell two arms were compared, in words; "" where there is one."""
    return asked.called(one.a.spec, found.specs)


def _left_out(found: Experiment) -> Iterator[str]:
    """What was not measured, and why."""
    names = asked.names(found.plan.get("about") or {})
    for step in found.steps:
        where = f"{step.arm} (step {step.number + 1})"
        failed = [one for one in step.cells if one.state == "failed"]
        if not step.runs and step.state == "failed":
            yield f"{where} was passed over: {one_line(step.why)}"
            continue
        yield from (f"{where} was not measured{_with(names[one.number])}: {one_line(one.why)}" for one in failed)
        left = [names[one.number] for one in step.cells if one.state in ("not begun", "begin")]
        if step.state == "failed" and left:
            yield f"{where} was not measured with {'; '.join(left)}: {one_line(step.why)}"


def _with(name: str) -> str:
    return f" with {name}" if name else ""


def _in_part(found: Experiment) -> Iterator[str]:
    """Which cells were measured although some of their requests failed."""
    names = asked.names(found.plan.get("about") or {})
    for step in found.steps:
        for one in step.in_part:
            where = f", {names[one.number]}" if names[one.number] else ""
            yield f"{step.arm} (step {step.number + 1}){where}: {one_line(one.why)}"


def _arm(one: Comparison) -> str:
    other = one.b if one.baseline is one.a else one.a
    return f"{one_line(other.identity.unit)} ({other.identity.arm})"


def markdown(found: Experiment) -> str:
    """The report for people."""
    plan = found.plan
    parts = [f"# Experiment {plan.get('name')}", ""]
    parts += [f"- {table.escape(line)}" for line in answer(found)]
    parts += ["", "## Steps", "", *_steps(found)]
    comparisons = compared(found).comparisons
    if len(found.specs) > 1:
        parts += ["", "## Cells", "", *_cells(found, comparisons)]
    for one in comparisons:
        heading = f"{_arm(one)}{_in(found, one)} beside the baseline"
        parts += ["", f"## {table.escape(heading)}", "", side.markdown(one).rstrip()]
    for step in found.steps:
        parts += _measured(found, step)
    return "\n".join([*parts, "", "## To repeat it", "", *_repeat(found)]) + "\n"


def _cells(found: Experiment, comparisons: Sequence[Comparison]) -> list[str]:
    """A row for each arm in each cell; nothing is summed over them."""
    head = (
        "arm",
        "cell",
        "starts of baseline and arm",
        "TPOT baseline",
        "TPOT",
        "ratio",
        "95 %",
        "τ",
        "R",
        "in flight of",
        "what it says",
    )
    rows = []
    for one in comparisons:
        turned = one.baseline is one.b
        base, other = (one.b, one.a) if turned else (one.a, one.b)
        starts = one.judgement.starts
        rows.append((
            _arm(one), cell(found, one), "{} and {}".format(*(reversed(starts) if turned else starts)),
            *(milliseconds(run.timing().tpot_s) for run in (base, other)), *_ratio(one, turned=turned),
            number(one.measured.tau if one.measured else None, 2), number(one.measured.step_cost if one.measured else None, 2),
            f"{number(in_flight(other), 1)} of {other.spec.concurrency}{', KV cache full' if kv_limited(other) else ''}",
            side.short(one),
        ))  # fmt: skip
    return _table(head, rows)


def _ratio(one: Comparison, *, turned: bool) -> tuple[str, str]:
    judged = side.turned(one.judgement) if turned else one.judgement
    return number(judged.ratio, 3), f"{number(judged.low, 3)} to {number(judged.high, 3)}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(map(table.escape, line)) + " |" for line in lines]


def _measured(found: Experiment, step: StepResult) -> Iterator[str]:
    """What was measured in a step: its cells side by side, then each by itself."""
    runs = [(one, one.run) for one in step.cells if one.run is not None]
    if not runs:
        return
    yield from ("", f"## Step {step.number + 1}: {step.arm}")
    if len(step.cells) > 1:
        rows = [
            Cell(spec, one.run, one.why if one.state == "failed" else "")
            for spec, one in zip(found.specs, step.cells, strict=True)
        ]
        yield from (line for made in tables(rows) for line in ("", table.markdown_of(made).rstrip()))
    for one, run in runs:
        if len(step.cells) > 1:
            yield from ("", f"### {table.escape(asked.called(found.specs[one.number], found.specs))}")
        yield from ("", table.markdown(run).rstrip())


def _steps(found: Experiment) -> list[str]:
    head = ("step", "arm", "ended as", "began (UTC)", "swap and load", "run", "GPU °C before", "after", "why")
    rows = []
    for step in found.steps:
        ran = None if step.ended is None or step.served is None else step.ended - step.served
        heats = [_degrees(step.heat[place]) if len(step.heat) > place else UNKNOWN for place in (0, 1)]
        cells = (
            str(step.number + 1), step.arm, step.state, when(step.began), duration(step.swap_s), duration(ran),
            *heats, one_line(step.why),
        )  # fmt: skip
        rows.append(cells)
    return _table(head, rows)


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
    sets = (known.get("asked") or {}).get("prompts") or {}
    lines += [f"Prompt {one['id']} of {name}: {len(one['text'])} characters." for name in sets for one in sets[name]]
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
    names = [asked.called(spec, found.specs) for spec in found.specs]
    starts: list[Bar | str] = []
    prompts: list[Bar | str] = []
    for place, name in enumerate(names):
        runs = [(step, step.cells[place].run if step.cells[place].state == "done" else None) for step in found.steps]
        starts += [name] if name else []
        starts += [
            Bar(f"{step.number + 1}: {step.arm}", _ms(run.timing().tpot_s if run else None), arms.index(step.arm))
            for step, run in runs
        ]
        prompts += [name] if name else []
        prompts += [
            Bar(f"{prompt}, {step.arm}", _ms(run.timing(prompt).tpot_s), arms.index(step.arm))
            for prompt in dict.fromkeys(prompt for _, run in runs if run for prompt in run.prompt_ids)
            for step, run in runs
            if run is not None
        ]
    taken = [
        Bar(f"{step.number + 1}: {step.arm}", step.swap_s and step.swap_s / 60, arms.index(step.arm))
        for step in found.steps
    ]
    made = {
        "tpot.svg": bars("Time per token of each start", "ms", starts),
        "prompts.svg": bars("Time per token by prompt", "ms", prompts),
        "loads.svg": bars("From the order to swap to the proof", "min", taken, 1),
    }
    if len(names) > 1:
        made["ratios.svg"] = bars("Time per token over the baseline's", "×", list(_ratios(found)))
    return made


def _ratios(found: Experiment) -> Iterator[Bar | str]:
    """A bar for each arm in each cell, with what it says."""
    told: dict[str, list[Comparison]] = {}
    for one in compared(found).comparisons:
        told.setdefault(_arm(one), []).append(one)
    for place, (arm, comparisons) in enumerate(told.items(), 1):
        yield arm
        for one in comparisons:
            judged = side.turned(one.judgement) if one.baseline is one.b else one.judgement
            yield Bar(cell(found, one), judged.ratio if one.comparable else None, place, side.word(one))


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000

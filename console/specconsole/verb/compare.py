"""`specconsole compare RUN…`: benchmark runs side by side, and whether speculation pays, as far as their starts can tell."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from specconsole.bench import foreign, side, table
from specconsole.bench.arms import best_k, sort
from specconsole.bench.compare import Comparison, Group
from specconsole.bench.judge import Word
from specconsole.bench.kept import kept_run, loads_of
from specconsole.bench.run import BenchRun
from specconsole.errors import UsageError
from specconsole.history.memory import Memory, path_for
from specconsole.remote import outside
from specconsole.text import one_line
from specconsole.verb import output
from specconsole.verb.bench import show
from specconsole.verb.session import drive

INCONCLUSIVE = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Compare runs. Each is a number of `history runs`, or a file of `bench --json`, `vllm bench serve`, AIPerf or GuideLLM,"
        " recognised by what it holds. Two are laid side by side as A and"
        " B; more are taken together by unit, and every arm is compared with the baseline. Starts of the units are the"
        " replicate: measure baseline, variant, baseline (better: and variant again) for a verdict. One start each gives none."
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="two or more: numbers of the history, or files")
    parser.add_argument(
        "--margin", type=margin, default=0.02, metavar="SHARE", help="effects below this do not count (2%%)"
    )
    parser.add_argument("--demo", action="store_true", help="numbers are of `history runs --demo`")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="write JSON; its keys stand under schema 1")
    form.add_argument("--md", action="store_true", help="write Markdown")


def margin(word: str) -> float:
    """ "2%" or "0.02" as a share."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", word.strip())
    value = float(found[1]) / (100 if found[2] else 1) if found else -1.0
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{word} is no share: write 2% or 0.02")
    return value


def run(args: argparse.Namespace) -> int:
    """Compare."""
    return drive(_run(args))


async def _run(args: argparse.Namespace) -> int:
    if len(args.runs) < 2:
        raise UsageError("One run alone compares with nothing.", hint="`specconsole history runs` lists more.")
    memory = Memory(path_for("demo" if args.demo else ""))
    try:
        runs, twice = once([(name, run) for name in args.runs for run in await read(name, memory)])
        loads = await loads_of(runs, memory)
    finally:
        await memory.close()
    if len(runs) < 2:
        raise UsageError(
            f"{' and '.join(dict.fromkeys(args.runs))}: A and B are the same run, which compares with nothing but itself.",
            hint="Give two runs; `specconsole history runs` lists more.",
        )
    found = sort(runs, args.margin, loads)
    if not found.comparisons:
        reason = "; ".join(found.alone) or "all of them measured the same arm"
        raise UsageError(f"Nothing to compare: {reason}.", hint="Give two of them to compare their starts.")
    more = (*twice, *best_k(found.comparisons), *found.alone)
    if args.json:
        output.write_json({"comparisons": [facts(one) for one in found.comparisons], "notes": more})
    else:
        for one in found.comparisons:
            output.write(side.markdown(one)) if args.md else show(side.side_by_side(one))
        for line in more:
            output.write_text(line)
    return max(exit_code(one) for one in found.comparisons)


def once(named: Sequence[tuple[str, BenchRun]]) -> tuple[list[BenchRun], list[str]]:
    """Each run once, by what it holds and not by its name, and a warning for each that was given again."""
    first: dict[str, str] = {}
    runs, twice = [], []
    for name, run in named:
        held = repr(replace(run, identity=replace(run.identity, unit="")) if run.told else run)
        if held in first:
            same = f", the same as {first[held]}," if first[held] != name else ""
            twice.append(f"! {one_line(name)}{same} was given more than once, and counts once.")
        else:
            first[held] = name
            runs.append(run)
    return runs, list(dict.fromkeys(twice))


def exit_code(found: Comparison) -> int:
    """5 where the two are not comparable, or where their starts give no verdict, as one start each never does."""
    told = found.judgement.word in (Word.FASTER, Word.SLOWER, Word.ALIKE)
    return 0 if told and found.comparable else INCONCLUSIVE


def facts(found: Comparison) -> dict[str, object]:
    """A comparison as JSON; ratios are B / A, null is not known."""
    judgement, measured = found.judgement, found.measured
    return {
        "a": table.summary(found.a),
        "b": table.summary(found.b),
        "comparable": found.comparable,
        "reasons": found.reasons,
        "remarks": found.remarks,
        "verdict": side.verdict(found),
        "word": judgement.word.value,
        "starts": judgement.starts,
        "tpot_ratio": judgement.ratio,
        "interval": [judgement.low, judgement.high],
        "deviation": judgement.deviation,
        "tpot_ratio_by_tokens": found.token_ratio,
        "joules_per_token_ratio": found.overall.joules,
        "step_cost": measured.step_cost if measured else None,
        "tau": measured.tau if measured else None,
        "needed_acceptance_length": measured.needed_length if measured else None,
        "needed_acceptance_rate": measured.needed_rate if measured else None,
        "no_acceptance_suffices": measured.hopeless if measured else None,
        "categories": [group_facts(group) for group in found.categories],
        "prompt_lengths": [group_facts(group) for group in found.contexts],
        "beside_speed": {
            "a": found.trade.a,
            "b": found.trade.b,
            "kv_ratio": found.trade.kv,
            "load_ratio": found.trade.load,
        },
        "prompts": {
            pair.name: {"tpot": pair.tpot, "ttft": pair.ttft, "speed": pair.speed, "joules": pair.joules}
            for pair in found.pairs
        },
        "likeness": found.likeness,
    }


def group_facts(group: Group) -> dict[str, object]:
    """Some prompts taken together, as JSON."""
    judgement = group.judgement
    return {
        "name": group.name,
        "prompts": group.prompts,
        "tpot_ratio": judgement.ratio,
        "interval": [judgement.low, judgement.high],
        "word": judgement.word.value,
        "ttft": group.pair.ttft,
        "speed": group.pair.speed,
    }


async def read(name: str, memory: Memory) -> tuple[BenchRun, ...]:
    """A run by its number in the history, or those of a file.

    Raises:
        UsageError: there is none, or it is no run.
        HistoryUnavailable: the history cannot be read.
    """
    if name.isdecimal():
        return (await kept_run(int(name), memory),)
    return from_file(name)


def from_file(name: str) -> tuple[BenchRun, ...]:
    """The runs of a file of `bench --json`, or of another tool's. Raises UsageError."""
    text = foreign.text_of(name)
    if not foreign.holds(foreign.RUN, text[: foreign.HEAD]) and (found := foreign.read(text, name)) is not None:
        unit = Path(name).name
        return tuple(
            run if run.identity.unit else replace(run, identity=replace(run.identity, unit=unit)) for run in found
        )
    try:
        value = outside.parse(text)
    except ValueError as error:
        raise UsageError(f"{name} is no JSON.", f"{error}.", foreign.KNOWN) from error
    return (BenchRun.from_json(value if isinstance(value, dict) else {}),)

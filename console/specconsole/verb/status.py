"""`specconsole status HOST`: link, units, GPUs, engine and loads at one glance; exit code 3 when no vLLM unit runs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from specconsole.errors import UsageError
from specconsole.gpu import view
from specconsole.gpu.sample import Gpu
from specconsole.host.base import Host
from specconsole.load.estimate import Estimate
from specconsole.load.timeline import Stage
from specconsole.load.words import count_words, ready_words, waiting_words
from specconsole.service.choose import FOUND_BY
from specconsole.service.unit import Unit
from specconsole.text import UNKNOWN, duration, milliseconds, number, one_line, percent
from specconsole.ui.rows.unit_word import engine_word, state_word
from specconsole.verb import engine_page, output, units
from specconsole.verb.glance import LOOK_S, Glance, look
from specconsole.verb.link import while_linked
from specconsole.verb.session import add_host_arguments, drive, open_host, profile_for

if TYPE_CHECKING:
    from specconsole.engine.snapshot import EngineSnapshot
    from specconsole.service.start import Standing

NOT_RUNNING = 3
LOOK_LONGEST_S = 600.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Tell at one glance how a host is: link, units, GPUs, what the running unit's server says. Of a unit that loads also"
        " the phase and the verdict: whether it works, is slow or hangs, and on what evidence. That takes 16 s, since two"
        " samples are compared; a hang is certain only after a minute of looking: --look 60. All that is told, and the exit"
        " code, is of the end of the look. Of the last three units that have failed also the cause and what to do first."
    )
    add_host_arguments(parser)
    parser.add_argument(
        "--look", type=float, default=LOOK_S, metavar="S", help="look at a load for so long (16); 0: give no verdict"
    )
    parser.add_argument("--once", action="store_true", help="accepted for symmetry: it always ends after one look")


def run(args: argparse.Namespace) -> int:
    """Look once."""
    if not 0 <= args.look <= LOOK_LONGEST_S:
        raise UsageError(
            f"--look {args.look:g} is out of range.",
            hint=f"It takes seconds, at most {LOOK_LONGEST_S:g}; 0: no verdict.",
        )
    return drive(_run(args))


async def _run(args: argparse.Namespace) -> int:
    async with open_host(args) as host:
        seen = await while_linked(host, look(host, profile_for(args, host), args.look))
        if args.json:
            output.write_json(facts(host, seen))
        else:
            output.write_text(page(host, seen))
    if seen.trouble and not seen.units:
        return 1
    return 0 if any(unit.state.running for unit in seen.units) else NOT_RUNNING


def facts(host: Host, seen: Glance) -> dict[str, object]:
    """What was seen, as JSON."""
    from specconsole.verb.standing import standing_facts

    return {
        "host": host.name,
        "hostname": host.facts.hostname if host.facts else None,
        "rights": host.facts.rights if host.facts else None,
        "read_only": host.read_only,
        "link": {"kind": host.link.kind, "round_trip_s": host.link.round_trip_s},
        "running": any(unit.state.running for unit in seen.units),
        "units": [units.facts(unit) for unit in seen.units],
        "gpus": seen.fleet,
        "loads": {
            key: standing_facts(standing, seen.expected.get(key, Estimate())) for key, standing in seen.loads.items()
        },
        "engines": {key: engine_page.facts(snapshot) for key, snapshot in seen.engines.items()},
        "trouble": seen.trouble,
    }


def page(host: Host, seen: Glance) -> str:
    """Lay a look out for people: host, a line a unit, a line a GPU, a line an engine."""
    typed = host.typed
    lines = [_head(host), ""]
    if seen.units:
        lines += output.table(("",) * 5, [_unit_cells(unit, seen) for unit in seen.units]).split("\n")[1:]
    elif not seen.trouble:
        lines.append(f"No unit of this host runs vLLM. {FOUND_BY}")
    for unit in seen.units:
        if unit.key in seen.engines:
            lines += ["", *engine_lines(unit, seen.engines[unit.key])]
        if (standing := seen.loads.get(unit.key)) is None:
            continue
        if standing.attempt.stage is Stage.FAILED:
            lines += ["", *failed_lines(unit, standing, typed)]
        else:
            lines += load_lines(unit, standing, seen.expected.get(unit.key, Estimate()))
    if seen.more_failed:
        labels = ", ".join(unit.label for unit in seen.more_failed)
        lines += ["", f"Failed before: {labels}. specconsole watch {typed} UNIT says why."]
    if seen.fleet:
        lines += [
            "",
            f"GPUs   {view.totals(seen.fleet)}"
            if seen.fleet.gpus
            else f"No GPU evidence: {seen.fleet.why or UNKNOWN} (specconsole doctor {typed} says what to do)",
        ]
        lines += output.table(("",) * 5, map(_gpu_cells, seen.fleet.gpus)).split("\n")[1:]
    return "\n".join([*lines, *([""] if seen.trouble else []), *seen.trouble])


def _head(host: Host) -> str:
    trip = host.link.round_trip_s
    mode = "read-only" if host.read_only else host.facts.rights.value if host.facts else ""
    parts = (host.name, f"link {host.link.kind.value}", "" if trip is None else milliseconds(trip, 1), mode)
    return "   ".join(part for part in parts if part)


def _unit_cells(unit: Unit, seen: Glance) -> tuple[str, ...]:
    engine = seen.engines.get(unit.key)
    word = state_word(unit, None if engine is None else engine_word(engine, unit.key in seen.came_up, seen.pace))
    return (word.glyph, unit.label, f"{word.word} {duration(unit.state.since_s)}", units.speculation(unit), unit.key)


def engine_lines(unit: Unit, snapshot: EngineSnapshot) -> Sequence[str]:
    """What the engine of a unit says: one line, and a second for what weakens it."""
    parts = [f"engine {unit.label}", snapshot.health.value]
    if snapshot.model:
        parts.append(snapshot.model.id)
    if snapshot.version:
        parts.append(f"vLLM {snapshot.version}")
    if snapshot.running is not None:
        waiting = UNKNOWN if snapshot.waiting is None else number(snapshot.waiting)
        parts += [f"running {number(snapshot.running)}", f"waiting {waiting}", f"KV {percent(snapshot.kv_use, 1)}"]
    if (window := snapshot.window) is not None:
        parts.append(f"{number(window.generation_tok_s, 1)} tok/s over {window.seconds:.1f} s")
    remarks = [snapshot.reason, snapshot.no_data, *snapshot.notes]
    return ["   ".join(parts), *(f"  {one_line(remark)}" for remark in remarks if remark)]


def load_lines(unit: Unit, standing: Standing, expected: Estimate) -> list[str]:
    """How far a load is, when it will be ready, and the verdict with its evidence."""
    from specconsole.verb import judgement

    attempt, verdict = standing.attempt, standing.verdict
    now = None if verdict is None or attempt.started is None else verdict.at
    parts = [f"load {unit.label}   {duration(None if now is None else now - (attempt.started or now))}"]
    if attempt.span is not None:
        count = f" {count_words(attempt.span.progress)}" if attempt.span.progress else ""
        parts.append(f"{attempt.span.phase.title}{count}")
    parts += [said for said in (waiting_words(attempt), ready_words(expected, attempt)) if said]
    told = "NOT JUDGED  no sample came" if verdict is None else judgement.verdict_text(verdict)
    return ["   ".join(parts), *(f"  {row}" for row in told.split("\n"))]


def failed_lines(unit: Unit, standing: Standing, typed: str) -> list[str]:
    """When and why a start failed, the first thing to do, and what tells the rest; `typed` is what names the host."""
    from specconsole.verb import judgement

    attempt, diagnosis = standing.attempt, None if standing.attempt.stop_asked else standing.diagnosis
    known = attempt.failed_at is not None and attempt.started is not None
    after = f" after {duration((attempt.failed_at or 0.0) - (attempt.started or 0.0))}" if known else ""
    error = f"; {attempt.error}" if attempt.error and diagnosis is None else ""
    anew = unit.state.running and unit.state.sub != "auto-restart"  # systemd was quicker than the last lines
    lines = [f"load {unit.label}   {'the start before ' if anew else ''}failed{after}: {attempt.reason}{error}"]
    if diagnosis is None:
        return lines
    lines += judgement.diagnosis_lines(diagnosis, brief=True)
    if diagnosis.advice[1:]:
        lines.append(f"          more: specconsole watch {typed} {unit.key.removesuffix('.service')}")
    return lines


def _gpu_cells(gpu: Gpu) -> tuple[str, ...]:
    used = UNKNOWN if gpu.memory_used is None else f"{gpu.memory_used / view.GIB:.1f}"
    whole = UNKNOWN if gpu.memory_total is None else f"{gpu.memory_total / view.GIB:.1f} GiB"
    heat = UNKNOWN if gpu.temperature_c is None else f"{gpu.temperature_c:.0f} °C"
    told = gpu.error or f"{percent(gpu.util)} busy"
    return (str(gpu.index), f"{used}/{whole}", told, view.watts(gpu.power_w), heat)

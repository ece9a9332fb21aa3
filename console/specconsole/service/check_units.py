"""Checks of what runs on the machine: its vLLM units and their settings; swaps, benchmarks and experiments that lie there; pure."""

from __future__ import annotations

from collections.abc import Iterator

from specconsole.remote.experiment_folder import HOMES
from specconsole.service import method_effect
from specconsole.service.check import Check, Level, unread
from specconsole.service.examine import Readings, Unread
from specconsole.service.finding import Finding
from specconsole.service.lint import Linted, counted
from specconsole.service.swap import ended, next_steps, title
from specconsole.text import bytes_binary, one_line

SAID = 3
"""So many findings of a unit are said, the gravest."""


def units(readings: Readings) -> Check:
    """The units that run vLLM."""
    fails = "the units that a swap or a benchmark would be about"
    if isinstance(readings.units, Unread):
        return unread("units", readings.units, fails)
    if not readings.units:
        return Check(
            "units",
            Level.LIMITED,
            "No unit runs vLLM.",
            fails=fails,
            fix="name them in a profile and give it with --profile (on your machine)",
        )
    listed = ", ".join(f"{unit.key} (vLLM {unit.version or 'of unknown version'})" for unit in readings.units)
    return Check("units", Level.OK, one_line(f"{listed}."), "state, log and engine of each")


def differs(readings: Readings) -> Check:
    """What of a unit is not as the profile says."""
    found = one_line(f"{'; '.join(readings.differs)}.")
    return Check(
        "profile",
        Level.LIMITED,
        found,
        fails="what the profile calls usual is not of this unit",
        fix="mend the unit, or [expect] in the profile (on your machine)",
    )


def lint(readings: Readings) -> Iterator[Check]:
    """A check for each unit of which something fails or ends badly; notes are left to the verb, and effects of a method counted."""
    if isinstance(readings.linted, Unread):
        yield unread("lint", readings.linted, "whether a start of these units would end badly")
        return
    calm = [one for one in readings.linted if not _grave(one)]
    yield from (_ends_badly(one, readings.typed) for one in readings.linted if one not in calm)
    effects = sum(map(_effects, calm))
    if calm and (effects or len(calm) == len(readings.linted)):
        found = f"Nothing fails or ends badly in {len(calm)} unit{'s' if len(calm) > 1 else ''}"
        said, fix = (f"; lint tells {_counted(effects)}", f"specconsole lint {readings.typed} (on your machine)")
        yield Check("lint", Level.OK, f"{found}{said if effects else ''}.", fix=fix if effects else "")


def _ends_badly(one: Linted, typed: str) -> Check:
    grave, effects = _grave(one), _effects(one)
    more = f" and {len(grave) - SAID} more" if len(grave) > SAID else ""
    name = one.unit.key.removesuffix(".service")
    mends = " --fix" if any(finding.remedy for finding in grave) else ""
    return Check(
        "lint",
        Level.LIMITED,
        f"{name}: {counted(grave)}{f', and {_counted(effects)}' if effects else ''}.",
        fails=" ".join(one_line(finding.sentence) for finding in grave[:SAID]) + more,
        fix=f"specconsole lint {typed} {name}{mends} (on your machine)",
    )


def _grave(one: Linted) -> list[Finding]:
    return [finding for finding in one.findings if finding.severity != "note" and finding.id not in method_effect.IDS]


def _effects(one: Linted) -> int:
    """Warnings that belong to the choice of a method: lint counts them, and no drop-in would mend them."""
    return sum(finding.severity != "note" and finding.id in method_effect.IDS for finding in one.findings)


def _counted(effects: int) -> str:
    return f"{effects} effect{'s' if effects > 1 else ''} of speculation"


def swaps(readings: Readings) -> Check:
    """The last swap of the host's own record, and one that nobody goes on with."""
    known = readings.swaps
    if known.trouble:
        return Check("swaps", Level.UNKNOWN, f"The record of swaps could not be read: {one_line(known.trouble, 200)}")
    if not known.stories:
        return Check("swaps", Level.OK, "No swap is recorded on this host.")
    last = known.stories[-1]
    step = f" at step {last.step.name}" if last.step and last.outcome != "committed" else ""
    found = f"{len(known.stories)} recorded; the last: {title(last)}, {ended(last)}{step}."
    if known.running:
        return Check("swaps", Level.OK, found, "it runs now", fix=f"specconsole swap {readings.typed} --follow")
    if known.interrupted:
        fix = " or: ".join(next_steps(readings.typed, known))
        return Check("swaps", Level.LIMITED, found, fails="nobody goes on with it: finish it, or return", fix=fix)
    if last.outcome in ("failed", "handed_over"):
        fix = last.advice[0] if last.advice else f"specconsole status {readings.typed}"
        return Check("swaps", Level.LIMITED, found, fails=one_line(last.why), fix=one_line(fix))
    return Check("swaps", Level.OK, found)


def runs(readings: Readings) -> Check:
    """Benchmarks that lie on the host: one that goes on, and those that nobody has fetched."""
    fix = f"specconsole bench {readings.typed} --follow"
    waiting = [run for run in readings.runs if not run.running]
    running = next((run for run in readings.runs if run.running), None)
    size = bytes_binary(sum(run.bytes for run in waiting))
    found = [f"One goes on: {running.label or running.unit}."] if running else []
    if waiting:
        names = ", ".join(run.label or run.unit for run in waiting)
        found.append(f"{len(waiting)} ended while no console looked on ({names}): {size} in /run/specconsole.")
    works = "the next benchmark fetches what waits; the host forgets it a day after its end"
    return Check("benchmarks", Level.OK, " ".join(found), works, fix=fix)


def experiments(readings: Readings) -> Check:
    """Experiments that lie on the host: one that runs, one that nobody goes on with, and those to be fetched."""
    last = next((one for one in readings.experiments if one.running), readings.experiments[-1])
    verb = f"specconsole experiment {{}} {readings.typed}"
    how = "runs now" if last.running else last.outcome or "interrupted"
    count = len(readings.experiments)
    found = f"{count} in {HOMES}; the last: {last.name}, {how}, {last.settled} of {last.steps} steps."
    if last.running:
        return Check("experiments", Level.OK, found, "the host goes on by itself", fix=verb.format("watch"))
    if not last.whole:
        left = "nobody goes on with it" if last.outcome is None else "some of it was not measured; going on tries that"
        fix = f"specconsole experiment run {last.name} {readings.typed} --resume"
        return Check("experiments", Level.LIMITED, found, fails=left, fix=fix)
    works = "its report can be fetched; what nobody fetches is taken away two weeks after its last change"
    return Check("experiments", Level.OK, found, works, fix=f"{verb.format('report')} --to FOLDER")

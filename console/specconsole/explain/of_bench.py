"""Benchmarks, and what counters gained, as files tell them: these sections of a report, and several configurations side by side; pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from specconsole.bench import client_report, sweep
from specconsole.bench.acceptance import Counters, acceptance, between
from specconsole.bench.client_report import ClientReport
from specconsole.bench.sweep import Arm, Sweep
from specconsole.engine.metrics import Scrape, delta, restarted
from specconsole.engine.name import GENERATED
from specconsole.explain import of_serving
from specconsole.explain.readings import Readings
from specconsole.explain.report import BenchSeen, WindowSeen


def comparison(readings: Readings) -> Sweep | None:
    """Configurations of a table or notes, else the servers of several logs."""
    arms: list[Arm] = list(readings.arms)
    if (
        not arms
        and len(readings.logs) > 1
        and not any(log.unit or log.mixed for log in readings.logs)
        and _one_model(readings)
    ):  # a bundle's served what came
        arms = [arm for log in readings.logs if (arm := of_serving.arm(log)) is not None]
    if not arms and len(readings.benches) > 1:
        alike = len({one.get("completed") for one in readings.benches}) == 1
        arms = [_arm(one, place, alike=alike) for place, one in enumerate(readings.benches)]
    return sweep.compare(arms) if len(arms) > 1 else None


def _one_model(readings: Readings) -> bool:
    """Servers of different models are no two configurations of one."""
    return len({model for log in readings.logs if (model := log.last.timeline.facts.model)}) < 2


def _arm(report: ClientReport, place: int, *, alike: bool) -> Arm:
    """A report as one arm; its tokens are those of a request where the arms had not the same number of them."""
    count, made, read, load = (report.get(one) for one in ("completed", "output_tokens", "input_tokens", "concurrency"))
    each = made if alike else made / count if made is not None and count else None
    tpot = report.get("mean_tpot_ms")
    drafts, drafted, accepted = (report.get(name) for name in ("drafts", "drafted", "accepted"))
    return Arm(
        report.model or f"report {place + 1}",
        report.k if drafts else 0,
        report.get("output_tok_s"),
        None if tpot is None else tpot / 1000,
        length=report.length if drafts else None,
        rate=report.rate,
        drafts=int(drafts) if drafts else None,
        drafted=int(drafted) if drafted else None,
        accepted=int(accepted) if accepted is not None else None,
        per_position=report.per_position,
        baseline=not drafts,
        tokens=None if each is None else round(each),
        prompt_tokens=read / count if read is not None and count else None,
        load=None if load is None else int(load),
    )


def told(report: ClientReport) -> BenchSeen:
    """Say what a benchmark is, and what makes it doubtful."""
    doubts = client_report.doubts(report)
    say = tuple(doubt.text for doubt in doubts)
    ratio = report.tokens_per_chunk
    if ratio is not None and ratio > 1.2:
        say += (f"ITL is {ratio:.2f} times TPOT: with speculation it is the time of a step; compare TPOT.",)
    return BenchSeen(report, doubts, client_report.valid(report), report.rate, report.length, report.k, ratio, say)


def window(scrapes: Sequence[Scrape]) -> WindowSeen | None:
    """What the counters gained from the first to the last scrape; moments are not known, so there are no rates.

    Of one server: where the files tell of several, of that of the last one. After a restart on the way nothing is known.
    """
    own = of_last(scrapes)
    if len(own) < 2:
        return None
    counters = between(own[0], own[-1])
    anew = any(restarted(*pair) for pair in pairwise(own))
    fell = any(
        before.has(GENERATED) and after.has(GENERATED) and delta(before, after, GENERATED) is None
        for before, after in pairwise(own)
    )
    if anew or fell:
        counters = Counters(restarted=anew)
    return WindowSeen(anew, anew or fell, counters, acceptance(counters), counters.server_tpot_s)


def of_last(scrapes: Sequence[Scrape]) -> list[Scrape]:
    """Those of the server that the last one is of; one that names no model may be of any."""
    last = scrapes[-1].model if scrapes else None
    return [one for one in scrapes if last is None or one.model in (None, last)]


def servers(scrapes: Sequence[Scrape]) -> tuple[str, ...]:
    """The models that several scrapes are of."""
    return tuple(dict.fromkeys(one.model for one in scrapes if one.model))

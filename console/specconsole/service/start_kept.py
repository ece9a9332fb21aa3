"""What the history keeps of a start, and what it tells of the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from specconsole.history.entry import Load, digest
from specconsole.host.base import Host, hostname
from specconsole.load.diagnosis import Diagnosis
from specconsole.load.estimate import NO_HISTORY, Estimate, Interval, estimate, temperature
from specconsole.load.timeline import LoadTimeline, Stage
from specconsole.load.words import span_words
from specconsole.service.unit import Unit


def cause(attempt: LoadTimeline, diagnosis: Diagnosis | None, of_attempt: int | None) -> str:
    """Why a start failed, in one line; "": it did not, was asked to stop, or that is not known. The diagnosis may be an earlier attempt's."""
    fails = attempt.stage is Stage.FAILED and not attempt.stop_asked
    return f"{diagnosis.title}: {diagnosis.sentence}" if fails and diagnosis and of_attempt == attempt.number else ""


def remembered(host: Host, unit: Unit, attempt: LoadTimeline, why: str = "") -> Load | None:
    """What the history keeps of a start and of why it failed (`cause`); None while not even its beginning is known."""
    if attempt.started is None or not attempt.invocation:
        return None
    weights = attempt.weights
    return Load(
        host=hostname(host),
        unit=unit.key,
        invocation=attempt.invocation,
        started=attempt.started,
        outcome=_outcome(attempt),
        answering=attempt.startup_at if attempt.late else attempt.answering_at,
        ready=None if attempt.late else attempt.ready_at,
        ended=attempt.failed_at,
        reason=" ".join(part for part in (attempt.reason, attempt.error) if part) if attempt.failed_at else "",
        cause=why,
        shards=weights.total if weights and weights.unit == "shards" else None,
        weights_s=attempt.weights_s,
        complete=not attempt.late,
        phases={span.phase.value: span.seconds for span in attempt.spans if span.seconds is not None},
        cold=temperature(attempt),
        cached=attempt.facts.compile_cached,
        fingerprint=fingerprint(unit),
    )


def _outcome(attempt: LoadTimeline) -> str:
    """How the load went; what became of the server afterwards stands in `ended` and `reason`."""
    if attempt.ready_at is not None:
        return Stage.READY.value
    if attempt.stage is not Stage.FAILED:
        return str(attempt.stage.value)
    if attempt.answering_at is not None:
        return Stage.ANSWERING.value
    return "stopped" if attempt.stop_asked else Stage.FAILED.value


def expected(unit: Unit, attempt: LoadTimeline, past: Sequence[Load], now: float) -> Estimate:
    """When a start will be ready; where no earlier load tells, what the profile expects stands beside that."""
    found = estimate(attempt, past, now, fingerprint(unit))
    if unit.expected_load_s is None or found.why != NO_HISTORY:
        return found
    low, high = unit.expected_load_s
    return replace(found, why=f"{NO_HISTORY}; the profile expects {span_words(Interval(low, (low + high) / 2, high))}")


def fingerprint(unit: Unit) -> dict[str, object]:
    """What a start is of: loads of another model or parallelism tell nothing of it, of another command less."""
    serving = unit.serving
    speculation = serving.speculation
    return {
        "model": serving.model,
        "parallelism": serving.parallelism,
        "method": speculation.method if speculation else None,
        "k": speculation.tokens if speculation else None,
        "eager": serving.eager,
        "version": unit.version,
        "command": digest({"argv": serving.argv}),
    }

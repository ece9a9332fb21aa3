"""A start as JSON, as `watch`, `status` and a swap tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specconsole.load.estimate import Estimate
from specconsole.load.timeline import LoadTimeline, Progress, Span, Stage
from specconsole.verb import judgement

if TYPE_CHECKING:
    from specconsole.service.start import Standing


def standing_facts(standing: Standing, expected: Estimate) -> dict[str, object]:
    """One start as JSON, with what is to be thought of it."""
    return {
        **facts(standing.attempt, expected),
        "verdict": judgement.verdict_facts(standing.verdict),
        "diagnosis": judgement.diagnosis_facts(standing.diagnosis),
    }


def facts(attempt: LoadTimeline, expected: Estimate) -> dict[str, object]:
    """One start as JSON: times are seconds since the epoch by the host's clock, null what is not known or not yet."""
    return {
        "unit": attempt.unit,
        "invocation": attempt.invocation,
        "stage": attempt.stage.value,
        "started": attempt.started,
        "phase": attempt.phase.value if attempt.phase else None,
        "phases": [_span(span) for span in attempt.spans],
        "ahead": [phase.value for phase in attempt.ahead],
        "waiting": list(attempt.waiting),
        "estimate": _estimate(expected),
        "facts": attempt.facts,
        "notices": attempt.notices,
        "weights": _bar(attempt.weights),
        "drafter": _bar(attempt.drafter),
        "weights_s": attempt.weights_s,
        "answering": attempt.answering_at,
        "ready": attempt.ready_at,
        "failed": attempt.failed_at,
        "reason": attempt.reason,
        "error": attempt.error if attempt.stage is Stage.FAILED else "",
        "note": attempt.note,
        "late": attempt.late,
    }


def _estimate(expected: Estimate) -> dict[str, object]:
    return {
        "ready": expected.ready,
        "phase": expected.phase,
        "loads": expected.loads,
        "cold": expected.cold,
        "why": expected.why,
    }


def _span(span: Span) -> dict[str, object]:
    return {
        "phase": span.phase.value,
        "start": span.start,
        "end": span.end,
        "begun": span.begun.value,
        "progress": _bar(span.progress),
        "ranks": list(span.ranks),
    }


def _bar(progress: Progress | None) -> dict[str, object] | None:
    if progress is None:
        return None
    return {"label": progress.label, "done": progress.done, "total": progress.total, "unit": progress.unit}

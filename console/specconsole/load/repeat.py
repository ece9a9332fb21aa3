"""A start that systemd made after one that failed: whatever it does now, nobody should take it for healthy. Pure."""

from __future__ import annotations

from dataclasses import replace

from specconsole.load.diagnosis import Diagnosis
from specconsole.load.verdict import Judgement, Verdict

SUSPECT = 3
"""From this attempt on a start is suspect though nobody saw why the ones before ended: a single restart may be an accident."""
_LOOKED_AT = (Judgement.WATCH, Judgement.STUCK, Judgement.WAITING_FOR_PEER, Judgement.FAILED)


def again(verdict: Verdict, number: int, failed: Diagnosis | None) -> Verdict:
    """The verdict of a start that is the `number`th since the unit was last started by hand, the first being 1.

    `failed`: why an attempt before it failed; None: that was not seen. What is alarming by itself stays as it is.
    """
    if verdict.judgement in _LOOKED_AT or number < (2 if failed else SUSPECT):
        return verdict
    restarts = f"systemd has started it anew {number - 1} time{'s' if number > 2 else ''}"
    advice = (
        next(iter(failed.advice), "") if failed else "Read how the attempts before ended: errors further up in its log."
    )
    return replace(
        verdict,
        judgement=Judgement.WATCH,
        sentence=f"the attempt before failed: {failed.title}" if failed else restarts,
        evidence=(
            *((restarts,) if failed else ()),
            f"now {verdict.judgement.value.replace('_', ' ')}: {verdict.sentence}",
            *verdict.evidence,
        ),
        signature="restarts",
        cause=failed.name if failed else "",
        advice=advice,
        probe="",
    )

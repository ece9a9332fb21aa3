"""What is told when a load has ended or hangs, to a person, a command or a web address; pure.

Every text is one clean line: it comes from a log in part, and goes into a terminal's escape sequence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specconsole.load.diagnosis import Diagnosis
from specconsole.load.timeline import LoadTimeline, Stage
from specconsole.load.verdict import Judgement, Verdict
from specconsole.text import duration, one_line

PREFIX = "SPECCONSOLE_"
_WIDTH = 200
_ONLY_9 = ("iTerm.app", "WezTerm", "ghostty", "vscode", "WindowsTerminal")
"""Terminals, by TERM_PROGRAM, that show OSC 9; some of them know OSC 777 too, and would tell it twice."""
_ONLY_777 = ("rxvt", "foot")
"""Terminals, by the beginning of TERM, that show OSC 777."""


@dataclass(frozen=True)
class Ended:
    """The end of a load, or that it hangs."""

    host: str
    unit: str
    outcome: str
    """ready, answering (where generating a token was not tried), failed, or stuck: it has not ended, and hangs."""
    seconds: float | None
    """From the start of the main process to this end; None: the host does not say when that was, or it was over when we
    came."""
    at: float | None
    """In seconds since the epoch by the host's clock."""
    attempt: int = 1
    model: str = ""
    reason: str = ""
    """What systemd says of a failure."""
    diagnosis: Diagnosis | None = None
    verdict: Verdict | None = None
    """What shows that it hangs."""

    @property
    def stuck(self) -> bool:
        """It hangs."""
        return self.outcome == "stuck"

    @property
    def failed(self) -> bool:
        """It failed."""
        return self.outcome == "failed"

    @property
    def headline(self) -> str:
        """All of it in one line."""
        said = "has failed" if self.failed else "is stuck" if self.stuck else f"is {self.outcome}"
        took = f" after {duration(self.seconds)}" if self.seconds is not None else ""
        why = ""
        if self.failed:
            why = f": {self.diagnosis.title}" if self.diagnosis else f": {self.reason}" if self.reason else ""
        if self.stuck and self.verdict:
            why = f": {self.verdict.sentence}"
        return one_line(f"{self.unit} on {self.host} {said}{took}{why}", _WIDTH)

    def facts(self) -> dict[str, object]:
        """The end as JSON; `text` and `content` are what chat services show."""
        found, hangs = self.diagnosis, self.verdict
        return {
            "event": "load",
            "outcome": self.outcome,
            "host": one_line(self.host),
            "unit": one_line(self.unit),
            "model": one_line(self.model),
            "seconds": None if self.seconds is None else round(self.seconds, 1),
            "at": self.at,
            "attempt": self.attempt,
            "reason": one_line(self.reason),
            "diagnosis": found.name if found else None,
            "title": found.title if found else None,
            "sentence": found.sentence if found else one_line(hangs.sentence) if hangs else None,
            "cause": found.root_line if found else (hangs.cause or None) if hangs else None,
            "advice": list(self._advice),
            "evidence": list(hangs.evidence) if hangs else [],
            "option": found.option if found else None,
            "text": self.headline,
            "content": self.headline,
        }

    def environment(self) -> dict[str, str]:
        """The same as variables of a command: SPECCONSOLE_UNIT, SPECCONSOLE_OUTCOME …; what is not known is empty."""
        lists = {"advice": " ".join(self._advice), "evidence": "; ".join(self.verdict.evidence if self.verdict else ())}
        facts = {name: value for name, value in self.facts().items() if name not in ("event", "content")} | lists
        return {PREFIX + name.upper(): _plain(value) for name, value in facts.items()}

    @property
    def _advice(self) -> tuple[str, ...]:
        if self.diagnosis is not None:
            return tuple(self.diagnosis.advice)
        return (self.verdict.advice,) if self.verdict and self.verdict.advice else ()


def _plain(value: object) -> str:
    return "" if value is None else str(value).replace("\0", "")


def ended(host: str, attempt: LoadTimeline, diagnosis: Diagnosis | None = None) -> Ended | None:
    """The end of a start; None while it goes on, and where it was stopped on request."""
    if attempt.stage is Stage.LOADING or attempt.stop_asked:
        return None
    ends = {Stage.READY: attempt.ready_at, Stage.FAILED: attempt.failed_at, Stage.ANSWERING: attempt.answering_at}
    at = ends[attempt.stage]
    return Ended(
        host,
        attempt.unit,
        attempt.stage.value,
        None if at is None or attempt.started is None or attempt.late else at - attempt.started,
        at,
        attempt.number,
        attempt.facts.model or attempt.expected.model or "",
        attempt.reason,
        diagnosis if attempt.stage is Stage.FAILED else None,
    )


def stuck(host: str, attempt: LoadTimeline, verdict: Verdict | None) -> Ended | None:
    """That a start hangs, by the verdict on it; None: it does not, as far as is known."""
    if verdict is None or verdict.judgement is not Judgement.STUCK or attempt.stage is not Stage.LOADING:
        return None
    began = attempt.started
    return Ended(
        host,
        attempt.unit,
        "stuck",
        None if verdict.at is None or began is None else verdict.at - began,
        verdict.at,
        attempt.number,
        attempt.facts.model or attempt.expected.model or "",
        verdict=verdict,
    )


def attention(end: Ended, environ: Mapping[str, str]) -> str:
    """The bell and a desktop notification for a terminal, as one string of escape sequences (OSC 9, OSC 777).

    `environ` tells which terminal it is; one that knows neither ignores them.
    """
    text = one_line(end.headline, _WIDTH)
    program, term = environ.get("TERM_PROGRAM", ""), environ.get("TERM", "")
    if term in ("dumb", ""):
        return "\a"
    # ConEmu and Windows Terminal read "4;…" behind OSC 9 as a progress bar, so it must not begin with a digit.
    nine = f"\x1b]9;specconsole: {text}\x07"
    seven = f"\x1b]777;notify;specconsole;{text.replace(';', ',')}\x07"
    both = nine if program in _ONLY_9 else seven if term.startswith(_ONLY_777) else nine + seven
    if "TMUX" in environ:  # passed through where tmux allows it; the bell always is
        both = f"\x1bPtmux;{both.replace(chr(27), chr(27) * 2)}\x1b\\"
    return "\a" + both

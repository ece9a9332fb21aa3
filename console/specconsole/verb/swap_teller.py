"""A swap as it is told on the terminal: its steps and their evidence, and under them the load that it waits for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from specconsole.text import one_line
from specconsole.verb import judgement, output, watch

if TYPE_CHECKING:
    from specconsole.load.estimate import Estimate
    from specconsole.remote.swap_record import Story
    from specconsole.service.start import Standing
    from specconsole.service.swap import SwapView

_INDENT = " " * 10
_FIRST = 110
"""Characters of an error that a step tells while the swap goes on."""
_BY_STEPS = ("answering", "ready", "failed", "note")
"""Events of a load that the swap's steps tell themselves, with the proof or the cause."""


class Teller:
    """Tells a swap on the terminal: a line a step and a fact, and on a terminal one more that moves."""

    def __init__(self, as_json: bool, typed: str = "HOST") -> None:
        self.as_json = as_json
        self.typed = typed
        """What names the host on a command line."""
        self.live = sys.stderr.isatty() and not as_json
        self.asked = -1
        self._told: set[tuple[int, str, int]] = set()
        self._counted = output.Overwritten()
        self.view: SwapView | None = None
        self._events = 0

    def __call__(self, view: SwapView) -> None:
        """Tell what is new."""
        self.view = view
        if self.as_json:
            self._json(view)
            return
        from specconsole.service.swap import step_line

        for place, step in enumerate(view.story.steps):
            self._line((place, "begin", 0), f"▶ {'roll back: ' if step.back else ''}{step.name}")
            for number, note in enumerate(step.notes):
                self._line((place, "note", number), f"    {_noted(note)}")
            if step.state != "begin":
                self._line((place, "end", 0), step_line(replace(step, why=causeless(view.story, step.why))))
        if self.live and view.now:
            self._counted.show(one_line(view.now, 100))

    def _line(self, key: tuple[int, str, int], text: str) -> None:
        if key not in self._told:
            self._told.add(key)
            self._write(text)

    def load(self, event: str, standing: Standing, expected: Estimate) -> None:
        """Tell what is new of the load that the swap waits for; how it ends is for the swap's own steps to say."""
        view = self.view
        if view is None or view.over:
            return
        if self.as_json:
            output.write_json_line(facts(view, _load(event, standing, expected)))
        elif event == "started":
            unit = one_line(standing.attempt.unit.removesuffix(".service"))
            self._write(f"{_INDENT}`specconsole watch {self.typed} {unit}` shows this load too")
        elif event not in _BY_STEPS:
            self._write(watch.standing_line(event, standing, expected))

    def _write(self, text: str) -> None:
        self._counted.clear()
        output.write_text(text)

    def _json(self, view: SwapView) -> None:
        if view.story.count != self._events or view.over:
            self._events = view.story.count
            output.write_json_line(facts(view))

    def end(self) -> None:
        """Leave a clean line."""
        self._counted.clear()


def _noted(note: Mapping[str, object]) -> str:
    """A fact of a step; of a failure's error the beginning, since the end of the swap has it whole and judged."""
    text, cause = str(note.get("text", "")), str(note.get("cause") or "")
    return one_line(text.replace(cause, shortened(cause, _FIRST)) if cause else text)


def causeless(story: Story, why: str) -> str:
    """A reason without the error that a note of the same swap has told already."""
    for step in story.steps:
        for note in step.notes:
            if cause := str(note.get("cause") or ""):
                why = why.replace(f"; {cause}", "")
    return why


def shortened(text: str, most: int) -> str:
    """The first so many characters of a text at most, never cut inside a word."""
    if len(text) <= most:
        return text
    return text[: most + 1].rpartition(" ")[0].rstrip(",;:") + " …" if " " in text[: most + 1] else text[:most] + "…"


def _load(event: str, standing: Standing, expected: Estimate) -> dict[str, object]:
    """An event of a load in few words; `watch --json` has all of it."""
    attempt, verdict = standing.attempt, standing.verdict
    return {
        "event": event,
        "unit": attempt.unit,
        "stage": attempt.stage.value,
        "phase": attempt.phase.value if attempt.phase else None,
        "verdict": verdict.judgement.value if verdict else None,
        "text": watch.standing_line(event, standing, expected),
    }


def facts(view: SwapView, load: Mapping[str, object] | None = None) -> dict[str, object]:
    """How a swap stands as JSON; `load`: what is new of the load that it waits for, null where the swap itself is told."""
    last = view.story.step
    return {
        "id": view.story.id,
        "step": last.name if last else None,
        "state": last.state if last else None,
        "back": view.story.back,
        "why": last.why if last else "",
        "outcome": view.story.outcome,
        "reason": view.story.why,
        "unproven": view.story.unproven,
        "advice": view.story.advice,
        "over": view.over,
        "interrupted": view.interrupted,
        "diagnosis": judgement.diagnosis_facts(view.diagnosis),
        "load": load,
    }

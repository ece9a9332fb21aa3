"""Verdict and diagnosis of a start in the words and the JSON of the commands."""

from __future__ import annotations

from collections.abc import Iterator

from specconsole.load.diagnosis import Diagnosis
from specconsole.load.verdict import Verdict

_INDENT = " " * 10


def is_news(before: Verdict | None, now: Verdict | None) -> bool:
    """A verdict is told when its word changes; an alarming one also when another sign gives rise to it."""
    if now is None or now.signature == "gathering":
        return False
    if before is None or before.judgement is not now.judgement:
        return True
    return now.alarming and before.signature != now.signature


def verdict_text(verdict: Verdict) -> str:
    """A verdict in one line, its evidence behind it, and what to do on lines of their own."""
    word = verdict.judgement.value.replace("_", " ").upper()
    rests = f": {'; '.join(verdict.evidence)}" if verdict.evidence else ""
    lines = [f"{word}  {verdict.sentence}{rests}"]
    if verdict.missing and (verdict.alarming or verdict.probe):
        lines.append(f"{_INDENT}not known: {'; '.join(verdict.missing)}")
    if verdict.probe:
        lines.append(f"{_INDENT}look: {verdict.probe}")
    if verdict.advice:
        lines.append(f"{_INDENT}do: {verdict.advice}")
    return "\n".join(lines)


def diagnosis_lines(diagnosis: Diagnosis, *, brief: bool = False) -> Iterator[str]:
    """A diagnosis on lines of its own, indented under the line that says that it failed; `brief`: one advice."""
    where = f" in the phase {diagnosis.phase.replace('_', ' ')}" if diagnosis.phase else ""
    yield f"{_INDENT}{diagnosis.title}{where}: {diagnosis.sentence}"
    if diagnosis.root_line and diagnosis.root_line not in diagnosis.sentence:
        who = f"{diagnosis.process}: " if diagnosis.process else ""
        yield f"{_INDENT}cause: {who}{diagnosis.root_line}"
    for advice in diagnosis.advice[: 1 if brief else None]:
        yield f"{_INDENT}do: {advice}"
    for note in diagnosis.notes:
        yield f"{_INDENT}note: {note}"


def verdict_facts(verdict: Verdict | None) -> dict[str, object] | None:
    """A verdict as JSON; null: there is none."""
    if verdict is None:
        return None
    return {
        "verdict": verdict.judgement.value,
        "at": verdict.at,
        "sentence": verdict.sentence,
        "evidence": list(verdict.evidence),
        "missing": list(verdict.missing),
        "signature": verdict.signature,
        "cause": verdict.cause,
        "advice": verdict.advice,
        "probe": verdict.probe,
        "stalled_s": None if verdict.stalled_s is None else round(verdict.stalled_s, 1),
    }


def diagnosis_facts(diagnosis: Diagnosis | None) -> dict[str, object] | None:
    """A diagnosis as JSON; null: there is none."""
    if diagnosis is None:
        return None
    return {
        "name": diagnosis.name,
        "title": diagnosis.title,
        "sentence": diagnosis.sentence,
        "root_line": diagnosis.root_line,
        "process": diagnosis.process,
        "at": diagnosis.at,
        "phase": diagnosis.phase,
        "numbers": dict(diagnosis.numbers),
        "advice": list(diagnosis.advice),
        "option": diagnosis.option,
        "notes": list(diagnosis.notes),
        "consequences": list(diagnosis.consequences),
    }

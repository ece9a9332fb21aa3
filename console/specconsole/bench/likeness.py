"""Whether two runs at temperature 0 gave the same answers: by token ids where both have them, else by text."""

from __future__ import annotations

from dataclasses import dataclass

from specconsole.bench.run import BenchRun
from specconsole.bench.stats import Result


@dataclass(frozen=True)
class Likeness:
    """Whether both runs gave the same answers."""

    same: int
    compared: int
    by: str
    """token ids or text."""
    first: str = ""
    """Where the first difference is, in words."""


def likeness(a: BenchRun, b: BenchRun) -> Likeness | None:
    """At temperature 0 both arms should say the same; by token ids where both have them, else by text."""
    if a.spec.temperature != 0 or b.spec.temperature != 0 or a.spec.max_tokens != b.spec.max_tokens:
        return None
    mine, theirs = ({(one.prompt, one.repeat): one for one in run.kept} for run in (a, b))
    shared = [key for key in mine if key in theirs]
    if not shared:
        return None
    by_ids = all(mine[key].token_ids and theirs[key].token_ids for key in shared)
    places = {key: _first_difference(mine[key], theirs[key], by_ids) for key in shared}
    different = [key for key in shared if places[key] is not None]
    first = ""
    if different:
        prompt, repeat = different[0]
        unit = "token" if by_ids else "character"
        first = f"{prompt}, repeat {repeat + 1}: from {unit} {(places[different[0]] or 0) + 1} on"
    return Likeness(len(shared) - len(different), len(shared), "token ids" if by_ids else "text", first)


def _first_difference(left: Result, right: Result, by_ids: bool) -> int | None:
    ours, theirs = (left.token_ids, right.token_ids) if by_ids else (tuple(left.text), tuple(right.text))
    for place, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        if one != other:
            return place
    return None if len(ours) == len(theirs) else min(len(ours), len(theirs))

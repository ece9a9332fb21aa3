"""Which arm an experiment ends on, and which cells count, from the load generator's own lines; pure; Python 3.8.

The console judges for people (`bench/judge.py`); the host must choose while nobody looks, by the same rule made narrower: where starts
scatter by more than chance makes of 2 %, and in any other doubt, it is the baseline. Cells are judged each by itself, never pooled:
an arm that wins in some of them and not in all is a doubt.
"""

from __future__ import annotations

import math
import zlib
from typing import Dict, Iterable, List, Optional, Sequence, Tuple

from specconsole.remote import outside
from specconsole.remote.drive_rule import DIGITS

BASELINE = "baseline"
DEVIATION = 0.02
Z = 1.96
MOST_CELLS = 200
"""Of a start: so far apart are the turns of two tries."""
FIRST_LENGTH = 400
"""Characters that are told of the first answer with which a request failed."""
EXPLAINED = 1.35
"""So many times the known deviation between starts may be chance with many of them; with few, more."""

Start = Dict[str, float]
"""Seconds per token of each prompt in one start."""


def turn_of(ident: str, tries: int, cell: int) -> int:
    """The number of a run in the words before its prompts, where the version knows no `cache_salt`.

    One for all arms, so that all are asked the same; another one for each cell, since one start serves them all, for each
    experiment and for each time it is resumed, since the first start may have served an earlier one.
    """
    return int((zlib.crc32(ident.encode()) + tries * MOST_CELLS + cell) % 16 ** DIGITS[0][1])


def start_of(lines: Iterable[bytes]) -> Optional[Start]:
    """Seconds per token by prompt of a run; None where it did not finish, or a request failed or cannot be counted."""
    seconds: Dict[str, float] = {}
    tokens: Dict[str, int] = {}
    finished = False
    for line in lines:
        if line.startswith(b'{"event":"end"'):
            finished = outside.parse(line).get("why") == "finished"
        if not line.startswith(b'{"event":"result"'):
            continue
        one = outside.parse(line)
        chunks = one.get("chunks") or []
        if one.get("warmup"):
            continue
        if one.get("error") or len(chunks) < 2 or chunks[0][1] is None or chunks[-1][1] is None:
            return None
        name = str(one["prompt"])
        seconds[name] = seconds.get(name, 0.0) + (chunks[-1][0] - chunks[0][0]) / 1e9
        tokens[name] = tokens.get(name, 0) + chunks[-1][1] - chunks[0][1]
    if not finished or not tokens or min(tokens.values()) <= 0 or min(seconds.values()) <= 0:
        return None
    return {name: seconds[name] / tokens[name] for name in tokens}


def failures(lines: Iterable[bytes]) -> Tuple[int, int, str]:
    """How many measured requests of a run failed, of how many that ended, and the first word of the server about it."""
    failed = ended = 0
    first = ""
    for line in lines:
        if not line.startswith(b'{"event":"result"'):
            continue
        one = outside.parse(line)
        if one.get("warmup"):
            continue
        ended += 1
        if one.get("error"):
            failed += 1
            first = first or " ".join(str(one["error"]).split())[:FIRST_LENGTH]
    return failed, ended, first


def winner(cells: Sequence[Sequence[Tuple[str, Start]]], margin: float) -> Tuple[str, str]:
    """The arm to end on, and why; `cells`: arm and figures of each start that was measured whole, cell by cell.

    An arm must be faster in every cell; of several such the one that is fastest over the cells, each weighted equally.
    """
    known = [_effects(starts, margin) for starts in cells if starts]
    effects = [found for found in known if found is not None]
    where = " in every cell" if len(cells) > 1 else ""
    if not effects or len(effects) < len(known):
        return BASELINE, "the baseline was not measured%s, so nothing is faster than it" % where
    sums = {}
    doubtful = []
    for name in sorted(set(effects[0]).intersection(*effects)):
        told = [found[name] for found in effects]
        sure = [effect for effect in told if effect is not None]
        if len(sure) == len(told):
            sums[name] = sum(sure) / len(sure)
        else:
            doubtful.append(name)
    if not sums and doubtful:
        said = "%s came out faster%s, but starts of one unit differ by more than chance makes of the usual %g %%: nothing is chosen unseen"
        return BASELINE, said % (" and ".join(doubtful), where, DEVIATION * 100)
    if not sums:
        return BASELINE, "no arm is faster than the baseline beyond the margin and the noise between starts" + where
    best = min(sorted(sums), key=lambda name: sums[name])
    shares = [(1 - math.exp(effect)) * 100 for found in effects for effect in [found[best]] if effect is not None]
    took = " to ".join(sorted({"%.1f" % min(shares), "%.1f" % max(shares)}, key=float))
    return best, "%s takes %s %% less time per token than the baseline" % (best, took)


def _effects(starts: Sequence[Tuple[str, Start]], margin: float) -> Optional[Dict[str, Optional[float]]]:
    """The arms that are faster than the baseline in one cell, each with its log ratio; None: the baseline was not measured.

    An arm's ratio is None where starts scatter by more than chance makes of the usual: faster, but not to be chosen for it.
    """
    arms: Dict[str, List[Start]] = {}
    for name, start in starts:
        arms.setdefault(name, []).append(start)
    base = arms.pop(BASELINE, [])
    if not base:
        return None
    effects: Dict[str, Optional[float]] = {}
    for name, found in arms.items():
        prompts = set(base[0]).intersection(*base, *found)
        if not prompts or len(base) + len(found) < 3:
            continue
        ours, theirs = ([_centre(start, prompts) for start in arm] for arm in (base, found))
        effect = sum(theirs) / len(theirs) - sum(ours) / len(ours)
        scatter = _pooled(ours, theirs)
        noise = Z * max(DEVIATION, scatter) * math.sqrt(1 / len(base) + 1 / len(found))
        if effect < -max(noise, math.log1p(margin)):
            effects[name] = effect if scatter <= EXPLAINED * DEVIATION else None
    return effects


def _centre(start: Start, prompts: Iterable[str]) -> float:
    names = sorted(prompts)
    return sum(math.log(start[name]) for name in names) / len(names)


def _pooled(*arms: Sequence[float]) -> float:
    """Deviation between starts within their arms; 0 where each has one."""
    squares = sum((value - sum(arm) / len(arm)) ** 2 for arm in arms for value in arm)
    left = sum(len(arm) - 1 for arm in arms)
    return math.sqrt(squares / left) if left else 0.0

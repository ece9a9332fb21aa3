"""How good the estimate of a load's end is, beside "median of earlier loads, give or take 50 %".

    ./dev bench bench_eta [UNITS]

Loads are simulated with six disks whose noise is stated in `tests/load/eta.py`, 1, 3 and 5 earlier loads each, and the
recorded H200 starts are foretold by each other. At 20 even moments of each load the 80 % interval is scored: interval
score and width as shares of the load's whole time (smaller is better), and how often it held the truth (0.8 is right).
Bar: a better interval score than the other on every disk and every recorded group.
"""

from __future__ import annotations

import sys

from tests.load.eta import DISKS, Score, answers, compared, halves, recorded, score

from specconsole.load.estimate import Interval

GROUPS = (("dense-baseline", "dense-ngram"), ("moe-baseline", "moe-ngram", "moe-eagle3", "moe-sync"))


def row(name: str, ours: Score, theirs: Score) -> bool:
    """Print a comparison; True when ours is better."""
    better = ours.interval < theirs.interval
    said = "  ".join(f"{score.interval:6.3f} {score.width:6.3f} {score.covered:5.2f}" for score in (ours, theirs))
    print(f"{name:28} {said}  {'better' if better else 'WORSE'}", flush=True)
    return better


def main() -> None:
    units = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    print(f"{'':28} {'estimate':^19}  {'median ± 50 %':^19}")
    print(f"{'':28}  score  width  held   score  width  held")
    good = [row(f"{disk}, {count} earlier", *compared(disk, count, 7, units)) for disk in DISKS for count in (1, 3, 5)]
    for group in GROUPS:
        played = {name: recorded(name) for name in group}
        ours: list[tuple[Interval, float, float]] = []
        theirs: list[tuple[Interval, float, float]] = []
        for name in group:
            others = [played[other].remembered(place) for place, other in enumerate(group) if other != name]
            ours += answers(played[name], others)
            theirs += halves(played[name], others)
        good.append(row(f"H200, {group[0].partition('-')[0]}", score(ours), score(theirs)))
    raise SystemExit(0 if all(good) else 1)


if __name__ == "__main__":
    main()

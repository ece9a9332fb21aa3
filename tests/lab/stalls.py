"""Loads that stall in every way, watched over cut links: what `specconsole watch` says against what really happened.

    python -m tests.lab.stalls     twenty minutes: python -m tests.lab.stalls, part of ./dev lab --long

The stand-in notes when it printed nothing on purpose, and how; the watch's verdicts are laid beside that. A short form is
one of the tests (`test_stalls.py`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.cards import cards, set_card
from tests.lab.host import LabHost
from tests.lab.image import base_image, gpu_layer, missing, vllm_layer
from tests.lab.network import isolated
from tests.lab.test_verbs import Desk
from tests.lab.units import SYSTEM, serve, unit

UNIT = "vllm-stalls"
WATCH_S, STUCK_S = 60.0, 180.0
"""A hang must be worth a look, and be told, after so long."""
SLACK_S = 12.0
"""Two samples, and a machine that is shared."""
ALARMS = ("watch", "needs_probe", "stuck")
WORKS = ("spin", "compile")
"""Ways to print nothing that are work, and must never be called a hang."""


@dataclass(frozen=True)
class Plan:
    """A start: what it takes without stalls, its stalls (row, how, seconds), and when the link is cut."""

    load_s: float
    stalls: tuple[tuple[str, str, float], ...]
    cuts: tuple[float, ...]
    """Seconds after the start."""

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return self.load_s + sum(seconds for _, _, seconds in self.stalls)

    def files(self) -> dict[str, str]:
        """The unit."""
        stalls = json.dumps(self.stalls).replace('"', '\\"')
        text = unit(
            serve("--tensor-parallel-size", "2"), environment=f'FAKE_LOAD_S={self.load_s} "FAKE_STALLS={stalls}"'
        )
        return {**cards(2, power=88_000), f"{SYSTEM}/{UNIT}.service": text}


LONG = Plan(
    90.0,
    (
        ("gpu_model_runner.py:5160", "read", 120.0),
        ("default_loader.py:430", "idle", 270.0),
        ("backends.py:1089", "spin", 170.0),
        ("backends.py:1148", "compile", 170.0),
        ("gpu_worker.py:508", "ghost", 270.0),
        ("core.py:337", "idle", 90.0),
    ),
    (200.0, 700.0),
)
SHORT = Plan(12.0, (("default_loader.py:430", "idle", 80.0), ("backends.py:1148", "compile", 25.0)), (30.0, 70.0))


@dataclass(frozen=True)
class Told:
    """One event of the watch."""

    at: float
    """When it was told, in seconds since the epoch."""
    event: dict[str, Any]

    @property
    def judgement(self) -> str:
        """The verdict's word; "" where there is none."""
        return str((self.event.get("verdict") or {}).get("verdict", ""))


def play(host: LabHost, desk: Desk, plan: Plan) -> tuple[list[Told], list[dict[str, Any]]]:
    """Play a start and watch it to its end; returns what was told, and the stalls as they were."""
    host.run(f"rm -f /run/fake-stalls; systemctl start --no-block {UNIT}")
    began = time.monotonic()
    timers = [threading.Timer(at, host.cut_ssh) for at in plan.cuts]
    timers += _ghosts(host, plan)
    words = desk.argv("watch", "gpu-1", UNIT, "--json", "--timeout", str(plan.seconds + 90))
    told: list[Told] = []
    with subprocess.Popen(words, env=desk.environment, stdout=subprocess.PIPE, text=True) as watching:
        for timer in timers:
            timer.start()
        assert watching.stdout
        for line in watching.stdout:
            told.append(Told(time.time(), json.loads(line)))
            verdict = told[-1].event.get("verdict") or {}
            said = (told[-1].event["event"], verdict.get("verdict", ""), verdict.get("signature", ""))
            print(f"{time.monotonic() - began:7.1f}", *said, flush=True)
    for timer in timers:
        timer.cancel()
    stalls = host.run("cat /run/fake-stalls", check=False).stdout.splitlines()
    return told, [json.loads(line) for line in stalls]


def _ghosts(host: LabHost, plan: Plan) -> list[threading.Timer]:
    """During a stall of that kind the GPUs seem busy at the power of idleness; the stall's beginning is seen in its own file."""
    hows = [how for _, how, _ in plan.stalls]
    if "ghost" not in hows:
        return []
    place = hows.index("ghost")
    begin = sum(seconds for _, _, seconds in plan.stalls[:place]) + plan.load_s / 2
    length = plan.stalls[place][2] + plan.load_s / 2

    def haunt(busy: bool) -> None:
        for card in range(2):
            set_card(host, card, power=88_000, utilization__gpu=100 if busy else 0)

    return [threading.Timer(begin, haunt, (True,)), threading.Timer(begin + length, haunt, (False,))]


def wrong(told: Sequence[Told], stalls: Sequence[dict[str, Any]], plan: Plan) -> list[str]:
    """What the watch said that was not so, or did not say in time."""
    found: list[str] = []
    if len(stalls) != len(plan.stalls):
        found.append(f"{len(stalls)} of {len(plan.stalls)} stalls were played")
    if not told or told[-1].event["event"] != "ready":
        found.append(f"it ended with {told[-1].event['event'] if told else 'nothing'}")
    for stall in stalls:
        found += [f"{stall['how']} in {stall['source']}: {text}" for text in _of_stall(told, stall)]
    hangs = [stall for stall in stalls if stall["how"] not in WORKS]
    for one in told:
        since = min((one.at - stall["begin"] for stall in hangs if one.at >= stall["begin"]), default=0.0)
        inside = any(stall["begin"] <= one.at <= stall["end"] + SLACK_S for stall in hangs)
        if one.judgement == "stuck" and (not inside or since < STUCK_S - SLACK_S - 10):
            found.append(f"a false 'stuck' at {one.at:.0f}, {since:.0f} s into a stall")
    return found


def _of_stall(told: Sequence[Told], stall: dict[str, Any]) -> list[str]:
    length = stall["end"] - stall["begin"]
    inside = [one for one in told if stall["begin"] <= one.at <= stall["end"] + SLACK_S]
    if stall["how"] in WORKS:
        return [f"called {one.judgement}" for one in inside if one.judgement in ALARMS]
    found = []
    for words, least_s in ((ALARMS, WATCH_S), (("stuck",), STUCK_S)):
        if length > least_s + SLACK_S and stall["how"] != "read":
            first = min((one.at - stall["begin"] for one in inside if one.judgement in words), default=None)
            if first is None or first > least_s + SLACK_S:
                found.append(f"{words[-1] if len(words) == 1 else 'worth a look'} was told after {first}")
    return found


def main() -> int:
    """Play the long one on a host of its own; 1 when something was told wrongly."""
    if reason := missing():
        print(reason, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="lab-stalls-") as folder, isolated():
        layers = (gpu_layer(Path(folder, "gpu")), vllm_layer(Path(folder, "vllm")))
        with LabHost("gpu-1", *layers, base_image("trixie"), files=LONG.files()) as host:
            told, stalls = play(host, Desk(host, Path(folder)), LONG)
    found = wrong(told, stalls, LONG)
    print("\n".join(found) or "as it must be")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())

"""`specconsole bench` beside `vllm bench serve`, on one real vLLM (CPU build, tiny model) in one run.

    ./dev bench bench_vs_vllm [--unit base|ngram|both] [--rounds 4] [--api completions|chat]

Both send the same prompts over the same endpoint to the same server and run on its host; rounds go A-B-B-A, after one that
warms up and does not count. The figure is the ratio of mean TPOT (ours / theirs) by the peer's own definition, and each
client's TPOT over that of the server's own counters in the same window, which what else the machine does falls out of.
Counts must agree exactly (requests, tokens of each request, and the server's counters); times are only printed.

In chat the peer takes the role chunk for the first token (up to 0.32); its TPOT begins microseconds earlier.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.console import Answer, Console
from tests.e2e.environment import environment
from tests.e2e.host import PACKAGES, UNITS, files
from tests.lab.host import LabHost
from tests.lab.image import base_image, missing
from tests.lab.network import isolated

from benchmarks import serve_peer
from specconsole.bench import prompt
from specconsole.bench.acceptance import Counters, acceptance, between, total

START_S, BENCH_S = 1800, 900
"""How long a start and a run may take; on two busy cores a start takes ten times its minute."""
CHOICES = {"base": UNITS[:1], "ngram": UNITS[1:], "both": UNITS}
SAME = ("completed", "failed", "total_input_tokens", "total_output_tokens", "input_lens", "output_lens")
COUNTED = {"total_output_tokens": "generation_tokens", "completed": "tpot_requests"}
"""Key of a result file, and the server's counter that must have gained as much."""
DRAFTED = {
    "spec_decode_num_drafts": "drafts",
    "spec_decode_draft_tokens": "draft_tokens",
    "spec_decode_accepted_tokens": "accepted",
}


@dataclass(frozen=True)
class Side:
    """One client in one round."""

    told: dict[str, Any]
    """Its result file."""
    server: Counters
    """What the server counted meanwhile."""
    doubts: tuple[str, ...] = ()
    """What it says against itself."""

    @property
    def tpot_ms(self) -> float:
        return float(self.told["mean_tpot_ms"])

    @property
    def over_server(self) -> float:
        """Its TPOT over the server's own."""
        assert self.server.server_tpot_s
        return self.tpot_ms / 1000 / self.server.server_tpot_s

    @property
    def acceptance(self) -> str:
        """Rate and length, as both print them."""
        rate, length = (self.told.get(f"spec_decode_acceptance_{name}") for name in ("rate", "length"))
        return "" if rate is None or length is None else f"{rate:.2f} %  {length:.2f}"


@dataclass(frozen=True)
class Round:
    """Both clients, one after the other."""

    first: str
    ours: Side
    theirs: Side

    @property
    def ratio(self) -> float:
        return self.ours.tpot_ms / self.theirs.tpot_ms

    @property
    def same_texts(self) -> int:
        pairs = zip(self.ours.told["generated_texts"], self.theirs.told["generated_texts"], strict=True)
        return sum(mine == other for mine, other in pairs)

    def faults(self) -> Iterator[str]:
        """Where counts differ that must not."""
        for key in SAME:
            if self.ours.told[key] != self.theirs.told[key]:
                yield f"{key}: {self.ours.told[key]} here, {self.theirs.told[key]} there"
        for who, side in (("here", self.ours), ("there", self.theirs)):
            for key, counter in {**COUNTED, **DRAFTED}.items():
                counted = getattr(side.server, counter)
                if key in side.told and side.told[key] != counted:
                    yield f"{key}: {side.told[key]} {who}, {counted} at the server"


class Pair:
    """The two clients on one host, and what they are asked for."""

    def __init__(self, server: LabHost, console: Console, options: argparse.Namespace) -> None:
        self.server, self.console, self.options = server, console, options

    def ours(self, unit: str, name: str) -> Side:
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            before = serve_peer.scrape(self.server)
            answer = self.console.ask(
                "bench", "--unit", unit, "--warmup", "0", "--repeat", str(self.options.repeat), "--max-tokens",
                str(self.options.max_tokens), "--api", self.options.api, "--label", name, "--json", "--vllm-json", file.name,
                timeout_s=BENCH_S,
            )  # fmt: skip
            after = serve_peer.scrape(self.server)
            if answer.status not in (0, 5):
                raise RuntimeError(f"specconsole bench ended with {answer.status}: {answer.err}")
            return Side(json.load(file), between(before, after), doubts(answer))

    def theirs(self, unit: str, name: str) -> Side:
        before = serve_peer.scrape(self.server)
        told, printed = serve_peer.run(self.server, f"{unit}-{name}")
        side = Side(told, between(before, serve_peer.scrape(self.server)))
        for part in side.acceptance.replace(" %", "").split():
            assert part in printed.split(), f"{part} is not what it prints"
        return side

    def round(self, unit: str, turn: int) -> Round:
        """One round: A-B, the next B-A."""
        name = str(turn)
        if turn % 2 == 0:
            ours = self.ours(unit, name)
            return Round("ours", ours, self.theirs(unit, name))
        theirs = self.theirs(unit, name)
        return Round("theirs", self.ours(unit, name), theirs)

    def start(self, unit: str) -> None:
        """Start a unit, which stops the other, and wait until it is ready."""
        self.server.run(f"systemctl stop {' '.join(UNITS)}")
        self.server.run(f"systemctl start --no-block {unit}")
        watch = self.console.ask("watch", unit, "--json", "--timeout", str(START_S), timeout_s=START_S + 60)
        if watch.status:
            log = self.server.run(f"journalctl -u {unit} -n 40 -o cat").stdout
            raise RuntimeError(f"{unit} did not start: {watch.out}{watch.err}{log}")

    def measure(self, unit: str) -> list[Round]:
        """All rounds on one unit, each shown when it is there."""
        self.start(unit)
        options = self.options
        size = f"{len(prompt.default())} prompts x {options.repeat}, {options.max_tokens} tokens"
        print(f"{unit}: {options.api}, {size}, concurrency 1, temperature 0\n")
        print("            TPOT ms                  over the server's own")
        print(
            "  first     ours   theirs   ratio    ours  theirs    tokens           same texts  acceptance rate, length"
        )
        rounds = []
        for turn in range(options.rounds + 1):
            done = self.round(unit, turn + 1)
            show(done, counts=turn > 0)
            rounds.append(done)
        return rounds


def doubts(answer: Answer) -> tuple[str, ...]:
    """The remarks of a run that speak against it."""
    return tuple(one["text"] for one in answer.json["summary"]["remarks"] if one["level"] == "wrong")


def show(done: Round, *, counts: bool) -> None:
    """One round in a line, and what is wrong with it."""
    ours, theirs = done.ours, done.theirs
    tokens = "/".join(str(side.told["total_output_tokens"]) for side in (ours, theirs))
    accepted = f"ours {ours.acceptance}, theirs {theirs.acceptance}" if ours.acceptance or theirs.acceptance else "none"
    print(
        f"  {done.first:6} {ours.tpot_ms:7.3f}  {theirs.tpot_ms:7.3f}  {done.ratio:6.3f}  {ours.over_server:6.3f}  {theirs.over_server:6.3f}    "
        f"{tokens:15}  {done.same_texts:3} of {ours.told['num_prompts']:3}  {accepted}{'' if counts else '  (warm-up, does not count)'}",
        flush=True,
    )
    for text in (*ours.doubts, *done.faults()):
        print(f"         ! {text}", flush=True)


def spread(values: Sequence[float]) -> str:
    """Geometric mean, extremes, and the deviation of the logarithms."""
    logs = [math.log(value) for value in values]
    deviation = f"{statistics.stdev(logs):.4f}" if len(logs) > 1 else "unknown"
    middle = math.exp(statistics.fmean(logs))
    return f"{middle:.4f}  (min {min(values):.4f}, max {max(values):.4f}, deviation of logs {deviation}, {len(logs)} rounds)"


def conclude(rounds: Sequence[Round]) -> int:
    """Print the figures of a unit; returns how many counts differ."""
    kept = rounds[1:]
    print(f"\n  TPOT ours / theirs      {spread([one.ratio for one in kept])}")
    for who in ("ours", "theirs"):
        sides = [getattr(one, who) for one in kept]
        print(f"  {who:6} / server's own   {spread([side.over_server for side in sides])}")
        if (found := acceptance(total(side.server for side in sides))).rate is not None:
            print(f"  {who:6} accepted        {found.rate * 100:.2f} %, length {found.length:.3f}")
    faults = sum(len(list(one.faults())) for one in rounds)
    print(f"  counts                  {'all agree' if not faults else f'{faults} DIFFER'}\n", flush=True)
    return faults


@contextmanager
def pair(options: argparse.Namespace) -> Iterator[Pair]:
    """A lab host with both units, the peer and a console that reaches it."""
    if reason := missing():
        sys.exit(reason)
    vllm, image = environment(), base_image("bookworm", PACKAGES)
    peer = serve_peer.layer(vllm / "opt/vllm/venv")
    texts = [one.text for one in prompt.default()]
    asked = serve_peer.files(texts, repeat=options.repeat, max_tokens=options.max_tokens, api=options.api)
    host = LabHost("tiny-1", peer, vllm, image, files={**files(), **asked}, disk="6g")
    with isolated(), host as server, tempfile.TemporaryDirectory() as home:
        yield Pair(server, Console(server, Path(home)), options)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unit", choices=CHOICES, default="both")
    parser.add_argument("--rounds", type=int, default=4, help="rounds that count, for each unit (4)")
    parser.add_argument("--repeat", type=int, default=3, help="requests for each prompt in a round (3)")
    parser.add_argument("--max-tokens", type=int, default=128, help="tokens of each answer (128)")
    parser.add_argument("--api", choices=serve_peer.BACKENDS, default="completions")
    options = parser.parse_args()
    with pair(options) as both:
        faults = [conclude(both.measure(unit)) for unit in CHOICES[options.unit]]
    return 1 if any(faults) else 0


if __name__ == "__main__":
    sys.exit(main())

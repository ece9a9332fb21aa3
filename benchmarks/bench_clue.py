"""What a line of a serving unit costs to be held against everything that a failing start says, in CPU.

    ./dev bench bench_clue [--rounds N] [--lines N]

Its peer is the same judgement without the literal words before the expressions (`load/anchor.py`), in the same rounds.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from unittest import mock

from specconsole.load import clue, sign
from specconsole.load.anchor import Anchored
from specconsole.logs.record import LogRecord

LINES = {
    "statistics": "Engine 000: Avg prompt throughput: 1103.2 tokens/s, Avg generation throughput: 73.5 tokens/s, Running: 3 reqs, "
    "Waiting: 0 reqs, GPU KV cache usage: 41.2%, Prefix cache hit rate: 12.0%",
    "speculation": "SpecDecoding metrics: Mean acceptance length: 2.39, Accepted throughput: 20.10 tokens/s, Drafted throughput: "
    "50.00 tokens/s, Accepted: 201 tokens, Drafted: 500 tokens, Per-position acceptance rate: 0.620, 0.400, 0.210, 0.100, 0.060",
    "a request": "Received request cmpl-7d1f: prompt: 'Why is the sky blue?', params: SamplingParams(n=1, temperature=0.0)",
    "an added one": "Added request cmpl-7d1f-0.",
}
SEARCHED = re.compile("|".join(map(re.escape, clue.WORDS)))


def main() -> None:
    """Measure both in turn and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lines", type=int, default=5000)
    args = parser.parse_args()
    print(f"{'us of CPU a line':18s}{'with words':>12s}{'without':>12s}{'ratio':>8s}")
    for name, text in LINES.items():
        found: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(args.rounds):
            for words in (True, False):
                found[words].append(_measured(text, args.lines, words))
        ours, theirs = (statistics.median(found[words]) for words in (True, False))
        print(f"  {name:16s}{ours:12.1f}{theirs:12.1f}{ours / theirs:8.2f}")


def _measured(text: str, lines: int, words: bool) -> float:
    if words:
        return _judge(text, lines)
    with (
        mock.patch.object(Anchored, "search", lambda self, text: self.whole.search(text)),
        mock.patch.object(clue, "holds", lambda text, words: words is not clue.WORDS or bool(SEARCHED.search(text))),
        mock.patch.object(clue, "SERVING", re.compile("$^")),
    ):
        return _judge(text, lines)


def _judge(text: str, lines: int) -> float:
    clues, signs = clue.Clues(), sign.Signs()
    record = LogRecord(1, 100.0, "vllm.service", text, process="APIServer")
    begun = time.process_time()
    for _ in range(lines):
        clues, signs = clue.read(clues, record), sign.read(signs, record)
    return (time.process_time() - begun) / lines * 1e6


if __name__ == "__main__":
    main()

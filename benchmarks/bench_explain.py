"""How fast `explain` reads a large log, and in how much memory.

    ./dev bench bench_explain [MEGABYTES]

Bar: 100 MB in under 15 s on two cores, in memory that does not grow with the log.
"""

from __future__ import annotations

import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from specconsole.explain.document import document
from specconsole.explain.files import explain

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon")
BAR_S = 15.0


def lines(size: int) -> Iterator[str]:
    """A serving log as large as asked: access lines, requests with their prompts, NCCL, debug lines, statistics, errors."""
    draw = random.Random(1)
    written = second = 0
    while written < size:
        second += 1
        at = f"09-10 {second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        for line in _second(draw, at, second):
            written += len(line) + 1
            yield line


def _second(draw: random.Random, at: str, second: int) -> Iterator[str]:
    api = "(APIServer pid=21807)"
    for _ in range(40):
        kind = draw.random()
        if kind < 0.6:
            yield f'{api} INFO:     10.0.{draw.randrange(255)}.{draw.randrange(255)}:{draw.randrange(65535)} - "POST /v1/chat/completions HTTP/1.1" 200 OK'
        elif kind < 0.8:
            yield f"{api} INFO {at} [logger.py:41] Received request chatcmpl-{draw.getrandbits(64):x}: prompt: '{' '.join(draw.choices(WORDS, k=12))}', params: SamplingParams(n=1)"
        elif kind < 0.9:
            yield f"gpu2:{draw.randrange(9999)}:1826 [0] NCCL INFO Channel {draw.randrange(32):02d}/32 : 0 1 via P2P/IPC"
        else:
            yield f"(EngineCore pid=77) DEBUG {at} [scheduler.py:{draw.randrange(999)}] step {second} took {draw.random():.3f} ms"
    if second % 10 == 0:
        yield f"{api} INFO {at} [loggers.py:259] Engine 000: Avg prompt throughput: 10.0 tokens/s, Avg generation throughput: {draw.randrange(900)}.5 tokens/s, Running: 3 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.1%"
    if second % 500 == 0:
        yield from (
            f"{api} ERROR {at} [serving.py:1] Error in generation",
            "Traceback (most recent call last):",
            '  File "/x/y.py", line 3, in f',
            f"ValueError: request {second} is too long",
        )


def main() -> int:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.log"
        with path.open("w") as file:
            file.writelines(f"{line}\n" for line in lines(megabytes * 1_000_000))
        begin, used = time.monotonic(), time.process_time()
        with path.open("rb") as content:
            report = document(explain(iter([(path.name, content)])))
        took, cpu = time.monotonic() - begin, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{megabytes} MB: {took:.1f} s, {cpu:.1f} s of CPU, {peak:.0f} MiB at most: {report['headline']}")
    return 0 if took < BAR_S * megabytes / 100 else 1


if __name__ == "__main__":
    sys.exit(main())

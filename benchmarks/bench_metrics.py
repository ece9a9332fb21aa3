"""How fast an answer of /metrics is read, beside prometheus_client's own parser.

    pip install prometheus_client; ./dev bench bench_metrics [FILE]

Bar: five times as fast, with every series asked for; the console asks for about 20 of 150.
"""

from __future__ import annotations

import gzip
import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path

from specconsole.engine import metrics
from specconsole.engine.window import measure

SCRAPE = Path(__file__).parent.parent / "tests/engine/scrapes/0.24-M5-end.prom.gz"
BAR = 5.0


def per_call(work: Callable[[], object], rounds: int = 5, calls: int = 20) -> float:
    """Seconds of CPU for one call, the best of some rounds."""
    best = float("inf")
    for _ in range(rounds):
        begin = time.process_time()
        for _ in range(calls):
            work()
        best = min(best, (time.process_time() - begin) / calls)
    return best


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else SCRAPE
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = data.decode()

    def everything() -> None:
        scrape = metrics.parse(text)
        for name in scrape.series:
            scrape.value(name)

    def poll() -> None:
        scrape = metrics.parse(text)
        measure(scrape, scrape, 1.0)

    families = importlib.import_module("prometheus_client.parser").text_string_to_metric_families
    peer = per_call(lambda: list(families(text)))
    print(f"{path.name}: {len(text.splitlines())} lines; ms of CPU a scrape")
    print(f"{'prometheus_client':34} {peer * 1e3:8.2f}")
    for name, work in (
        ("read", lambda: metrics.parse(text)),
        ("read, every series summed", everything),
        ("a poll", poll),
    ):
        seconds = per_call(work)
        print(f"{name:34} {seconds * 1e3:8.2f}   {peer / seconds:5.1f} times as fast")
    print("The bar is met." if peer / per_call(everything) >= BAR else f"Below the bar of {BAR:g}.")


if __name__ == "__main__":
    main()

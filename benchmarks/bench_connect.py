"""`specconsole connect` until all panes are live, beside `ssh HOST true`: seconds, at a round trip of 0 and of 200 ms.

    ./dev bench bench_connect [--rounds N]

The host is a lab host (real systemd and sshd) whose unit serves; both clients go through the same relay, which holds every
piece of data back for half a round trip (this kernel may have no netem; TCP's own handshake and slow start it does not
lengthen). Live is: units listed, cards sampled, the engine's numbers and the log's lines painted. Bar: 1.0 s and six round
trips more than `ssh`.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab.cards import cards
from tests.lab.host import LabHost
from tests.lab.image import SUITES, base_image, gpu_layer, missing, vllm_layer
from tests.lab.network import isolated
from tests.lab.shell import ssh_config
from tests.lab.units import deployment
from tests.lab.wire import Wire

from benchmarks.terminal import Terminal

ROUND_TRIPS_S = (0.0, 0.2)
UNIT = "vllm-kimi-k25-int4"
LIVE = (b"baseline", b"H200", b"startup complete", b"KV cache")
"""What only a live pane paints: units, cards, log, engine."""
MORE_S, MORE_ROUND_TRIPS = 1.0, 6


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    if reason := missing():
        raise SystemExit(reason)
    image = base_image(SUITES[0])
    with tempfile.TemporaryDirectory() as folder, isolated():
        place = Path(folder)
        layers = (gpu_layer(place / "gpu"), vllm_layer(place / "vllm"), image)
        files = {**cards(8, power=288_000), **deployment(0.5, tensor_parallel=8)}
        with LabHost("gpu-1", *layers, files=files) as host:
            host.run(f"systemctl start {UNIT}")
            for round_trip_s in ROUND_TRIPS_S:
                with relay(host, round_trip_s / 2) as port:
                    config = place / "ssh_config"
                    config.write_text(f"{ssh_config(host)}Host *\n  Port {port}\n".replace(host.ip, "127.0.0.1"))
                    _trust(host, port)
                    _compare(str(config), round_trip_s, args.rounds)


def _trust(host: LabHost, port: int) -> None:
    """The relay's address has the host's key, too."""
    with host.known_hosts.open("a") as known:
        known.write(f"[127.0.0.1]:{port} {host.key.with_name('hostkey.pub').read_text()}")


@contextmanager
def relay(host: LabHost, delay_s: float) -> Iterator[int]:
    """A delayed way to the host's sshd, served by a thread of its own; yields its port."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    wire = Wire(host, delay_s)
    try:
        asyncio.run_coroutine_threadsafe(wire.__aenter__(), loop).result(10)
        yield wire.port
        asyncio.run_coroutine_threadsafe(wire.__aexit__(None, None, None), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _compare(config: str, round_trip_s: float, rounds: int) -> None:
    ssh: list[float] = []
    ours: list[tuple[float, float, float]] = []
    for _ in range(rounds):
        ssh.append(_ssh(config))
        ours.append(_connect(config))
    plain = statistics.median(ssh)
    live = statistics.median(row[2] for row in ours)
    bar = plain + MORE_S + MORE_ROUND_TRIPS * round_trip_s
    cpu_s = statistics.median(row[1] for row in ours)
    print(f"round trip {round_trip_s * 1000:.0f} ms, medians of {rounds}, seconds")
    print(f"  ssh HOST true        {plain:6.2f}")
    print(f"  ours, first paint    {statistics.median(row[0] for row in ours):6.2f}")
    print(
        f"  ours, all panes live {live:6.2f}   +{live - plain:.2f}, bar +{bar - plain:.2f}; CPU of the client {cpu_s:.2f}"
    )


def _ssh(config: str) -> float:
    begun = time.perf_counter()
    subprocess.run(["ssh", "-F", config, "gpu-1", "true"], check=True, stdin=subprocess.DEVNULL)
    return time.perf_counter() - begun


def _connect(config: str) -> tuple[float, float, float]:
    """Seconds to the first paint, CPU seconds of the client until all panes live, and seconds until then."""
    terminal = Terminal([sys.executable, "-m", "specconsole", "connect", "-F", config, "gpu-1"])
    try:
        first = terminal.until(b"quit")
        live = [terminal.until(mark) for mark in LIVE]
        return first, terminal.cpu_s(), live[-1]
    finally:
        terminal.close()


if __name__ == "__main__":
    main()

"""`vllm serve`: play the start, then serve until SIGTERM."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence

from .api import Listener
from .counters import Counters
from .options import parse
from .startup import Server, StartFailed, flush, trace


def main(words: Sequence[str]) -> int:
    """Run one command line; 1 after a failed start, 0 after SIGTERM, as the real one ends."""
    if not words or words[0] != "serve":
        print("usage: vllm {chat,complete,serve,bench,collect-env,run-batch} ...", file=sys.stderr)
        return 2
    options = parse(words[1:])
    server = Server.of(options)
    ended = threading.Event()
    signal.signal(signal.SIGTERM, signal.SIG_IGN if options.stubborn else lambda *_: _stop(server, ended))
    if options.flood:
        signal.signal(signal.SIGUSR1, lambda *_: _flood(server))
    counters = Counters(options)
    try:
        listener = Listener(options, counters, server)
        server.start()
    except OSError as error:
        server.write(server.style.bare(server.api, trace(f"OSError: {error}") + "\n"), stderr=True)
        return 1
    except StartFailed:
        return 1
    listener.server_activate()
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    _notify()
    before = counters.values["generation_tokens"]
    while not ended.wait(options.stats_s):
        before = _stats(server, counters, before)
    return 0


def _stop(server: Server, ended: threading.Event) -> None:
    ended.set()
    server.say_shutdown()
    server.stop()
    flush()
    os._exit(0)  # also from the middle of a start


def _flood(server: Server) -> None:
    name = f"{time.time_ns():x}"
    for number in range(server.options.flood):
        server.log("INFO", "flood.py:1", f"flood {name}/{number}")


def _stats(server: Server, counters: Counters, before: float) -> float:
    """Write the statistics lines of an interval with traffic; an idle engine is silent."""
    now = counters.values["generation_tokens"]
    if now == before and not counters.running:
        return now
    rate = (now - before) / server.options.stats_s
    text = f"Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: {rate:.1f} tokens/s, "
    text += f"Running: {counters.running} reqs, Waiting: {counters.waiting} reqs, GPU KV cache usage: 0.1%, "
    server.log("INFO", "loggers.py:273", text + "Prefix cache hit rate: 0.0%")
    if server.options.k and (drafts := counters.values["spec_decode_num_drafts"]):
        server.log("INFO", "metrics.py:120", _speculation(counters, drafts, server.options.stats_s))
    return now


def _speculation(counters: Counters, drafts: float, interval_s: float) -> str:
    accepted, drafted = (counters.values[f"spec_decode_num_{name}_tokens"] for name in ("accepted", "draft"))
    positions = ", ".join(f"{count / drafts:.3f}" for count in counters.positions)
    return (
        f"SpecDecoding metrics: Mean acceptance length: {1 + accepted / drafts:.2f}, "
        f"Accepted throughput: {accepted / interval_s:.2f} tokens/s, Drafted throughput: {drafted / interval_s:.2f} "
        f"tokens/s, Accepted: {accepted:.0f} tokens, Drafted: {drafted:.0f} tokens, "
        f"Per-position acceptance rate: {positions}, Avg Draft acceptance rate: {accepted / drafted * 100:.1f}%"
    )


def _notify() -> None:
    """Tell systemd where the unit is Type=notify; the real one never does, wrappers do."""
    if address := os.environ.get("NOTIFY_SOCKET"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notice:
            notice.sendto(b"READY=1", "\0" + address[1:] if address[0] == "@" else address)

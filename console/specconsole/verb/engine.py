"""`specconsole engine HOST`: what the server of the running unit does now, over a window of its counters."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing

from specconsole.engine.health import Health
from specconsole.engine.scrapes import LATENCIES_S, RATES_S
from specconsole.engine.snapshot import INTERVAL_S, EngineSnapshot
from specconsole.errors import UsageError
from specconsole.host.base import Host
from specconsole.service.unit import Unit
from specconsole.verb import output
from specconsole.verb.engine_page import facts, page
from specconsole.verb.link import telling_of_the_link, while_linked
from specconsole.verb.session import add_host_arguments, drive, open_host, profile_for

FAILED, NOT_RUNNING, NO_NUMBERS = 1, 3, 5
_CLEAR = "\x1b[H\x1b[2J"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "What the server of the running unit does now: requests, tokens per second, TTFT, TPOT and step latency, KV cache,"
        " tokens per step and acceptance by position, all from what its counters gained over a window."
    )
    parser.epilog = (
        "Means are exact. p50, p90 and p99 lie within a bucket of the server's histogram and are estimated by a straight"
        " line in it; in the lowest bucket only '<10 ms' is known. TPOT leaves requests of one token out, which vLLM counts"
        " as 0."
    )
    add_host_arguments(parser)
    parser.add_argument("unit", nargs="?", metavar="UNIT", help="which unit; not needed where only one runs")
    parser.add_argument("--once", action="store_true", help="measure for one window and end")
    parser.add_argument(
        "--window",
        type=float,
        default=RATES_S,
        metavar="S",
        help=f"take rates over S seconds ({RATES_S:g}), latencies over S or {LATENCIES_S:g}, whichever is longer",
    )


def run(args: argparse.Namespace) -> int:
    """Show the engine until interrupted, or once."""
    if not 1 <= args.window <= 3600:
        raise UsageError(f"--window {args.window:g} is out of range.", hint="It takes 1 to 3600 seconds.")
    return drive(_run(args))


async def _run(args: argparse.Namespace) -> int:
    async with open_host(args) as host:
        if args.once:
            return await while_linked(host, _look(args, host))
        async with telling_of_the_link(host):
            return await _look(args, host)


async def _look(args: argparse.Namespace, host: Host) -> int:
    from specconsole.service import choose, discover

    units = await discover.discover(host, profile_for(args, host))
    unit = choose.named_running(units, args.unit, host.name) if args.unit else choose.running(units, host.name)
    async with aclosing(_snapshots(args, host, unit)) as snapshots:
        async for snapshot in snapshots:
            if not args.once:
                _show(host, unit, snapshot, as_json=args.json, once=False)
            elif _enough(snapshot, args.window):
                _show(host, unit, snapshot, as_json=args.json, once=True)
                return _code(snapshot)
    return 0


async def _snapshots(args: argparse.Namespace, host: Host, unit: Unit) -> AsyncGenerator[EngineSnapshot, None]:
    from specconsole.engine.watch import watch
    from specconsole.service.secret import api_key

    key = await api_key(host, unit, profile_for(args, host), os.environ)
    feed = watch(
        host,
        unit.serving.endpoint,
        api_key=key,
        interval_s=min(INTERVAL_S, args.window / 2),
        clock=host.clock,
        expected=unit.serving.served_names,
        rates_s=args.window,
        latencies_s=max(args.window, LATENCIES_S),
    )
    async with aclosing(feed) as snapshots:
        async for snapshot in snapshots:
            yield snapshot


def _enough(snapshot: EngineSnapshot, window_s: float) -> bool:
    """With --once: the window is as long as asked for, or there is nothing to wait for."""
    if snapshot.health is not Health.ANSWERING or snapshot.no_data:
        return True
    return snapshot.window is not None and snapshot.window.seconds >= window_s


def _code(snapshot: EngineSnapshot) -> int:
    if snapshot.health in (Health.REFUSED, Health.STARTING):
        return NOT_RUNNING
    if snapshot.health is not Health.ANSWERING:
        return FAILED
    return NO_NUMBERS if snapshot.no_data else 0


def _show(host: Host, unit: Unit, snapshot: EngineSnapshot, *, as_json: bool, once: bool) -> None:
    read_s_ago = snapshot.age(host.clock.monotonic()) / host.clock.speed
    if as_json:
        record = {"host": host.name, "unit": unit.key, "read_s_ago": round(read_s_ago, 3), **facts(snapshot)}
        (output.write_json if once else output.write_json_line)(record)
        return
    if not once and sys.stdout.isatty():
        output.write(_CLEAR)
    output.write_text(page(host.name, unit, snapshot, read_s_ago) + ("" if once else "\n"))

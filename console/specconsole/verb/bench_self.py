"""`specconsole bench --selftest HOST`: what the load generator itself adds on this host, before its figures are believed."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from specconsole import text
from specconsole.bench.grid import listed
from specconsole.bench.selftest import SelfTest, entry, several
from specconsole.errors import UsageError
from specconsole.history.memory import Memory
from specconsole.host.base import Host
from specconsole.profile import Profile
from specconsole.verb import output

BEYOND = 5
STEP_MS = 10.0
HEADER = ("at once", "step", "TPOT off by", "steps off by (p99)", "bunched", "CPU", "")
DEFINITIONS = (
    "A source on the host's loopback sends events at this pace with known stamps; the load generator measures it as it would a server.",
    "TPOT off by: the worst stream. steps off by: of the gaps between two chunks. CPU: of one core, while streams ran.",
)


async def run(args: argparse.Namespace, host: Host, said: Profile | None, memory: Memory) -> int:
    """Measure, show, remember; 5 where one of them is beyond the load generator's means."""
    streams = listed("--concurrency", args.concurrency, int) if args.concurrency else _usual(said)
    step_ms = args.step if args.step is not None else (said.expect.tpot_ms if said else None) or STEP_MS
    if not 0.5 <= step_ms <= 1000 or not all(1 <= count <= 512 for count in streams):
        raise UsageError("--step is from 0.5 to 1000 ms, --concurrency from 1 to 512 for a self-test.")
    found = []
    async for one in several(host, streams, step_ms / 1000):
        found.append(one)
        await memory.put_run(entry(host, one, host.clock.now()))
    if args.json:
        output.write_json(
            {"selftest": [{**asdict(one), "faults": one.faults, "within_means": not one.faults} for one in found]}
        )
    else:
        show(found)
    return BEYOND if any(one.faults for one in found) else 0


def _usual(said: Profile | None) -> tuple[int, ...]:
    return said.bench.concurrency if said else (1,)


def show(found: list[SelfTest]) -> None:
    """For people."""
    output.write_text(output.table(HEADER, [_row(one) for one in found], right=range(6)) + "\n")
    for one in found:
        verdict = f"✗ beyond its means: {'; '.join(one.faults)}" if one.faults else "✓ within its means"
        output.write_text(f"{one.streams} at once, {one.step_s * 1000:g} ms: {verdict}.")
    output.write_text("\n" + "\n".join(DEFINITIONS))


def _row(one: SelfTest) -> tuple[str, ...]:
    return (
        str(one.streams),
        f"{one.step_s * 1000:g} ms",
        text.percent(one.tpot_error, 3),
        text.milliseconds(one.step_error_p99_s),
        text.percent(one.bunched, 1),
        text.percent(one.cpu_share, 0),
        "stamped by the kernel" if one.kernel else "",
    )

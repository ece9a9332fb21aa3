"""GPUs of a host without Python, by an nvidia-smi that repeats itself there."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from specconsole.clock import Clock
from specconsole.errors import CommandFailed, DeadlineExceeded
from specconsole.gpu.control import ProbeControl
from specconsole.gpu.sample import Fleet, from_frame
from specconsole.host.base import Host
from specconsole.remote import probe_proc, probe_smi
from specconsole.stream import whole_lines
from specconsole.text import one_line

SLOWEST_S, FASTEST_S = 5, 2
"""Seconds between two rounds: each also costs two commands, for the processes and the host's memory."""
AGAIN_S = 10.0
"""After how long a host without GPU evidence is asked again."""
DEADLINE_S = 20.0
"""With persistence mode off nvidia-smi takes 4 to 9 s."""
FIELDS = ("count", *probe_smi.FIELDS)
RENEWED = (0, 124, -15)
"""How it ends when only its time is over: timeout(1) says 124."""
MESSAGES = 10
_VITALS = ("cat", "/proc/uptime", "/proc/loadavg", "/proc/meminfo")

Row = dict[str, Any]


class Rounds:
    """Cuts the endless output of `nvidia-smi -l` into rounds: one line a GPU."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._fields = fields
        self._lines: list[str] = []

    def feed(self, line: str) -> str | None:
        """Take a line; returns a round's text once it is whole."""
        count = self._count(line)
        self._lines.append(line)
        if count is None or len(self._lines) >= count:
            text = "\n".join(self._lines)
            self._lines = []
            return text
        return None

    def _count(self, line: str) -> int | None:
        """How many GPUs there are, as every line says; None for a line that is no row: a message stands alone."""
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(self._fields) or "count" not in self._fields:
            return None
        said = cells[self._fields.index("count")]
        return int(said) if said.isdecimal() else None


async def follow(host: Host, control: ProbeControl, clock: Clock) -> AsyncGenerator[Fleet, None]:
    """Yield a sample every few seconds; where there is no evidence, one that says why. Raises LinkLost."""
    fields: tuple[str, ...] = FIELDS
    while True:
        life = Life(host, fields, pace(control.interval_s), clock)
        try:
            async with aclosing(life.samples()) as samples:
                async for fleet in samples:
                    yield fleet
                    if pace(control.interval_s) != life.seconds:
                        break
        except CommandFailed as error:
            life.messages.append(str(error))
        said = "\n".join(life.messages)
        unknown = probe_smi.unknown_field(said)
        if unknown is not None and unknown in fields:
            fields = probe_smi.without(fields, unknown)
        elif said:
            yield await nothing(host, probe_smi.failure(said) or one_line(said, 200), clock)
            await clock.sleep(AGAIN_S)
        elif life.failed:
            await clock.sleep(life.seconds)


class Life:
    """One life of `nvidia-smi -l`: it ends by itself after 45 s, by a failure, or when a field is unknown."""

    def __init__(self, host: Host, fields: tuple[str, ...], seconds: int, clock: Clock) -> None:
        self.seconds = seconds
        self.messages: list[str] = []
        """What it said in place of rows."""
        self.failed = False
        self._host = host
        self._fields = fields
        self._clock = clock

    async def samples(self) -> AsyncGenerator[Fleet, None]:
        """Yield a sample a round. Raises LinkLost, CommandFailed."""
        rounds = Rounds(self._fields)
        async with (
            self._host.process(probe_smi.query(self._fields, "-l", str(self.seconds))) as process,
            aclosing(process.read()) as chunks,
            aclosing(whole_lines(chunks)) as batches,
        ):
            async for lines in batches:
                for text in filter(None, (rounds.feed(line.decode(errors="replace")) for line in lines)):
                    if rows := probe_smi.rows(text, self._fields):
                        driver = probe_smi.driver(text, self._fields)
                        yield await sample(self._host, rows, self._fields, driver, self.seconds, self._clock)
                    elif len(self.messages) < MESSAGES:
                        self.messages.append(text)
            end = await process.wait()
            self.failed = end.status not in RENEWED
            if self.failed and not self.messages:
                self.messages += end.stderr.decode(errors="replace").strip().splitlines()[-1:]


def pace(interval_s: float) -> int:
    """Whole seconds between two rounds."""
    return min(max(round(interval_s), FASTEST_S), SLOWEST_S)


async def sample(
    host: Host, rows: list[Row], fields: Sequence[str], driver: str | None, seconds: int, clock: Clock
) -> Fleet:
    """Add to a round what it lacks: processes, and the host's memory and uptime. Raises LinkLost."""
    if all(row["index"] < 0 for row in rows):
        rows = await _one_by_one(host, fields) or rows
    said = await _output(host, probe_smi.query_apps())
    holders = None if said is None else probe_smi.holders(said)
    for row in rows:
        if "error" not in row and holders is not None:
            row["processes"] = holders.get(row["uuid"], [])
    return await _fleet(host, {"source": "nvidia-smi", "gpus": rows, "driver": driver, "interval_s": seconds}, clock)


async def nothing(host: Host, why: str, clock: Clock) -> Fleet:
    """A sample without GPU evidence. Raises LinkLost."""
    return await _fleet(host, {"source": "none", "gpus": [], "why": why, "interval_s": AGAIN_S}, clock)


async def _fleet(host: Host, frame: dict[str, Any], clock: Clock) -> Fleet:
    uptime, vitals = _vitals(await _output(host, _VITALS) or "")
    skew = (host.facts.clock_skew_s if host.facts else None) or 0.0
    return from_frame({"t": clock.now() + skew, "mono": uptime, "host": vitals, **frame})


def _vitals(text: str) -> tuple[float, dict[str, Any]]:
    """Read uptime, load and memory from the three files of /proc, one after the other."""
    lines = text.splitlines()
    if len(lines) < 3:
        return 0.0, {}
    memory = probe_proc.keyed_kib("\n".join(lines[2:]))
    try:
        uptime, load = float(lines[0].split()[0]), float(lines[1].split()[0])
    except (ValueError, IndexError):
        return 0.0, {}
    return uptime, {
        "uptime_s": uptime,
        "load1": load,
        "memory_total": memory.get("MemTotal"),
        "memory_available": memory.get("MemAvailable"),
        "cached": memory.get("Cached"),
    }


async def _one_by_one(host: Host, fields: Sequence[str]) -> list[Row]:
    """Ask every GPU for itself: one that is lost replaces the whole output by a sentence."""
    buses = sorted((await _output(host, ("ls", "/proc/driver/nvidia/gpus")) or "").split())
    rows = []
    for index, bus in enumerate(buses):
        said = await _output(host, probe_smi.query(fields, "-i", bus)) or ""
        found = probe_smi.rows(said, fields)
        rows.append({**found[0], "index": index} if found else {**probe_smi.lost_row(bus, said), "index": index})
    return rows


async def _output(host: Host, argv: Sequence[str]) -> str | None:
    """What a command prints, errors included; None when there is none or it does not end."""
    try:
        done = await host.run(argv, deadline_s=DEADLINE_S)
    except (CommandFailed, DeadlineExceeded):
        return None
    return done.text

"""Follow the GPUs of a host for ever: by our probe, by its own nvidia-smi where there is no Python, over link cuts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace

from specconsole.clock import Clock, SystemClock
from specconsole.errors import HostError, LinkLost, LinkRefused
from specconsole.gpu import bare
from specconsole.gpu.control import ProbeControl, Wish
from specconsole.gpu.sample import Fleet, parse
from specconsole.host.base import Exit, Host, Process, Program
from specconsole.stream import TOO_LONG, whole_lines
from specconsole.text import one_line

HEALTHY_FRAMES = 10
"""A probe that gave so many frames was well: its end is not counted against it."""
SILENT_FRAMES = 4
"""So many samples are waited for a card that is silent at first, where one is to be shown: on a busy host it may just be slow."""
TRIES = 3
"""After so many ends of a sick probe in a row nvidia-smi takes over."""
BARE_S = 60.0
"""For so long, before the probe is tried again."""


LONGEST = 1 << 20
"""Bytes of a frame that are read; 16 GPUs with their processes have 40 KB."""
LOST_S = 0.2
"""The link may take a moment to know that it is cut."""


class ProbeEnded(HostError):
    """The probe ended by itself, which it never should."""


async def follow(host: Host, *, control: ProbeControl, clock: Clock | None = None) -> AsyncGenerator[Fleet, None]:
    """Yield every sample, the first within a second; the interval and the units may change meanwhile.

    A cut link only makes a pause. A probe that ended is started again, and the first sample after says why.

    Raises:
        LinkRefused: the link was refused or closed for good.
    """
    own = clock or SystemClock()
    ends, ended = 0, ""
    while True:
        facts = await host.up()
        frames = 0
        by_probe = facts.python is not None and ends < TRIES
        stream = _probe(host, control) if by_probe else _without_probe(host, control, own, ended)
        try:
            async with aclosing(stream):
                async for fleet in stream:
                    frames += 1
                    if frames == 1 and ended and by_probe:
                        fleet = replace(fleet, why=_joined(fleet.why, f"the probe was started again: {ended}"))
                    yield fleet
            ends = TRIES - 1  # nvidia-smi had its time: give the probe one more try
        except LinkLost:
            await own.sleep(LOST_S)
        except LinkRefused:
            raise
        except HostError as error:
            ended = one_line(str(error))
            ends = 1 if frames >= HEALTHY_FRAMES else ends + 1
            if frames == 0 and ends < TRIES:
                await own.sleep(2.0 ** (ends - 1))


def _joined(*parts: str | None) -> str:
    return "; ".join(part for part in parts if part)


async def _probe(host: Host, control: ProbeControl) -> AsyncGenerator[Fleet, None]:
    """One life of the probe. Raises ProbeEnded at its end, and as `Host.process`."""
    wish = control.wish
    async with (
        host.process(Program("probe", wish.arguments)) as process,
        _steering(process, control, wish),
        aclosing(process.read()) as chunks,
        aclosing(whole_lines(chunks, LONGEST)) as batches,
    ):
        async for lines in batches:
            for line in lines:
                if line.endswith(TOO_LONG):
                    raise ProbeEnded(f"it said a line of more than {LONGEST >> 20} MiB")
                with suppress(ValueError):  # a line of somebody else's, as of a preloaded library
                    fleet = parse(line)
                    yield fleet
        raise ProbeEnded(_how(await process.wait()))


def _how(end: Exit) -> str:
    said = end.stderr.decode(errors="replace").strip().splitlines()
    return f"it ended with status {end.status}" + (f" ({one_line(said[-1], 200)})" if said else "")


@asynccontextmanager
async def _steering(process: Process, control: ProbeControl, known: Wish) -> AsyncGenerator[None, None]:
    """Pass every change of the wish on to the probe while the block runs."""
    task = asyncio.create_task(_steer(process, control, known))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _steer(process: Process, control: ProbeControl, known: Wish) -> None:
    import json

    async with aclosing(control.watch()) as wishes:
        async for wish in wishes:
            if wish == known:
                continue
            known = wish
            with suppress(HostError):  # the reader of its output meets the same end, and tells it
                await process.write(json.dumps(wish.arguments).encode() + b"\n")


async def _without_probe(host: Host, control: ProbeControl, clock: Clock, ended: str) -> AsyncGenerator[Fleet, None]:
    """Samples by nvidia-smi: for ever on a host without Python, else for `BARE_S`."""
    facts = await host.up()
    until = clock.monotonic() + BARE_S if facts.python else None
    why = f"the probe does not run on this host: {ended}" if ended else "no Python of 3.8 or newer on this host"
    async with aclosing(bare.follow(host, control, clock)) as stream:
        async for fleet in stream:
            yield replace(fleet, why=_joined(why, fleet.why))
            if until is not None and clock.monotonic() >= until:
                return

"""All that a question about a host needs, read from it once: logs, samples, units, GPUs, metrics; nothing is changed there.

Every text is masked before it is kept. What could not be read is named, and the rest is collected all the same.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass

from specconsole.clock import Clock
from specconsole.engine.client import EngineClient
from specconsole.errors import (
    CommandFailed,
    DeadlineExceeded,
    HostError,
    LinkLost,
    LinkRefused,
    NotPermitted,
    NotRunning,
)
from specconsole.explain.document import plain
from specconsole.explain.record import line_of
from specconsole.gpu.control import ProbeControl
from specconsole.gpu.follow import follow
from specconsole.gpu.sample import Fleet, to_frame
from specconsole.host.base import Host
from specconsole.logs import journal
from specconsole.logs.journal import Begin
from specconsole.logs.redact import mask, mask_value
from specconsole.logs.source import Source
from specconsole.profile import Profile
from specconsole.remote import systemctl
from specconsole.service.discover import discover
from specconsole.service.doctor import judge
from specconsole.service.examine import examine
from specconsole.service.unit import Unit
from specconsole.stream import within

SAMPLES_S = 20.0
"""For so long the host is sampled: rates need 15 s at least."""
INTERVAL_S = 2.0
SCRAPE_S = 5.0
"""Between two scrapes of a server's metrics: rates come from their differences."""
MOST_BYTES = 64 << 20
"""Of one unit's log; the newest are kept, and what was left out is said."""
SHOWN = (
    *systemctl.STATE,
    *("Type", "TimeoutStartUSec", "TimeoutStopUSec", "Restart", "KillMode", "OOMPolicy", "Description", "FragmentPath"),
)


@dataclass(frozen=True)
class Wanted:
    """What is to be collected."""

    since: float | None = None
    """Seconds since the epoch by the host's clock; None: from the newest start of each unit on."""
    seconds: float = SAMPLES_S


Part = tuple[str, bytes]


async def collect(
    host: Host, profile: Profile | None, wanted: Wanted, clock: Clock, say: Callable[[str], None]
) -> AsyncGenerator[Part, None]:
    """Yield files as (name, content); `say` is told what goes on and what could not be read.

    Raises:
        LinkLost, LinkRefused: the link went.
    """
    units: tuple[Unit, ...] = ()
    try:
        units = await discover(host, profile)
    except (LinkLost, LinkRefused):
        raise
    except HostError as error:
        say(f"units cannot be read: {error}")
    say(f"{wanted.seconds:.0f} s of samples")
    scraping = asyncio.ensure_future(_scrapes(host, units, wanted.seconds, clock))
    try:
        frames = await _samples(host, units, wanted.seconds, clock, say)
        pages = await scraping
    finally:
        scraping.cancel()
        await asyncio.gather(scraping, return_exceptions=True)
    if frames:
        yield "samples.jsonl", "".join(json.dumps(mask_value(to_frame(one))) + "\n" for one in frames).encode()
    for page in pages:
        yield page
    for unit in units:  # behind the samples: what they say of the last minutes stands in the log, too
        say(f"log of {unit.key}")
        if (content := await _log(host, unit, wanted, clock, say)) is not None:
            yield f"log-{_plain(unit.key)}.jsonl", content
        yield f"unit-{_plain(unit.key)}.txt", (await _state(host, unit)).encode()
    yield "units.json", _written({"bundle": 1, "units": [_definition(unit) for unit in units]})
    say("doctor")
    async for part in _doctor(host, profile, clock, say):
        yield part


def _plain(name: str) -> str:
    return "".join(character if character.isalnum() or character in "-_.@" else "_" for character in name)[:120]


async def _log(host: Host, unit: Unit, wanted: Wanted, clock: Clock, say: Callable[[str], None]) -> bytes | None:
    sources = [Source(unit.name, unit.manager, unit.serving.log_file)]
    lines: list[bytes] = []
    size = 0
    try:
        begin = Begin(since=wanted.since) if wanted.since is not None else await journal.last_start(host, sources)
        async with aclosing(journal.read_all(host, sources, begin or Begin(), now=clock.now)) as batches:
            async for batch in batches:
                for record in batch:
                    lines.append(line_of(record).encode(errors="replace") + b"\n")
                    size += len(lines[-1])
                if size > 2 * MOST_BYTES:
                    size = _shorten(lines)
    except (LinkLost, LinkRefused):
        raise
    except HostError as error:
        say(f"the log of {unit.key} cannot be read: {error}")
        return None
    except NotRunning as error:
        say(str(error))
        return None
    if size > MOST_BYTES:
        _shorten(lines)
        say(f"of the log of {unit.key} only the newest {MOST_BYTES >> 20} MiB were kept")
    return b"".join(lines)


def _shorten(lines: list[bytes]) -> int:
    """Keep the newest lines."""
    size, place = 0, len(lines)
    while place and size + len(lines[place - 1]) <= MOST_BYTES:
        place -= 1
        size += len(lines[place])
    del lines[:place]
    return size


async def _state(host: Host, unit: Unit) -> str:
    """The unit's state as `systemctl show` prints it; what it was when the units were found, where that cannot be asked again."""
    if unit.manager == "system":
        try:
            answer = await host.run(systemctl.show(systemctl.Manager(), [unit.name], SHOWN))
        except (CommandFailed, DeadlineExceeded, NotPermitted):
            answer = None
        if answer is not None and answer.status == 0 and answer.text.strip():
            return mask(answer.text)
    state = unit.state
    values = {
        "Id": unit.name,
        "LoadState": state.load,
        "UnitFileState": state.enabled,
        "ActiveState": state.active,
        "SubState": state.sub,
        "Result": state.result,
        "MainPID": state.main_pid,
        "NRestarts": state.restarts,
        "ExecMainStatus": state.exit_status,
        "Description": unit.description,
    }
    return mask("".join(f"{name}={value}\n" for name, value in values.items() if value is not None))


async def _samples(
    host: Host, units: Sequence[Unit], seconds: float, clock: Clock, say: Callable[[str], None]
) -> list[Fleet]:
    wish = {unit.key: unit.state.cgroup for unit in units if unit.state.running}
    frames: list[Fleet] = []

    async def take() -> None:
        control = ProbeControl(INTERVAL_S, wish)
        async with aclosing(follow(host, control=control, clock=clock)) as stream:
            async for fleet in stream:
                frames.append(fleet)
                if fleet.mono - frames[0].mono >= seconds:
                    return

    try:
        await within(seconds * 2 + 15, take())
    except (LinkLost, LinkRefused):
        raise
    except (HostError, asyncio.TimeoutError, DeadlineExceeded) as error:
        say(f"samples ended early: {str(error) or 'the host did not answer in time'}")
    return frames


def _definition(unit: Unit) -> dict[str, object]:
    """A unit as its files say it is, secrets masked."""
    serving = unit.serving
    return {
        "key": unit.key,
        "name": unit.name,
        "description": unit.description,
        "argv": serving.argv,
        "endpoint": asdict(serving.endpoint),
        "served_names": serving.served_names,
        "model": serving.model,
        "version": unit.version,
    }


async def _scrapes(host: Host, units: Sequence[Unit], seconds: float, clock: Clock) -> list[Part]:
    """The metrics of each server that runs, every few seconds while the host is sampled; each page begins with its moment."""
    pages: list[Part] = []
    running = [unit for unit in units if unit.state.running]
    for number in range(1 + int(seconds // SCRAPE_S) if running else 0):
        if number:
            await clock.sleep(SCRAPE_S)
        for unit in running:
            if (text := await _metrics(host, unit)) is not None:
                at = clock.now() + ((host.facts.clock_skew_s or 0.0) if host.facts else 0.0)
                page = f"# scraped at {at:.3f}\n{text}"
                pages.append((f"metrics-{_plain(unit.key)}-{number:02}.prom", page.encode()))
    return pages


async def _metrics(host: Host, unit: Unit) -> str | None:
    """Its page; vLLM asks for no API key there."""
    try:
        async with EngineClient(host, unit.serving.endpoint) as client:
            answer = await client.get("/metrics")
    except (LinkLost, LinkRefused):
        raise
    except (HostError, NotRunning):
        return None
    return mask(answer.body.decode(errors="replace")) if answer.status == 200 else None


def _written(value: object) -> bytes:
    return (json.dumps(mask_value(plain(value)), indent=1) + "\n").encode()


async def _doctor(
    host: Host, profile: Profile | None, clock: Clock, say: Callable[[str], None]
) -> AsyncGenerator[Part, None]:
    try:
        checks = judge(await examine(host, profile, clock))
    except (LinkLost, LinkRefused):
        raise
    except HostError as error:
        say(f"doctor: {error}")
        return
    rows = [{name: plain(value) for name, value in vars(check).items()} for check in checks]
    yield "doctor.json", _written({"bundle": 1, "checks": rows})

"""What the doctor reads on a host: each reading by itself, with a deadline, and with a reason where there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, runtime_checkable

from specconsole.clock import Clock
from specconsole.errors import CommandFailed, HostError, LinkLost, NotPermitted
from specconsole.gpu.control import ProbeControl
from specconsole.gpu.follow import follow
from specconsole.gpu.sample import Fleet
from specconsole.host.base import Host, HostFacts, Link
from specconsole.host.carried import Carried, look
from specconsole.host.line import Note
from specconsole.host.lying import Lying, lying
from specconsole.logs.permit import permit
from specconsole.logs.source import Source
from specconsole.profile import Profile
from specconsole.service.discover import discover
from specconsole.service.expected import of_units
from specconsole.service.inspection import inspect
from specconsole.service.lint import Linted
from specconsole.service.swap import Known, latest
from specconsole.service.unit import Unit
from specconsole.stream import within
from specconsole.text import one_line, whole_number

GPU_DEADLINE_S = 20.0
"""A driver that nobody holds takes up to ten seconds to load."""
SHM = "/dev/shm"  # noqa: S108  looked at, not written to
MOUNTS = (SHM, "/", "/var")
SWAPS = 20

T = TypeVar("T")


@runtime_checkable
class Noted(Protocol):
    """A host that has something to say of the way to it."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a person should know."""
        ...


@dataclass(frozen=True)
class Unread:
    """A reading that did not come about."""

    why: str


@dataclass(frozen=True)
class Mount:
    """A file system, in bytes."""

    path: str
    device: str
    size: int
    available: int


@dataclass(frozen=True)
class Readings:
    """Everything that the doctor judges."""

    name: str
    typed: str
    """The words of a command that lead there."""
    facts: HostFacts
    link: Link
    read_only_asked: bool
    notes: tuple[Note, ...]
    system: str | Unread
    """The distribution's ID and ID_LIKE."""
    systemd: str | Unread
    """The first line of `systemctl --version`."""
    journal: bool | Unread
    """Whether this login reads the system's journal."""
    journal_persistent: bool | Unread
    gpus: Fleet | Unread
    mounts: tuple[Mount, ...] | Unread
    units: tuple[Unit, ...] | Unread
    swaps: Known = field(default_factory=Known)
    """What the record of swaps on the host knows."""
    linted: tuple[Linted, ...] | Unread = ()
    """What lint says of the units."""
    runs: tuple[Carried, ...] = ()
    """Benchmarks that lie on the host."""
    experiments: tuple[Lying, ...] = ()
    """Experiments that lie on the host, oldest first."""
    differs: tuple[str, ...] = ()
    """What of the units is not as the profile expects."""


async def examine(host: Host, profile: Profile | None, clock: Clock) -> Readings:
    """Read all at once.

    Raises:
        LinkLost, LinkRefused: the link went away meanwhile.
    """
    facts = await host.up()
    (
        (system, systemd, journal, persistent),
        (gpus, mounts, (units, linted)),
        swaps,
        runs,
        experiments,
    ) = await asyncio.gather(
        asyncio.gather(
            _reading(_system(host)),
            _reading(_systemd(host)),
            _reading(_journal(host, facts)),
            _reading(_persistent(host)),
        ),
        asyncio.gather(
            _reading(_gpus(host, clock)),
            _reading(_mounts(host)),
            _units(host, profile),
        ),
        latest(host, SWAPS),
        look(host),
        lying(host),
    )
    return Readings(
        name=host.name,
        typed=host.typed,
        facts=host.facts or facts,
        link=host.link,
        read_only_asked=host.read_only_asked,
        notes=host.notes if isinstance(host, Noted) else (),
        system=system,
        systemd=systemd,
        journal=journal,
        journal_persistent=persistent,
        gpus=gpus,
        mounts=mounts,
        units=units,
        swaps=swaps,
        linted=linted,
        runs=runs.runs,
        experiments=experiments,
        differs=() if isinstance(units, Unread) else of_units(units, profile),
    )


async def _units(host: Host, profile: Profile | None) -> tuple[tuple[Unit, ...] | Unread, tuple[Linted, ...] | Unread]:
    units = await _reading(discover(host, profile))
    return units, () if isinstance(units, Unread) else await _reading(inspect(host, units))


async def _reading(work: Awaitable[T]) -> T | Unread:
    try:
        return await work
    except LinkLost:
        raise
    except HostError as error:
        return Unread(one_line(str(error), 200))


async def _first_line(host: Host, argv: Sequence[str]) -> str:
    done = (await host.run(argv)).check()
    return one_line((done.text.splitlines() or [""])[0])


async def _system(host: Host) -> str:
    done = (await host.run(["cat", "/etc/os-release"])).check()
    pairs: dict[str, str] = {}
    for line in done.text.splitlines():
        key, _, value = line.partition("=")
        pairs[key] = value.strip('"')
    return one_line(f"{pairs.get('ID', '')} {pairs.get('ID_LIKE', '')}")


async def _systemd(host: Host) -> str:
    """The version, of a systemd that runs: in a container its programs may be there and it not."""
    version = await _first_line(host, ["systemctl", "--version"])
    state = (await host.run(["systemctl", "is-system-running"])).text.strip()
    if state in ("offline", "unknown", ""):
        raise CommandFailed(f"{version} is installed, but it does not run here.")
    return version


async def _journal(host: Host, facts: HostFacts) -> bool:
    """Ask by group and file: without the right journalctl ends with 0 and says nothing at all."""
    try:
        await permit(host, [Source("systemd-journald.service")], facts)
    except NotPermitted:
        return False
    return True


async def _persistent(host: Host) -> bool:
    """A folder for this machine below /var/log/journal, which is where a persistent journal writes and nothing else."""
    script = 'id=$(cat /etc/machine-id) && test -n "$id" || exit 9; test -d "/var/log/journal/$id"'
    done = await host.run(["sh", "-c", script])
    if done.status == 9:
        raise CommandFailed("/etc/machine-id cannot be read.")
    return done.status == 0


async def _mounts(host: Host) -> tuple[Mount, ...]:
    """Read `df -P`, whose columns POSIX fixes; one that is not there does not hide the others."""
    done = await host.run(["df", "-P", "-k", *MOUNTS])
    found = []
    for path, line in zip(MOUNTS, done.text.splitlines()[1:], strict=False):
        words = line.split()
        if len(words) < 6:
            continue
        size, free = whole_number(words[1]), whole_number(words[3])
        if size is not None and free is not None:
            found.append(Mount(path, words[0], size * 1024, free * 1024))
    if not found:
        done.check()
        raise CommandFailed("df names no file system.")
    return tuple(found)


async def _gpus(host: Host, clock: Clock) -> Fleet:
    """Take the first sample in which the driver has answered."""
    seen: list[Fleet] = []

    async def wait(answered: Callable[[Fleet], bool]) -> None:
        async with aclosing(follow(host, control=ProbeControl(0.5), clock=clock)) as stream:
            async for fleet in stream:
                seen[:] = [fleet]
                if answered(fleet):
                    return

    try:
        await within(GPU_DEADLINE_S, wait(_has_answered))
    except asyncio.TimeoutError:
        if not seen:
            raise CommandFailed(f"No sample came within {GPU_DEADLINE_S:.0f} s.") from None
    return seen[0]


def _has_answered(fleet: Fleet) -> bool:
    return not fleet.has_silent and not fleet.is_opening

"""Whether this login may read the logs; without the right journalctl says nothing at all, so it is asked for first."""

from __future__ import annotations

from collections.abc import Iterable

from specconsole.errors import CommandFailed, NotPermitted
from specconsole.host.base import Host, HostFacts, Rights
from specconsole.logs.source import Source

GROUPS = ("systemd-journal", "adm")
"""Whose members read the system's journal on every distribution."""


async def permit(host: Host, sources: Iterable[Source], facts: HostFacts) -> None:
    """Return when the journal of all sources can be read.

    A user outside the groups gets status 0 and not a line, so neither status nor output tells. Other groups (wheel) may
    be let in by access lists: then the journal's own file is readable, and that is asked of the kernel.

    Raises:
        NotPermitted: with the command that would give the right.
    """
    if facts.rights is not Rights.USER or any(group in facts.groups for group in GROUPS):
        return
    others = [source for source in sources if source.user != facts.user]
    if not others and await _reads_own(host, facts):
        return
    if await _reads_system(host):
        return
    raise NotPermitted(
        f"{facts.user} may not read the journal on {host.name}.",
        "Units may be logging; nothing of it can be shown.",
        f"As root there: usermod -aG systemd-journal {facts.user}, then connect again.",
    )


async def _reads_own(host: Host, facts: HostFacts) -> bool:
    """A persistent journal keeps a file for each user, which that user can read; a volatile one does not."""
    newest = await host.run(["journalctl", "--quiet", "--no-pager", "-n", "1", "-o", "cat", f"_UID={facts.uid}"])
    return bool(newest.stdout.strip())


async def _reads_system(host: Host) -> bool:
    try:
        found = await host.run(["find", "/var/log/journal", "/run/log/journal", "-name", "system.journal", "-readable"])
    except CommandFailed:
        return False
    # Every folder that cannot be entered makes find end with 1; what it printed is right all the same.
    return bool(found.stdout.strip())

"""Accounts of the host, and the user managers that run for some of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from specconsole.errors import CommandFailed, DeadlineExceeded
from specconsole.host.base import Host, HostFacts, Rights
from specconsole.service.systemd import Manager, user_manager
from specconsole.text import whole_number

_USER_MANAGER = re.compile(r"user@(\d+)\.service\Z")


@dataclass(frozen=True)
class Account:
    """One line of passwd."""

    name: str
    uid: int
    gid: int
    home: str
    shell: str = "/bin/sh"

    @property
    def environment(self) -> dict[str, str]:
        """What systemd sets for a service with User=."""
        return {"HOME": self.home, "USER": self.name, "LOGNAME": self.name, "SHELL": self.shell}


ROOT = Account("root", 0, 0, "/root")


async def accounts(host: Host, names: Iterable[str]) -> dict[str, Account]:
    """Look accounts up by name or number; those that are not known are left out. Raises LinkLost."""
    wanted = sorted(set(names))
    if not wanted:
        return {}
    try:
        done = await host.run(["getent", "passwd", *wanted])
    except (CommandFailed, DeadlineExceeded):
        return {}
    found: dict[str, Account] = {}
    for line in done.text.splitlines():
        fields = line.split(":")
        if len(fields) < 7:
            continue
        uid, gid = whole_number(fields[2]), whole_number(fields[3])
        if uid is not None and gid is not None:
            account = Account(fields[0], uid, gid, fields[5], fields[6])
            found |= {account.name: account, str(account.uid): account}
    return found


async def user_managers(host: Host, facts: HostFacts, units: Iterable[str]) -> list[Manager]:
    """The user managers that we may ask, of those whose units run: all with root's rights, else our own. Raises LinkLost."""
    uids = {found[1] for name in units if (found := _USER_MANAGER.match(name))}
    as_root = facts.rights is not Rights.USER
    if not as_root:
        uids &= {str(facts.uid)}
    known = await accounts(host, uids)
    return [
        user_manager(account.name, account.uid, account.gid, account.home, as_root=as_root)
        for uid, account in sorted(known.items())
        if uid in uids
    ]

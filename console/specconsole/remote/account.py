"""Accounts of the host, and the managers of those for whom one runs; Python 3.8, standard library."""

from __future__ import annotations

import re
from typing import Dict, Iterable, List, NamedTuple, Set

from specconsole.remote.systemctl import Manager, user_manager

_USER_MANAGER = re.compile(r"user@(\d+)\.service\Z")
_NUMBER = re.compile(r"[0-9]{1,10}")


class Account(NamedTuple):
    """One line of passwd."""

    name: str
    uid: int
    gid: int
    home: str
    shell: str = "/bin/sh"

    @property
    def environment(self) -> Dict[str, str]:
        """What systemd sets for a service with User=."""
        return {"HOME": self.home, "USER": self.name, "LOGNAME": self.name, "SHELL": self.shell}


def passwd(accounts: Iterable[str]) -> List[str]:
    """Look accounts up by name or number."""
    return ["getent", "passwd", *sorted(set(accounts))]


def accounts(text: str) -> Dict[str, Account]:
    """The answer to `passwd`, by name and by number; lines that are none are left out."""
    found: Dict[str, Account] = {}
    for line in text.splitlines():
        fields = line.split(":")
        if len(fields) >= 7 and all(map(_NUMBER.fullmatch, fields[2:4])):
            account = Account(fields[0], int(fields[2]), int(fields[3]), fields[5], fields[6])
            found.update({account.name: account, str(account.uid): account})
    return found


def user_ids(units: Iterable[str]) -> Set[str]:
    """The users whose managers run, by the units of the system's."""
    return {found.group(1) for found in map(_USER_MANAGER.match, units) if found}


def user_managers(known: Dict[str, Account], uids: Set[str], *, as_root: bool) -> List[Manager]:
    """The managers of users whose accounts are known."""
    return [
        user_manager(account.name, account.uid, account.gid, account.home, as_root=as_root)
        for uid, account in sorted(known.items())
        if uid in uids
    ]

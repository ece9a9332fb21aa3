"""Accounts of the host, and the user managers that run for some of them."""

from __future__ import annotations

from collections.abc import Iterable

from specconsole.errors import CommandFailed, DeadlineExceeded
from specconsole.host.base import Commands, HostFacts, Rights
from specconsole.remote import account
from specconsole.remote.account import Account
from specconsole.remote.systemctl import Manager

ROOT = Account("root", 0, 0, "/root")


async def accounts(host: Commands, names: Iterable[str]) -> dict[str, Account]:
    """Look accounts up by name or number; those that are not known are left out. Raises LinkLost."""
    wanted = set(names)
    if not wanted:
        return {}
    try:
        done = await host.run(account.passwd(wanted))
    except (CommandFailed, DeadlineExceeded):
        return {}
    return account.accounts(done.text)


async def user_managers(host: Commands, facts: HostFacts, units: Iterable[str]) -> list[Manager]:
    """The user managers that we may ask, of those whose units run: all with root's rights, else our own. Raises LinkLost."""
    uids = account.user_ids(units)
    as_root = facts.rights is not Rights.USER
    if not as_root:
        uids &= {str(facts.uid)}
    return account.user_managers(await accounts(host, uids), uids, as_root=as_root)

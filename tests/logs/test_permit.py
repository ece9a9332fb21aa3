"""Whether the journal can be read is known before it is read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specconsole.errors import NotPermitted
from specconsole.host.base import HostFacts, Rights
from specconsole.logs import journal
from specconsole.logs.permit import permit
from specconsole.logs.source import Source
from tests.fakes import FACTS, FakeHost, failed
from tests.logs.journald import JournalHost

GUEST = replace(FACTS, user="guest", uid=1002, rights=Rights.USER, groups=("guest",))
SYSTEM = (Source("vllm.service"),)
OWN = (Source("vllm.service", "user:guest"),)


def host(*, readable: str = "", own: str = "") -> FakeHost:
    made = FakeHost()
    made.answer("find *", failed(1, "find: '/var/log/journal/x': Permission denied", readable))
    made.answer("journalctl --quiet * _UID=1002", own)
    return made


@pytest.mark.parametrize(
    "facts",
    [
        FACTS,
        replace(GUEST, rights=Rights.SUDO),
        replace(GUEST, groups=("guest", "systemd-journal")),
        replace(GUEST, groups=("adm",)),
    ],
)
async def test_rights_and_groups_are_enough(facts: HostFacts) -> None:
    made = host()
    await permit(made, SYSTEM, facts)
    assert not made.calls


async def test_without_them_it_is_an_error_with_the_command_that_helps() -> None:
    with pytest.raises(NotPermitted, match=r"guest may not read the journal.*usermod -aG systemd-journal guest"):
        await permit(host(), SYSTEM, GUEST)


async def test_an_access_list_is_seen_by_the_file() -> None:
    await permit(host(readable="/var/log/journal/x/system.journal\n"), SYSTEM, GUEST)


async def test_a_users_own_units_need_no_group_where_the_journal_is_kept() -> None:
    await permit(host(own="a line\n"), OWN, GUEST)
    with pytest.raises(NotPermitted):  # a volatile journal has no file of the user's own
        await permit(host(), OWN, GUEST)
    with pytest.raises(NotPermitted):  # another user's are not one's own
        await permit(host(own="a line\n"), (Source("vllm.service", "user:ops"),), GUEST)


async def test_following_without_the_right_is_never_an_empty_log() -> None:
    made = JournalHost(facts=GUEST)
    made.answer("find *", failed(1, ""))
    with pytest.raises(NotPermitted):
        async for _ in journal.follow(made, SYSTEM, lines=5, now=made.clock.now):
            pass
    assert not made.asked

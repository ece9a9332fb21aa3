"""What journalctl is asked for."""

from __future__ import annotations

import pytest

from specconsole.errors import NotRunning
from specconsole.logs.query import ask_for
from specconsole.logs.source import Source
from tests.fakes import FakeHost, failed


async def test_a_unit_its_manager_and_what_others_say_of_it() -> None:
    query = await ask_for(FakeHost(), [Source("a.service"), Source("b[1].service")])
    words = query.argv("-n", "5")
    assert words[0] == "journalctl"
    assert {"--all", "--quiet", "--no-pager"} < set(words)
    terms = " ".join(words[words.index("5") + 1 :]).split(" + ")
    assert terms[:4] == [
        "_SYSTEMD_UNIT=a.service",
        "UNIT=a.service _PID=1",
        "OBJECT_SYSTEMD_UNIT=a.service _UID=0",
        "COREDUMP_UNIT=a.service _UID=0",
    ]
    assert "_SYSTEMD_UNIT=b[1].service" in terms


async def test_a_users_unit_is_asked_for_by_the_users_number() -> None:
    host = FakeHost()
    host.answer("id -u -- ops", "1000\n")
    query = await ask_for(host, [Source("a.service", "user:ops"), Source("a.service")])
    words = " ".join(query.argv())
    assert "_SYSTEMD_USER_UNIT=a.service _UID=1000 + USER_UNIT=a.service _UID=1000" in words
    assert set(query.keys.values()) == {"ops/a.service", "a.service"}


async def test_an_unknown_user_is_said() -> None:
    host = FakeHost()
    host.answer("id -u -- nobody-here", failed(1, "id: 'nobody-here': no such user"))
    with pytest.raises(NotRunning, match="no user nobody-here"):
        await ask_for(host, [Source("a.service", "user:nobody-here")])

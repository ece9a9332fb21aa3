"""What becomes of the link is said beside the output."""

from __future__ import annotations

import asyncio

import pytest
from tests.fakes import FakeHost, settle

from specconsole.errors import CommandFailed, LinkLost, LinkRefused
from specconsole.host.base import LinkKind
from specconsole.verb.link import telling_of_the_link, while_linked


async def test_lost_and_back(capsys: pytest.CaptureFixture[str]) -> None:
    host = FakeHost()
    async with telling_of_the_link(host):
        for change in (host.cut, host.cut, host.mend):
            change()
            await settle()
    assert capsys.readouterr().err.splitlines() == [
        "specconsole: the link to root@gpu-1 is lost (no answer for 5 s); trying again",
        "specconsole: the link to root@gpu-1 is back",
    ]


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specconsole.verb.link.TICK_S", 1e-9)
    monkeypatch.setattr("specconsole.verb.link.GIVEN_UP_S", 20e-9)


async def for_ever(ended: list[str]) -> int:
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        ended.append("cancelled")
    return 0


@pytest.mark.usefixtures("patience")
async def test_what_looks_once_is_left_when_the_link_stays_away(capsys: pytest.CaptureFixture[str]) -> None:
    host, ended = FakeHost(), list[str]()
    host.cut()
    with pytest.raises(LinkLost, match=r"root@gpu-1 is lost and was not back within 0 s\. no answer for 5 s"):
        await while_linked(host, for_ever(ended))
    assert ended == ["cancelled"]
    assert "trying again" in capsys.readouterr().err
    host.set_link(LinkKind.REFUSED, reason="Its key has changed.")
    with pytest.raises(LinkRefused, match="Its key has changed"):
        await while_linked(host, for_ever(ended))


@pytest.mark.usefixtures("patience")
async def test_a_link_that_stands_or_returns_is_waited_for() -> None:
    host = FakeHost()

    async def work() -> int:
        for _ in range(50):
            host.cut()
            await asyncio.sleep(0)
            host.mend()
            await asyncio.sleep(5e-9)
        return 7

    assert await while_linked(host, work()) == 7, "away again and again, and never long"


async def test_what_the_work_raises_is_raised() -> None:
    async def work() -> int:
        raise CommandFailed("No.")

    with pytest.raises(CommandFailed):
        await while_linked(FakeHost(), work())

"""What becomes of the link is said beside the output."""

from __future__ import annotations

import pytest
from tests.fakes import FakeHost, settle

from specconsole.verb.link import telling_of_the_link


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

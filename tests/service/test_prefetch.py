"""Answers that a host gives in advance: used by their words, and never needed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from dataclasses import replace
from typing import Literal

import pytest

from specconsole.errors import DeadlineExceeded, LinkLost
from specconsole.host.base import LinkKind
from specconsole.profile import Profile, UnitProfile
from specconsole.remote import prefetch as remote
from specconsole.service import prefetch
from specconsole.service.prefetch import Prefetched
from tests.fakes import FakeHost


def line(*argv: str, status: object = 0, out: object = "", err: str = "") -> bytes:
    return json.dumps({"argv": argv, "status": status, "out": out, "err": err}).encode() + b"\n"


async def test_an_answer_that_is_here_is_not_asked_for_and_every_other_is() -> None:
    host = FakeHost()
    host.script("prefetch", [line("cat", "--", "/a", out="A\udcff"), line("cat", "--", "/b", status=1, err="no file")])
    host.answer("cat -- /c", "C")
    known = await prefetch.prefetch(host)
    assert (await known.run(["cat", "--", "/a"])).stdout == b"A\xff", "bytes that are no text come as they are"
    missing = await known.run(["cat", "--", "/b"])
    assert (missing.status, missing.stderr) == (1, b"no file")
    assert (await known.run(["cat", "--", "/c"])).text == "C"
    assert host.calls == [("cat", "--", "/c")]


async def test_units_of_the_profile_are_named_by_manager() -> None:
    host = FakeHost()
    host.script("prefetch", [])
    units = (
        *(UnitProfile(label=name, name=f"{name}.service") for name in "ac"),
        UnitProfile("b", "b.service", manager="user:ops"),
    )
    await prefetch.prefetch(host, Profile("kimi", units=units))
    (process,) = host.processes
    assert process.what.arguments == {"wanted": {"system": ["a.service", "c.service"], "user:ops": ["b.service"]}}  # type: ignore[union-attr]


async def test_a_host_without_python_is_asked_one_by_one() -> None:
    host = FakeHost()
    assert host.facts is not None
    host.facts = replace(host.facts, python=None)
    assert await prefetch.prefetch(host) is host
    assert not host.processes


async def test_a_host_that_is_near_is_asked_one_by_one() -> None:
    host = FakeHost()
    host.script("prefetch", [])
    host.set_link(LinkKind.UP, round_trip_s=prefetch.SHORT_S / 2)
    assert await prefetch.prefetch(host) is host
    host.set_link(LinkKind.UP, round_trip_s=None)
    assert await prefetch.prefetch(host) is not host, "nobody knows yet how far it is"


@pytest.mark.parametrize(
    "said",
    [
        [b"no json\n"],
        [b"[1]\n"],
        [line("cat", "--", "/a", status="0"), line("cat", "--", "/a", out=None), line("cat", "--", "/a", out="\ud800")],
        [line("cat", "--", "/a", out="half")[:-9]],
    ],
)
async def test_what_is_no_answer_is_none(said: list[bytes]) -> None:
    host = FakeHost()
    host.script("prefetch", said)
    host.answer("cat -- /a", "A")
    assert (await (await prefetch.prefetch(host)).run(["cat", "--", "/a"])).text == "A"


async def test_what_was_answered_before_the_time_was_up_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    hangs = asyncio.Event()

    class Never(asyncio.Event):
        async def wait(self) -> Literal[True]:
            hangs.set()
            return await super().wait()

    async def give_up(_: float, work: Awaitable[object]) -> None:
        task = asyncio.ensure_future(work)
        await hangs.wait()
        task.cancel()
        await asyncio.wait((task,))
        raise asyncio.TimeoutError

    host = FakeHost()
    host.script("prefetch", [line("cat", "--", "/a", out="A"), Never()])
    host.answer("cat -- /b", "B")
    monkeypatch.setattr(prefetch, "within", give_up)
    known = await prefetch.prefetch(host)
    assert [(await known.run(["cat", "--", path])).text for path in ("/a", "/b")] == ["A", "B"]
    assert host.calls == [("cat", "--", "/b")]


async def test_a_file_that_was_late_is_not_waited_for_again() -> None:
    host = FakeHost()
    host.script("prefetch", [json.dumps({"argv": ["cat", "--", "/nfs/a"], "late": True}).encode() + b"\n"])
    host.answer("cat -- /nfs/a", "A")
    known = await prefetch.prefetch(host)
    with pytest.raises(DeadlineExceeded, match="/nfs/a gave no answer in time"):
        await known.run(["cat", "--", "/nfs/a"])
    assert not host.calls


def test_the_host_is_done_before_it_is_given_up() -> None:
    assert remote.ALL_S < prefetch.PATIENCE_S


async def test_a_link_that_breaks_meanwhile_is_told() -> None:
    host = FakeHost()
    host.script("prefetch", [LinkLost("gone")])
    with pytest.raises(LinkLost):
        await prefetch.prefetch(host)


async def test_with_its_input_a_command_is_another_one() -> None:
    host = FakeHost()
    host.script("prefetch", [line("cat", out="none")])
    host.answer("cat", lambda _, stdin: stdin)
    known = await prefetch.prefetch(host)
    assert isinstance(known, Prefetched)
    assert (await known.run(["cat"], stdin=b"some")).text == "some"

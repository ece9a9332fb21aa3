"""The link is dialled again for ever with growing pauses, judged by its silence, and left alone after a refusal."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from specconsole.errors import CommandFailed, ConfigError, LinkLost, LinkRefused, SpecConsoleError
from specconsole.host.base import Completed, Endpoint, HostFacts, LinkKind, Process, Program, Rights
from specconsole.host.kept import BACKOFF_S, KeptHost
from specconsole.host.line import NO_ECHO, Echo, Note
from tests.fakes import FACTS, FakeClock, settle


class FakeLine:
    def __init__(self, clock: FakeClock, facts: HostFacts = FACTS) -> None:
        self.clock = clock
        self.facts = facts
        self.notes = (Note("ssh", "a note"),)
        self.echo: Echo | None = Echo(0.2, clock.now() - clock.monotonic() + 1.5)
        self.answers = True
        self.heard_at = clock.monotonic()
        self.pings: list[float] = []
        self.closed = False
        self.is_broken = False
        self.break_it: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def ping(self) -> None:
        self.pings.append(self.clock.monotonic())
        if self.answers:
            self.heard_at = self.clock.monotonic()

    async def broken(self) -> str:
        return await asyncio.shield(self.break_it)

    async def close(self) -> None:
        self.closed = True

    async def run(self, argv: Sequence[str], stdin: bytes, deadline_s: float) -> Completed:
        return Completed(tuple(argv), 0, stdin, b"")

    def process(self, what: Sequence[str] | Program) -> AbstractAsyncContextManager[Process]:
        raise NotImplementedError

    async def connect(self, endpoint: Endpoint) -> Any:
        raise NotImplementedError


class FakeDialer:
    """Gives what is queued: lines or errors."""

    def __init__(self, *results: FakeLine | SpecConsoleError) -> None:
        self.results = list(results)
        self.dialled: list[float] = []

    async def dial(self) -> FakeLine:
        result = self.results.pop(0)
        if isinstance(result, SpecConsoleError):
            raise result
        return result


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


async def opened(
    clock: FakeClock, *later: FakeLine | SpecConsoleError, read_only: bool = False
) -> tuple[KeptHost, FakeLine]:
    line = FakeLine(clock)
    host = KeptHost("gpu", FakeDialer(line, *later), clock=clock, read_only=read_only)
    await host.open()
    await settle()
    return host, line


async def test_an_open_host_is_up_with_its_round_trip_and_its_skew(clock: FakeClock) -> None:
    host, _ = await opened(clock)
    assert (host.link.kind, host.link.round_trip_s) == (LinkKind.UP, 0.2)
    assert (await host.up()).clock_skew_s == pytest.approx(1.5)
    assert host.notes == (Note("ssh", "a note"),)
    await host.close()
    assert host.link.kind is LinkKind.CLOSED


async def test_a_first_connect_that_fails_says_why_and_is_not_kept_up(clock: FakeClock) -> None:
    for error, kind in ((LinkLost("no route"), LinkKind.LOST), (LinkRefused("bad key"), LinkKind.REFUSED)):
        host = KeptHost("gpu", FakeDialer(error), clock=clock)
        with pytest.raises(type(error)):
            await host.open()
        assert (host.link.kind, host.link.reason) == (kind, str(error))
        assert clock.sleeping == 0
        await host.close()


async def test_it_pings_every_two_seconds(clock: FakeClock) -> None:
    host, line = await opened(clock)
    start = clock.monotonic()
    for _ in range(16):
        await clock.advance(0.5)
    assert [at - start for at in line.pings] == [0, 2, 4, 6, 8]
    await host.close()


async def test_silence_beyond_a_round_trip_is_stale_and_a_sign_of_life_ends_it(clock: FakeClock) -> None:
    host, line = await opened(clock)
    line.echo = Echo(0.7, 0.0)
    line.answers = False
    await clock.advance(3.0)
    assert host.link.kind is LinkKind.UP, "3 s are 2.3 s beyond the round trip"
    await clock.advance(0.5)
    stale = host.link
    assert (stale.kind, stale.round_trip_s) == (LinkKind.STALE, 0.7)
    assert "has not answered for" in stale.reason
    assert clock.monotonic() - stale.since == clock.monotonic() - line.heard_at > 3.0, "it is as old as the last answer"
    assert (await host.up()).uid == 0, "what runs goes on"
    line.answers = True
    await clock.advance(1.0)
    assert host.link.kind is LinkKind.UP
    await host.close()


async def test_a_lost_link_is_dialled_with_growing_pauses_for_ever(clock: FakeClock) -> None:
    tries = 9
    host, line = await opened(clock, *[LinkLost(f"try {i}") for i in range(tries)], FakeLine(clock))
    line.break_it.set_result("pulled")
    await settle()
    assert (host.link.kind, host.link.reason, host.link.attempt) == (LinkKind.LOST, "pulled", 1)
    assert line.closed
    with pytest.raises(LinkLost, match="pulled"):
        await host.run(["true"])
    pauses = []
    while host.link.kind is LinkKind.LOST:
        assert host.link.next_try is not None
        pauses.append(host.link.next_try - clock.monotonic())
        await clock.advance(pauses[-1])
    assert pauses == [*BACKOFF_S, *[BACKOFF_S[-1]] * 4]
    assert BACKOFF_S[0] == 0.5
    assert BACKOFF_S[-1] == 15
    assert (host.link.kind, host.link.reason, host.link.attempt) == (LinkKind.UP, "", 0)
    assert (await host.run(["true"], stdin=b"x")).stdout == b"x"
    await host.close()


async def test_who_waits_for_the_link_goes_on_with_new_facts(clock: FakeClock) -> None:
    rebooted = FakeLine(clock, HostFacts("gpu", "root", 0, Rights.ROOT, "c" * 32, None))
    host, line = await opened(clock, rebooted)
    line.break_it.set_result("")
    await settle()
    waiting = asyncio.create_task(host.up())
    await settle()
    assert not waiting.done()
    await clock.advance(0.5)
    assert (await waiting).boot_id == "c" * 32
    await host.close()


async def test_a_line_that_broke_this_moment_is_not_up(clock: FakeClock) -> None:
    host, line = await opened(clock, FakeLine(clock))
    line.is_broken = True
    waiting = asyncio.create_task(host.up())
    await settle()
    assert not waiting.done()
    line.break_it.set_result("")
    await clock.advance(0.5)
    await waiting
    await host.close()


async def test_an_impatient_user_need_not_wait(clock: FakeClock) -> None:
    host, line = await opened(clock, LinkLost("a"), LinkLost("b"), LinkLost("c"), FakeLine(clock))
    line.break_it.set_result("")
    await clock.advance(0.5)
    await clock.advance(1)
    await clock.advance(2)
    assert host.link.attempt == 4
    host.retry()
    await settle()
    assert host.link.kind is LinkKind.UP
    await host.close()


async def test_a_refusal_is_tried_again_only_when_asked_to(clock: FakeClock) -> None:
    host, line = await opened(clock, LinkRefused("wrong password"), LinkRefused("again"), FakeLine(clock))
    line.break_it.set_result("")
    await clock.advance(0.5)
    assert (host.link.kind, host.link.reason) == (LinkKind.REFUSED, "wrong password")
    with pytest.raises(LinkRefused, match="wrong password"):
        await host.up()
    await clock.advance(3600)
    assert host.link.kind is LinkKind.REFUSED
    for kind, reason in ((LinkKind.REFUSED, "again"), (LinkKind.UP, "")):
        host.retry()
        await settle()
        assert (host.link.kind, host.link.reason) == (kind, reason)
    await host.close()


async def test_a_configuration_that_was_broken_meanwhile_waits_for_the_user(clock: FakeClock) -> None:
    host, line = await opened(clock, ConfigError("config, line 3: nonsense"), CommandFailed("odd"), FakeLine(clock))
    line.break_it.set_result("")
    await clock.advance(0.5)
    assert (host.link.kind, host.link.reason) == (LinkKind.REFUSED, "config, line 3: nonsense")
    host.retry()
    await settle()
    assert (host.link.kind, host.link.reason) == (LinkKind.LOST, "odd")
    await clock.advance(1)
    assert host.link.kind is LinkKind.UP
    await host.close()


async def test_closing_while_it_is_lost_ends_at_once(clock: FakeClock) -> None:
    host, line = await opened(clock, LinkLost("x"))
    line.break_it.set_result("")
    await settle()
    await host.close()
    assert clock.sleeping == 0
    with pytest.raises(LinkRefused):
        await host.up()


async def test_rights_decide_what_may_be_offered(clock: FakeClock) -> None:
    for rights, asked, read_only in (
        (Rights.ROOT, False, False),
        (Rights.SUDO, False, False),
        (Rights.USER, False, True),
        (Rights.ROOT, True, True),
    ):
        line = FakeLine(clock, HostFacts("gpu", "x", 1, rights, "b", None))
        host = KeptHost("gpu", FakeDialer(line), clock=clock, read_only=asked)
        await host.open()
        assert host.read_only is read_only
        await host.close()


async def test_watchers_see_each_change(clock: FakeClock) -> None:
    host, line = await opened(clock, FakeLine(clock))
    kinds: list[LinkKind] = []

    async def watch() -> None:
        async for link in host.links():
            if not kinds or kinds[-1] is not link.kind:
                kinds.append(link.kind)

    watching = asyncio.create_task(watch())
    await settle()
    line.break_it.set_result("")
    await clock.advance(0.5)
    await host.close()
    await settle()
    assert kinds[0] is LinkKind.UP
    assert kinds[-1] is LinkKind.CLOSED
    assert LinkKind.LOST in kinds
    watching.cancel()


async def test_setting_our_clock_moves_no_moment_of_the_host(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    host, _ = await opened(clock)
    its_clock = clock.now() + ((await host.up()).clock_skew_s or 0.0)
    now = clock.now
    monkeypatch.setattr(clock, "now", lambda: now() + 3600.0)
    assert host.facts is not None
    assert clock.now() + (host.facts.clock_skew_s or 0.0) == pytest.approx(its_clock)
    await host.close()


def test_an_answer_that_was_held_up_says_nothing_new_of_a_clock() -> None:
    known = NO_ECHO.then(0.2, 100.0)
    assert (known.round_trip_s, known.ahead_s) == (0.2, 100.0)
    late = known.then(20.0, 109.0)
    assert (late.round_trip_s, late.ahead_s) == (20.0, 100.0), "it is known to 0.1 s, and the late one knows it to 10 s"
    assert late.then(0.1, 100.04).ahead_s == 100.04, "a quicker one knows better"


@pytest.mark.parametrize("jump_s", [-3600.0, 30.0])
def test_a_clock_that_was_set_is_followed(jump_s: float) -> None:
    assert NO_ECHO.then(0.2, 100.0).then(20.0, 100.0 + jump_s).ahead_s == 100.0 + jump_s


def test_what_a_quick_echo_knew_grows_old() -> None:
    """Clocks part: after five slower echoes it knows the host's clock no better than they do."""
    known = NO_ECHO.then(0.002, 10.0)
    ahead = []
    for _ in range(7):
        known = known.then(0.004, 10.001)
        ahead.append(known.ahead_s)
    assert ahead == [10.0] * 5 + [10.001] * 2

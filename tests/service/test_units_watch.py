"""Changes of units, seen at the next poll, over reloads, new files and cut links; time moves by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from specconsole.errors import CommandFailed, LinkRefused
from specconsole.host.base import LinkKind
from specconsole.service.unit import Unit
from specconsole.service.watch import watch
from tests.fakes import failed, settle
from tests.service.machine import Machine

NGRAM = "vllm-kimi-ngram.service"
BASE = "vllm-kimi.service"


class Feed:
    """The feed, and what it gave last."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.stream: AsyncGenerator[tuple[Unit, ...], None] = watch(machine.host, clock=machine.host.clock)
        self._next: asyncio.Task[tuple[Unit, ...]] | None = None

    async def next(self) -> dict[str, Unit]:
        self._next = self._next or asyncio.create_task(anext(self.stream))
        units = await self._next
        self._next = None
        return {unit.key: unit for unit in units}

    async def after(self, seconds: float) -> dict[str, Unit] | None:
        """What came within that time; None: nothing."""
        self._next = self._next or asyncio.create_task(anext(self.stream))
        await settle(200)
        for _ in range(round(seconds / 0.25)):
            await self.machine.host.clock.advance(0.25)
            await settle(200)
            if self._next.done():
                return await self.next()
        return None

    async def aclose(self) -> None:
        if self._next:
            self._next.cancel()
            await asyncio.gather(self._next, return_exceptions=True)
        await self.stream.aclose()


async def test_a_change_is_seen_within_a_second_and_only_a_change() -> None:
    machine = Machine(user=False)
    async with aclosing(Feed(machine)) as feed:
        units = await feed.next()
        assert units[NGRAM].state.active == "inactive"
        assert await feed.after(10) is None
        machine.change(BASE, CPUUsageNSec="999000000000")
        assert await feed.after(3) is None
        machine.change(NGRAM, ActiveState="activating", SubState="start", MainPID="77", InvocationID="f" * 32)
        now = await feed.after(1)
        assert now is not None
        assert (now[NGRAM].state.active, now[NGRAM].state.main_pid) == ("activating", 77)
        assert (now[BASE].state.invocation, now[BASE].state.active) == (units[BASE].state.invocation, "active")
        assert now[BASE].serving == units[BASE].serving


async def test_ages_follow_the_host_s_boot_clock_without_asking_for_it() -> None:
    machine = Machine(user=False)
    machine.uptime = "5000.50 1.0\n"
    async with aclosing(Feed(machine)) as feed:
        await feed.next()
        asked = len(machine.asked("cat -- /proc/uptime"))
        await feed.after(5)
        machine.change(BASE, ActiveState="failed", Result="oom-kill", InactiveEnterTimestampMonotonic="5004000000")
        now = await feed.after(1)
        assert now is not None
        assert now[BASE].state.result == "oom-kill"
        mono = now[BASE].state.mono
        assert mono is not None
        assert 5005.5 <= mono <= 5006.5
        assert now[BASE].state.since_s == mono - 5004
        assert len(machine.asked("cat -- /proc/uptime")) == asked


async def test_polls_are_cheap() -> None:
    machine = Machine(user=False)
    async with aclosing(Feed(machine)) as feed:
        await feed.next()
        await feed.after(1)
        before = len(machine.host.calls)
        await feed.after(20)
        calls = machine.host.calls[before:]
        assert len(calls) <= 20 / 0.5 + 20 / 2 + 2
        assert {argv[:2] for argv in calls} == {("systemctl", "show")}


async def test_a_new_unit_is_found_after_a_reload() -> None:
    machine = Machine(user=False)
    async with aclosing(Feed(machine)) as feed:
        await feed.next()
        machine.add("late.service", "[Service]\nExecStart=/v/vllm serve /late\n", "/v/vllm serve /late")
        assert await feed.after(1) is None
        machine.reload_stamp = "UnitsLoadTimestampMonotonic=77\n"
        now = await feed.after(3)
        assert now is not None
        assert now["late.service"].serving.model == "/late"


async def test_a_reload_that_changed_nothing_is_no_news() -> None:
    machine = Machine(user=False)
    async with aclosing(Feed(machine)) as feed:
        await feed.next()
        machine.uptime = "99999.00 1.0\n"
        machine.reload_stamp = "UnitsLoadTimestampMonotonic=77\n"
        assert await feed.after(5) is None


async def test_a_new_unit_is_found_without_a_stamp_within_half_a_minute() -> None:
    machine = Machine(user=False)
    async with aclosing(Feed(machine)) as feed:
        await feed.next()
        machine.add("late.service", "[Service]\nExecStart=/v/vllm serve /late\n", "/v/vllm serve /late")
        now = await feed.after(32)
        assert now is not None
        assert "late.service" in now
        machine.unit_files = machine.unit_files.replace("late.service static -\n", "")
        now = await feed.after(62)
        assert now is not None
        assert "late.service" not in now


async def test_a_changed_command_is_read_anew() -> None:
    machine = Machine(user=False)
    async with aclosing(Feed(machine)) as feed:
        await feed.next()
        await feed.after(1)
        path = f"/etc/systemd/system/{NGRAM}"
        machine.files[path] = machine.files[path].replace("8001", "8077")
        machine.blocks[NGRAM] = machine.blocks[NGRAM].replace("8001", "8077")
        now = await feed.after(2)
        assert now is not None
        assert now[NGRAM].serving.endpoint.port == 8077


async def test_a_stale_file_is_said() -> None:
    machine = Machine(user=False)
    async with aclosing(Feed(machine)) as feed:
        assert not (await feed.next())[BASE].state.need_reload
        machine.change(BASE, NeedDaemonReload="yes")
        now = await feed.after(1)
        assert now is not None
        assert now[BASE].state.need_reload


async def test_units_of_users_are_polled_too() -> None:
    machine = Machine()
    async with aclosing(Feed(machine)) as feed:
        assert (await feed.next())["ops/vllm-mine.service"].state.active == "inactive"
        machine.change("vllm-mine.service", ActiveState="active", SubState="running")
        now = await feed.after(1)
        assert now is not None
        assert now["ops/vllm-mine.service"].state.active == "active"


async def test_a_cut_link_and_a_slow_host_are_waited_out() -> None:
    machine = Machine(user=False)
    async with aclosing(Feed(machine)) as feed:
        await feed.next()
        machine.host.cut()
        assert await feed.after(5) is None
        machine.change(NGRAM, ActiveState="active", SubState="running")
        machine.host.mend(boot_id="c" * 32)
        now = await feed.after(2)
        assert now is not None
        assert now[NGRAM].state.active == "active"
        machine.host.answer("systemctl show *", [failed(1, "Connection timed out"), failed(1, "x")])
        assert await feed.after(5) is None
        machine.host.answer("systemctl show *", machine._show)
        machine.change(NGRAM, ActiveState="failed")
        now = await feed.after(2)
        assert now is not None
        assert now[NGRAM].state.active == "failed"
        machine.host.set_link(LinkKind.REFUSED, reason="host key changed")
        with pytest.raises(LinkRefused):
            await feed.after(3)


async def test_a_host_without_systemd_is_an_error_at_first() -> None:
    machine = Machine()
    machine.host.answer("systemctl *", failed(1, "not booted with systemd"))
    async with aclosing(Feed(machine)) as feed:
        with pytest.raises(CommandFailed):
            await feed.next()

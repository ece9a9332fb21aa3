"""A replay shows what the bundle holds as it was collected, makes nothing up, and says that it changes nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from specconsole.clock import SystemClock
from specconsole.errors import UsageError
from specconsole.explain.collected import Collected, collected
from specconsole.gpu.fault import asked
from specconsole.gpu.sample import Gpu
from specconsole.history.entry import Load, Swap
from specconsole.host.simulated.replay import Player
from specconsole.host.simulated.replay.make import UNSAMPLED
from specconsole.service.check import Check, Level
from specconsole.service.difference import differ
from specconsole.service.discover import discover
from specconsole.ui.feed.host import HostFeeds, feeds_of
from specconsole.ui.feed.replay import ReplayFeeds
from specconsole.ui.rows.definition import definition_rows, difference_rows
from specconsole.ui.rows.row import plain
from tests.fakes import FakeHost
from tests.host.test_replay import UNIT, parts
from tests.ui.scene import Scene, appears, fleet, shown, unit

MADE = 1_750_000_125.0
CHECK = Check("lint", Level.LIMITED, "a: 1 warning.", fix="specconsole lint root@gpu-9 a (on your machine)")
LOAD = Load("gpu-9", "a.service", "i", 1.75e9, "ready")
SWAP = Swap("gpu-9", "s", "a.service", "start", 1.75e9)


def feeds(**told: Any) -> ReplayFeeds:
    return ReplayFeeds(FakeHost(), SystemClock(), {}, Collected("root@gpu-9", MADE, **told))


async def test_what_was_collected_is_shown_and_nothing_is_computed() -> None:
    played = feeds(checks=(CHECK,), loads=(LOAD, LOAD), swaps=(SWAP,))
    assert [found async for found in played.doctor()] == [(CHECK,)]
    assert played.collected_at == MADE
    lists = await played.past.lists()
    assert [one.id for one in lists.loads] == [1, 2]
    assert [one.swap for one in lists.swaps] == ["s"]
    assert not lists.runs
    with pytest.raises(UsageError, match=r"does not keep the settings of vllm-a.service.*key 6.*lint root@gpu-9"):
        await played.lints.look(unit("vllm-a.service"))
    with pytest.raises(UsageError, match="keeps no benchmarks"):
        await played.past.run(1)


async def test_a_unit_s_page_holds_what_the_bundle_does_and_says_what_it_lacks() -> None:
    host = Player.of(parts(), 1.0, "end", lambda _: ()).host()
    await host.open()
    about = replace(collected(parts()), properties={UNIT: {"Restart": "always"}})
    known = next(one for one in await discover(host) if one.key == UNIT)
    (found,) = [one async for one in ReplayFeeds(host, host.clock, {}, about).definition(known)]
    await host.close()
    assert found.commands == (known.serving.argv,)
    assert (found.files, dict(found.environment)) == ((), {})
    assert [start.invocation for start in found.starts]
    drawn = [plain(row) for row in definition_rows(found, (), str, 60)]
    assert any("A bundle keeps neither" in row for row in drawn)
    assert "  Restart=always" in drawn
    assert not any("HOME=" in row or "nothing is set" in row for row in drawn)
    differs = [plain(row) for row in difference_rows(differ(found, found), "a", "b", 60)]
    assert any("A bundle keeps neither" in row for row in differs)
    assert not any("do not differ" in row for row in differs)


async def test_loads_are_remembered_as_far_as_they_were_over_by_then() -> None:
    over, later = replace(LOAD, ready=MADE - 50.0), replace(LOAD, ready=MADE + 50.0)
    host = FakeHost()
    host.clock.time = MADE
    played = ReplayFeeds(host, host.clock, {}, Collected("root@gpu-9", MADE, loads=(over, later, LOAD)))
    assert await played.loads() == (over,)


async def test_what_the_bundle_lacks_is_said() -> None:
    with pytest.raises(UsageError, match=r"nothing of the doctor.*specconsole doctor root@gpu-9"):
        await anext(feeds().doctor())
    with pytest.raises(UsageError, match="damaged"):
        await feeds(damaged=1).past.lists()


async def test_the_feeds_of_a_replay_are_the_bundle_s() -> None:
    for told, kind in ((None, HostFeeds), (Collected("gpu-9", MADE), ReplayFeeds)):
        async with feeds_of(FakeHost(), SystemClock(), None, None, {}, told) as made:
            assert type(made) is kind


@pytest.fixture
def replay() -> Scene:
    return Scene(read_only=True, collected_at=MADE).fill()


async def test_the_doctor_s_checks_have_their_time(replay: Scene) -> None:
    async with replay.app.run_test(size=(120, 40)) as pilot:
        await replay.settle(pilot)
        await replay.press(pilot, "6")
        replay.feeds.put("doctor", (CHECK,))
        await replay.settle(pilot)
        await appears(replay, pilot, "as collected at 2025-06-15 ", "specconsole lint root@gpu-9 a")
        assert "looked" not in shown(replay)


async def test_nothing_of_a_replay_is_called_live(replay: Scene) -> None:
    async with replay.app.run_test(size=(120, 40)) as pilot:
        await appears(replay, pilot, "─ replay")
        assert "─ live" not in shown(replay)


@pytest.mark.parametrize("key", ["b", "B", "tab X"])
async def test_a_key_that_changes_something_says_that_a_replay_does_not(key: str, replay: Scene) -> None:
    async with replay.app.run_test(size=(120, 40), notifications=True) as pilot:
        await replay.settle(pilot)
        await replay.press(pilot, *key.split())
        await appears(replay, pilot, "changes nothing.")


async def test_empty_pages_send_nobody_to_keys_that_do_nothing(replay: Scene) -> None:
    async with replay.app.run_test(size=(120, 40)) as pilot:
        await replay.settle(pilot)
        for key in ("4", "8"):
            await replay.press(pilot, key)
            await appears(replay, pilot, "none can be made here: a replay changes nothing.")


async def test_a_host_open_for_reading_only_says_so_too() -> None:
    scene = Scene(read_only=True).fill()
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "b")
        await appears(scene, pilot, "not on a read-only host.")
        await scene.press(pilot, "4")
        await appears(scene, pilot, "none can be made here: not on a read-only host.")


async def test_cards_of_which_nothing_was_read_are_not_called_healthy(replay: Scene) -> None:
    blank = replace(
        fleet(2),
        why=UNSAMPLED,
        gpus=tuple(Gpu(place, f"GPU-{place}", "NVIDIA H200", why={"xid": UNSAMPLED}) for place in range(2)),
    )
    async with replay.app.run_test(size=(120, 40)) as pilot:
        await replay.settle(pilot)
        replay.feeds.put("fleets", blank)
        await appears(replay, pilot, "no sample of this moment in the bundle")
        assert "no fault seen" not in shown(replay)


def test_no_fault_is_seen_only_where_something_was_read() -> None:
    assert asked(fleet(2))
    assert not asked(replace(fleet(2), gpus=(Gpu(0, "GPU-0", "NVIDIA H200"),)))
    assert not asked(replace(fleet(2), source="nvidia-smi"))

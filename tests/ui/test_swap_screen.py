"""Swaps on the screen: planned and confirmed, followed step by step, cancelled, found again, and never begun by accident."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from specconsole.errors import LinkLost, NotRunning
from specconsole.host.base import LinkKind
from specconsole.load.diagnosis import Diagnosis
from specconsole.remote.swap_record import Story, fold
from specconsole.service.plan import Holder, Plan, sides
from specconsole.service.swap import Known, SwapRefused, SwapView
from specconsole.ui.loading import Loading
from specconsole.ui.rows.row import plain, width
from specconsole.ui.rows.swap import plan_rows, view_rows
from specconsole.ui.screens.swap import SwapScreen
from tests.ui.scene import BASE, NGRAM, Scene, appears, shown, unit, units
from tests.ui.test_load_rows import loading

AT = 1_700_000_000.0
ALL = units()
HOLDER = Holder((3,), 4242, "python train.py", 8 << 30, "train.service")


def plan(ident: str = "s1", **changes: Any) -> Plan:
    """From n-gram, which runs, to the baseline."""
    target = ALL[1]
    made = Plan(
        ident, "gpu-1", "swap", target, sides(ALL, target, "swap"), requests=3, loads_s=(5280.0, 5640.0), holders=()
    )
    return replace(made, **changes)


def story(*events: dict[str, Any], asked: Plan | None = None) -> Story:
    """A story from short events: `begin` stands before them, each comes a minute after the one before."""
    whole = [{"event": "begin", "plan": (asked or plan()).to_json()}, *events]
    found = Story()
    for number, event in enumerate(whole):
        found = fold(found, {"v": 1, "id": "s1", "n": number, "at": AT + 60 * number, "boot": "b", **event})
    return found


def step(name: str, state: str = "begin", **more: Any) -> dict[str, Any]:
    return {"event": "step", "step": name, "state": state, **more}


def note(text: str) -> dict[str, Any]:
    return {"event": "note", "step": "", "text": text}


STOPPING = (
    step("preflight"), step("preflight", "done"), step("drain"), note("3 requests in flight"), step("drain", "done"),
    step("stop"),
)  # fmt: skip
BACK = (
    *STOPPING, step("stop", "done"), step("start"), step("start", "failed", why="it exited with status 1"),
    {"event": "turn", "why": "the start failed: it exited with status 1"},
    step("start", back=True), step("start", "done", back=True), step("watch", back=True),
)  # fmt: skip
LOADING = SwapView(story(*STOPPING), "SIGTERM sent 12 s ago, 9 processes left", AT + 372.0, lives=True)
ENDED = SwapView(
    story(*STOPPING, step("stop", "done"), {"event": "end", "outcome": "committed", "why": "baseline serves"}),
    over=True,
)
FAILED = SwapView(
    story(*BACK, {"event": "end", "outcome": "failed", "why": "neither unit serves", "advice": ["systemctl start x"]}),
    over=True,
)


@pytest.fixture
def ready(scene: Scene) -> Scene:
    scene.feeds.swaps.plans = [plan()]
    return scene


async def select_baseline(scene: Scene, pilot: Any) -> None:
    await scene.settle(pilot)
    await scene.press(pilot, "shift+tab", "shift+tab", "shift+tab")
    for _ in range(8):
        if scene.app.focused is not None and type(scene.app.focused).__name__ == "UnitsPane":
            break
        await scene.press(pilot, "tab")
    await scene.press(pilot, "j")
    assert scene.app.selected == BASE


async def begin(scene: Scene, pilot: Any) -> None:
    """Plan a swap to the baseline and say yes."""
    await select_baseline(scene, pilot)
    await scene.press(pilot, "S")
    await appears(scene, pilot, "y does it")
    await scene.press(pilot, "y")


async def test_a_swap_is_planned_confirmed_and_followed(ready: Scene) -> None:
    async with ready.app.run_test(size=(120, 40), notifications=True) as pilot:
        await select_baseline(ready, pilot)
        await ready.press(pilot, "S")
        await appears(ready, pilot, "swap vllm-kimi-k25.service on gpu-1", "serving 3 requests now", "y does it")
        await ready.press(pilot, "y")
        assert ready.feeds.swaps.asked == [("swap", BASE), ("begin", "s1"), ("follow", "s1")]
        ready.feeds.put("swap", LOADING)
        await appears(ready, pilot, "▶ stop", "9 processes left", "○ verify", "x roll back")
        await ready.clock.advance(1.0)  # its units were read before it ended
        ready.feeds.put("swap", ENDED)
        await appears(ready, pilot, "✔ swap to vllm-kimi-k25.service", "baseline serves")
        assert not ready.app.swapping
        assert "roll back" not in shown(ready).splitlines()[-1]


def long_one(last: str, size: int = 30) -> SwapView:
    """A page longer than a small terminal: many notes, then the step that runs."""
    notes = [note(f"entry {number} is left as it is") for number in range(size)]
    return SwapView(story(step("clean"), *notes, step("clean", "done"), step("watch")), last, AT, lives=True)


async def test_the_step_that_runs_stays_in_view_unless_one_reads_elsewhere(ready: Scene) -> None:
    async with ready.app.run_test(size=(80, 24)) as pilot:
        await select_baseline(ready, pilot)
        await ready.press(pilot, "S", "y")
        ready.feeds.put("swap", LOADING)
        await appears(ready, pilot, "✔ preflight", "▶ stop")
        ready.feeds.put("swap", long_one("1 of 96 shards"))
        await appears(ready, pilot, "▶ watch", "1 of 96 shards")
        ready.feeds.put("swap", long_one("2 of 96 shards", 34))
        await appears(ready, pilot, "▶ watch", "2 of 96 shards")
        await ready.press(pilot, "g")
        ready.feeds.put("swap", long_one("3 of 96 shards", 34))
        await ready.settle(pilot)
        assert "entry 0 is left" in shown(ready)
        assert "▶ watch" not in shown(ready)
        await ready.press(pilot, "G")
        ready.feeds.put("swap", long_one("4 of 96 shards", 50))
        await appears(ready, pilot, "▶ watch", "4 of 96 shards")


async def test_it_comes_into_view_however_late_the_page_is_laid_out(ready: Scene) -> None:
    async with ready.app.run_test(size=(80, 24)) as pilot:
        await begin(ready, pilot)
        # While a batch is open the library runs what waits for a refresh, and lays out nothing.
        with ready.app.batch_update():
            for size in (30, 31):
                ready.feeds.put("swap", long_one("1 of 96 shards", size))
                await ready.settle(pilot)
        await appears(ready, pilot, "▶ watch", "1 of 96 shards")


async def test_how_it_ended_comes_into_view(ready: Scene) -> None:
    async with ready.app.run_test(size=(80, 24)) as pilot:
        await begin(ready, pilot)
        ready.feeds.put("swap", long_one("1 of 96 shards"))
        await appears(ready, pilot, "▶ watch")
        await pilot.resize_terminal(100, 20)
        await appears(ready, pilot, "▶ watch")
        end = {"event": "end", "outcome": "failed", "why": "neither unit serves", "advice": ["systemctl start x"]}
        notes = [note(f"entry {number} is left as it is") for number in range(40)]
        ready.feeds.put("swap", SwapView(story(step("clean"), *notes, end), over=True))
        await appears(ready, pilot, "neither unit serves", "What to do:", "systemctl start x")


@pytest.mark.parametrize("key", ["enter", "escape", "n", "q"])
async def test_anything_but_y_changes_nothing(key: str, ready: Scene) -> None:
    async with ready.app.run_test(size=(100, 30)) as pilot:
        await select_baseline(ready, pilot)
        await ready.press(pilot, "S")
        await appears(ready, pilot, "y does it")
        await ready.press(pilot, key)
        await ready.settle(pilot)
        assert ready.feeds.swaps.asked == [("swap", BASE)]
        assert "y does it" not in shown(ready)


async def test_a_plan_that_is_blocked_cannot_be_confirmed(ready: Scene) -> None:
    ready.feeds.swaps.plans = [plan(blockers=("GPU 3 is held by python train.py",), holders=(HOLDER,))]
    async with ready.app.run_test(size=(100, 30)) as pilot:
        await select_baseline(ready, pilot)
        await ready.press(pilot, "S")
        await appears(ready, pilot, "BLOCKED", "train.py", "It cannot be done now")
        await ready.press(pilot, "y")
        await ready.settle(pilot)
        assert ("begin", "s1") not in ready.feeds.swaps.asked


@pytest.mark.parametrize(("key", "action"), [("X", "stop"), ("R", "restart")])
async def test_only_what_runs_is_stopped_or_restarted(key: str, action: str, ready: Scene) -> None:
    async with ready.app.run_test(size=(120, 40), notifications=True) as pilot:
        await select_baseline(ready, pilot)
        await ready.press(pilot, key)
        await appears(ready, pilot, "baseline does not run.")
        await ready.press(pilot, "k", key)
        await ready.settle(pilot)
        assert ready.feeds.swaps.asked == [(action, NGRAM)]


async def test_the_unit_that_serves_is_no_target(ready: Scene) -> None:
    async with ready.app.run_test(size=(120, 40), notifications=True) as pilot:
        await select_baseline(ready, pilot)
        await ready.press(pilot, "k", "S")
        await appears(ready, pilot, "ngram runs already")
        assert ready.feeds.swaps.asked == []


async def test_a_read_only_host_offers_none_of_it() -> None:
    scene = Scene(read_only=True).fill()
    async with scene.app.run_test(size=(160, 40)) as pilot:
        await select_baseline(scene, pilot)
        footer = shown(scene).splitlines()[-1]
        assert not {"S", "X", "R"} & set(footer.split())
        await scene.press(pilot, "S", "X", "R")
        assert scene.feeds.swaps.asked == []


async def test_a_stale_plan_is_made_and_asked_for_again(ready: Scene) -> None:
    ready.feeds.swaps.plans = [plan("s1"), plan("s2")]
    ready.feeds.swaps.refusals = [SwapRefused("Nothing was begun.", "the unit was restarted meanwhile (stale)")]
    async with ready.app.run_test(size=(100, 30)) as pilot:
        await begin(ready, pilot)
        await ready.settle(pilot)
        await appears(ready, pilot, "y does it")
        await ready.press(pilot, "y")
        await ready.settle(pilot)
        assert ready.feeds.swaps.asked[-2:] == [("begin", "s2"), ("follow", "s2")]


async def test_a_swap_of_another_console_is_shown_instead(ready: Scene) -> None:
    ready.feeds.swaps.refusals = [SwapRefused("A swap runs already.", running="other")]
    async with ready.app.run_test(size=(100, 30)) as pilot:
        await begin(ready, pilot)
        await ready.settle(pilot)
        assert ready.feeds.swaps.asked[-1] == ("follow", "other")


@pytest.mark.parametrize("error", [NotRunning("There is no such unit."), LinkLost("The link broke.")])
async def test_a_plan_that_cannot_be_made_is_one_sentence(error: Any, scene: Scene) -> None:
    scene.feeds.swaps.plans = [error]
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await select_baseline(scene, pilot)
        await scene.press(pilot, "S")
        await appears(scene, pilot, str(error))
        assert not scene.app.swapping


async def test_cancelling_asks_and_rolls_back(ready: Scene) -> None:
    async with ready.app.run_test(size=(120, 40)) as pilot:
        await begin(ready, pilot)
        ready.feeds.put("swap", LOADING)
        await appears(ready, pilot, "9 processes left")
        await ready.press(pilot, "x")
        await appears(ready, pilot, "Roll back now?", "swap go on")
        await ready.press(pilot, "enter")
        assert ("cancel", "s1") not in ready.feeds.swaps.asked
        await ready.press(pilot, "x")
        await appears(ready, pilot, "Roll back now?")
        await ready.press(pilot, "y")
        await ready.settle(pilot)
        assert ready.feeds.swaps.asked[-1] == ("cancel", "s1")


async def test_orphans_are_shown_before_they_are_ended(ready: Scene) -> None:
    held = {"pid": 77, "argv": "VLLM::EngineCore", "unit": NGRAM, "memory": 92 << 30}
    asking = SwapView(story(*STOPPING, {"event": "ask", "what": "orphans", "processes": [held], "until": AT + 600}))
    async with ready.app.run_test(size=(120, 40)) as pilot:
        await begin(ready, pilot)
        ready.feeds.put("swap", asking)
        await appears(ready, pilot, "pid 77  VLLM::EngineCore", "92.0", "End exactly these processes?")
        ready.feeds.put("swap", asking)
        await ready.press(pilot, "y")
        await ready.settle(pilot)
        answers = [one for one in ready.feeds.swaps.asked if one[0] == "answer"]
        assert answers == [("answer", "s1", "orphans", "end")]


async def test_a_swap_that_runs_is_found_on_connecting(scene: Scene) -> None:
    scene.feeds.swaps.record = Known(running="s9")
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await appears(scene, pilot, "A swap runs on this host")
        assert scene.feeds.swaps.asked == [("follow", "s9")]
        scene.feeds.put("swap", LOADING)
        await scene.press(pilot, "7")
        await appears(scene, pilot, "9 processes left")


@pytest.mark.parametrize("sign", ["units", "key", "link"])
async def test_a_swap_that_another_console_begins_is_found(sign: str, ready: Scene) -> None:
    async with ready.app.run_test(size=(120, 40), notifications=True) as pilot:
        await select_baseline(ready, pilot)
        assert ready.feeds.swaps.asked == []
        ready.feeds.swaps.record = Known(running="s9")
        if sign == "units":
            ready.feeds.put("units", tuple(unit(one.name, "inactive") for one in ALL))
        elif sign == "link":
            ready.host.set_link(LinkKind.LOST)
            await ready.settle(pilot)
            ready.host.set_link(LinkKind.UP)
        else:
            await ready.press(pilot, "7")
        await appears(ready, pilot, "A swap runs on this host")
        assert ready.feeds.swaps.asked == [("follow", "s9")]


async def test_an_interrupted_swap_is_told_on_connecting(scene: Scene) -> None:
    scene.feeds.swaps.record = Known((story(*STOPPING),), None, "another boot")
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await appears(scene, pilot, "was interrupted at")
        await scene.press(pilot, "7")
        await appears(scene, pilot, "was interrupted; nobody goes on with it")


def test_rows_say_what_is_next_and_what_failed() -> None:
    lines = [plain(row) for row in view_rows(FAILED, 100)]
    text = "\n".join(lines)
    assert "✖ start" in text
    assert "it exited with status 1" in text
    assert "roll back: start" in text
    assert "neither unit serves" in text
    assert lines[-1].strip() == "systemctl start x"
    assert "○" not in text
    going = "\n".join(plain(row) for row in view_rows(LOADING, 100))
    assert going.index("▶ stop") < going.index("○ verify") < going.index("○ commit")
    assert "12s" in going.replace(" ", "") or "0:12" in going


def test_a_load_that_failed_is_explained() -> None:
    why = Diagnosis(
        "kv", "The KV cache does not fit", "It needs 16 GiB.", "ValueError: To serve", advice=("Set less.",)
    )
    lines = [plain(row).strip() for row in view_rows(replace(FAILED, diagnosis=why), 100)]
    place = lines.index("The KV cache does not fit")
    assert lines[place + 1 : place + 4] == ["It needs 16 GiB.", "ValueError: To serve", "Set less."]


def test_the_outcome_ends_the_last_step() -> None:
    for outcome, mark in (("committed", "✔ commit"), ("failed", "✖ commit")):
        ended = SwapView(story(step("commit"), {"event": "end", "outcome": outcome, "why": ""}), over=True)
        assert mark in plain(view_rows(ended, 80)[0])


@pytest.mark.parametrize("cells", [60, 80, 120, 200])
def test_no_row_is_wider_than_the_screen(cells: int) -> None:
    for rows in (view_rows(LOADING, cells), view_rows(FAILED, cells), plan_rows(plan(holders=(HOLDER,)), cells)):
        assert all(width(row) <= cells for row in rows)


def page(view: SwapView, *starts: Loading) -> list[str]:
    screen = SwapScreen()
    screen.set_reactive(SwapScreen.swap, view)
    screen.set_reactive(SwapScreen.starts, starts)
    rows = screen.page(120)
    assert [plain(rows[place]) for place in screen.current(120)]
    return [plain(row) for row in rows]


def test_the_load_stands_below_the_step_that_waits_for_it() -> None:
    watching = SwapView(
        story(*STOPPING, step("stop", "done"), step("watch")), "refused for 84 s", AT + 600.0, lives=True
    )
    mine = replace(loading(84.0), unit=ALL[1])
    rows = page(watching, mine)
    below = next(place for place, row in enumerate(rows) if "refused for 84 s" in row) + 1
    assert "loading" in rows[below]
    assert "▶ weights" in rows[below + 1]
    assert "○ prove" in rows[below + 4]
    other = replace(mine, unit=unit("vllm-other.service", "active"))
    assert page(watching, other) == page(watching), "another unit's load is none of the swap's"
    assert page(LOADING, mine) == page(LOADING), "while the old one stops there is no load to wait for"


SIZES = [(80, 24), (120, 40), (200, 50)]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("what", ["plan", "stopping", "rolling-back", "failed", "link-down"])
def test_pictures(what: str, size: tuple[int, int], ready: Scene, snap_compare: Callable[..., bool]) -> None:
    views = {
        "stopping": LOADING,
        "rolling-back": SwapView(story(*BACK), "health: refused, 41 s", AT + 900.0, lives=True),
        "failed": FAILED,
        "link-down": replace(LOADING, linked=False),
    }

    async def play(pilot: Any) -> None:
        await select_baseline(ready, pilot)
        await ready.press(pilot, "S")
        await appears(ready, pilot, "y does it")
        if what == "plan":
            await ready.settle(pilot)
            return
        await ready.press(pilot, "y")
        ready.feeds.put("swap", views[what])
        await ready.settle(pilot)
        ready.app.clear_notifications()
        await ready.settle(pilot)

    assert snap_compare(ready.app, terminal_size=size, run_before=play)

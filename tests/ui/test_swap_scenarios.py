"""Swaps as the screen makes them, on every written scenario: its own plan, the host's real runner, each view on the swap screen."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

import pytest
from textual.app import App

from specconsole.host.base import LinkKind
from specconsole.host.simulated.scenario.table import SCENARIOS
from specconsole.logs import journal
from specconsole.service import choose
from specconsole.service.discover import discover
from specconsole.service.plan import Plan
from specconsole.service.swap import SwapView
from specconsole.service.unit import Unit
from specconsole.ui.feed.swap import HostSwaps
from specconsole.ui.rows.row import plain
from specconsole.ui.rows.swap import plan_rows, standing_row, view_rows
from tests.fakes import FakeClock
from tests.host.scenario.acting import moved, simulated
from tests.ui.scene import Scene, appears, still

BACK = ("oom", "crash-loop", "stuck-nccl")
"""Scenarios whose variant cannot serve."""


@dataclass(frozen=True)
class Lived:
    """A swap to the variant, from its plan to its end."""

    units: tuple[Unit, ...]
    plan: Plan
    views: tuple[SwapView, ...]

    def first(self, step: str, *, back: bool = False, linked: bool = True) -> SwapView:
        """The last view of a step that runs."""
        fits = [
            view
            for view in self.views
            if view.story.step and (view.story.step.name, view.story.back) == (step, back) and view.linked is linked
            if view.story.step.state == "begin" and view.now
        ]
        return [view for view in fits if view.story.outcome is None][-1]


async def lived(name: str) -> Lived:
    """Plan, begin and follow it as the screen does, in virtual time."""
    clock = FakeClock()
    host = simulated(f"demo:{name}:baseline@600", clock)

    async def swapped() -> Lived:
        await host.open()
        try:
            swaps = HostSwaps(host, host.clock, None, {}, None)
            found = await discover(host)
            # How they were read is before the end, and by a clock of the host's own.
            units = tuple(replace(unit, state=replace(unit.state, read=None)) for unit in found)
            prepared = await swaps.plan(choose.named(units, "ngram"), "swap")
            if prepared.plan.blockers:
                return Lived(units, prepared.plan, ())
            ident = await swaps.begin(prepared)
            seen: list[SwapView] = []
            async with aclosing(swaps.follow(ident)) as views:
                async for view in views:
                    if view.story.ask and not any(one.story.ask for one in seen):
                        await swaps.answer(ident, str(view.story.ask["what"]), "end")
                    seen.append(view)
            return Lived(units, prepared.plan, tuple(seen))
        finally:
            await host.close()

    found: Lived = await moved(swapped(), clock, 60.0)
    return found


@pytest.fixture
def swift(monkeypatch: pytest.MonkeyPatch) -> None:
    for pause in ("BATCH_S", "IDLE_S"):
        monkeypatch.setattr(journal, pause, 0.0)


@pytest.mark.usefixtures("swift")
@pytest.mark.parametrize("name", SCENARIOS)
async def test_plan_progress_and_end_are_told(name: str) -> None:
    seen = await lived(name)
    planned = "\n".join(plain(row) for row in plan_rows(seen.plan, 78))
    assert "stop vllm-kimi-k25-int4.service" in planned
    assert "on failure" in planned
    assert seen.views, planned
    last = seen.views[-1]
    page = "\n".join(plain(row) for row in view_rows(last, 78))
    head = plain(standing_row(last, "", 118))
    told = [step.name for step in last.story.steps if not step.back]
    if name in BACK:
        assert (last.story.outcome, "↺" in head) == ("rolled_back", True)
        assert "roll back: prove" in page
        assert last.story.why.split(";")[0][:40] in " ".join(page.split())
    else:
        assert (last.story.outcome, "✔" in head) == ("committed", True)
        assert any(view.story.ask for view in seen.views) is (name == "held-gpu"), "an orphan is asked about"
        assert told == ["preflight", "drain", "stop", "verify", "clean", "start", "watch", "prove", "commit"]
        moving = [view for view in seen.views if view.story.step and view.story.step.name == "watch" and view.now]
        assert len(moving) > 2, "while it loads it is told how it stands"
    cut = [view for view in seen.views if not view.linked]
    assert bool(cut) is bool(SCENARIOS[name].cuts), "a cut link is told, and the swap goes on"


PICTURES: dict[str, tuple[str, Callable[[Lived], SwapView | None]]] = {
    "ngram-loses-plan": ("ngram-loses", lambda _: None),
    "ngram-loses-progress": ("ngram-loses", lambda seen: seen.first("watch")),
    "ngram-loses-end": ("ngram-loses", lambda seen: seen.views[-1]),
    "slow-disk-plan": ("slow-disk", lambda _: None),
    "slow-disk-progress": ("slow-disk", lambda seen: seen.first("watch")),
    "slow-disk-end": ("slow-disk", lambda seen: seen.views[-1]),
    "link-drop-plan": ("link-drop", lambda _: None),
    "link-drop-cut": ("link-drop", lambda seen: [view for view in seen.views if not view.linked][-1]),
    "link-drop-reconnected": ("link-drop", lambda seen: seen.views[-1]),
    "crash-loop-rolling-back": ("crash-loop", lambda seen: seen.first("watch", back=True)),
    "crash-loop-rolled-back": ("crash-loop", lambda seen: seen.views[-1]),
}
"""What stands on the screen: the plan, or the swap as it was told at some moment."""


def timeless(app: App[None]) -> App[None]:
    """Have pictures of it say 0:00 for each time: a simulated host's programs are threads, and a busy machine's take longer."""
    export = app.export_screenshot

    def exported(**options: Any) -> str:
        return re.sub(r"\b\d{1,2}(:\d\d)+\b", lambda time: re.sub(r"\d", "0", time[0]), export(**options))

    app.export_screenshot = exported  # type: ignore[method-assign]
    return app


@pytest.mark.usefixtures("swift")
@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("what", PICTURES)
def test_pictures(what: str, size: tuple[int, int], snap_compare: Callable[..., bool]) -> None:
    name, chosen = PICTURES[what]
    scene = Scene()

    async def play(pilot: Any) -> None:
        seen = await lived(name)
        scene.feeds.swaps.plans = [replace(seen.plan, requests=seen.plan.requests and 2)]  # as many as came just then
        scene.host.set_link(LinkKind.UP)
        scene.feeds.put("units", seen.units)
        await scene.settle(pilot)
        scene.app.select(seen.plan.target.key)
        for _ in range(8):
            if scene.app.focused is not None and type(scene.app.focused).__name__ == "UnitsPane":
                break
            await scene.press(pilot, "tab")
        await scene.press(pilot, "S")
        await appears(scene, pilot, "y does it")
        if (view := chosen(seen)) is None:
            return
        await scene.press(pilot, "y")
        scene.feeds.put("swap", view)
        await still(scene, pilot)
        scene.app.clear_notifications()
        await still(scene, pilot)

    assert snap_compare(timeless(scene.app), terminal_size=size, run_before=play)

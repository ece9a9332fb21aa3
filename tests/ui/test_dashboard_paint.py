"""What a dashboard paints and lays out: only what has changed, and a burst once in a while."""

from __future__ import annotations

from typing import Any

import pytest

from specconsole.host.base import LinkKind
from specconsole.ui.screens.dashboard import DashboardScreen
from specconsole.ui.widgets.engine import EnginePane
from specconsole.ui.widgets.footer import Footer
from specconsole.ui.widgets.log import LogPane
from tests.ui.scene import Scene, fleet, record, shown
from tests.ui.test_dashboard import pane, start


async def test_a_repaint_per_tick_is_only_what_changed(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot)
        painted: list[Any] = []
        log = pane(scene, "log").query_one("LogView")
        for one in (log, pane(scene, "units"), pane(scene, "engine")):
            one.refresh = lambda *regions, **_: painted.append(regions)  # type: ignore[method-assign, assignment]
        scene.feeds.put("fleets", fleet())
        await scene.settle(pilot)
        assert painted == []


async def test_a_burst_is_painted_once_in_a_while(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot)
        log = scene.app.screen.query_one(LogPane).view
        painted: list[Any] = []
        refresh = log.refresh
        log.refresh = lambda *a, **k: (painted.append(a), refresh(*a, **k))[1]  # type: ignore[method-assign, func-returns-value]
        for i in range(200):
            scene.feeds.put("log", [record(100 + i, f"burst {i}")])
        await scene.settle(pilot)
        await pilot.pause(0.2)
        assert len(painted) < 20
        assert "burst 199" in shown(scene)


async def test_a_sample_and_an_echo_disturb_nothing_that_stays_as_it_is(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    for kind, name in ((DashboardScreen, "_zoom"), (EnginePane, "draw"), (Footer, "redraw")):
        plain: Any = getattr(kind, name)

        def counted(self: Any, *args: Any, plain: Any = plain, name: str = name) -> None:
            done.append(name)
            plain(self, *args)

        monkeypatch.setattr(kind, name, counted)
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot)
        assert {"_zoom", "draw", "redraw"} <= {*done}
        done.clear()
        scene.feeds.put("fleets", fleet(at=scene.clock.now() + 40))
        scene.host.set_link(LinkKind.UP, round_trip_s=0.077)
        scene.app.tick()
        await scene.settle(pilot)
        assert "77 ms" in shown(scene)
        assert done == []
        scene.host.set_link(LinkKind.LOST, attempt=3, next_try=scene.clock.monotonic() + 9)
        await scene.settle(pilot)
        assert {"draw", "redraw"} <= {*done}, "the key that tries again stands below"

"""A plan that is longer than its dialog says so beside the keys that answer it."""

from __future__ import annotations

import re
from pathlib import Path

from specconsole.ui.rows.row import Row
from specconsole.ui.screens import plan
from specconsole.ui.screens.plan import AskScreen
from tests.ui.scene import Scene, appears, shown


class Long(AskScreen):
    """A plan of thirty rows."""

    CSS_PATH = str(Path(plan.__file__).with_name("plan.tcss"))
    title_text = "swap to x on gpu-1"
    blocked = False

    def rows(self, cells: int) -> list[Row]:
        """One after the other."""
        return [((f"row {number}"[:cells], "text"),) for number in range(1, 31)]


async def test_rows_below_are_counted_until_they_were_seen(scene: Scene) -> None:
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await scene.settle(pilot)
        scene.app.push_screen(Long())
        await appears(scene, pilot, "rows more: ↓ · y does it")
        below = int(next(iter(re.findall(r"(\d+) rows more", shown(scene)))))
        assert below == 30 - (24 - 8), "no blank that could be a row of the plan"
        assert f"row {30 - below}" in shown(scene)
        assert f"row {30 - below + 1}" not in shown(scene)
        await scene.press(pilot, "down")
        await appears(scene, pilot, f"{below - 1} rows more: ↓")
        await scene.press(pilot, "pagedown", "pagedown", "pagedown")
        await appears(scene, pilot, "row 30")
        await scene.settle(pilot)
        assert "more: ↓" not in shown(scene)
        await pilot.resize_terminal(80, 50)
        await scene.settle(pilot)
        assert "row 1 " in shown(scene)
        assert "more: ↓" not in shown(scene)

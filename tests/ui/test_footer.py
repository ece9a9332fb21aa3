"""The footer: it offers the keys that work now, and none below a dialog."""

from __future__ import annotations

import pytest

from specconsole.ui.widgets.footer import Footer
from tests.ui.scene import Scene, appears, shown


@pytest.mark.parametrize("opened", ["question_mark", "colon", "enter"])
async def test_below_a_dialog_the_footer_offers_nothing(scene: Scene, opened: str) -> None:
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await appears(scene, pilot, "? help")
        below = scene.app.screen.query_one(Footer)
        if opened == "enter":
            await scene.press(pilot, "k")
        await scene.press(pilot, opened)
        assert scene.app.screen is not below.screen
        assert shown(scene).splitlines()[-1].strip() == ""
        await scene.press(pilot, "escape")
        await appears(scene, pilot, "? help")

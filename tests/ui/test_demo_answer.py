"""The demo's own night on the screens: the shipped plan is run on a scenario, and what it leaves is listed, opened, compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from specconsole.history.memory import Memory, path_for
from specconsole.ui.feed.history import KeptHistories
from tests.host.scenario.acting import verb
from tests.ui.scene import Scene, appears, still


@pytest.fixture
def night(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The plan that ships, on a host where n-gram loses, in virtual time; its report is fetched into the history."""
    words = ("run", "does-it-pay", "demo:ngram-loses@600", "--yes", "--to", str(tmp_path / "night"))
    code, _ = verb(monkeypatch, "experiment", *words, limit_s=90.0)
    assert code == 0, capsys.readouterr().err


@pytest.mark.usefixtures("night")
async def test_what_the_demo_found_is_in_the_history_and_compared(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene().fill()
    memory = Memory(path_for("demo"))
    scene.feeds.past = KeptHistories(memory)  # type: ignore[assignment]
    try:
        async with scene.app.run_test(size=(120, 40)) as pilot:
            await scene.settle(pilot)
            await scene.press(pilot, "5", "a", "v", "v", "v", "v")
            await appears(scene, pilot, "1 entry", "does-it-pay", "ngram k=5: does not pay, ")
            await scene.press(pilot, "enter")
            await appears(scene, pilot, "Speculation does not pay", "EAGLE-3 for this model needs vLLM 0.18 or newer")
            await appears(scene, pilot, "2 ngram: done after ", "finished")
            await scene.press(pilot, "escape", "c")
            await appears(scene, pilot, "A baseline 2 starts", "B ngram k=5 1 start", "Speculation does not pay")
            await still(scene, pilot)
            await scene.press(pilot, "G")
            await appears(scene, pilot, "speculation pays where τ is above it")
    finally:
        await memory.close()

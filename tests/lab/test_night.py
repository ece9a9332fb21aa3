"""A short night of `night.py`, always the same one; and that its judge sees a console which calls green what is not."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from specconsole.engine.health import Health
from tests.lab.programs import ROOT
from tests.lab.truth import DOWN, Truth, contradictions
from tests.ui.scene import NGRAM, Scene, engine


def test_a_short_night() -> None:
    argv = [sys.executable, "-m", "tests.lab.night", "--minutes", "0.5", "--seed", "7"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'console'}"}
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-8000:]}{done.stderr[-4000:]}"


@pytest.fixture
def scene() -> Scene:
    return Scene().fill()


@pytest.fixture
async def serving(scene: Scene) -> Any:
    async with scene.app.run_test() as pilot:
        await scene.settle(pilot)
        scene.pilot = pilot  # type: ignore[attr-defined]
        yield scene


def truth(answers: bool, active: str = "active", invocation: str = "a" * 32) -> Truth:
    return Truth(answers, ((NGRAM, active, invocation),))


async def test_a_console_that_is_right_is_left_alone(serving: Any) -> None:
    assert contradictions(serving.app, truth(answers=True)) == {}
    serving.host.cut()
    await serving.settle(serving.pilot)
    assert contradictions(serving.app, DOWN) == {}, "it calls nothing green, and everything stale"


async def test_a_green_server_that_does_not_answer_is_seen(serving: Any) -> None:
    assert "nothing answers" in " ".join(contradictions(serving.app, truth(answers=False)))


async def test_another_start_than_the_one_that_is_told_is_seen(serving: Any) -> None:
    assert "start" in " ".join(contradictions(serving.app, truth(answers=True, invocation="b" * 32)))
    assert "called active" in " ".join(contradictions(serving.app, truth(answers=False, active="failed")))


async def test_a_server_that_answers_and_is_not_called_so_is_seen(serving: Any) -> None:
    serving.feeds.put("engine", engine(Health.SILENT))
    await serving.settle(serving.pilot)
    assert "answers and is called silent" in " ".join(contradictions(serving.app, truth(answers=True)))

"""How a swap ended, as the screen tells it: no green check for what is not proven, or is so no more."""

from __future__ import annotations

import pytest

from specconsole.service.swap import SwapView
from specconsole.service.unit import Unit
from tests.ui.scene import BASE, NGRAM, Scene, appears, shown, unit
from tests.ui.test_swap_screen import STOPPING, note, plan, select_baseline, step, story


@pytest.fixture
def ready(scene: Scene) -> Scene:
    scene.feeds.swaps.plans = [plan()]
    return scene


async def test_what_became_of_the_unit_after_the_end_is_told_instead_of_a_green_check(ready: Scene) -> None:
    ours, begun = "b" * 32, {"event": "started", "unit": BASE, "invocation": "b" * 32}
    done = SwapView(story(*STOPPING, begun, {"event": "end", "outcome": "committed", "why": "serves"}), over=True)

    def as_it_is(active: str, read: float, invocation: str = ours) -> tuple[Unit, ...]:
        state = {"result": "oom-kill"} if active == "failed" else {}
        base = unit(BASE, active, label="baseline", invocation=invocation, read=read, **state)
        return (unit(NGRAM, label="ngram"), base)

    async with ready.app.run_test(size=(120, 40), notifications=True) as pilot:
        await select_baseline(ready, pilot)
        await ready.press(pilot, "S", "y")
        ready.clock.time += 60.0
        now = ready.clock.monotonic()
        ready.feeds.put("units", as_it_is("inactive", now - 30, "a" * 32))  # read before the start: it tells nothing
        ready.feeds.put("swap", done)
        await appears(ready, pilot, "✔ swap to vllm-kimi-k25.service")
        for read in (now - 0.1, now + 1):  # the end may be heard after the death that followed it
            ready.feeds.put("units", as_it_is("failed", read))
            await appears(ready, pilot, "▲ swap to", "since then baseline is failed (oom-kill)")
            assert "✔ swap" not in shown(ready)
            ready.feeds.put("units", as_it_is("active", now + 2))
            await appears(ready, pilot, "✔ swap to vllm-kimi-k25.service")
        ready.feeds.put("units", as_it_is("active", now + 3, "c" * 32))
        await appears(ready, pilot, "since then baseline was started anew")


async def test_an_end_without_a_proof_is_no_green_one(ready: Scene) -> None:
    why = note("generation is not proven: the server asks for a key that was not given") | {"proven": False}
    end = {"event": "end", "outcome": "committed", "why": f"{BASE} answers, but {why['text']}", "advice": ["give it"]}
    async with ready.app.run_test(size=(120, 40), notifications=True) as pilot:
        await select_baseline(ready, pilot)
        await ready.press(pilot, "S", "y")
        ready.feeds.put("swap", SwapView(story(*STOPPING, step("prove"), why, step("prove", "done"), end), over=True))
        await appears(ready, pilot, "▲ swap to", "done, NOT PROVEN", "What to do", "give it")
        assert "✔ swap" not in shown(ready)

"""A start in the load pane, and the benchmark by one key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from specconsole.bench.book import Progress
from specconsole.bench.prompt import load
from specconsole.bench.run import BenchRun, Identity
from specconsole.bench.spec import BenchSpec
from specconsole.bench.stats import Result
from specconsole.engine.health import Health
from specconsole.errors import CommandFailed
from specconsole.host.base import LinkKind
from specconsole.host.carried import Carried
from specconsole.load.timeline import Stage
from specconsole.logs.record import Kind
from specconsole.ui.part.experimenting import LOOK_S
from specconsole.ui.screens.bench import BenchScreen
from specconsole.ui.screens.confirm import ConfirmScreen
from specconsole.ui.screens.dashboard import DashboardScreen
from specconsole.ui.widgets.engine import EnginePane
from specconsole.ui.widgets.load import LoadPane
from tests.ui.scene import BASE, NGRAM, Scene, appears, engine, record, unit, units
from tests.ui.test_dashboard import start, text, title

RUN = BenchRun(
    BenchSpec(prompts=load("default"), repeat=1),
    Identity(host="root@gpu-1", unit=NGRAM, method="ngram", k=5, speculation=True),
)
RESULT = Result(id="code/0", prompt="code", repeat=0, chunks=((20_000_000, 1), (29_000_000, 4), (38_000_000, 7)), status=200,
                sent_at=1.0, prompt_tokens=100, completion_tokens=7, finish="length", text="[/x] done")  # fmt: skip
RUNNING, ENDED = Carried("abc", unit="a.service", running=True), Carried("abc", unit="a.service", why="finished")


def progress(run: BenchRun, done: int, **changes: Any) -> Progress:
    return replace(Progress(run, "measuring", done, 5, {"prose/0": 12}), **changes)


def started(active: str = "active", **changes: Any) -> Any:
    both = units(active)
    return tuple(
        replace(one, state=replace(one.state, mono=1000.0, started_mono=960.0, **changes)) if one.name == NGRAM else one
        for one in both
    )


def shards(done: int) -> Any:
    said = f"Loading safetensors checkpoint shards: {done * 25:3d}% Completed | {done}/4 [00:01<00:01,  1.00s/it]"
    return record(done + 1, said, kind=Kind.BAR, unit=NGRAM, invocation="")


async def test_the_engine_is_asked_of_the_unit_that_runs(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        scene.feeds.put("units", units("inactive"))
        await scene.settle(pilot)
        assert "engine" not in scene.feeds.opened
        scene.feeds.put("units", units())
        await scene.settle(pilot)
        assert "systemd runs it; asking its server" in text(scene), "nothing was answered yet"
        scene.feeds.put("engine", engine(Health.REFUSED, reason="Nothing listens at 127.0.0.1:8000."))
        await scene.settle(pilot)
        assert "◐ loading —  ready: no history yet" in title(scene, "load")
        assert "◐ ngram    loading" in text(scene)
        assert "◐ loading —" in text(scene), "when it began is not known"
        scene.feeds.put("engine", engine(Health.DEAD, reason="/health answers 503."))
        await scene.settle(pilot)
        assert "✖ the engine has died" in title(scene, "engine")
        assert "/health answers 503." in text(scene)
        scene.feeds.put("engine", engine())
        await scene.settle(pilot)
        assert "● ngram    serving" in text(scene)
        scene.feeds.put("units", units())
        await scene.settle(pilot)
        assert scene.feeds.opened.count("engine") == 1, "the same unit's engine goes on being asked"
        scene.feeds.put("engine", engine(Health.REFUSED))
        await scene.settle(pilot)
        assert "▲ ngram    not answering" in text(scene), "it answered before, so it does not load"
        scene.feeds.put("units", (unit(NGRAM, label="ngram"), unit(BASE, "active", label="baseline")))
        await scene.settle(pilot)
        assert scene.app.selected == BASE, "nothing was picked, so the unit that runs is shown"
        assert scene.feeds.opened.count("engine") == 2
        assert scene.app.engine is None, "the other unit's numbers are not this one's"


async def test_a_start_is_told_from_weights_to_ready(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        scene.feeds.put("units", started())
        await scene.settle(pilot)
        scene.feeds.put("log", [shards(0), shards(3)])
        scene.feeds.put("engine", engine(Health.REFUSED, reason="Nothing listens."))
        await scene.settle(pilot)
        assert "◐ loading 0:40" in text(scene)
        assert "▶ weights 3/4" in text(scene)
        scene.feeds.put("engine", engine())
        await scene.settle(pilot)
        assert scene.feeds.proofs == [NGRAM], "a server that was seen to come up is asked for one token"
        assert "answering; generating one token" in title(scene, "engine")
        stages = [attempt.stage for attempt in scene.feeds.remembered]
        assert stages == [Stage.LOADING, Stage.ANSWERING]


async def test_who_comes_late_generates_nothing(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot)
        assert "● answering" in title(scene, "engine")
        assert scene.feeds.proofs == []


async def test_a_failed_start_says_why(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        scene.feeds.put("units", started())
        await scene.settle(pilot)
        scene.feeds.put("log", [record(1, "ValueError: no [/room] left", unit=NGRAM, invocation="")])
        await scene.settle(pilot)
        scene.feeds.put("units", started("failed", result="exit-code", exit_code="exited", exit_status=1))
        await scene.settle(pilot)
        assert "it exited with an error (exited 1)" in text(scene)
        assert "ValueError: no [/room] left" in text(scene)


async def test_b_measures_and_the_tables_fill_in(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        scene.feeds.put("engine", engine(running=0, waiting=0))
        await start(scene, pilot, "b")
        assert isinstance(scene.app.screen, BenchScreen)
        scene.feeds.put("bench", progress(RUN, 0))
        await scene.settle(pilot)
        assert "▶ measuring" in text(scene)
        assert "prose/0 12 tokens" in text(scene)
        scene.feeds.put("bench", progress(replace(RUN, results=(RESULT,)), 1))
        await scene.settle(pilot)
        assert "3.000" in text(scene), "18 ms for 6 tokens after the first chunk"
        scene.feeds.put("bench", progress(replace(RUN, results=(RESULT,), why="finished"), 1))
        await scene.settle(pilot)
        assert "✔ finished" in text(scene)
        await scene.press(pilot, "y")
        assert scene.app.clipboard.count("| code |") == 1
        await scene.press(pilot, "escape")
        assert isinstance(scene.app.screen, DashboardScreen)
        await scene.press(pilot, "3")
        assert isinstance(scene.app.screen, BenchScreen)


async def test_a_run_that_the_host_carries_is_picked_up_on_connecting(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    scene.feeds.lies = RUNNING
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot)
        assert scene.feeds.joined == "abc"
        assert scene.app.measuring
        scene.feeds.put("bench", progress(replace(RUN, results=(RESULT,)), 1))
        await scene.press(pilot, "3")
        await appears(scene, pilot, "3.000")
        await scene.press(pilot, "x")
        assert scene.feeds.cancels[0].is_set()


@pytest.mark.parametrize("sign", ["requests", "key", "link", "units"])
async def test_one_that_another_console_begins_is_found_once(sign: str, scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        scene.feeds.put("engine", engine(running=0, waiting=0))
        await start(scene, pilot)
        scene.feeds.lies = RUNNING
        await scene.clock.advance(LOOK_S)
        if sign == "units":
            scene.feeds.put("units", units("inactive"))
        elif sign == "link":
            scene.host.set_link(LinkKind.LOST)
            await scene.settle(pilot)
            scene.host.set_link(LinkKind.UP)
        elif sign == "key":
            await scene.press(pilot, "3")
        else:
            scene.feeds.put("engine", engine(running=1, waiting=0))
        await appears(scene, pilot, "A benchmark goes on on this host; key 3 shows it.")
        scene.feeds.put("bench", progress(replace(RUN, id="abc", results=(RESULT,)), 1))
        await scene.press(pilot, "3", "1", "3")
        await appears(scene, pilot, "3.000")
        scene.feeds.put("bench", progress(replace(RUN, id="abc", results=(RESULT,), why="finished"), 1))
        scene.feeds.put("bench", CommandFailed("It is over."))
        await appears(scene, pilot, "✖ It is over.")
        await scene.press(pilot, "1", "3", "1", "3")
        assert (scene.feeds.joined, len(scene.feeds.cancels)) == ("abc", 1)


async def test_requests_are_a_reason_to_look_once_a_minute_and_no_reason_for_what_has_ended(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot)
        for running, seconds, lies in ((0, 0.0, RUNNING), (1, 0.0, RUNNING), (0, 0.0, ENDED), (1, LOOK_S, ENDED)):
            await scene.clock.advance(seconds)
            scene.feeds.lies = lies
            scene.feeds.put("engine", engine(running=running, waiting=0))
            await scene.settle(pilot)
        assert scene.feeds.joined == ""


async def test_requests_of_others_are_asked_about_and_no_is_the_default(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "b")
        assert isinstance(scene.app.screen, ConfirmScreen)
        said = " ".join(text(scene).replace("│", " ").split())
        assert "requests of others were running on ngram at " in said
        assert "12 requests and some to warm up" in said
        assert "1:00 to 2:30 by earlier runs" in said
        await scene.press(pilot, "enter")
        assert "bench" not in scene.feeds.opened
        await scene.press(pilot, "b", "y")
        await scene.settle(pilot)
        assert scene.feeds.opened.count("bench") == 1


async def test_x_ends_a_run(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        scene.feeds.put("engine", engine(running=0, waiting=0))
        await start(scene, pilot, "b", "b", "x")
        assert scene.feeds.opened.count("bench") == 1, "one run at a time"
        assert [event.is_set() for event in scene.feeds.cancels] == [True]


async def test_a_run_that_cannot_begin_says_why(scene: Scene) -> None:
    async with scene.app.run_test(size=(80, 24)) as pilot:
        scene.feeds.put("engine", engine(running=0, waiting=0))
        await start(scene, pilot, "b")
        scene.feeds.put("bench", CommandFailed("The host has no Python [/b]."))
        await scene.settle(pilot)
        assert "✖ The host has no Python [/b]." in text(scene)


async def test_nothing_is_measured_where_nothing_answers(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        scene.feeds.put("units", (unit(),))
        await start(scene, pilot, "b")
        assert "No unit runs: there is nothing to measure." in text(scene)


async def test_read_only_has_no_benchmark(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene(read_only=True).fill()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "b")
        assert isinstance(scene.app.screen, DashboardScreen)
        assert "bench" not in scene.feeds.opened
        assert "benchmark" not in str(scene.app.screen.query_one("Footer").render_line(0).text)


async def test_r_asks_a_host_that_refused_once_more_and_all_begins_anew(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "r")
        assert scene.host.retries == 0, "the link stands"
        scene.host.set_link(LinkKind.REFUSED, reason="The password was refused.")
        await start(scene, pilot, "r")
        assert scene.host.retries == 1
        before = scene.feeds.opened.count("fleets")
        scene.host.set_link(LinkKind.CONNECTING)
        await scene.settle(pilot)
        scene.host.set_link(LinkKind.UP)
        await scene.settle(pilot)
        assert scene.feeds.opened.count("fleets") == before + 1


async def test_the_load_stands_where_the_engine_stands(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        scene.feeds.put("units", units())
        scene.feeds.put("engine", engine(Health.REFUSED, reason="Nothing listens at 127.0.0.1:8000."))
        await scene.settle(pilot)
        load, served = scene.app.screen.query_one(LoadPane), scene.app.screen.query_one(EnginePane)
        assert (load.display, served.display) == (True, False)
        load.focus()
        await scene.settle(pilot)
        scene.feeds.put("engine", engine())
        await scene.settle(pilot)
        assert (load.display, served.display) == (False, True)
        assert served.has_focus, "the place in focus keeps it, whatever stands there"

"""Reading the log by keys and mouse, on the dashboard and on its own screen; the same log, the same place on both."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from specconsole.logs.record import Level
from specconsole.ui.screens.help import HelpScreen
from specconsole.ui.screens.log import LogScreen
from specconsole.ui.screens.record import RecordScreen
from specconsole.ui.widgets.footer import Footer
from specconsole.ui.widgets.log import LogPane
from specconsole.ui.widgets.log_view import LogView
from tests.ui.scene import BASE, Scene, record, shown


def pane(scene: Scene) -> LogPane:
    return scene.app.screen.query_one(LogPane)


def title(scene: Scene) -> str:
    return str(pane(scene).query_exactly_one(".pane--title").render_line(0).text)


def footer(scene: Scene) -> str:
    return scene.app.screen.query_one(Footer).render_line(0).text


def under_cursor(scene: Scene) -> str:
    found = pane(scene).reading.window.current()  # type: ignore[union-attr]
    return found.text if found else ""


async def start(scene: Scene, pilot: Pilot[Any], *keys: str) -> None:
    await scene.settle(pilot)
    for view in scene.app.screen.query(LogView):
        while view._waiting or view._sweeping:  # new lines are taken in a moment later
            await pilot.pause(0.01)
    await scene.press(pilot, *keys)


async def saved(scene: Scene, pilot: Pilot[Any]) -> None:
    if saving := [worker for worker in scene.app.workers if worker.group == "log save"]:
        await scene.app.workers.wait_for_complete(saving)
    await scene.settle(pilot)


def ranks(scene: Scene) -> None:
    """Eight ranks say the same, then one says something else."""
    said = [record(60, "weights are loaded", rank=i, process=f"Worker_TP{i}", pid=i) for i in range(8)]
    scene.feeds.put("log", [*said, record(70, "only this rank", rank=3, process="Worker_TP3", pid=3)])


async def test_the_log_screen_shows_the_same_place(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "slash", *"cache", "enter", "N", "2")
        assert isinstance(scene.app.screen, LogScreen)
        assert '"cache" 1/1' in title(scene)
        assert under_cursor(scene).startswith("GPU KV cache size")
        assert shown(scene).count("Running: 3 reqs") > 20, "it has the whole screen"
        await start(scene, pilot, "escape", "escape", "2")
        assert "cache" not in title(scene)
        await start(scene, pilot, "G", "1")
        assert "following" in title(scene)


async def test_a_hidden_screen_costs_nothing_and_catches_up(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "2")
        hidden = scene.app._screen_stacks["dashboard"][0].query_one(LogView)
        painted: list[object] = []
        hidden.refresh = painted.append  # type: ignore[method-assign, assignment]
        scene.feeds.put("log", [record(61, "while it was hidden")])
        await start(scene, pilot)
        assert "while it was hidden" in shown(scene)
        assert not painted
        del hidden.refresh
        await start(scene, pilot, "1")
        assert "while it was hidden" in shown(scene)


async def test_searching_as_one_types(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await start(scene, pilot, "2", "slash", *"nccl")
        assert "search text" in shown(scene)
        assert '"nccl" 1/1' in shown(scene)
        assert under_cursor(scene).startswith("NCCL unhandled"), "capitals do not matter, and it is gone to"
        await start(scene, pilot, *["backspace"] * 4, *"Running: 3")
        assert '"Running: 3" 51/51' in shown(scene)
        assert "following" in title(scene), "hits are in view where the search began: it stays there"
        await start(scene, pilot, "enter", "N", "N")
        assert '"Running: 3" 49/51' in title(scene)
        await start(scene, pilot, "n", "n", "n")
        assert "There is no later hit." in shown(scene)
        scene.feeds.put("log", [record(61, "Running: 3 again")])
        await start(scene, pilot)
        assert '"Running: 3" 51/52' in title(scene)
        await start(scene, pilot, "n")
        assert '"Running: 3" 52/52' in title(scene)


async def test_dropping_a_search_leads_back(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "slash", *"nccl")
        assert "held" in title(scene)
        await start(scene, pilot, "escape")
        assert "following" in title(scene)
        assert "nccl" not in shown(scene)
        await start(scene, pilot, "slash", "up")
        assert "no hit" not in shown(scene)


async def test_an_expression_and_a_wrong_one(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "2", "slash", "ctrl+r", *"7[12]\\.. tok")
        assert "search /regex/" in shown(scene)
        assert r"/7[12]\.. tok/ 15/15" in shown(scene)
        await start(scene, pilot, *"(")
        assert r"/7[12]\.. tok(/ invalid" in shown(scene)
        await start(scene, pilot, "enter", "N")
        assert "invalid" in title(scene)
        await start(scene, pilot, "escape", "slash", "up")
        assert r"7[12]\.. tok(" in shown(scene), "what was typed can be had again"


async def test_the_keys_of_the_line_are_shown_and_no_others(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot)
        assert "/ search" in footer(scene)
        assert "n next" not in footer(scene), "there is no search yet"
        await start(scene, pilot, "slash", *"a/+ ")
        assert pane(scene).prompt.line.value == "a/+ "
        assert "^r text or regex" in footer(scene)
        assert "Esc drop" in footer(scene)
        assert not [key for key in ("q quit", "/ search", "+ rate", "Space") if key in footer(scene)]
        await start(scene, pilot, "backspace", "backspace", "backspace", "enter")
        assert "n next" in footer(scene)
        assert "Esc clear" in footer(scene)


async def test_filters_are_said_and_cleared(scene: Scene) -> None:
    ranks(scene)
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "2", "v")
        assert "only warnings and errors  4 entries" in title(scene)
        await start(scene, pilot, "v", "f", *"nccl", "enter")
        assert 'only errors, "nccl"' in title(scene)
        assert "NCCL" in shown(scene)
        await start(scene, pilot, "escape", "p", "p", "p", "p")
        assert "only TP3" in title(scene)
        assert "weights are loaded" in shown(scene), "a rank's own log holds what it repeats"
        await start(scene, pilot, "P", "P", "P", "P")
        assert "only" not in title(scene)
        await start(scene, pilot, "f", *"nothing like it")
        assert "38 lines are missing" in shown(scene), "a gap stays in view"
        await start(scene, pilot, "escape")
        assert "only" not in title(scene)
        await start(scene, pilot, "f", "ctrl+r", "(")
        assert "invalid" in shown(scene)
        assert "Running: 3 reqs" in shown(scene), "a wrong expression hides nothing"


async def test_a_filter_that_takes_for_ever_is_said(scene: Scene) -> None:
    scene.feeds.put("log", [record(61, "a" * 60 + "b")])
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "2", "f", "ctrl+r", *"(a+)+$", "enter")
        assert "too slow" in title(scene)
        await start(scene, pilot, "escape")
        assert "Running: 3 reqs" in shown(scene)


async def test_selecting_a_unit_shows_it_whatever_was_shown(scene: Scene) -> None:
    scene.feeds.put(f"log {BASE}", [record(61, "the baseline speaks", unit=BASE)])
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "u", "u")
        assert "all units" in title(scene)
        scene.app.select(BASE)
        await start(scene, pilot)
        assert "vllm-kimi-k25 " in title(scene)


async def test_a_filter_and_a_search_go_on_with_new_lines(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "2", "v", "slash", *"oom", "enter")
        new = [record(61, "oom"), record(62, "OOM", level=Level.ERROR), record(63, "fine", level=Level.ERROR)]
        scene.feeds.put("log", new)
        await start(scene, pilot)
        assert '"oom" 1' in title(scene)
        assert "OOM" in shown(scene)
        assert "6 entries" in title(scene)


async def test_what_all_ranks_say_is_one_line(scene: Scene) -> None:
    ranks(scene)
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "2")
        assert "weights are loaded  ×8" in shown(scene)
        assert shown(scene).count("weights are loaded") == 1
        await start(scene, pilot, "x")
        assert shown(scene).count("weights are loaded") == 8
        assert "×8" not in shown(scene)


async def test_units_go_round_and_are_named_together(scene: Scene) -> None:
    scene.feeds.put(f"log {BASE}", [record(61, "the baseline speaks", unit=BASE)])
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "2", "u")
        assert "the baseline speaks" in shown(scene)
        assert "vllm-kimi-k25 " in title(scene)
        await start(scene, pilot, "u")
        assert "all units" in title(scene)
        assert "i-k25-ngram" in shown(scene)
        await start(scene, pilot, "u")
        assert "the baseline speaks" not in shown(scene)


async def test_wrapping_shows_the_whole_line(scene: Scene) -> None:
    scene.feeds.put("log", [record(61, "begin " + "漢" * 199 + " end")])
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await start(scene, pilot, "2")
        assert " end" not in shown(scene)
        await start(scene, pilot, "w")
        assert " end" in shown(scene)
        assert "›" not in shown(scene)
        await start(scene, pilot, "k", "k", "k", "k", "w")
        assert under_cursor(scene).startswith("begin"), "the cursor stays on its line"


async def test_a_hit_far_to_the_right_is_brought_into_view(scene: Scene) -> None:
    scene.feeds.put("log", [record(61, "x" * 50_000 + " needle " + "y" * 40_000)])
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await start(scene, pilot, "2", "slash", *"needle", "enter")
        assert "needle" in shown(scene).split("\n", 2)[2].replace('"needle"', "")
        assert "⇤" in title(scene)


async def test_details_of_the_record_under_the_cursor(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "E", "enter")
        assert isinstance(scene.app.screen, RecordScreen)
        for words in ("2023-11-14 22:03:26.000 +0000", "level         error", "pid           4712", "RuntimeError: x"):
            assert words in shown(scene)
        await start(scene, pilot, "j", "G", "g", "pagedown", "y")
        assert scene.app.clipboard.startswith(
            "2023-11-14 22:03:26.000 +0000 ERROR    vllm-kimi-k25-ngram EngineCore_DP0 NCCL"
        )
        await start(scene, pilot, "escape")
        assert not isinstance(scene.app.screen, RecordScreen)
        await start(scene, pilot, "G", "enter")
        assert "Engine 000" in shown(scene), "following, it is the newest one"


async def test_marks(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await start(scene, pilot, "2", "apostrophe")
        assert "Nothing is marked" in shown(scene)
        await start(scene, pilot, "E", "m", "k", "k", "m")
        assert shown(scene).count("⚑") == 2
        await start(scene, pilot, "G", "apostrophe")
        assert under_cursor(scene).startswith("Model loading took")
        await start(scene, pilot, "apostrophe")
        assert under_cursor(scene).startswith("NCCL")
        await start(scene, pilot, "quotation_mark", "m", "quotation_mark")
        assert under_cursor(scene).startswith("NCCL")
        assert shown(scene).count("⚑") == 1


async def test_going_to_a_time(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await start(scene, pilot, "2", "at", *"soon", "enter")
        assert "no time" in shown(scene)
        await start(scene, pilot, *["backspace"] * 4, *"@1699999430", "enter")
        assert scene.app.screen.query_one(LogPane).reading.window.current().at == 1_699_999_430  # type: ignore[union-attr]
        await start(scene, pilot, "at", *"-1s", "enter")
        assert "Nothing in this log is that late." in shown(scene)
        await start(scene, pilot, "at", *"-3h", "enter")
        assert "This log does not go back that far" in shown(scene)
        assert under_cursor(scene).startswith("Starting vLLM")


async def test_saving_what_is_shown(scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await start(scene, pilot, "2", "v", "s")
        assert pane(scene).prompt.line.value == "vllm-kimi-k25-ngram-2023-11-14-221320.log"
        await start(scene, pilot, "enter")
        await saved(scene, pilot)
        (written,) = tmp_path.iterdir()
        assert stat.S_IMODE(written.stat().st_mode) == 0o600
        assert f"4 entries are in {written}" in shown(scene).replace("\n", " ") or written.name in shown(scene)
        assert len([line for line in written.read_text().splitlines() if not line.startswith(" ")]) == 4
        scene.app.clear_notifications()
        await start(scene, pilot, "s", "enter")
        await saved(scene, pilot)
        assert "there is such a file" in shown(scene)
        line = pane(scene).prompt.line
        line.value = str(tmp_path / "none" / "x.log")
        await start(scene, pilot, "enter")
        await saved(scene, pilot)
        assert "No such file" in shown(scene)


async def test_copying_the_record_under_the_cursor(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "2", "y")
        assert scene.app.clipboard.count("\n") > 20, "following: all that is in view"
        await start(scene, pilot, "E", "y")
        assert scene.app.clipboard.endswith("RuntimeError: x")


@pytest.mark.parametrize("wrap", [False, True])
async def test_no_text_breaks_it(scene: Scene, wrap: bool) -> None:
    evil = [
        "x" * 90_000,
        "漢👍🏽é" * 20_000,
        "\t" * 500 + "tab",
        "שלום عربى \u202eevil\u2066",
        "a\n" * 5_000,
        "",
        "\n",
        "\u0301" * 300,
    ]
    scene.feeds.put("log", [record(61 + i, text) for i, text in enumerate(evil)])
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await start(scene, pilot, "2", *(["w"] if wrap else []))
        for keys in (
            "k",
            "pageup",
            "pageup",
            "l",
            "l",
            "h",
            "slash",
            "x",
            "enter",
            "N",
            "N",
            "enter",
            "escape",
            "y",
            "g",
            "G",
        ):
            await start(scene, pilot, keys)
            assert {strip.cell_length for strip in scene.app.screen._compositor.render_strips()} == {80}
        assert not set(shown(scene)) & set("\u202e\u2066\t\x1b")
        for size in ((20, 6), (1, 1), (200, 50)):
            await pilot.resize_terminal(*size)
            await scene.settle(pilot)


async def test_the_help_tells_the_keys_of_the_log(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 200)) as pilot:
        await start(scene, pilot, "2", "question_mark")
        assert isinstance(scene.app.screen, HelpScreen)
        for words in ("Search the log as you type", "Mark the record under the cursor", "Keys: log", "×8"):
            assert words in shown(scene)


async def test_read_only_hosts_have_all_of_it() -> None:
    scene = Scene(read_only=True).fill()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "2", "slash", *"gpu", "enter")
        assert '"gpu" 1/1' in title(scene)

"""The console driven by keys and by what comes from the host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.events import MouseScrollUp
from textual.pilot import Pilot

from specconsole.errors import CommandFailed
from specconsole.host.base import LinkKind
from specconsole.ui.screens.dashboard import DashboardScreen
from specconsole.ui.screens.help import HelpScreen
from specconsole.ui.widgets.footer import Footer
from specconsole.ui.widgets.pane import Pane
from tests.ui.scene import BASE, NGRAM, Scene, fleet, record

SIZES = [(80, 24), (120, 40), (200, 50)]


def text(scene: Scene) -> str:
    """All that is on the screen, a line a row."""
    strips = scene.app.screen._compositor.render_strips()
    return "\n".join(strip.text for strip in strips)


def pane(scene: Scene, name: str) -> Pane:
    return next(one for one in scene.app.screen.query(Pane) if name == one.NAME)


def title(scene: Scene, name: str) -> str:
    return str(pane(scene, name).query_exactly_one(".pane--title").render_line(0).text)


async def start(scene: Scene, pilot: Pilot[Any], *keys: str) -> None:
    await scene.settle(pilot)
    await scene.press(pilot, *keys)


@pytest.mark.parametrize("size", SIZES)
async def test_essentials_are_in_view_at_every_size(scene: Scene, size: tuple[int, int]) -> None:
    async with scene.app.run_test(size=size) as pilot:
        await start(scene, pilot)
        shown = text(scene)
    wanted = ["root@gpu-1 ● up 12 ms", "Kimi-K2.5-INT4", "ngram k=5", "22:13:20", "read/write"]
    wanted += ["● ngram", "serving", "○ baseline", "stopped", "38 min"]
    wanted += ["739/765 GiB", "2.39 kW", "no fault seen", "288", "61°", "99%"]
    wanted += ["● answering", "running 3", "73.5 tok/s", "TPOT 13.60 ms", "τ 1.69", "AL 2.40"]
    wanted += ["following", "60 entries", "Running: 3 re", "? help", "q quit"]
    assert [part for part in wanted if part not in shown] == []


@pytest.mark.parametrize("size", SIZES)
async def test_live_resize(scene: Scene, size: tuple[int, int]) -> None:
    async with scene.app.run_test(size=(200, 50)) as pilot:
        await start(scene, pilot)
        for step in ((60, 20), (81, 25), (130, 60), (40, 12), size):
            await pilot.resize_terminal(*step)
            await scene.settle(pilot)
        resized = text(scene)
    fresh = Scene().fill()
    async with fresh.app.run_test(size=size) as pilot:
        await start(fresh, pilot)
        assert text(fresh) == resized


@pytest.mark.parametrize("size", [(20, 5), (1, 1), (60, 8), (300, 100)])
async def test_no_size_breaks_it(scene: Scene, size: tuple[int, int]) -> None:
    async with scene.app.run_test(size=size) as pilot:
        await start(scene, pilot, "tab", "tab", "j", "question_mark", "escape")
        assert scene.app.is_running


async def test_before_anything_came(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot)
        shown = text(scene)
    assert "looking for units…" in shown
    assert "waiting for the first sample…" in shown
    assert "waiting for the units…" in shown
    assert "no entries yet" in shown
    assert "0/0" not in shown


async def test_a_host_without_vllm(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    scene.feeds.put("units", ())
    scene.feeds.put("fleets", fleet(0, source="none", why="nvidia-smi is not there [/x]"))
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "j", "e", "G", "y")
        shown = text(scene)
    assert "no vLLM unit was found" in shown
    assert "no GPU evidence: nvidia-smi is not there [/x]" in shown


async def test_a_lost_link_makes_everything_stale_and_nothing_green(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot)
        scene.host.set_link(LinkKind.LOST, attempt=3, next_try=scene.clock.monotonic() + 9)
        await scene.settle(pilot)
        scene.clock.time += 5
        scene.app.tick()
        await scene.settle(pilot)
        shown = text(scene)
        assert "✖ lost, attempt 3, next try in 4 s" in shown
        for name in ("units", "GPUs", "engine", "log"):
            assert "◌ stale 5 s" in title(scene, name)
        assert "● ngram    running" in shown, "whether it serves is not known any more"
        assert "38 min" in shown, "the time in a state stops with the link"
        good = scene.app.screen.query_one(Footer).ink("good").color
        strips = scene.app.screen._compositor.render_strips()
        assert not [seg.text for strip in strips for seg in strip if seg.style and seg.style.color == good]


async def test_old_samples_are_stale(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot)
        for wait, engine in ((5, "5 s"), (2, "◌ stale 7 s")):  # a server is asked every two seconds
            scene.clock.time += wait
            scene.app.tick()
            await scene.settle(pilot)
            assert engine in title(scene, "engine").replace("◌ stale 5 s", "")
        assert "◌ stale 7 s" in title(scene, "GPUs")
        assert "live" in title(scene, "units")
        assert "quiet for 7 s" in title(scene, "log")


async def test_a_source_that_fails_says_why_in_its_pane(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await start(scene, pilot)
        scene.feeds.put("log", CommandFailed("journalctl is missing."))
        scene.feeds.put("fleets", RuntimeError("[/boom]"))
        await scene.settle(pilot)
        assert "✖ journalctl is missing." in title(scene, "log")
        assert "✖ RuntimeError: [/boom]" in title(scene, "GPUs")
        assert scene.app.is_running
        await scene.clock.advance(20)
        scene.feeds.put("fleets", fleet())
        await scene.settle(pilot)
        assert "✖" not in title(scene, "GPUs")


async def test_help_explains_the_focused_pane_and_closes_by_three_keys(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        for close in ("escape", "q", "question_mark"):
            await start(scene, pilot, "question_mark")
            assert isinstance(scene.app.screen, HelpScreen)
            assert "The pane in focus: log" in text(scene)
            await start(scene, pilot, close)
            assert isinstance(scene.app.screen, DashboardScreen)
        await start(scene, pilot, "shift+tab", "question_mark")
        assert "The pane in focus: engine" in text(scene)
        await start(scene, pilot, "j", "down", "k")


async def test_q_leaves_at_once(scene: Scene) -> None:
    async with scene.app.run_test() as pilot:
        await start(scene, pilot, "q")
        assert not scene.app.is_running
    assert scene.app.return_code == 0


async def test_tab_goes_round_the_panes(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot)
        seen = []
        for _ in range(5):
            focused = scene.app.focused
            assert isinstance(focused, Pane)
            seen.append(focused.NAME)
            assert title(scene, focused.NAME).startswith("▌")
            await start(scene, pilot, "tab")
        assert seen == ["log", "units", "GPUs", "engine", "log"]
        await start(scene, pilot, "shift+tab")
        assert scene.app.focused is pane(scene, "log")


async def test_selecting_a_unit_shows_its_log(scene: Scene) -> None:
    scene.feeds.put(f"log {BASE}", [record(61, "the baseline speaks", unit=BASE)])
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot)
        assert scene.app.selected == NGRAM, "the unit that runs is selected first"
        assert "the baseline speaks" not in text(scene)
        await start(scene, pilot, "tab", "j")
        assert scene.app.selected == BASE
        assert "the baseline speaks" in text(scene)
        assert "› ○ baseline" in text(scene)
        await start(scene, pilot, "down", "k", "up", "up")
        assert scene.app.selected == NGRAM
        await pilot.click(pane(scene, "units"), offset=(5, 2))
        await scene.settle(pilot)
        assert scene.app.selected == BASE


async def test_keys_of_the_log_work_from_every_pane(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "tab", "g")
        assert "Starting vLLM for Kimi" in text(scene)
        assert "▮ held  G follows" in title(scene, "log")
        scene.feeds.put("log", [record(61 + i, f"new {i}") for i in range(3)])
        await scene.settle(pilot)
        assert "▮ held, 3 new entries" in title(scene, "log")
        assert "new 2" not in text(scene)
        await start(scene, pilot, "G")
        assert "following" in title(scene, "log")
        assert "new 2" in text(scene)
        await start(scene, pilot, "space")
        assert "▮ held" in title(scene, "log")
        await start(scene, pilot, "space")
        assert "following" in title(scene, "log")


async def test_errors_are_found(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await start(scene, pilot, "E")
        assert "✖ Engine0  NCCL unhandled system error" in text(scene)
        await start(scene, pilot, "e")
        assert "There is no later error in this log" in text(scene)


async def test_scrolling_the_log(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "pageup", "pageup", "pageup", "pageup")
        assert "Starting vLLM" in text(scene)
        await start(scene, pilot, "j", "down", "k", "up", "pagedown")
        assert "▮ held" in title(scene, "log")
        await start(scene, pilot, *["pagedown"] * 5)
        assert "following" in title(scene, "log")
        view = pane(scene, "log").query_one("LogView")
        await pilot._post_mouse_events([MouseScrollUp], view, offset=(5, 5))
        await scene.settle(pilot)
        assert "▮ held" in title(scene, "log")


async def test_long_lines_are_seen_sideways(scene: Scene) -> None:
    scene.feeds.put("log", [record(61, "0123456789" * 9000)])
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await start(scene, pilot)
        assert "›" in text(scene)
        await start(scene, pilot, "l", "right")
        assert "⇤ 32 cells" in title(scene, "log")
        assert "2345678901" in text(scene)
        await start(scene, pilot, "h", "left", "left")
        assert "⇤" not in title(scene, "log")


async def test_the_rate_changes_within_its_bounds(scene: Scene) -> None:
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await start(scene, pilot, *["plus"] * 6)
        assert scene.feeds.rates[-1] == 0.1
        await start(scene, pilot, *["minus"] * 9)
        assert scene.feeds.rates[-1] == 5.0


async def test_copy_takes_the_panes_text(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "y")
        assert "Engine 000: Avg generation throughput" in scene.app.clipboard
        await start(scene, pilot, "tab", "tab", "y")
        assert "92.8/95.6 GiB" in scene.app.clipboard
        assert "739/765 GiB" in scene.app.clipboard


async def test_themes_go_round_and_are_remembered(make_scene: Callable[..., Scene], tmp_path: Path) -> None:
    scene = make_scene(state=tmp_path).fill()
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await scene.settle(pilot)
        seen = []
        for _ in scene.app.theme_names:
            seen.append(scene.app.theme)
            await start(scene, pilot, "t")
        assert sorted(seen) == sorted(scene.app.theme_names)
        assert seen[0] == "dark"
        await start(scene, pilot, "t")
        chosen = scene.app.theme
    assert make_scene(state=tmp_path).app.theme == chosen
    assert make_scene(state=tmp_path, theme_name="light").app.theme == "light"


async def test_an_unknown_theme_is_a_notice(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene(theme_name="blurple").fill()
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await start(scene, pilot)
        assert "There is no theme blurple" in text(scene)
        assert scene.app.theme == "dark"


@pytest.mark.parametrize(
    ("typed", "done"),
    [
        ("baseline", lambda app: app.selected == BASE),
        ("theme light", lambda app: app.theme == "light"),
        ("oldest line", lambda app: app.screen_stack[0].log_pane.reading.window.following is False),
        ("leave", lambda app: not app.is_running),
    ],
)
async def test_the_palette_finds_commands_units_and_themes(
    scene: Scene, typed: str, done: Callable[[Any], bool]
) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "colon")
        assert not done(scene.app)
        await start(scene, pilot, *(key.replace(" ", "space") for key in typed))
        while searches := [worker for worker in scene.app.workers if worker.node is scene.app.screen]:
            await scene.app.workers.wait_for_complete(searches)
        await start(scene, pilot, "enter")
        assert done(scene.app)


async def test_a_users_keys_take_the_place_of_ours(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene(keymap={"app.theme": "T", "app.quti": "x"}).fill()
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await start(scene, pilot, "t")
        assert scene.app.theme == "dark"
        assert "app.quti" in text(scene)
        assert "T theme" in text(scene)
        await start(scene, pilot, "T")
        assert scene.app.theme != "dark"


async def test_read_only_is_said(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene(read_only=True).fill()
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await start(scene, pilot)
        assert "read-only" in text(scene)


async def test_the_footer_shows_live_keys_and_takes_clicks(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot)
        shown = scene.app.screen.query_one(Footer).render_line(0).text
        assert shown.strip().startswith("? help  q quit")
        assert not [word for word in ("swap", "restart") if word in shown]
        await pilot.click(Footer, offset=(shown.index("theme"), 0))
        await scene.settle(pilot)
        assert scene.app.theme != "dark"


async def test_a_click_focuses_a_pane(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot)
        for name in ("GPUs", "engine", "units", "log"):
            await pilot.click(pane(scene, name), offset=(8, 1))
            await scene.settle(pilot)
            assert scene.app.focused is pane(scene, name)


async def test_a_fault_of_ours_ends_in_one_sentence(
    make_scene: Callable[..., Scene], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = make_scene(state=tmp_path).fill()

    def fail() -> None:
        secret = "s3cret"  # noqa: F841  a traceback with values would show it
        raise ZeroDivisionError("[/boom]")

    async def run() -> None:
        async with scene.app.run_test(size=(120, 40)) as pilot:
            await start(scene, pilot)
            scene.app.call_later(fail)
            await scene.settle(pilot)

    with pytest.raises(ZeroDivisionError):
        await run()
    said = capsys.readouterr().err
    assert "The console failed: ZeroDivisionError: [/boom]." in " ".join(said.split())
    assert "s3cret" not in said
    assert "Traceback" in (tmp_path / "specconsole.log").read_text()

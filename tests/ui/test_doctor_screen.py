"""The doctor's screen: it looks when opened and on request, keeps what it knew, and says why it could not look."""

from __future__ import annotations

from specconsole.errors import CommandFailed
from specconsole.host.base import LinkKind
from specconsole.service.check import Check, Level
from specconsole.ui.rows.doctor import check_rows, summary_row
from specconsole.ui.rows.row import plain, width
from tests.ui.scene import Scene, appears, shown

CHECKS = (
    Check("link", Level.OK, "A round trip takes 12.0 ms.", "commands go over this one link"),
    Check(
        "rights", Level.LIMITED, "Logged in as ops.", "reading", "starting units", "echo 'ops ALL' > /etc/sudoers.d/x"
    ),
    Check("python", Level.MISSING, "There is none.", "logs", "the probe", "apt-get install -y python3"),
    Check("clock", Level.UNKNOWN, "The host's clock was not compared yet."),
)


def test_what_is_missing_stands_first_and_what_works_last() -> None:
    lines = [plain(row) for row in check_rows(CHECKS, 100)]
    order = [line[:9].strip() for line in lines if not line.startswith("    ")]
    assert order == ["✖ python", "▲ rights", "? clock", "✔ link"]
    assert "do      apt-get install -y python3" in "\n".join(lines)


def test_no_row_is_wider_than_the_screen() -> None:
    for cells in (60, 80, 200):
        assert all(width(row) <= cells for row in check_rows(CHECKS, cells))


def test_the_summary_counts_every_level() -> None:
    assert plain(summary_row(CHECKS)) == " ✖ 1 missing  ▲ 1 limited  ? 1 not known  ✔ 1 work"
    assert plain(summary_row(())) == ""


async def test_it_looks_on_opening_and_again_on_request(scene: Scene) -> None:
    async with scene.app.run_test(size=(100, 30)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "6")
        await appears(scene, pilot, "looking at the host…")
        scene.feeds.put("doctor", CHECKS)
        await scene.settle(pilot)
        await appears(scene, pilot, "looked <1 s ago")
        await appears(scene, pilot, "apt-get install -y python3")
        scene.clock.time += 42
        scene.app.tick()
        await scene.settle(pilot)
        await appears(scene, pilot, "looked 42 s ago")
        await scene.press(pilot, "r")
        await appears(scene, pilot, "looking at the host…")
        await appears(scene, pilot, "python")
        scene.feeds.put("doctor", CHECKS[:1])
        await scene.settle(pilot)
        assert "python" not in shown(scene)
        assert scene.feeds.opened.count("doctor") == 2
        assert scene.host.retries == 0


async def test_two_looks_are_never_under_way_together(scene: Scene) -> None:
    async with scene.app.run_test() as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "6", "r", "r")
        assert scene.feeds.opened.count("doctor") == 1


async def test_why_it_could_not_look_is_said_and_r_tries_the_link(scene: Scene) -> None:
    async with scene.app.run_test(size=(100, 30)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "6")
        scene.feeds.put("doctor", CommandFailed("The link broke.", "[/x]"))
        await scene.settle(pilot)
        await appears(scene, pilot, "✖ The link broke. [/x]")
        scene.host.set_link(LinkKind.LOST, attempt=1)
        await scene.settle(pilot)
        await scene.press(pilot, "r")
        assert scene.host.retries == 1


async def test_its_help_says_what_the_marks_mean(scene: Scene) -> None:
    async with scene.app.run_test(size=(100, 90)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "6")
        await appears(scene, pilot, "looking at the host…")
        await scene.press(pilot, "question_mark")
        await appears(scene, pilot, "This page: doctor")
        await appears(scene, pilot, "Look at the host again")


async def test_escape_goes_back_to_the_dashboard(scene: Scene) -> None:
    async with scene.app.run_test(size=(100, 30)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "6", "escape")
        assert scene.app.current_mode == "dashboard"


async def test_a_long_page_is_moved_and_copied(scene: Scene) -> None:
    async with scene.app.run_test(size=(60, 20)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "6", "y")
        assert scene.app.clipboard == ""
        scene.feeds.put("doctor", CHECKS * 8)
        await scene.settle(pilot)
        sheet = scene.app.screen.query_one("#sheet")
        for keys, at in ((("j",), 1), (("k",), 0), (("pagedown",), 16), (("pageup",), 0), (("G",), sheet.max_scroll_y)):
            await scene.press(pilot, *keys)
            assert sheet.scroll_y == at, keys
        await scene.press(pilot, "g", "y")
        assert sheet.scroll_y == 0
        assert "apt-get install -y python3" in scene.app.clipboard

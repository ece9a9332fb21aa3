"""A unit's settings looked over from the screen: findings with their grounds, and a drop-in written only after a y."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from specconsole.errors import CommandFailed
from specconsole.service.finding import Finding
from specconsole.service.lint import Linted, Subject
from specconsole.service.mend import Mend, marked
from specconsole.service.mending import Overhaul
from specconsole.ui.rows.lint import lint_rows, mend_rows
from specconsole.ui.rows.row import plain, width
from specconsole.ui.screens.lint import LintScreen
from specconsole.ui.screens.unit import UnitScreen
from tests.ui.scene import BASE, NGRAM, Scene, appears, shown, unit, units
from tests.ui.test_snapshots import SIZE_NAMES, SIZES, Compare, compare

PATH = f"/etc/systemd/system/{NGRAM}.d/90-specconsole.conf"
NOTIFY = Finding(
    "type-notify",
    "refuse",
    "vLLM never says that it is up, so systemd ends the load after 1:30.",
    "Type=notify",
    "no vLLM calls sd_notify; systemd.service(5)",
    "[Service]\nType=exec\n",
)
KILL = Finding(
    "kill-mode",
    "warn",
    "A stop leaves engine and workers behind, with the GPUs' memory.",
    "KillMode=process",
    "systemd.kill(5)",
    "[Service]\nKillMode=mixed\n",
)
LINGER = Finding("linger", "note", "This unit ends when ops logs out.", "no /var/lib/systemd/linger/ops", "specconsole")
TEXT = marked("[Service]\nType=exec\nKillMode=mixed\n")


def overhaul(*findings: Finding, **changes: Any) -> Overhaul:
    subject = Subject(units()[0], {})
    mended = tuple(finding for finding in findings if finding.remedy)
    mend = Mend(subject, PATH, TEXT if mended else "", mended=mended)
    return Overhaul(Linted(subject.unit, findings), replace(mend, **changes))


@pytest.fixture
def ready(scene: Scene) -> Scene:
    scene.feeds.lints.found = [overhaul(NOTIFY, KILL, LINGER)]
    return scene


async def look(scene: Scene, pilot: Any, *keys: str) -> None:
    await scene.settle(pilot)
    await scene.press(pilot, "tab", "L", *keys)


async def test_findings_stand_on_a_page_with_their_grounds(ready: Scene) -> None:
    async with ready.app.run_test(size=(120, 40)) as pilot:
        await look(ready, pilot)
        assert isinstance(ready.app.screen, LintScreen)
        await appears(ready, pilot, "lint ngram", "1 fails, 1 warning", "looked <1 s ago", "f fix", "r look again")
        await appears(ready, pilot, "vLLM never says that it is up", "Type=notify", "no vLLM calls sd_notify")
        await appears(ready, pilot, "kill-mode", "[Service]", "KillMode=mixed", "our own check")
        assert ready.feeds.lints.asked == [("look", NGRAM)]
        await ready.press(pilot, "escape")
        await appears(ready, pilot, "GPUs")


async def test_a_drop_in_is_shown_and_written_after_a_y(ready: Scene) -> None:
    ready.feeds.lints.found = [*[overhaul(NOTIFY, KILL)] * 2, overhaul(KILL)]
    ready.feeds.lints.left = (KILL,)
    async with ready.app.run_test(size=(120, 40), notifications=True) as pilot:
        await look(ready, pilot, "f")
        await appears(
            ready, pilot, f"mend {NGRAM} on", "writes", PATH, "mends", "+Type=exec", "+KillMode=mixed", "y does it"
        )
        assert ("write", PATH) not in ready.feeds.lints.asked
        await ready.press(pilot, "y")
        await appears(
            ready,
            pilot,
            "it counts from the next start of ngram on",
            "Still so, something else sets it: KillMode=process",
        )
        assert ready.feeds.lints.asked[-2:] == [("write", PATH), ("look", NGRAM)]


@pytest.mark.parametrize("key", ["enter", "escape", "n", "q"])
async def test_anything_but_y_writes_nothing(key: str, ready: Scene) -> None:
    async with ready.app.run_test(size=(80, 24)) as pilot:
        await look(ready, pilot, "f")
        await appears(ready, pilot, "y does it")
        await ready.press(pilot, key)
        await appears(ready, pilot, "lint ngram")
        assert {what for what, _ in ready.feeds.lints.asked} == {"look"}


async def test_what_stands_in_the_way_keeps_it_from_being_written(ready: Scene) -> None:
    ready.feeds.lints.found = [overhaul(NOTIFY, blockers=("it is there already, and specconsole did not write it",))]
    async with ready.app.run_test(size=(80, 24)) as pilot:
        await look(ready, pilot, "f")
        await appears(ready, pilot, "BLOCKED", "it is there already", "It cannot be done now")
        await ready.press(pilot, "y")
        assert {what for what, _ in ready.feeds.lints.asked} == {"look"}


async def test_a_drop_in_is_offered_only_where_there_is_one(ready: Scene) -> None:
    note = replace(LINGER, remedy="[Service]\nRestart=always\n")
    ready.feeds.lints.found = [overhaul(note, text=""), overhaul(NOTIFY), overhaul()]
    async with ready.app.run_test(size=(120, 40), notifications=True) as pilot:
        await look(ready, pilot)
        await appears(ready, pilot, "Restart=always", "A note: these lines are yours to write or not.")
        assert "f fix" not in shown(ready)
        await ready.press(pilot, "f")
        assert ready.feeds.lints.asked == [("look", NGRAM)]
        await ready.press(pilot, "r")
        await appears(ready, pilot, "Type=notify", "f fix")
        await ready.press(pilot, "f")  # somebody else has mended it meanwhile
        await appears(ready, pilot, "There is nothing that a drop-in of ours would mend.")
        assert "f fix" not in shown(ready)


async def test_nothing_to_say_is_said(ready: Scene) -> None:
    ready.feeds.lints.found = [overhaul()]
    async with ready.app.run_test(size=(120, 40), notifications=True) as pilot:
        await look(ready, pilot)
        await appears(ready, pilot, "Nothing of its settings fails or ends badly")


async def test_a_look_that_fails_is_no_clean_bill(ready: Scene) -> None:
    ready.feeds.lints.found = [CommandFailed("systemctl does not answer.")]
    async with ready.app.run_test(size=(120, 40)) as pilot:
        await look(ready, pilot)
        await appears(ready, pilot, "✖ systemctl does not answer.")
        assert "Nothing of its settings" not in shown(ready)


async def test_from_the_page_of_a_unit_and_by_the_palette_s_table(ready: Scene) -> None:
    async with ready.app.run_test(size=(120, 40)) as pilot:
        await ready.settle(pilot)
        await ready.press(pilot, "tab", "j", "enter")
        assert isinstance(ready.app.screen, UnitScreen)
        await appears(ready, pilot, "L lint")
        await ready.press(pilot, "L")
        await appears(ready, pilot, "lint baseline")
        assert ready.feeds.lints.asked == [("look", BASE)]
        await ready.press(pilot, "escape", "escape", "L")  # from the dashboard, whatever pane is in focus
        assert len(ready.feeds.lints.asked) == 2


async def test_a_read_only_host_is_looked_over_and_not_mended() -> None:
    scene = Scene(read_only=True).fill()
    scene.feeds.lints.found = [overhaul(NOTIFY)]
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await look(scene, pilot)
        await appears(scene, pilot, "Type=notify")
        assert "f fix" not in shown(scene)
        await scene.press(pilot, "f")
        assert scene.feeds.lints.asked == [("look", NGRAM)]


async def test_what_is_not_derived_yet_is_not_looked_over(ready: Scene) -> None:
    later = replace(unit("vllm-eagle3.service", load="not-found", label="eagle3"), derivable=True)
    ready.feeds.put("units", (*units(), later))
    async with ready.app.run_test(size=(120, 40), notifications=True) as pilot:
        await ready.settle(pilot)
        ready.app.select(later.key)
        await appears(ready, pilot, "○ eagle3   not derived")
        await ready.press(pilot, "L")
        await appears(ready, pilot, "eagle3 is not derived yet")
        assert not ready.feeds.lints.asked
        await ready.press(pilot, "tab", "S")
        await appears(ready, pilot, "D derives it.")
        assert not ready.feeds.swaps.asked


@pytest.mark.parametrize("cells", [40, 78, 118])
def test_no_row_is_wider_than_the_screen(cells: int) -> None:
    rows = [*lint_rows((NOTIFY, KILL, LINGER), cells), *mend_rows(overhaul(NOTIFY, blockers=("no",)).mend, cells)]
    assert all(width(row) <= cells for row in rows)


def test_text_from_outside_is_never_markup() -> None:
    bad = replace(NOTIFY, sentence="[red]x[/] \x1b[31m", evidence="\x1b[31m", remedy="[Service]\nA=\x1b[1m\n")
    said = "\n".join(plain(row) for row in lint_rows((bad,), 80))
    assert "\x1b" not in said
    assert "[red]x[/]" in said


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
@pytest.mark.parametrize("what", ["page", "drop-in"])
def test_pictures(what: str, size: tuple[int, int], ready: Scene, snap_compare: Compare) -> None:
    assert compare(snap_compare, ready, size, None, "tab", "L", *(["f"] if what == "drop-in" else []))

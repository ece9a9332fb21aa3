"""A unit opened from the units pane: its definition, its starts and loads, and how it differs from another one."""

from __future__ import annotations

from dataclasses import replace

from specconsole.errors import CommandFailed
from specconsole.history.entry import Load
from specconsole.logs.starts import Start
from specconsole.service.definition import Definition, UnitFile
from specconsole.ui.screens.choose import ChooseScreen
from specconsole.ui.screens.unit import UnitScreen
from tests.ui.scene import BASE, NGRAM, Scene, appears, shown, unit, units

AT = 1_700_000_000.0
MINE = Definition(
    (
        UnitFile(
            f"/etc/systemd/system/{NGRAM}",
            "[Service]\n# eight cards\nExecStart=/opt/vllm serve /m \\\n  --api-key ***\n",
        ),
        UnitFile(f"/etc/systemd/system/{NGRAM}.d/10-mine.conf", None),
    ),
    (("/opt/vllm", "serve", "/m", "--port", "8000", "--speculative-config", '{"method": "ngram"}'),),
    {"HF_TOKEN": "***", "OMP_NUM_THREADS": "8"},
    folder="/srv",
    starts=(
        Start("a" * 32, AT),
        Start("c" * 32, AT - 600),
        Start("b" * 32, AT - 900, AT - 600, "failed", "Failed with result 'oom-kill'."),
    ),
)
THEIRS = replace(
    MINE,
    files=(UnitFile(f"/etc/systemd/system/{BASE}", "[Service]\n# eight cards\nExecStart=/opt/vllm serve /m\n"),),
    commands=(("/opt/vllm", "serve", "/m", "--port", "8001"),),
    starts=(),
)


def load(key: str = NGRAM, **changes: object) -> Load:
    made = Load("gpu-1", key, "a" * 32, AT - 7200, "ready", answering=AT - 5000, ready=AT - 4800)
    return replace(made, **changes)  # type: ignore[arg-type]


async def opened(scene: Scene, pilot: object, *keys: str) -> None:
    await scene.settle(pilot)
    await scene.press(pilot, "tab", "enter", *keys)


async def test_enter_opens_the_unit_and_escape_leaves_it(scene: Scene) -> None:
    scene.feeds.remembers = [load(), load(outcome="failed", ready=None, answering=None, reason="out of memory")]
    async with scene.app.run_test(size=(120, 60)) as pilot:
        await opened(scene, pilot)
        assert isinstance(scene.app.screen, UnitScreen)
        await appears(scene, pilot, "ngram  ● serving", "reading…")
        scene.feeds.put(f"definition {NGRAM}", MINE)
        await appears(
            scene, pilot, "/opt/vllm serve /m", "--port 8000", "HF_TOKEN=***", "OMP_NUM_THREADS=8", "in the folder /srv"
        )
        await appears(
            scene, pilot, "failed", "Failed with result 'oom-kill'.", "no end was logged", "runs", "2023-11-14 22:13:20"
        )
        await appears(scene, pilot, "answering after 36:40", "ready after 40:00", "out of memory")
        await appears(scene, pilot, "10-mine.conf  this login cannot read it", "# eight cards", "read <1 s ago")
        await scene.press(pilot, "y")
        assert "--api-key ***" in scene.app.clipboard
        await scene.press(pilot, "escape")
        await appears(scene, pilot, "GPUs")


async def test_the_difference_to_the_only_other_unit(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 60)) as pilot:
        await opened(scene, pilot)
        scene.feeds.put(f"definition {NGRAM}", MINE)
        await scene.press(pilot, "d")
        scene.feeds.put(f"definition {BASE}", THEIRS)
        await appears(scene, pilot, "- ngram   + baseline", "2 differ, 3 are alike", "-  --api-key ***")
        lines = shown(scene).splitlines()
        at = next(i for i, line in enumerate(lines) if "- --port 8000" in line)
        assert "+ --port 8001" in lines[at + 1]
        await appears(
            scene, pilot, '- --speculative-config {"method": "ngram"}', "cannot be read", "they do not differ"
        )
        await scene.press(pilot, "escape")
        await appears(scene, pilot, "in the folder /srv")
        assert isinstance(scene.app.screen, UnitScreen)


async def test_one_of_several_is_chosen(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 60)) as pilot:
        await scene.settle(pilot)
        scene.feeds.put("units", (*units(), unit("third.service", label="third")))
        await opened(scene, pilot, "d")
        assert isinstance(scene.app.screen, ChooseScreen)
        await appears(scene, pilot, "Compare ngram with", "› baseline", "third")
        await scene.press(pilot, "j", "enter")
        scene.feeds.put(f"definition {NGRAM}", MINE)
        scene.feeds.put("definition third.service", THEIRS)
        await appears(scene, pilot, "- ngram   + third")


async def test_what_was_read_stays_when_a_later_reading_fails(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 60)) as pilot:
        await opened(scene, pilot)
        scene.feeds.put(f"definition {NGRAM}", MINE)
        await appears(scene, pilot, "in the folder /srv")
        await scene.press(pilot, "r")
        scene.feeds.put(f"definition {NGRAM}", CommandFailed("systemctl does not answer."))
        await appears(scene, pilot, "✖ systemctl does not answer.", "in the folder /srv")


async def test_the_dashboard_key_closes_what_stands_above_it(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 60)) as pilot:
        await opened(scene, pilot, "1")
        assert not isinstance(scene.app.screen, UnitScreen)
        await opened(scene, pilot, "6", "1")
        await appears(scene, pilot, "GPUs")


async def test_a_unit_that_went_away_is_said(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 60)) as pilot:
        await opened(scene, pilot)
        scene.feeds.put("units", units()[1:])
        await appears(scene, pilot, "there is no such unit any more")


async def test_units_show_restarts_last_load_and_enablement_where_there_is_room(scene: Scene) -> None:
    scene.feeds.remembers = [load(), load(BASE, outcome="failed")]
    scene.feeds.put("units", (replace(units()[0], state=replace(units()[0].state, restarts=3)), units()[1]))
    async with scene.app.run_test(size=(90, 30)) as pilot:
        await appears(scene, pilot, "3 restarts", "load 40:00", "load failed", "disabled")


async def test_a_double_click_opens_a_unit(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 60)) as pilot:
        await scene.settle(pilot)
        await pilot.click("UnitsPane", offset=(5, 2), times=2)
        await appears(scene, pilot, "baseline  ○ stopped", "reading…")

"""Every text that is painted is legible (WCAG 2) on what it is painted on, in every theme, on screens and in dialogs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rich.color import Color as Painted
from textual.geometry import Region

from specconsole.host.base import LinkKind
from specconsole.ui.paint import theme
from specconsole.ui.paint.contrast import ratio
from specconsole.ui.screens.choose import ChooseScreen
from specconsole.ui.screens.confirm import ConfirmScreen
from tests.ui.scene import Scene, appears, gpu

THEMES = [one.name for one in theme.load_all().good if not one.ansi and one.name != "mono"]


# The colours of a Linux console, by the names that a theme gives them.
CONSOLE = {
    "ansi_blue": (0, 0, 170), "ansi_cyan": (0, 170, 170), "ansi_magenta": (170, 0, 170), "ansi_green": (0, 170, 0),
    "ansi_yellow": (170, 85, 0), "ansi_red": (170, 0, 0), "ansi_bright_black": (85, 85, 85),
    "ansi_bright_blue": (85, 85, 255), "ansi_bright_red": (255, 85, 85), "ansi_default": (170, 170, 170),
}  # fmt: skip
STEP_BACK = ("ink-muted", "ink-rule", "ink-gpu-free", "ink-log-debug")


def test_what_the_ansi_theme_says_is_legible_on_a_linux_console() -> None:
    (ansi,) = [one for one in theme.load_all().good if one.ansi]
    inks = {name: value for name, value in theme.values(ansi).items() if name not in STEP_BACK}
    assert {name: value for name, value in inks.items() if ratio(CONSOLE[value], (0, 0, 0)) < 3.0} == {}


def rgb(colour: Painted) -> tuple[int, int, int]:
    red, green, blue = colour.get_truecolor()
    return red, green, blue


def painted(scene: Scene) -> Iterator[tuple[str, float]]:
    """Each text of the screen with its contrast, of a dialog what it holds; lines and areas are no text.

    What stands below a dialog is dimmed on purpose.
    """
    screen = scene.app.screen
    places = [
        spot.intersection(clip) for one, (spot, clip) in screen._compositor.visible_widgets.items() if one is not screen
    ]
    shown = Region.from_union([place for place in places if place])
    for y, strip in enumerate(screen._compositor.render_strips()):
        if not shown.y <= y < shown.bottom:
            continue
        for text, style, _ in strip.crop(shown.x, shown.right):
            if style is None or not any(char.isalnum() for char in text):
                continue
            assert style.color is not None
            assert style.bgcolor is not None, text
            yield text, ratio(rgb(style.color), rgb(style.bgcolor))


def faint(scene: Scene) -> list[str]:
    least = 7.0 if scene.app.theme == "contrast" else 4.5
    return [f"{found:.1f} {text!r}" for text, found in painted(scene) if found < least]


@pytest.mark.parametrize("name", THEMES)
async def test_all_text_is_legible(name: str) -> None:
    scene = Scene(theme_name=name)
    scene.fill(
        changed={1: gpu(1, temperature_c=92.0, throttle=("power cap",)), 2: gpu(2, error="lost"), 3: gpu(3, xid=79)}
    )
    async with scene.app.run_test(size=(140, 44), notifications=True) as pilot:
        await appears(scene, pilot, "following")
        await scene.press(pilot, "g")
        assert faint(scene) == []
        for keys, wanted in (
            (("slash", *"through"), "51"),
            (("enter", "question_mark"), "Keys: "),
            (("escape", "enter"), "this session"),
            (("escape", "colon"), "Leave the console"),
        ):
            await scene.press(pilot, *keys)
            await appears(scene, pilot, wanted)
            assert faint(scene) == [], keys
        await scene.press(pilot, "escape")
        for screen, wanted in (
            (ConfirmScreen("3 requests run", "Roll back now?"), "Roll back now?"),
            (ChooseScreen("Which?", [("a", "first"), ("b", "second")]), "second"),
        ):
            scene.app.push_screen(screen)
            await appears(scene, pilot, wanted)
            assert faint(scene) == []
            await scene.press(pilot, "escape")
        for severity in ("information", "warning", "error"):
            scene.app.tell("A notice", severity)
        scene.host.set_link(LinkKind.LOST, attempt=3)
        await appears(scene, pilot, "lost", "A notice")
        assert faint(scene) == []

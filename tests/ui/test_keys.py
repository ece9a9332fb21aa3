"""The table of commands: stable ids, no key twice in one place, remapping checked, nothing that changes a read-only host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from specconsole.ui import keys
from specconsole.ui.keys import COMMANDS, Command, Keymap, Place
from tests.ui.scene import Scene, appears


def test_ids_are_unique_and_said_in_full() -> None:
    assert len({command.id for command in COMMANDS}) == len(COMMANDS)
    for command in COMMANDS:
        assert command.help
        assert command.label or command.footer is None


def test_no_key_means_two_things_in_one_place() -> None:
    own = keys.keymap({command.id: command.keys for command in COMMANDS})
    assert own.problems == ()


def test_no_key_of_a_multiplexer_or_of_flow_control() -> None:
    taken = {"ctrl+b", "ctrl+s", "ctrl+a"}
    assert not taken & {key for command in COMMANDS for key in command.keys.split(",")}


@pytest.mark.parametrize(
    ("wanted", "kept", "said"),
    [
        ({"app.theme": "T"}, {"app.theme": "T"}, ""),
        ({"app.theme": "q"}, {}, "Key q for app.theme is taken by app.quit; its own key stays."),
        ({"units.down": "G"}, {}, "taken by log.follow"),
        ({"units.down": "l"}, {"units.down": "l"}, ""),
        ({"app.quti": "x"}, {}, "Key for app.quti: there is no such command. Did you mean app.quit?"),
        (
            {"app.theme": "ctrl+alt+del"},
            {},
            "Key 'ctrl+alt+del' for app.theme: there is no such key; its own key stays.",
        ),
        ({"app.theme": "!"}, {"app.theme": "exclamation_mark"}, ""),
        ({"app.theme": "ctrl+t,f5"}, {"app.theme": "ctrl+t,f5"}, ""),
        ({"doctor.again": "r"}, {"doctor.again": "r"}, ""),
        ({"app.quit": "t", "app.theme": "q"}, {"app.quit": "t", "app.theme": "q"}, ""),
    ],
)
def test_a_users_keys_are_checked(wanted: dict[str, str], kept: dict[str, str], said: str) -> None:
    found = keys.keymap(wanted)
    assert isinstance(found, Keymap)
    assert dict(found.keys) == kept
    assert said in " ".join(found.problems)
    assert bool(said) == bool(found.problems)


def test_what_changes_the_host_is_hidden_when_read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = Command("host.stop", "X", "stop", "Stop the unit", "app.stop(1)", Place.DASHBOARD, mutating=True)
    monkeypatch.setattr(keys, "COMMANDS", (*COMMANDS, stop))
    assert keys.hidden("stop", read_only=True)
    assert not keys.hidden("stop", read_only=False)
    assert not keys.hidden("help", read_only=True)


def test_places_bind_their_own_commands() -> None:
    ids = {binding.id for binding in keys.bindings(Place.UNITS) if not isinstance(binding, tuple)}
    assert {"units.down", "units.up"} <= ids
    assert not {"log.down", "pane.next", "app.help"} & ids


@pytest.mark.parametrize(
    ("key", "shown"),
    [("question_mark,f1", "?"), ("ctrl+p", "^p"), ("tab", "Tab"), ("plus", "+"), ("G", "G"), ("space", "Space")],
)
def test_keys_are_written_for_people(key: str, shown: str) -> None:
    assert keys.shown_key(key) == shown


def test_a_command_is_a_value() -> None:
    assert replace(COMMANDS[0], label="x") != COMMANDS[0]


async def test_a_users_key_takes_the_place_of_ours_everywhere(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene(keymap={"app.theme": "!", "app.quti": "x"}).fill()
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await appears(scene, pilot, "! theme", "Key for app.quti")
        before = scene.app.theme
        await scene.press(pilot, "t")
        assert scene.app.theme == before
        await scene.press(pilot, "exclamation_mark")
        assert scene.app.theme != before

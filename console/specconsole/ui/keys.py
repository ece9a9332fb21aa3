"""What is made of the table of commands (`ui/commands.py`): Textual's bindings, the names of keys, a user's own keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from textual.binding import Binding, BindingType
from textual.keys import KEY_NAME_REPLACEMENTS, Keys, _character_to_key, format_key, key_to_character

from specconsole.text import one_line
from specconsole.ui.command import AROUND, Command, Place
from specconsole.ui.commands import COMMANDS

__all__ = ["AROUND", "BY_ID", "COMMANDS", "Command", "Keymap", "Place", "bindings", "hidden", "keymap", "shown_key"]


_MODIFIERS = ("ctrl", "shift", "alt", "super", "hyper", "meta")
_NAMED = {key.value for key in Keys} | set(KEY_NAME_REPLACEMENTS.values())

BY_ID: Mapping[str, Command] = {command.id: command for command in COMMANDS}


def bindings(*places: Place) -> list[BindingType]:
    """The Textual bindings of a place, each with its id."""
    return [
        Binding(
            command.keys,
            command.action,
            command.label or command.help,
            id=command.id,
            show=False,
            priority=command.first,
        )
        for command in COMMANDS
        if command.place in places
    ]


def hidden(action: str, read_only: bool) -> bool:
    """Whether an action must not be offered: it changes the host, and the host is read-only."""
    return read_only and any(command.mutating and _name(command.action) == _name(action) for command in COMMANDS)


def shown_key(keys: str) -> str:
    """How the first of some keys is written for people: ?, ^p, Tab, G."""
    key = keys.partition(",")[0]
    if key.startswith("ctrl+"):
        return "^" + key.removeprefix("ctrl+")
    named = {"tab": "Tab", "shift+tab": "⇧Tab", "space": "Space", "pagedown": "PgDn", "pageup": "PgUp", "escape": "Esc"}
    return named.get(key) or format_key(key)


@dataclass(frozen=True)
class Keymap:
    """A user's own keys, as far as they make sense, and one sentence for each that does not."""

    keys: Mapping[str, str]
    problems: tuple[str, ...]


def known_key(key: str) -> bool:
    """Whether a terminal can send a key of that name."""
    name = key.strip()
    while (parts := name.partition("+"))[1] and parts[0] in _MODIFIERS and parts[2]:
        name = parts[2]
    if len(name) == 1 or name in _NAMED:
        return True
    character = key_to_character(name)  # knows aliases too, such as "del", that no key press is ever called
    return character is not None and _character_to_key(character) == name


def keymap(wanted: Mapping[str, str], commands: tuple[Command, ...] = COMMANDS) -> Keymap:
    """Check a user's keys: unknown ids and keys that another command has in the same place are left out and said."""
    problems: list[str] = []
    keys: dict[str, str] = {}
    ids = {command.id: command for command in commands}
    for name, value in wanted.items():
        if strange := [key for key in value.split(",") if not known_key(key)]:
            problems.append(f"Key {one_line(strange[0])!r} for {name}: there is no such key; its own key stays.")
        elif name in ids:
            keys[name] = ",".join(_named(key.strip()) for key in value.split(","))
        else:
            nearest = next(iter(get_close_matches(name, ids, 1)), "")
            problems.append(
                f"Key for {name}: there is no such command." + (f" Did you mean {nearest}?" if nearest else "")
            )
    for name in list(keys):
        for other in commands:
            shared = _keys(keys[name]) & _keys(keys.get(other.id, other.keys))
            meant = other.id in (name, ids[name].shadows) or other.shadows == name
            if shared and not meant and _meet(ids[name].place, other.place):
                problems.append(
                    f"Key {', '.join(sorted(shared))} for {name} is taken by {other.id}; its own key stays."
                )
                del keys[name]
                break
    return Keymap(keys, tuple(problems))


def _named(key: str) -> str:
    """Textual's name of a key: ? is question_mark."""
    return _character_to_key(key) if len(key) == 1 else key


def _keys(keys: str) -> set[str]:
    return {format_key(key.strip()) for key in keys.split(",")}


def _meet(one: Place, other: Place) -> bool:
    return one in AROUND[other] or other in AROUND[one]


def _name(action: str) -> str:
    return action.partition("(")[0].removeprefix("app.").removeprefix("screen.")

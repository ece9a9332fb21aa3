"""What is made of the table of commands (`ui/commands.py`): Textual's bindings, the names of keys, a user's own keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from textual.binding import Binding, BindingType
from textual.keys import format_key

from specconsole.ui.command import AROUND, Command, Place
from specconsole.ui.commands import COMMANDS

__all__ = ["BY_ID", "COMMANDS", "Command", "Keymap", "Place", "bindings", "hidden", "keymap", "shown_key"]


BY_ID: Mapping[str, Command] = {command.id: command for command in COMMANDS}


def bindings(*places: Place) -> list[BindingType]:
    """The Textual bindings of a place, each with its id."""
    return [
        Binding(command.keys, command.action, command.label or command.help, id=command.id, show=False)
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


def keymap(wanted: Mapping[str, str], commands: tuple[Command, ...] = COMMANDS) -> Keymap:
    """Check a user's keys: unknown ids and keys that another command has in the same place are left out and said."""
    problems: list[str] = []
    keys: dict[str, str] = {}
    ids = {command.id: command for command in commands}
    for name, value in wanted.items():
        if name in ids:
            keys[name] = value
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


def _keys(keys: str) -> set[str]:
    return {format_key(key.strip()) for key in keys.split(",")}


def _meet(one: Place, other: Place) -> bool:
    return one in AROUND[other] or other in AROUND[one]


def _name(action: str) -> str:
    return action.partition("(")[0].removeprefix("app.").removeprefix("screen.")

"""How two units differ: the commands by option, the environment by name, the files line by line."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from specconsole.service.definition import Definition, UnitFile

CONTEXT = 2
"""Lines around a changed one."""


@dataclass(frozen=True)
class Change:
    """One thing in which two units differ."""

    name: str
    """An option, a variable, a word of the command."""
    one: str | None
    """What the first unit has; None: nothing."""
    other: str | None
    """What the second one has."""


@dataclass(frozen=True)
class Difference:
    """All in which two units differ."""

    commands: tuple[Change, ...]
    environment: tuple[Change, ...]
    files: tuple[str, ...]
    """A unified diff, its heads included."""
    alike: int
    """Options and words that are the same in both commands."""
    unread: str = ""
    """Why nothing is known of environment and files; "" when they were compared."""

    @property
    def none(self) -> bool:
        """They do not differ in anything that is known."""
        return not (self.commands or self.environment or self.files)


def differ(one: Definition, other: Definition) -> Difference:
    """Compare two units as far as both are known."""
    left, right = (_by_option(definition.commands) for definition in (one, other))
    commands = _changes(left, right)
    alike = len(left.keys() | right.keys()) - len(commands)
    if unread := one.unread or other.unread:
        return Difference(commands, (), (), alike, unread)
    return Difference(commands, _changes(one.environment, other.environment), tuple(_files(one, other)), alike)


def options(argv: Sequence[str]) -> list[tuple[str, ...]]:
    """A command's words by what belongs together: each option with its values; words before the first one by one.

    `--port=1` and `--port 1` are the same, and a number below zero is no option.
    """
    groups: list[list[str]] = []
    for word in argv:
        if word.startswith("-") and not word[1:].replace(".", "", 1).isdecimal():
            name, equals, value = word.partition("=")
            groups.append([name, value] if equals and word.startswith("--") else [word])
        elif groups and groups[-1][0].startswith("-"):
            groups[-1].append(word)
        else:
            groups.append([word])
    return [tuple(group) for group in groups]


def _by_option(commands: Sequence[Sequence[str]]) -> dict[str, str]:
    """The order of options does not matter to a program, that of its other words does."""
    found: dict[str, str] = {}
    for number, argv in enumerate(commands):
        before = f"command {number + 1}: " if len(commands) > 1 else ""
        for at, group in enumerate(options(argv)):
            name = group[0] if group[0].startswith("-") else f"word {at + 1}"
            value = " ".join(group[1:] if group[0].startswith("-") else group)
            name = before + name
            found[name] = f"{found[name]} {value}" if name in found else value
    return found


def _changes(one: Mapping[str, str], other: Mapping[str, str]) -> tuple[Change, ...]:
    names = dict.fromkeys([*one, *other])
    return tuple(Change(name, one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name))


def _files(one: Definition, other: Definition) -> Iterator[str]:
    """The units' own files against each other, then drop-ins and scripts of the same name."""
    for left, right in _paired(one.files, other.files):
        if (left is not None and left.text is None) or (right is not None and right.text is None):
            yield f"cannot be read: {(left if left is not None and left.text is None else right or left or _NONE).path}"
            continue
        before, after = ((file.text or "").splitlines() if file else [] for file in (left, right))
        heads = [file.path if file else "(none)" for file in (left, right)]
        yield from difflib.unified_diff(before, after, heads[0], heads[1], n=CONTEXT, lineterm="")


_NONE = UnitFile("", None)


def _paired(one: Sequence[UnitFile], other: Sequence[UnitFile]) -> Iterator[tuple[UnitFile | None, UnitFile | None]]:
    if one and other:
        yield one[0], other[0]
    elif one or other:
        yield (one[0] if one else None, other[0] if other else None)
    left, right = ({_name(file.path): file for file in files[1:]} for files in (one, other))
    for name in dict.fromkeys([*left, *right]):
        yield left.get(name), right.get(name)


def _name(path: str) -> str:
    return path.rpartition("/")[2]

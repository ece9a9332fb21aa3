"""TOML files of ours read strictly: every mistake names the file, the line, and the nearest key that would be right."""

from __future__ import annotations

import difflib
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from specconsole.errors import ConfigError

if TYPE_CHECKING:
    from importlib.abc import Traversable

Table = Mapping[str, Any]
Check = Callable[[Any], bool]

_HEADER = re.compile(r"\s*\[+\s*(?P<path>[^\]]+?)\s*\]+")
_NO_TOML = "Texts stand in quotes, lists in [ ]; each key once."
_PART = re.compile(r"""\"[^"]*"|'[^']*'|[^.\s]+""")
_BARE = re.compile(r"""\s*(?P<key>[\w.\-"' ]+?)\s*=""")

LONGEST_S = 7 * 24 * 3600
"""The longest wait that a file may ask for: a week."""
SLOWEST_MS = 60_000
"""The longest time per token that a file may tell."""

KINDS: dict[str, tuple[Check, str]] = {
    "text": (lambda value: isinstance(value, str), "a text in quotes"),
    "texts": (
        lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
        "a list of texts",
    ),
    "count": (
        lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0,
        "a whole number above 0",
    ),
    "number": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    "seconds": (
        lambda value: _is_number(value) and 0 < value <= LONGEST_S,
        "a number above 0: seconds, a week at most",
    ),
    "milliseconds": (
        lambda value: _is_number(value) and 0 < value <= SLOWEST_MS,
        "a number above 0: milliseconds, a minute at most",
    ),
    "counts": (
        lambda value: isinstance(value, list) and bool(value) and all(_is_count(item) for item in value),
        "a list of whole numbers",
    ),
    "numbers": (
        lambda value: isinstance(value, list) and bool(value) and all(_is_number(item) and item >= 0 for item in value),
        "a list of numbers",
    ),
    "minutes": (
        lambda value: (
            isinstance(value, list)
            and len(value) == 2
            and all(map(_is_number, value))
            and 0 <= value[0] <= value[1] <= LONGEST_S / 60
        ),
        "two numbers of minutes [from, to], a week at most",
    ),
    "port": (
        lambda value: isinstance(value, int) and not isinstance(value, bool) and 0 < value < 65536,
        "a port, 1 to 65535",
    ),
    "yes": (lambda value: isinstance(value, bool), "true or false"),
    "table": (lambda value: isinstance(value, dict), "a table"),
}
"""What a value may be: its test, and its name for people."""


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


class File:
    """One file's text and content; knows how to complain."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.content: Table = self._load()

    def _load(self) -> Table:
        if sys.version_info >= (3, 11):
            import tomllib
        else:
            import tomli as tomllib  # pyright: ignore[reportMissingImports]  only installed before 3.11
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            said = str(error).replace("(at end of document)", f"(at line {self.text.count(chr(10)) + 1}, its end)")
            raise ConfigError(f"{self.name} is no TOML: {said}.", hint=_NO_TOML) from None
        except (RecursionError, ValueError, OverflowError):  # a date or a number that there is not, endless brackets
            raise ConfigError(
                f"{self.name} is no TOML that can be read: its values are nested or long beyond measure."
            ) from None

    def wrong(self, path: Iterable[str], said: str, hint: str = "") -> ConfigError:
        """Make the error for a key, by its path from the top."""
        keys = tuple(path)
        line = line_of(self.text, keys)
        return ConfigError(f"{self.name}{f', line {line}' if line else ''}: {said}", hint=hint)

    def only(self, table: Table, allowed: Iterable[str], path: tuple[str, ...] = ()) -> None:
        """Refuse keys that mean nothing."""
        names = tuple(allowed)
        for key in table:
            if key not in names:
                near = difflib.get_close_matches(key, names, 1, 0.5)
                hint = f'Did you mean "{near[0]}"?' if near else f"Known are {', '.join(names)}."
                where = f" in [{'.'.join(path)}]" if path else ""
                raise self.wrong((*path, key), f'"{key}" means nothing{where}.', hint)

    def get(self, table: Table, key: str, kind: str, path: tuple[str, ...] = (), default: Any = None) -> Any:
        """A value of the right kind, or the default where the key is not given."""
        if key not in table:
            return default
        good, called = KINDS[kind]
        if not good(table[key]):
            raise self.wrong((*path, key), f'"{key}" must be {called}, not {table[key]!r}.')
        return table[key]

    def one_of(
        self, table: Table, key: str, choices: Iterable[str], path: tuple[str, ...] = (), default: str | None = None
    ) -> str | None:
        """One word of several, or the default where the key is not given."""
        names, value = tuple(choices), table.get(key, default)
        if value is default or value in names:
            return None if value is None else str(value)
        near = difflib.get_close_matches(str(value), names, 1, 0.5)
        hint = f'Did you mean "{near[0]}"?' if near else ""
        raise self.wrong((*path, key), f'"{key}" must be one of {", ".join(names)}, not {value!r}.', hint)


def read(source: Traversable) -> File:
    """Read a file.

    Raises:
        ConfigError: it cannot be read, or is no TOML.
    """
    try:
        return File(str(source), source.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(
            f"{source} cannot be read: {error.strerror or error}.", hint="Give a TOML file that you may read."
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{source} is no text in UTF-8.", hint="Save it as UTF-8.") from None


def line_of(text: str, path: tuple[str, ...]) -> int | None:
    """The line of a key, given by its path: its own line, its table's header, or the line of a table around it."""
    section: tuple[str, ...] = ()
    around: int | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            section = _keys(header["path"])
            here = section
        elif bare := _BARE.match(line):
            here = (*section, *_keys(bare["key"]))
        else:
            continue
        if here[: len(path)] == path:
            return number
        if len(here) > len(section) and here == path[: len(here)]:  # an inline table that holds it
            around = number
    return around


def _keys(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))

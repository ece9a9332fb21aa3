"""systemd's own rules for words: splitting, escapes, command separators, specifiers and variables.

They are not a shell's: single quotes know escapes too, `$A` is a word of its own or nothing, and `%` is special.
Source: systemd.service(5) "Command lines", systemd.syntax(7) "Quoting"; compared with systemd 252 and 257 in the tests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

BLANKS = " \t\n\r"
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}
_SIMPLE |= {char: char for char in "\\\"'"}
_NUMERIC = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})")
_BRACED = re.compile(r"\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_ALONE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)\Z")
_SPECIFIER = re.compile(r"%(.)?", re.DOTALL)


@dataclass(frozen=True)
class Command:
    """One command of an Exec line, words as they are passed on but for variables."""

    argv: tuple[str, ...]
    """argv[0] is the program's path, also where `@` gives it another name."""
    prefixes: str = ""
    """`-` failure ignored, `:` no variables, `+` and `!` more rights, `@` another name."""
    spans: tuple[tuple[int, int], ...] = field(default=(), compare=False)
    """Where each word of argv stands in the text it was read from, its quotes included."""


def _escape(text: str, at: int) -> tuple[str, int]:
    """Read what follows a backslash; an unknown escape stays as it is, backslash included."""
    if at >= len(text):
        return "\\", at
    if text[at] in _SIMPLE:
        return _SIMPLE[text[at]], at + 1
    if found := _NUMERIC.match(text, at):
        code = int(next(filter(None, found.groups())), 8 if found[4] else 16)
        if 0 < code <= (0xFF if found[1] or found[4] else 0x10FFFF):
            return chr(code), found.end()
    return "\\" + text[at], at + 1


def next_word(text: str, at: int = 0) -> tuple[str | None, int]:
    """Read one word from `at`; None at the end.

    Raises:
        ValueError: a quote is not closed; systemd ignores such a line.
    """
    while at < len(text) and text[at] in BLANKS:
        at += 1
    if at >= len(text):
        return None, at
    word: list[str] = []
    quote = ""
    while at < len(text):
        char = text[at]
        at += 1
        if char == "\\":
            piece, at = _escape(text, at)
            word.append(piece)
        elif quote:
            if char == quote:
                quote = ""
            else:
                word.append(char)
        elif char in "\"'":
            quote = char
        elif char in BLANKS:
            at -= 1
            break
        else:
            word.append(char)
    if quote:
        raise ValueError(f"A {quote} is not closed in: {text}")
    return "".join(word), at


def split(text: str) -> list[str]:
    """Split a setting's value into words, as Environment= does. Raises ValueError as `next_word`."""
    words: list[str] = []
    at = 0
    while True:
        word, at = next_word(text, at)
        if word is None:
            return words
        words.append(word)


def commands(text: str) -> list[Command]:
    """Split an Exec line's value into its commands. Raises ValueError as `next_word`."""
    found: list[Command] = []
    at = 0
    while True:
        words, at, more = _one_command(text, at)
        if words:
            found.append(_command(words))
        if not more:
            return found


Word = tuple[str, int, int]
"""A word, and where it stands."""


def _one_command(text: str, at: int) -> tuple[list[Word], int, bool]:
    words: list[Word] = []
    while True:
        while at < len(text) and text[at] in BLANKS:
            at += 1
        rest = text[at : at + 3]
        if words and rest[:1] == ";" and rest[1:2].strip() == "":
            return words, at + 1, True
        if words and rest[:2] == "\\;" and rest[2:3].strip() == "":
            words.append((";", at, at + 2))
            at += 2
            continue
        start = at
        word, at = next_word(text, at)
        if word is None:
            return words, at, False
        words.append((word, start, at))


def _command(words: Sequence[Word]) -> Command:
    path = words[0][0].lstrip("-@:+!|")
    prefixes = words[0][0][: len(words[0][0]) - len(path)]
    kept = [words[0], *(words[2:] if "@" in prefixes else words[1:])]
    return Command((path, *(word for word, _, _ in kept[1:])), prefixes, tuple((one, end) for _, one, end in kept))


def resolve(text: str, specifiers: Mapping[str, str]) -> str:
    """Replace `%x` by its value; one that is not known stays, and so does a lone `%`."""
    return _SPECIFIER.sub(lambda found: "%" if found[1] == "%" else specifiers.get(found[1] or "", found[0]), text)


def expand(argv: Sequence[str], environment: Mapping[str, str], unset: str = "") -> list[str]:
    """Put variables into a command's words as systemd does when it starts it; the first word has none.

    `${A}` stays within its word, a word that is just `$A` becomes none or several, `$$` is a dollar. `unset` is what a
    variable without a value becomes: "" as systemd does it, or a mark where the environment is not known in full.
    """
    words = list(argv[:1])
    for word in argv[1:]:
        if alone := _ALONE.match(word):
            value = environment.get(alone[1], unset)
            try:
                words += split(value)
            except ValueError:
                words += value.split()
            continue
        words.append(_BRACED.sub(lambda found: environment.get(found[1], unset) if found[1] else "$", word))
    return words


def quote(word: str, *, variables: bool = True) -> str:
    """Write a word so that systemd reads it as it is: quotes where needed, `%` doubled, and `$` unless it means nothing.

    `variables`: False behind the prefix `:`.
    """
    plain = word.replace("%", "%%").replace("$", "$$" if variables else "$")
    if plain and not set(plain) & set(BLANKS + "\"'\\;") and plain.isprintable():
        return plain
    mark = "'" if '"' in plain and "'" not in plain else '"'
    return mark + _escaped(plain, mark) + mark


def within(text: str, quote: str, *, variables: bool = True) -> str:
    """Write text as a part of a word that is there already; `quote`: the one that is open at that place, or ""."""
    plain = text.replace("%", "%%").replace("$", "$$" if variables else "$")
    return _escaped(plain, quote or "\"'", blanks="" if quote else "\\s")


def _escaped(plain: str, quotes: str, blanks: str = "") -> str:
    escaped = plain.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")
    for mark in quotes:
        escaped = escaped.replace(mark, f"\\{mark}")
    if blanks:
        escaped = escaped.replace(" ", blanks)
    return re.sub(r"[\x01-\x1f\x7f]", lambda found: f"\\x{ord(found[0]):02x}", escaped)


def spelling(text: str, start: int, end: int) -> list[tuple[str, int, str]]:
    """How a word is written: of each of its characters where the spelling of it ends, and the quote that is open there."""
    found: list[tuple[str, int, str]] = []
    at, quote = start, ""
    while at < end:
        char = text[at]
        at += 1
        if char == "\\":
            piece, at = _escape(text, at)
            found += [(one, at, quote) for one in piece]
        elif quote and char == quote:
            quote = ""
        elif not quote and char in "\"'":
            quote = char
        else:
            found.append((char, at, quote))
    return found


def join(argv: Sequence[str]) -> str:
    """Write a command for an Exec line; `commands` reads it back, then `resolve` and `expand` give the same words."""
    return " ".join(map(quote, argv))

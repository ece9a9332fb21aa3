"""The user's SSH client configuration, read by OpenSSH's own rules (ssh_config(5)): the first value of a keyword wins.

It is evaluated here and handed to the SSH library as plain values, since the library's own parser takes a trailing comment
for data, stops at time values like 5m, and turns host key checking off where UserKnownHostsFile is none.
"""

from __future__ import annotations

import glob
import re
import shlex
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from specconsole import paths
from specconsole.errors import ConfigError
from specconsole.host.ssh_keyword import REASONS, REPEATED, USED, WHOLE_LINE, WITHOUT_MEANING

DEEPEST_INCLUDE = 16
_KEYWORD = re.compile(r"\s*(?P<keyword>[A-Za-z0-9]+)(?:\s*=\s*|\s+|$)(?P<rest>.*)", re.DOTALL)

Words = tuple[str, ...]


@dataclass(frozen=True)
class Asker:
    """What a configuration is evaluated for; `runs` answers Match exec, after its tokens were expanded."""

    host: str
    """As typed: an alias or a name."""
    user: str | None
    port: int | None
    local_user: str
    runs: Callable[[str, Found], bool] = lambda *_: False


@dataclass
class Found:
    """The values that hold for one host."""

    values: dict[str, list[Words]] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    """What was written and has no effect here, each as one sentence that names file and line."""
    wants_final: bool = False
    """A `Match final` block was met: the files are to be read once more with the host name known."""

    def add(self, keyword: str, words: Words) -> None:
        """Take a value, where an earlier one does not win."""
        if keyword in REPEATED and words not in self.values.get(keyword, []):
            self.values.setdefault(keyword, []).append(words)
        else:
            self.values.setdefault(keyword, [words])

    def first(self, keyword: str) -> str | None:
        """The value of a keyword that has one word."""
        values = self.values.get(keyword)
        return values[0][0] if values and values[0] else None


def split(line: str) -> tuple[str, Words] | None:
    """Take a line apart into its keyword, in lower case, and its words without quotes or a trailing comment.

    None for an empty line or a comment; raises ValueError where a quote is not closed.
    """
    found = _KEYWORD.match(line)
    if not found or not found["keyword"]:
        if line.strip() and not line.lstrip().startswith("#"):
            raise ValueError("no keyword")
        return None
    keyword, rest = found["keyword"].lower(), found["rest"].strip()
    if keyword in WHOLE_LINE:
        return keyword, (rest,) if rest else ()
    return keyword, tuple(_words(rest))


def _words(text: str) -> Iterator[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    # "#" starts a comment only at the start of a word: IdentityFile ~/.ssh/key#2 is a file.
    lexer.commenters = ""
    for word in lexer:
        if word.startswith("#"):
            return
        yield word


class Reader:
    """Reads configuration files for one host into `found`."""

    def __init__(self, asker: Asker, ssh_folder: Path, *, final: bool = False, found: Found | None = None) -> None:
        self.asker = asker
        self.folder = ssh_folder
        self.final = final
        self.found = found or Found()

    def read(self, path: Path, *, base: Path, needed: bool = False, owner: int | None = None) -> None:
        """Read a file and what it includes; one that is not there is passed over unless it is needed.

        Raises:
            ConfigError: a line makes no sense, or others may write the file (as OpenSSH refuses it, too).
        """
        self._file(path, base, needed, owner, 0, active=True)

    def _file(self, path: Path, base: Path, needed: bool, owner: int | None, depth: int, *, active: bool) -> None:
        if depth > DEEPEST_INCLUDE:
            raise ConfigError(f"{path}: files include one another more than {DEEPEST_INCLUDE} deep.")
        try:
            if owner is not None:
                _refuse_if_others_write(path, owner)
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            if needed:
                raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
            return
        for number, line in enumerate(text.splitlines(), 1):
            where = f"{path}, line {number}"
            try:
                parts = split(line)
            except ValueError as error:
                raise ConfigError(f"{where}: {error}.", hint="See ssh_config(5).") from error
            if not parts:
                continue
            keyword, words = parts
            if keyword in ("host", "match"):
                active = self._block(keyword, words, where)
            elif not active:
                continue
            elif not words:
                raise ConfigError(f"{where}: {keyword} has no value.", hint="See ssh_config(5).")
            elif keyword == "include":
                for pattern in words:
                    for included in _matches(pattern, base):
                        self._file(included, base, False, owner, depth + 1, active=active)
            else:
                self._option(keyword, words, where)

    def _option(self, keyword: str, words: Words, where: str) -> None:
        if keyword in USED:
            self.found.add(keyword, words)
        elif keyword not in WITHOUT_MEANING:
            ignored = f"{keyword} ({where}) is ignored: {REASONS.get(keyword, 'not known here')}."
            if ignored not in self.found.ignored:
                self.found.ignored.append(ignored)

    def _block(self, keyword: str, words: Words, where: str) -> bool:
        if not words:
            raise ConfigError(f"{where}: {keyword} names nothing.", hint="See ssh_config(5).")
        if keyword == "host":
            return matches(words, self.asker.host)
        return self._match(list(words), where)

    def _match(self, words: list[str], where: str) -> bool:
        """Judge a Match line; every criterion must hold."""
        holds = True
        while words:
            criterion, equals, pattern = words.pop(0).partition("=")
            negated = criterion.startswith("!")
            name = criterion.lstrip("!").lower()
            if name in ("all", "canonical", "final"):
                self.found.wants_final |= name == "final"
                result = name == "all" or (name == "final" and self.final)
            else:
                if not equals:
                    if not words:
                        raise ConfigError(f"{where}: Match {name} needs a pattern.", hint="See ssh_config(5).")
                    pattern = words.pop(0)
                known = self._criterion(name, pattern, holds)
                if known is None:
                    self.found.ignored.append(f"Match {name} ({where}) is not evaluated: its block is left out.")
                    return False
                result = known
            holds = holds and result != negated
        return holds

    def _criterion(self, name: str, pattern: str, wanted: bool) -> bool | None:
        """Whether a criterion holds; None where it cannot be told. A command runs only where the rest holds."""
        found, asker = self.found, self.asker
        if name == "exec":
            return wanted and asker.runs(pattern, found)
        subject = {
            "host": found.first("hostname") or asker.host,
            "originalhost": asker.host,
            "user": asker.user or found.first("user") or asker.local_user,
            "localuser": asker.local_user,
            "tagged": found.first("tag") or "",
        }.get(name)
        return None if subject is None else matches(tuple(pattern.split(",")), subject)


def matches(patterns: Words, subject: str) -> bool:
    """Judge a list of patterns with `*`, `?` and `!`: one that is negated and fits outweighs all others."""
    hit = False
    for pattern in patterns:
        if _fits(pattern.lstrip("!"), subject):
            if pattern.startswith("!"):
                return False
            hit = True
    return hit


def _fits(pattern: str, subject: str) -> bool:
    expression = "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in pattern)
    return re.fullmatch(expression, subject, re.DOTALL) is not None


def _matches(pattern: str, base: Path) -> list[Path]:
    path = base / paths.typed(pattern)
    return [Path(name) for name in sorted(glob.glob(str(path)))]  # noqa: PTH207  pathlib's takes no absolute pattern


def _refuse_if_others_write(path: Path, owner: int) -> None:
    status = path.stat()
    if status.st_uid not in (0, owner) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ConfigError(f"{path} may be written by others.", hint=f"chmod go-w {path}, or make it yours.")


_TOKEN = re.compile(r"%(.)")
_VARIABLE = re.compile(r"\$\{([^}]*)\}")


def expand(value: str, tokens: Mapping[str, str], environment: Mapping[str, str] | None = None) -> str:
    """Replace %h and its like, and ${NAME} where an environment is given.

    Raises:
        ConfigError: a token or a variable that is not known.
    """

    def token(found: re.Match[str]) -> str:
        if found[1] not in tokens:
            raise ConfigError(f"%{found[1]} in {value!r} of the SSH configuration means nothing there.")
        return tokens[found[1]]

    def variable(found: re.Match[str]) -> str:
        assert environment is not None
        if found[1] not in environment:
            raise ConfigError(f"${{{found[1]}}} in {value!r} of the SSH configuration is not set.")
        return environment[found[1]]

    expanded = _TOKEN.sub(token, value)
    return expanded if environment is None else _VARIABLE.sub(variable, expanded)

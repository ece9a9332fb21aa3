"""A unit's definition, and how two of them differ, as rows for the screen."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from rich.cells import chop_cells

from specconsole import text
from specconsole.history import told
from specconsole.history.entry import Load
from specconsole.logs.starts import Start
from specconsole.service.definition import Definition, UnitFile
from specconsole.service.difference import Change, Difference, options
from specconsole.ui.rows.row import Row

Moment = Callable[[float], str]
"""Writes seconds since the epoch as a date and a time of day."""

_REMEMBERED = 8
"""Loads and starts that are listed."""
_TAB = 4


def definition_rows(
    definition: Definition, loads: Sequence[Load], moment: Moment, cells: int, running: str = ""
) -> list[Row]:
    """All that defines a unit: command, environment, starts, files; `running` is the id of the start that runs now."""
    note = "as systemd starts it, variables put in, secrets masked"
    rows = [*_head("command", note), *_command(definition.commands, cells)]
    whole = "" if definition.complete else "not whole: some of it comes from the manager"
    if definition.missing:
        whole = f"not whole: {', '.join(definition.missing)} could not be read"
    if definition.unread:
        rows += [*_head("environment and files"), *_sentence(definition.unread, cells)]
        rows += [*_head("settings", "what systemctl said"), *_properties(definition.properties, cells)]
    else:
        rows += [*_head("environment", whole, "warn"), *_environment(definition.environment, cells)]
        rows += [_line("  in the folder ", definition.folder)]
    rows += [*_head("starts", "what systemd said of them in the journal"), *_starts(definition, moment, cells, running)]
    rows += [*_head("loads", "what this machine remembers of them"), *_loads(loads, moment)]
    for file in definition.files:
        rows += _file(file, cells)
    return rows


def difference_rows(found: Difference, one: str, other: str, cells: int) -> list[Row]:
    """How two units differ: commands first, then environment, then files."""
    rows: list[Row] = [((" - ", "warn"), (one, "strong"), ("   + ", "good"), (other, "strong"))]
    rows += [
        *_head("commands", f"{len(found.commands)} differ, {found.alike} are alike"),
        *_changes(found.commands, cells),
    ]
    if found.unread:
        return [*rows, *_head("environment and files"), *_sentence(found.unread, cells)]
    rows += [*_head("environment", _count(found.environment)), *_changes(found.environment, cells, "=")]
    rows += [*_head("files", "" if found.files else "they do not differ")]
    for line in found.files:
        ink = {"-": "warn", "+": "good", "@": "accent"}.get(line[:1], "text")
        rows += _chopped("  ", line, "title" if line.startswith(("---", "+++")) else ink, cells)
    return rows


def _count(changes: Sequence[Change]) -> str:
    return f"{len(changes)} differ" if changes else "they do not differ"


def _head(name: str, note: str = "", ink: str = "muted") -> list[Row]:
    return [(), ((f" {name}", "title"), (f"  {note}", ink))] if note else [(), ((f" {name}", "title"),)]


def _line(label: str, said: str, ink: str = "text") -> Row:
    return ((label, "muted"), (text.one_line(said), ink))


def _chopped(indent: str, said: str, ink: str, cells: int, hanging: str = "    ") -> Iterator[Row]:
    """A line over as many rows as it needs; nothing of it is left out."""
    said = text.clean(said).expandtabs(_TAB).replace("\n", " ")
    first, *more = chop_cells(said, max(cells - len(indent) - len(hanging) - 1, 16)) or [""]
    yield ((indent, "text"), (first, ink))
    for piece in more:
        yield ((indent + hanging, "text"), (piece, ink))


def _sentence(said: str, cells: int) -> Iterator[Row]:
    """Why something is not known."""
    for line in textwrap.wrap(text.one_line(said, 600), max(cells - 3, 16)):
        yield ((f"  {line}", "warn"),)


def _command(commands: Sequence[Sequence[str]], cells: int) -> Iterator[Row]:
    if not commands:
        yield _line("  ", "no command could be read", "warn")
    for argv in commands:
        groups = options(argv)
        plain = [group[0] for group in groups if not group[0].startswith("-")]
        yield from _chopped("  ", " ".join(map(_quoted, plain)), "strong", cells)
        for group in groups:
            if group[0].startswith("-"):
                yield from _chopped("    ", " ".join(map(_quoted, group)), "text", cells)


def _quoted(word: str) -> str:
    """A word as a shell would need it, where blanks would hide its bounds."""
    return word if word and not set(word) & set(" \t\n") else "'" + word.replace("'", "'\\''") + "'"


def _environment(environment: Mapping[str, str], cells: int) -> Iterator[Row]:
    if not environment:
        yield _line("  ", "nothing is set", "muted")
    for name, value in environment.items():
        yield from _chopped("  ", f"{name}={value}", "text", cells)


def _properties(properties: Mapping[str, str], cells: int) -> Iterator[Row]:
    if not properties:
        yield _line("  ", "nothing", "muted")
    for name, value in properties.items():
        yield from _chopped("  ", f"{name}={value}", "text", cells)


def _starts(definition: Definition, moment: Moment, cells: int, running: str) -> Iterator[Row]:
    if definition.starts_unread:
        yield from _sentence(definition.starts_unread, cells)
    elif not definition.starts:
        yield _line("  ", "the journal holds none", "muted")
    for start in definition.starts[:_REMEMBERED]:
        yield _start(start, moment, bool(running) and start.invocation == running)


def _start(start: Start, moment: Moment, runs_now: bool) -> Row:
    took = text.duration(start.ended - start.began) if start.ended is not None else ""
    how, ink = ("runs", "good") if runs_now else (start.how or "no end was logged", "text" if start.how else "muted")
    ink = "bad" if how == "failed" else ink
    runs: Row = ((f"  {moment(start.began)}  ", "muted"), (f"{took:>9}  ", "text"), (how.ljust(17), ink))
    runs += ((f"  {start.invocation[:8]}", "muted"),) if start.invocation else ()
    return (*runs, (f"  {start.said}", "muted")) if start.said else runs


def _loads(loads: Sequence[Load], moment: Moment) -> Iterator[Row]:
    if not loads:
        yield _line("  ", "none yet", "muted")
    for load in loads[:_REMEMBERED]:
        yield _load(load, moment)


def _load(load: Load, moment: Moment) -> Row:
    parts: list[tuple[str, str]] = [
        (f"  {moment(load.started)}  ", "muted"),
        (load.outcome.ljust(10), "bad" if load.outcome == "failed" else "text"),
    ]
    for label, at in (("answering", load.answering), ("ready", load.ready)):
        parts += [
            (f" {label} after ", "muted"),
            (text.UNKNOWN if at is None else text.duration(at - load.started), "text"),
        ]
    if not load.complete:
        parts.append(("  not watched from its beginning", "muted"))
    end = told.end(load)
    return (*parts, (f"  {end}", "warn")) if end else tuple(parts)


def _file(file: UnitFile, cells: int) -> Iterator[Row]:
    yield from _head(file.path, "" if file.text is not None else "this login cannot read it", "warn")
    for line in (file.text or "").splitlines():
        ink = "muted" if line.lstrip().startswith(("#", ";")) else "accent" if line.startswith("[") else "text"
        yield from _chopped("  ", line, ink, cells)


def _changes(changes: Iterable[Change], cells: int, between: str = " ") -> Iterator[Row]:
    for change in changes:
        sides = (("-", change.one, "warn"), ("+", change.other, "good"))
        for sign, value, ink in sides:
            if value is not None:
                name = change.name if not change.name.startswith(("word ", "command ")) else f"({change.name})"
                yield from _chopped(f"  {sign} ", f"{name}{between}{value}".rstrip(), ink, cells)

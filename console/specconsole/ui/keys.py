"""Every command, once: bindings, footer, help, palette and remapping are made of this table.

Ids are what users remap by, so one is never renamed or used again for something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum

from textual.binding import Binding, BindingType
from textual.keys import format_key


class Place(Enum):
    """Where a command works; the value says it in the help."""

    APP = "everywhere"
    DASHBOARD = "dashboard"
    UNITS = "units"
    LOG = "log"
    BENCH = "benchmark"


_AROUND: Mapping[Place, tuple[Place, ...]] = {
    Place.APP: (Place.APP,),
    Place.DASHBOARD: (Place.DASHBOARD, Place.APP),
    Place.UNITS: (Place.UNITS, Place.DASHBOARD, Place.APP),
    Place.LOG: (Place.LOG, Place.DASHBOARD, Place.APP),
    Place.BENCH: (Place.BENCH, Place.APP),
}
"""A place and the places around it, whose keys work there too."""


@dataclass(frozen=True)
class Command:
    """One thing that a user can ask for."""

    id: str
    keys: str
    """Textual's names, separated by commas; the first one is shown."""
    label: str
    """One or two words, for the footer."""
    help: str
    """What it does, for the help screen and the palette."""
    action: str
    """Textual's action, with its namespace where it is not the place's own."""
    place: Place = Place.APP
    footer: int | None = None
    """Rank in the footer: higher ones go first when room is short; None: not in the footer."""
    mutating: bool = False
    """It changes the host, or makes it work: not offered on a read-only host."""


COMMANDS: tuple[Command, ...] = (
    Command("app.help", "question_mark,f1", "help", "Explain the keys and the pane in focus", "help", footer=0),
    Command("app.quit", "q", "quit", "Leave the console; nothing of ours stays on the host", "quit", footer=0),
    Command("app.palette", "colon,ctrl+p", "commands", "Find a command by its name", "command_palette", footer=2),
    Command("app.theme", "t", "theme", "Next theme; it is remembered", "next_theme", footer=3),
    Command("link.retry", "r", "try again", "Ask a host that was lost or has refused us once more", "retry", footer=0),
    Command("screen.dashboard", "1", "dashboard", "Show the dashboard", "show('dashboard')", footer=5),
    Command("screen.bench", "3", "benchmark", "Show the last benchmark of this session", "show('bench')", footer=5),
    Command(
        "bench.start",
        "b",
        "benchmark",
        "Measure the unit that runs: TPOT, tokens per step, acceptance",
        "app.bench",
        Place.DASHBOARD,
        footer=1,
        mutating=True,
    ),
    Command(
        "bench.again",
        "b",
        "again",
        "Measure the unit that runs once more",
        "app.bench",
        Place.BENCH,
        footer=1,
        mutating=True,
    ),
    Command(
        "bench.stop", "x", "end run", "End the run; what was measured is kept", "app.bench_stop", Place.BENCH, footer=1
    ),
    Command(
        "bench.back",
        "escape",
        "back",
        "Back to the dashboard; a run goes on",
        "app.show('dashboard')",
        Place.BENCH,
        footer=1,
    ),
    Command("bench.copy", "y", "copy", "Copy the run as Markdown", "copy_markdown", Place.BENCH, footer=2),
    Command("bench.down", "j,down", "", "One line down", "sheet(1)", Place.BENCH),
    Command("bench.up", "k,up", "", "One line up", "sheet(-1)", Place.BENCH),
    Command("bench.page_down", "pagedown,space", "", "Ten lines down", "sheet(10)", Place.BENCH),
    Command("bench.page_up", "pageup", "", "Ten lines up", "sheet(-10)", Place.BENCH),
    Command("pane.next", "tab", "panes", "Focus the next pane", "app.focus_next", Place.DASHBOARD, footer=2),
    Command("pane.previous", "shift+tab", "", "Focus the previous pane", "app.focus_previous", Place.DASHBOARD),
    Command("pane.copy", "y", "copy", "Copy the text of the pane in focus", "copy_pane", Place.DASHBOARD, footer=4),
    Command(
        "probe.faster", "plus", "rate", "Sample the host faster, up to 10 Hz", "app.rate(1)", Place.DASHBOARD, footer=4
    ),
    Command("probe.slower", "minus", "", "Sample the host slower, down to 0.2 Hz", "app.rate(-1)", Place.DASHBOARD),
    Command("units.down", "j,down", "", "Select the next unit; its log is shown", "select(1)", Place.UNITS),
    Command("units.up", "k,up", "", "Select the previous unit; its log is shown", "select(-1)", Place.UNITS),
    Command(
        "log.follow", "G,end", "follow", "Show the end of the log and follow it", "log_end", Place.DASHBOARD, footer=1
    ),
    Command("log.top", "g,home", "", "Show the oldest line that is held", "log_top", Place.DASHBOARD),
    Command("log.pause", "space", "pause", "Stop following the log, or go on", "log_pause", Place.DASHBOARD, footer=1),
    Command("log.error", "e", "error", "Go to the next error in the log", "log_error(1)", Place.DASHBOARD, footer=1),
    Command("log.error_back", "E", "", "Go to the previous error in the log", "log_error(-1)", Place.DASHBOARD),
    Command("log.down", "j,down", "", "One line down", "scroll(1)", Place.LOG),
    Command("log.up", "k,up", "", "One line up", "scroll(-1)", Place.LOG),
    Command("log.page_down", "pagedown", "", "One page down", "page(1)", Place.LOG),
    Command("log.page_up", "pageup", "", "One page up", "page(-1)", Place.LOG),
    Command("log.right", "l,right", "", "See more of long lines", "aside(1)", Place.LOG),
    Command("log.left", "h,left", "", "Back to the start of lines", "aside(-1)", Place.LOG),
)

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
            if other.id != name and shared and _meet(ids[name].place, other.place):
                problems.append(
                    f"Key {', '.join(sorted(shared))} for {name} is taken by {other.id}; its own key stays."
                )
                del keys[name]
                break
    return Keymap(keys, tuple(problems))


def _keys(keys: str) -> set[str]:
    return {format_key(key.strip()) for key in keys.split(",")}


def _meet(one: Place, other: Place) -> bool:
    return one in _AROUND[other] or other in _AROUND[one]


def _name(action: str) -> str:
    return action.partition("(")[0].removeprefix("app.").removeprefix("screen.")

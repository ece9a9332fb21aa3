"""systemctl's questions and answers, for the console and for what runs on the host; Python 3.8, standard library.

One function per command line, one per kind of output.

Only monotonic stamps are asked for: numbers in every version and every locale, so that `--timestamp=unix` (248 and later)
is not needed. The host's /proc/uptime turns them into ages that no clock skew touches.
"""

from __future__ import annotations

import re
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

STATE = (
    *("Id", "LoadState", "UnitFileState", "ActiveState", "SubState", "Result", "MainPID", "NRestarts"),
    *("ExecMainCode", "ExecMainStatus", "ExecMainStartTimestampMonotonic", "StateChangeTimestampMonotonic"),
    *("ActiveEnterTimestampMonotonic", "InactiveEnterTimestampMonotonic", "InvocationID", "ControlGroup"),
    *("CPUUsageNSec", "StatusText", "NeedDaemonReload", "Job"),
)
"""What `state` reads."""
FILES = (
    "Description",
    "FragmentPath",
    "DropInPaths",
    "ExecStart",
    "Environment",
    "EnvironmentFiles",
    "StandardOutput",
    "User",
)
SEARCHED = ("Id", "LoadState", "ExecStart", "FragmentPath")
BROKEN = ("bad-setting", "error")
"""Of LoadState: the unit's file was read and refused."""
FOLDERS = "UnitPath"
"""Of the manager: where it looks for unit files."""
LOADED_AT = "UnitsLoadTimestampMonotonic"
"""Of the manager: moves with each daemon-reload (systemd 250 and later)."""

_UNSET = ("", "[not set]", "infinity", "18446744073709551615", "[n/a]")
_EXEC = re.compile(r"\{ path=(?P<path>.*?) ; argv\[\]=(?P<argv>.*) ; ignore_errors=\w+ ; start_time=")
_NUMBER = re.compile(r"-?[0-9]{1,20}")
_ESCAPED = re.compile(r"[^A-Za-z0-9]")

Block = Dict[str, List[str]]
"""The properties of one unit; a property that is printed several times has several values."""


class Manager(NamedTuple):
    """A systemd instance, and how its systemctl is called."""

    name: str = "system"
    """system, or user:NAME."""
    home: str = "/root"
    user: str = "root"
    uid: int = 0
    prefix: Tuple[str, ...] = ()
    """Words before systemctl and busctl."""
    scope: Tuple[str, ...] = ()
    """Their option that picks the manager."""

    @property
    def runtime(self) -> str:
        """What the specifier %t means."""
        return "/run" if self.name == "system" else f"/run/user/{self.uid}"


def user_manager(user: str, uid: int, gid: int, home: str, *, as_root: bool) -> Manager:
    """A user's manager.

    As root we become the user: `--machine=USER@` would do too, but opens a PAM session and a transient unit for each
    call, which at two polls a second floods the host's journal.
    """
    become = ("setpriv", f"--reuid={uid}", f"--regid={gid}", "--init-groups") if as_root and uid != 0 else ()
    prefix = (*become, "env", f"XDG_RUNTIME_DIR=/run/user/{uid}")
    return Manager(f"user:{user}", home, user, uid, prefix, ("--user",))


def list_unit_files(manager: Manager) -> List[str]:
    """Every service that has a unit file; dear, since PID 1 works out for each whether it is enabled."""
    return _systemctl(manager, "list-unit-files", "--type=service", *_PLAIN)


def find_unit_files(manager: Manager, folders: Sequence[str]) -> List[str]:
    """The same from the folders themselves: 10 ms, and PID 1 has no part in it."""
    return [*manager.prefix, "find", *folders, "-maxdepth", "1", "-name", "*.service"]


def list_units(manager: Manager) -> List[str]:
    """Every service that is loaded: instances of templates and transient ones are only here."""
    return _systemctl(manager, "list-units", "--type=service", "--all", "--full", *_PLAIN)


def list_jobs(manager: Manager) -> List[str]:
    """What waits or runs: number, unit, kind, state."""
    return _systemctl(manager, "list-jobs", *_PLAIN)


def show(manager: Manager, names: Sequence[str], properties: Iterable[str]) -> List[str]:
    """Properties of units; a unit that is not loaded is read from its file for the answer."""
    return _systemctl(manager, "show", "--no-pager", f"--property={','.join(properties)}", "--", *names)


def show_manager(manager: Manager, *properties: str) -> List[str]:
    """Properties of the manager itself."""
    return _systemctl(manager, "show", "--no-pager", f"--property={','.join(properties)}")


def exact_argv(manager: Manager, unit: str) -> List[str]:
    """ExecStart from D-Bus as JSON: the one way to get words that `systemctl show` joins by blanks."""
    path = "/org/freedesktop/systemd1/unit/" + bus_label(unit)
    where = ("org.freedesktop.systemd1", path, "org.freedesktop.systemd1.Service", "ExecStart")
    return [*manager.prefix, "busctl", *manager.scope, "--json=short", "get-property", *where]


_PLAIN = ("--no-legend", "--no-pager", "--plain")


def _systemctl(manager: Manager, *words: str) -> List[str]:
    return [*manager.prefix, "systemctl", *manager.scope, *words]


def bus_label(name: str) -> str:
    """A unit's name as a D-Bus path has it: all but letters and digits, and a digit in front, as _XX."""
    escaped = _ESCAPED.sub(lambda found: "".join(f"_{byte:02x}" for byte in found[0].encode()), name)
    return f"_{ord(escaped[0]):02x}{escaped[1:]}" if escaped[:1].isdecimal() else escaped


def names(text: str) -> List[str]:
    """The units of a list, templates left out: they cannot be asked for."""
    found = (line.lstrip(" ●*×↻○").partition(" ")[0] for line in text.splitlines())
    return [name for name in found if name.endswith(".service") and not name.endswith("@.service")]


def found_names(text: str) -> List[str]:
    """The units of paths, one a line, templates left out."""
    return names("\n".join(line.rpartition("/")[2] for line in text.splitlines()))


def blocks(text: str) -> List[Block]:
    """The units of a `systemctl show`, in the order in which they were asked for."""
    found: List[Block] = [{}]
    key = ""
    for line in text.splitlines():
        if not line:
            found.append({})
            continue
        name, equals, value = line.partition("=")
        if equals and name.isalnum():
            key = name
            found[-1].setdefault(key, []).append(value)
        elif key in found[-1]:
            found[-1][key][-1] += f"\n{line}"
    return [block for block in found if block]


def last(block: Block, key: str) -> str:
    """A property's value; "" where it is not printed."""
    return block.get(key, [""])[-1]


def number(block: Block, key: str) -> Optional[int]:
    """A property as a whole number; None for each of systemd's ways to say unset."""
    value = last(block, key)
    return int(value) if value not in _UNSET and _NUMBER.fullmatch(value) else None


def shown_argv(block: Block) -> List[str]:
    """The commands of ExecStart, each as words joined by blanks."""
    return [found["argv"] for value in block.get("ExecStart", []) if (found := _EXEC.search(value))]


def shown_path(block: Block) -> List[str]:
    """The programs of ExecStart."""
    return [found["path"] for value in block.get("ExecStart", []) if (found := _EXEC.search(value))]

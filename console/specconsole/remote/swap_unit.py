"""Units as the swap's runner asks for them and acts on them, of the system and of users' managers; Python 3.8.

A user's manager is asked as that user, over its own bus. `systemctl --machine=USER@` would do the same, but opens a
login session and a transient unit for each call, and the runner asks twice a second for an hour.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from specconsole.remote import outside
from specconsole.remote.child import environment

ASK_S = 15.0
PROPERTIES = (
    *("Id", "LoadState", "ActiveState", "SubState", "Result", "MainPID", "NRestarts", "InvocationID", "ControlGroup"),
    *("ExecMainCode", "ExecMainStatus", "ExecMainStartTimestampMonotonic", "UnitFileState", "Job", "KillMode"),
    *("TimeoutStopUSec", "Restart", "NeedDaemonReload", "FragmentPath"),
)
UP = ("active", "activating", "deactivating", "reloading")


class SystemctlFailed(Exception):
    """systemctl said no; the text is its last line."""


@dataclass(frozen=True)
class Ref:
    """Which unit of which manager."""

    name: str
    user: str = ""
    """Of a user's manager; "" for the system's."""
    uid: int = 0
    gid: int = 0

    @property
    def key(self) -> str:
        """As people write it: vllm.service, alice/vllm.service."""
        return "%s/%s" % (self.user, self.name) if self.user else self.name

    @classmethod
    def of(cls, value: Dict[str, Any]) -> Ref:
        """From a plan."""
        return cls(
            str(value["name"]), str(value.get("user") or ""), int(value.get("uid") or 0), int(value.get("gid") or 0)
        )


@dataclass(frozen=True)
class State:
    """systemd's view of a unit at one moment."""

    load: str
    active: str
    sub: str
    result: str
    pid: int
    restarts: int
    invocation: str
    cgroup: str
    code: str
    """exited, killed or dumped; "" while the main process runs."""
    status: Optional[int]
    started_us: int
    """Boot clock at which the main process started; 0: never."""
    enabled: str
    kill_mode: str
    stop_us: Optional[int]
    """TimeoutStopSec in microseconds; None: without end."""
    restart: str
    reload_due: bool
    fragment: str

    @property
    def up(self) -> bool:
        """Whether it has, or is about to have, processes."""
        return self.active in UP


_CODES = {"1": "exited", "2": "killed", "3": "dumped"}
_SPANS = {
    "us": 1,
    "ms": 1000,
    "s": 10**6,
    "min": 60 * 10**6,
    "h": 3600 * 10**6,
    "d": 86400 * 10**6,
    "w": 604800 * 10**6,
}


def span_us(text: str) -> Optional[int]:
    """systemd's way to print a time span, such as 1min 30s; None: infinity, or not understood."""
    total = 0
    for word in text.split():
        digits = word.rstrip("abcdefghijklmnopqrstuvwxyz")
        unit = word[len(digits) :]
        try:
            total += int(float(digits) * _SPANS[unit or "us"])
        except (ValueError, KeyError):
            return None
    return total if text.strip() else None


def parse(text: str) -> List[State]:
    """The states in the answer of `systemctl show`, in the order asked for."""
    found = []
    for block in text.strip("\n").split("\n\n"):
        pairs = (line.partition("=") for line in block.splitlines() if "=" in line)
        said = {name: value for name, _, value in pairs}
        if said:
            found.append(_state(said))
    return found


def _state(said: Dict[str, str]) -> State:
    code = said.get("ExecMainCode", "")
    return State(
        load=said.get("LoadState", ""),
        active=said.get("ActiveState", ""),
        sub=said.get("SubState", ""),
        result=said.get("Result", ""),
        pid=_number(said.get("MainPID")) or 0,
        restarts=_number(said.get("NRestarts")) or 0,
        invocation=said.get("InvocationID", ""),
        cgroup=said.get("ControlGroup", ""),
        code=_CODES.get(code, ""),
        status=_number(said.get("ExecMainStatus")) if code in _CODES else None,
        started_us=_number(said.get("ExecMainStartTimestampMonotonic")) or 0,
        enabled=said.get("UnitFileState", ""),
        kill_mode=said.get("KillMode", ""),
        stop_us=span_us(said.get("TimeoutStopUSec", "")),
        restart=said.get("Restart", ""),
        reload_due=said.get("NeedDaemonReload") == "yes",
        fragment=said.get("FragmentPath", ""),
    )


def _number(text: Optional[str]) -> Optional[int]:
    return int(text) if text and re.match(r"-?[0-9]{1,20}$", text) else None


class Systemd:
    """systemctl and journalctl, called with a deadline; `run` is replaced in tests."""

    def __init__(self, run: Optional[Callable[..., Tuple[int, str, str]]] = None) -> None:
        self.run = run or call

    def show(self, ref: Ref) -> State:
        """A unit's state. Raises SystemctlFailed."""
        out = self._ask(ref, "show", "--no-pager", "--property=" + ",".join(PROPERTIES), "--", ref.name)
        found = parse(out)
        if not found:
            raise SystemctlFailed("systemctl show says nothing of %s" % ref.key)
        return found[0]

    def stop(self, ref: Ref) -> None:
        """Queue its stop. Raises SystemctlFailed."""
        self._ask(ref, "stop", "--no-block", "--", ref.name)

    def start(self, ref: Ref) -> None:
        """Queue its start; a failed one's counters are cleared first, or systemd may refuse. Raises SystemctlFailed."""
        if self.show(ref).active == "failed":
            self._ask(ref, "reset-failed", "--", ref.name)
        self._ask(ref, "start", "--no-block", "--", ref.name)

    def is_shutting_down(self) -> bool:
        """Whether the host is on its way down."""
        return self.run(["systemctl", "is-system-running"], ASK_S, None)[1].strip() == "stopping"

    def log(self, ref: Ref, invocation: str, since: float, lines: int = 0) -> List[str]:
        """What an invocation logged, oldest first: all of it, or the last lines; [] where the journal says nothing.

        `since`: seconds since the epoch, for units of users, whose lines carry no invocation in every version.
        """
        match = ["_SYSTEMD_INVOCATION_ID=" + invocation]
        if ref.user:
            match = ["--since=@%d" % since, "_SYSTEMD_USER_UNIT=" + ref.name, "_UID=%d" % ref.uid]
        argv = ["journalctl", "--no-pager", "--all", "-b", "-o", "json", "--output-fields=MESSAGE"]
        argv += ["-n", str(lines)] if lines else []
        status, out, _ = self.run([*argv, *match], 60.0, None)
        return [text for line in out.splitlines() for text in _messages(line)] if status == 0 else []

    def stop_was_asked(self, ref: Ref, invocation: str) -> bool:
        """Whether systemd was asked to stop that invocation: its own word is in the journal."""
        if not invocation:
            return False
        field = "USER_INVOCATION_ID" if ref.user else "INVOCATION_ID"
        argv = ["journalctl", "--no-pager", "-b", "-o", "cat", "-n", "1", "%s=%s" % (field, invocation)]
        return bool(self.run([*argv, "MESSAGE_ID=de5b426a63be47a7b6ac3eaac82e2f6f"], ASK_S, None)[1].strip())

    def _ask(self, ref: Ref, *words: str) -> str:
        argv = ["systemctl", *(["--user"] if ref.user else []), *words]
        status, out, err = self.run(argv, ASK_S, ref)
        if status != 0:
            lines = (err or out).strip().splitlines()
            raise SystemctlFailed(lines[-1] if lines else "%s ended with status %d" % (" ".join(words[:2]), status))
        return out


def _messages(line: str) -> List[str]:
    try:
        said = outside.parse(line).get("MESSAGE")
    except ValueError:
        return []
    if isinstance(said, list):  # bytes, where the text has escapes or carriage returns
        said = bytes(part for part in said if isinstance(part, int)).decode("utf-8", "replace")
    return [said] if isinstance(said, str) else []


def call(argv: Sequence[str], deadline_s: float, ref: Optional[Ref]) -> Tuple[int, str, str]:
    """Run a program, as the owner of a user's manager where `ref` is of one; returns status, output and errors.

    One that does not end in its time is ended, and counts as failed: nothing here waits for ever.
    """
    words = list(argv)
    if ref is not None and ref.user:
        words = [*_becoming(ref), *words]
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            timeout=deadline_s,
        )
    except subprocess.TimeoutExpired:
        return 124, "", "%s did not answer for %g s" % (argv[0], deadline_s)
    except OSError as error:
        return 127, "", "%s: %s" % (argv[0], error.strerror or error)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def _becoming(ref: Ref) -> List[str]:
    """Words that make what follows the user's own: a program's, since code between fork and exec and threads do not mix."""
    become = ["setpriv", "--reuid=%d" % ref.uid, "--regid=%d" % ref.gid, "--init-groups"] if os.geteuid() == 0 else []
    return [*become, "env", "XDG_RUNTIME_DIR=/run/user/%d" % ref.uid]

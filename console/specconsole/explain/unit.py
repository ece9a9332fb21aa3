"""What systemctl and journalctl answered: a unit's state, and flags that an old systemd does not know; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from signal import Signals
from typing import Any

from specconsole.remote import outside, systemctl
from specconsole.service import systemd
from specconsole.service.capability import Capability, capability
from specconsole.text import one_line


@dataclass(frozen=True)
class UnitSeen:
    """A unit as an answer shows it; "" where the answer does not say."""

    name: str
    load: str
    active: str
    sub: str
    enabled: str = ""
    result: str = ""
    main_pid: int | None = None
    restarts: int | None = None
    exit_code: str | None = None
    exit_status: int | None = None
    type: str = ""
    start_timeout: str = ""
    """TimeoutStartUSec, in systemd's words."""
    exact: bool = True
    """From `show`; False: from `status`, whose words differ by version."""

    @property
    def failing(self) -> bool:
        """It ended, or ends again and again, in a way that nobody asked for."""
        return self.active == "failed" or self.sub == "auto-restart" or self.result not in ("", "success")

    @property
    def remarks(self) -> tuple[str, ...]:
        """What of its settings breaks a long load."""
        found = []
        if self.type == "notify":
            found.append("Type=notify never becomes ready with vLLM, which tells systemd nothing: set Type=exec.")
        if self.start_timeout and self.type in ("notify", "forking") and self.start_timeout != "infinity":
            found.append(f"TimeoutStartSec is {self.start_timeout}: it ends a healthy load; set it to infinity.")
        if (self.restarts or 0) >= 2:
            found.append(
                f"systemd has started it anew {self.restarts} times: it fails each time until the cause is mended."
            )
        return tuple(found)

    @property
    def startable(self) -> bool | None:
        """Whether systemd would start it; None: not known."""
        if not self.load and not self.enabled:
            return None
        return self.load not in ("masked", "not-found", "bad-setting", "error") and self.enabled != "masked"

    @property
    def why_not(self) -> str:
        """Why it cannot be started; "" where it can."""
        if self.load == "masked" or self.enabled == "masked":
            return "the unit is masked"
        return {
            "not-found": "there is no such unit",
            "bad-setting": "its unit file has a setting that systemd refuses",
            "error": "its unit file could not be read",
        }.get(self.load, "")


def shown(text: str) -> tuple[UnitSeen, ...]:
    """`systemctl show`, several units parted by empty lines."""
    found = []
    for block in systemctl.blocks(text):
        state = systemd.state(block, None)
        name = one_line(systemctl.last(block, "Id"), 120)
        if name or state.load or state.active:
            found.append(
                UnitSeen(
                    name,
                    one_line(state.load, 40),
                    one_line(state.active, 40),
                    one_line(state.sub, 40),
                    one_line(state.enabled, 40),
                    one_line(state.result, 40),
                    state.main_pid,
                    state.restarts,
                    state.exit_code,
                    state.exit_status,
                    one_line(systemctl.last(block, "Type"), 40),
                    one_line(systemctl.last(block, "TimeoutStartUSec"), 40),
                )
            )
    return tuple(found[:64])


_HEAD = re.compile(r"^[*●○×↻•\s]{0,3}(?P<name>[\w@.\\:-]+\.\w+)(?: - .*)?$")
_LOADED = re.compile(r"^\s*Loaded: (?P<load>[\w-]+)(?: \((?:[^;)]*; )?(?P<enabled>[\w-]+))?")
_ACTIVE = re.compile(r"^\s*Active: (?P<active>[\w-]+)(?: \((?P<sub>[\w-]+)\))?(?: \(Result: (?P<result>[\w-]+)\))?")
_ENDED = re.compile(r"code=(?P<exit_code>exited|killed|dumped), (?:status|signal)=(?P<exit_status>\d{1,3}|[A-Z]+)?")
_REFUSED = re.compile(r"^(?:Failed to \w+ \S+: )?Unit (?P<name>\S+) (?P<why>could not be found|not found|is masked)")
_PID = re.compile(r"^\s*Main PID: (?P<pid>\d{1,9})")


def status(text: str) -> tuple[UnitSeen, ...]:
    """`systemctl status`, for where nothing better is there."""
    found: list[dict[str, Any]] = []
    name = ""
    for line in text.splitlines():
        if head := _HEAD.match(line):
            name = head["name"]
        elif loaded := _LOADED.match(line):
            found.append(
                {
                    "name": one_line(name, 120),
                    "load": loaded["load"],
                    "active": "",
                    "sub": "",
                    "enabled": "masked" if loaded["load"] == "masked" else loaded["enabled"] or "",
                }
            )
        elif refused := _REFUSED.match(line):
            load = "masked" if "masked" in refused["why"] else "not-found"
            state = {"load": load, "enabled": "masked" if load == "masked" else ""}
            found.append({"name": one_line(refused["name"], 120), "active": "", "sub": "", **state})
        elif found and (active := _ACTIVE.match(line)):
            found[-1].update({name: word for name, word in active.groupdict().items() if word})
        elif found and (pid := _PID.match(line)):
            found[-1]["main_pid"] = int(pid["pid"])
            if ended := _ENDED.search(line):
                found[-1].update(exit_code=ended["exit_code"], exit_status=_number(ended["exit_status"] or ""))
    return tuple(UnitSeen(**values, exact=False) for values in found[:64])


def _number(status: str) -> int | None:
    """An exit status, or the number of a signal by its name."""
    if status.isdecimal():
        return int(status)
    return getattr(Signals, f"SIG{status}", None)


@dataclass(frozen=True)
class Call:
    """One recorded command."""

    argv: tuple[str, ...]
    status: int | None
    """None: it did not end in time."""
    took_ms: float | None
    output: str
    errors: str

    @property
    def program(self) -> str:
        """Its name without folders."""
        return self.argv[0].rpartition("/")[2] if self.argv else ""


@dataclass(frozen=True)
class Calls:
    """Recorded commands, and what they tell of the host's systemd."""

    calls: tuple[Call, ...]
    systemd: Capability


def calls(text: str) -> Calls:
    """Read recorded commands, one JSON object a line: argv, rc, stdout, stderr, ms."""
    found = []
    for line in text.splitlines()[:10_000]:
        try:
            value = outside.parse(line)
        except ValueError:
            continue
        if isinstance(value, Mapping) and isinstance(value.get("argv"), Sequence):
            found.append(_call(value))
    return Calls(tuple(found), capability((call.argv, call.status, call.output, call.errors) for call in found))


def _call(value: Mapping[str, Any]) -> Call:
    rc, took = value.get("rc"), value.get("ms")
    return Call(
        tuple(str(word) for word in value["argv"]),
        rc if isinstance(rc, int) else None,
        float(took) if isinstance(took, (int, float)) else None,
        str(value.get("stdout") or ""),
        str(value.get("stderr") or ""),
    )

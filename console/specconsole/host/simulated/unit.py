"""A unit of the simulated host as systemd would keep it: states, stamps, and what PID 1 says to the journal."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from specconsole.host.simulated.journal import Journal
from specconsole.host.simulated.playback import Playback
from specconsole.host.simulated.site import UnitFile

STARTING = "7d4958e842da4a758f6c1cdc7b36dcc5"
STARTED = "39f53479d3a045ac8e11786248231fbf"
STOPPING = "de5b426a63be47a7b6ac3eaac82e2f6f"
STOPPED = "9d1aaa27d60140bd96365438aad20286"
EXITED = "98e322203f7a4ed290d09fe03c09fe15"
SUCCESS = "7ad2d189f7e94e70a38c781354912448"
FAILED = "d9b373ed55a64feb8242e02dbe79a49c"
CONSUMED = "ae8f7b866b0347b9af31fe1c80b127c0"
RESTARTING = "5eb03494b6584870a536b337290809b3"
OOM_KILLED = "fe6faa94e7774663a0da52717891d8ef"
"""Message ids of systemd's catalogue."""


@dataclass
class SimulatedUnit:
    """One unit."""

    file: UnitFile
    booted: float
    active: str = "inactive"
    sub: str = "dead"
    result: str = "success"
    enabled: bool = False
    starts: int = 0
    restarts: int = 0
    """How often systemd started it again by itself."""
    due: float | None = None
    """When it is to be started."""
    used_s: float = 0.0
    """CPU seconds of the starts before this one."""
    playback: Playback | None = None
    """The server that runs, or ran last."""
    stamps: dict[str, float] = field(default_factory=dict)
    """Seconds since the epoch by the name of systemd's property, less "Timestamp"."""
    exit_code: int = 0
    """1: the main process ended by itself, 2: by a signal; 0: not ended."""
    exit_status: int = 0

    @property
    def name(self) -> str:
        """With its suffix."""
        return self.file.name

    @property
    def running(self) -> bool:
        """It has processes."""
        return self.active in ("active", "deactivating")

    @property
    def busy(self) -> bool:
        """It runs, or waits for its restart."""
        return self.running or self.active == "activating"

    @property
    def main_pid(self) -> int:
        """The main process; 0 when there is none."""
        alive = self.playback is not None and self.running and not self.exit_code
        return self.playback.script.main_pid if alive and self.playback else 0

    @property
    def cgroup(self) -> str:
        """Its control group, while it runs."""
        return f"/system.slice/{self.name}" if self.running else ""

    @property
    def invocation(self) -> str:
        """The id of its last start."""
        return self.playback.invocation if self.playback else ""

    def begin(self, at: float, playback: Playback, journal: Journal) -> None:
        """Enter active (running)."""
        self.starts += 1
        if self.active == "activating":
            self.restarts += 1
            text = f"{self.name}: Scheduled restart job, restart counter is at {self.restarts}."
            self._say(journal, at, text, RESTARTING)
        else:
            self.restarts = 0
        if self.file.kept:
            self.restarts = self.file.kept.restarts[self.starts - 1]
        self.used_s += self.cpu_s(at) or 0.0
        self.playback, self.exit_code, self.exit_status = playback, 0, 0
        self._say(journal, at, f"Starting {self.name} - {self.file.description}...", STARTING)
        self._enter(at, "active", "running")
        self.result = "success"
        self.stamps |= {"InactiveExit": at, "ActiveEnter": at, "ExecMainStart": at}
        self._say(journal, at, f"Started {self.name} - {self.file.description}.", STARTED)

    def stop(self, at: float, journal: Journal) -> None:
        """Enter deactivating (stop-sigterm)."""
        if self.playback:
            self.playback.stopped = at
        self._enter(at, "deactivating", "stop-sigterm")
        self.stamps["ActiveExit"] = at
        self._say(journal, at, f"Stopping {self.name} - {self.file.description}...", STOPPING)

    def exit(self, at: float, journal: Journal) -> None:
        """Take the end of the main process."""
        ending = self.playback.ending if self.playback else None
        if ending is None:
            return
        self.exit_code, self.exit_status = (2 if ending.signal else 1), ending.status
        self.stamps["ExecMainExit"] = at
        if ending.result == "oom-kill":
            text = f"{self.name}: A process of this unit has been killed by the OOM killer."
            self._say(journal, at, text, OOM_KILLED, priority=5)
        if ending.result != "success":
            self.result = ending.result
            how = f"killed, status={ending.status}/KILL" if ending.signal else f"exited, status={ending.status}/FAILURE"
            self._say(journal, at, f"{self.name}: Main process exited, code={how}", EXITED, priority=5)

    def end(self, at: float, journal: Journal) -> float | None:
        """Take the end of the last process: inactive, failed, or waiting for its restart; returns when that is."""
        failed = self.result != "success"
        stopped = self.active == "deactivating"
        again = not stopped and (self.file.restart == "always" or (failed and self.file.restart == "on-failure"))
        self._enter(at, *self._after(failed, again))
        self.stamps["InactiveEnter"] = at
        if failed:
            self._say(journal, at, f"{self.name}: Failed with result '{self.result}'.", FAILED, priority=4)
        else:
            self._say(journal, at, f"{self.name}: Deactivated successfully.", SUCCESS)
        if stopped:
            self._say(journal, at, f"Stopped {self.name} - {self.file.description}.", STOPPED)
        used = f"{self.name}: Consumed {_span(self.cpu_s(at) or 0)} CPU time."
        self._say(journal, at, used, CONSUMED)
        if again:
            self.due = at + self.file.restart_s
        return self.due if again and not self.file.kept else None

    def _after(self, failed: bool, again: bool) -> tuple[str, str]:
        if again:
            return "activating", "auto-restart"
        return ("failed", "failed") if failed else ("inactive", "dead")

    def wait_no_more(self) -> None:
        """A start on request comes before the one that it waited for."""
        if self.active == "activating":
            self.active, self.sub = "inactive", "dead"

    def forgive(self) -> None:
        """Be failed no more."""
        if self.active == "failed":
            self.active, self.sub, self.result = "inactive", "dead", "success"

    def give_up(self, at: float, journal: Journal) -> None:
        """Wait for no restart any more."""
        self._enter(at, "inactive", "dead")
        self.restarts = 0
        self._say(journal, at, f"Stopped {self.name} - {self.file.description}.", STOPPED)

    def cpu_s(self, now: float) -> float | None:
        """CPU seconds of its processes, running or ended; None before the first start, or where they were not kept."""
        return self.playback.cpu_s(now) if self.playback and not self.file.kept else None

    def new_invocation(self, at: float) -> str:
        """An id for a start at that moment; a demo that opens at the same moment has the same ids."""
        if self.file.kept:
            return self.file.kept.invocations[self.starts]
        return hashlib.sha256(f"{self.name} {self.starts + 1} {at:.0f}".encode()).hexdigest()[:32]

    def _enter(self, at: float, active: str, sub: str) -> None:
        self.active, self.sub = active, sub
        self.stamps["StateChange"] = at

    def _say(self, journal: Journal, at: float, text: str, message_id: str, priority: int = 6) -> None:
        if self.file.kept:
            return
        journal.add(
            at,
            {
                "MESSAGE": text,
                "MESSAGE_ID": message_id,
                "PRIORITY": str(priority),
                "SYSLOG_IDENTIFIER": "systemd",
                "_PID": "1",
                "_UID": "0",
                "_COMM": "systemd",
                "_SYSTEMD_UNIT": "init.scope",
                "_TRANSPORT": "journal",
                "UNIT": self.name,
                "INVOCATION_ID": self.invocation,
            },
        )


def _span(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{minutes:.0f}min {rest:.3f}s" if minutes else f"{rest:.3f}s"

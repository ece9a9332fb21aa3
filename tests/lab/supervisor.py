"""The process that holds one lab host: it mounts the tree, boots systemd in it, and takes all of it down at its own end.

    tests -> supervisor (own mount and network namespace) -> unshare -> systemd (PID 1 inside)

It ends when the tests' process does, however that ends: it watches a pidfd of it and its own standard input. Killed by
SIGKILL itself, the parent-death signals below it still end PID 1, and with that all that ran under it; what stays is an
empty cgroup and a folder of keys, which the next supervisor removes. Commands come as single bytes: 1 power on, 0 power
off (as when the plug is pulled). Events go out as JSON lines: {"on": pid of PID 1}, {"off": how it ended}.
"""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from tests.lab.image import HERE
from tests.lab.programs import output
from tests.lab.provision import provision
from tests.lab.spec import PREFIX, HostSpec

MOUNT = Path("/mnt")
"""Where a supervisor builds its tree, private to it."""
CONSOLE = MOUNT / "console.log"


def say(**event: int) -> None:
    """Tell the tests what happened."""
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


@dataclass
class Machine:
    """The host as its supervisor sees it: on or off."""

    name: str
    cgroup: Path
    slave: int
    unshare: subprocess.Popen[bytes] | None = None
    """The parent of PID 1, outside of its namespaces; None while the host is off."""
    init: int = 0
    ended: int = -1
    """A pidfd of `unshare`."""

    def boot(self) -> None:
        """Start systemd and say its pid."""
        namespaces = ("--pid", "--mount", "--uts", "--ipc", "--cgroup", "--fork", "--kill-child")
        remove(self.cgroup)  # what ran in it before may just be ending, and a cgroup with children takes no process
        self.cgroup.mkdir(exist_ok=True)
        procs = self.cgroup / "cgroup.procs"
        self.unshare = subprocess.Popen(
            [
                *("setpriv", "--pdeathsig", "KILL", "unshare", *namespaces),
                *("bash", str(HERE / "boot.sh"), str(MOUNT / "root"), self.name),
            ],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            preexec_fn=lambda: procs.write_text("0"),
        )
        self.ended = os.pidfd_open(self.unshare.pid)
        children = Path(f"/proc/{self.unshare.pid}/task/{self.unshare.pid}/children")
        while not (child := children.read_text()) and self.unshare.poll() is None:
            time.sleep(0.002)
        if child:
            self.init = int(child)
            # Only PID 1 stays in the cgroup that is its root, not its parent outside.
            (self.cgroup.parent / "cgroup.procs").write_text(str(self.unshare.pid))
            say(on=self.init)

    def reap(self) -> bool:
        """Take note of the end of PID 1; True: it was a reboot. unshare passes its signal on: HUP reboot, INT poweroff."""
        assert self.unshare
        code = self.unshare.wait()
        os.close(self.ended)
        self.unshare, self.ended = None, -1
        if code != -signal.SIGHUP:
            say(off=code)
        return code == -signal.SIGHUP

    def cut_power(self) -> None:
        """Kill PID 1, and by that everything in the host."""
        if self.unshare:
            os.kill(self.init or self.unshare.pid, signal.SIGKILL)


@dataclass
class Supervisor:
    """The loop of one supervisor."""

    machine: Machine
    tests: int
    """A pidfd of the tests' process."""
    console: BinaryIO
    master: int
    on: bool = field(default=True)

    def run(self) -> None:
        """Serve until the tests are gone or close our input."""
        while True:
            if self.on and not self.machine.unshare:
                self.machine.boot()
            waiting = [0, self.tests, self.master] + ([self.machine.ended] if self.machine.unshare else [])
            ready = select.select(waiting, [], [])[0]
            if self.master in ready:
                self.console.write(os.read(self.master, 65536))
            if self.machine.unshare and self.machine.ended in ready:
                self.on = self.machine.reap()
            if self.tests in ready:
                return
            if 0 in ready:
                command = os.read(0, 1)
                if not command:
                    return
                self.on = command == b"1"
                if not self.on:
                    self.machine.cut_power()


def supervise(spec: HostSpec) -> None:
    """Hold one host until the tests end."""
    tests = os.pidfd_open(os.getppid())
    output("mount", "-t", "tmpfs", "-o", f"mode=755,size={spec.disk}", "specconsole-lab", MOUNT)
    upper, work, root, cgroups = (MOUNT / name for name in ("up", "wk", "root", "cg"))
    for folder in (upper, work, root, cgroups):
        folder.mkdir()
    output("mount", "-t", "cgroup2", "cgroup2", cgroups)  # wherever, or whether, the machine mounts it
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    own = next(line[3:] for line in lines if line.startswith("0::"))
    cgroup = cgroups / own.lstrip("/") / f"{PREFIX}{os.getpid()}"
    sweep(cgroup.parent)
    cgroup.mkdir()
    master, slave = pty.openpty()
    machine = Machine(spec.name, cgroup, slave)
    try:
        layers = f"lowerdir={':'.join(spec.layers)},upperdir={upper},workdir={work}"
        output("mount", "-t", "overlay", "specconsole-lab", "-o", layers, root)
        provision(root, spec)
        with CONSOLE.open("ab", buffering=0) as console:
            Supervisor(machine, tests, console, master).run()
    finally:
        machine.cut_power()
        if machine.unshare:
            machine.unshare.wait()
        remove(cgroup)
        shutil.rmtree(spec.directory, ignore_errors=True)


def sweep(parent: Path) -> None:
    """Remove what supervisors left that were killed by SIGKILL themselves: cgroups by their pid, key folders by theirs."""
    for old in parent.glob(f"{PREFIX}*"):
        if gone(old.name.removeprefix(PREFIX)):
            remove(old)
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        if gone(folder.name.removeprefix(PREFIX).split("-")[0]):
            shutil.rmtree(folder, ignore_errors=True)


def gone(pid: str) -> bool:
    """Whether no such process runs."""
    try:
        return ") Z " in Path("/proc", pid, "stat").read_text()
    except OSError:
        return True


def remove(cgroup: Path, tries: int = 500) -> None:
    """Remove a cgroup with all below it; a process in it that is not reaped yet keeps it for a moment."""
    while cgroup.exists() and (tries := tries - 1):
        for folder, _, _ in os.walk(cgroup, topdown=False):
            try:
                Path(folder).rmdir()
            except OSError:  # noqa: PERF203  each of them may be busy
                time.sleep(0.01)


if __name__ == "__main__":
    supervise(HostSpec.load(Path(sys.argv[1])))

"""A disposable host: about 0.4 s from nothing to sshd.

image = base_image("bookworm")                        # may need the registry: before isolation
with isolated(), LabHost("gpu-1", gpu_layer(folder), image) as host:
    host.ip, host.key, host.known_hosts               # what an SSH client needs
    host.run("systemctl is-system-running")           # the tests' own back door (nsenter), past SSH
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.lab.network import require_isolation
from tests.lab.programs import ROOT, TAME, output
from tests.lab.spec import PREFIX, USERS, HostSpec
from tests.lab.supervisor import CONSOLE

_numbers = itertools.count()


class LabHost:
    """One host; every method is the test's, and none of them goes through SSH."""

    def __init__(
        self,
        name: str,
        *layers: Path,
        files: Mapping[str, str] | None = None,
        users: Mapping[str, Sequence[str]] | None = None,
        passwords: Mapping[str, str] | None = None,
        sshd: str = "",
        python: bool = True,
        cable: bool = True,
        disk: str = "2g",
    ) -> None:
        """`layers`: topmost first, the image last. Without a cable it is reached from other hosts only (`link`)."""
        self.name = name
        self.cable = cable
        self.ip = ""
        self.init = 0
        """PID 1 as the machine sees it: files inside are /proc/<init>/root/…"""
        self._directory = ""
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._spec: dict[str, Any] = {
            "name": name,
            "layers": [str(layer) for layer in layers],
            "files": dict(files or {}),
            "users": dict(USERS if users is None else users),
            "passwords": dict(passwords or {}),
            "sshd": sshd,
            "python": python,
            "disk": disk,
        }

    @property
    def key(self) -> Path:
        """The private key of every user."""
        return Path(self._directory, "id")

    @property
    def known_hosts(self) -> Path:
        """The host's key under all its addresses."""
        return Path(self._directory, "known_hosts")

    @property
    def pid(self) -> int:
        """The supervisor's, whose network is the host's also while it is off."""
        assert self._supervisor, f"{self.name} is not started"
        return self._supervisor.pid

    def start(self) -> LabHost:
        """Boot it and wait until sshd listens."""
        require_isolation()
        self._directory = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")  # the supervisor removes it
        for name in ("id", "hostkey"):
            output("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", self.key.with_name(name))
        spec = self.key.with_name("spec.json")
        HostSpec(**self._spec, directory=self._directory).dump(spec)
        self._supervisor = subprocess.Popen(
            [
                *(*TAME, "unshare", "--mount", "--net", "--propagation", "private"),
                *(sys.executable, "-m", "tests.lab.supervisor", str(spec)),
            ],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._event("on")
        self.net("ip", "link", "set", "lo", "up")
        if self.cable:
            self._wire_up(next(_numbers))
        return self.wait_ssh()

    def _wire_up(self, number: int) -> None:
        base = f"10.213.{number // 64}."
        self.ip, gateway = (f"{base}{number % 64 * 4 + offset}" for offset in (2, 1))
        link = f"lab{number}"
        output("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", self.pid)
        output("ip", "addr", "add", f"{gateway}/30", "dev", link)
        output("ip", "link", "set", link, "up")
        self._nic("eth0", self.ip)

    def _nic(self, device: str, ip: str) -> None:
        self.net("ip", "addr", "add", f"{ip}/30", "dev", device)
        self.net("ip", "link", "set", device, "up")
        with self.known_hosts.open("a") as known:
            known.write(f"{ip} {self.key.with_name('hostkey.pub').read_text()}")

    def link(self, other: LabHost, device: str = "lan0", net: str = "10.214.0.") -> str:
        """Lay a cable to another host and return the other's address on it; this host is net+1, the other net+2."""
        ends = ("type", "veth", "peer", "name", device, "netns", other.pid)
        output("ip", "link", "add", device, "netns", self.pid, *ends)
        self._nic(device, f"{net}1")
        other._nic(device, f"{net}2")
        return f"{net}2"

    def _event(self, what: str) -> None:
        assert self._supervisor
        assert self._supervisor.stdout
        event: dict[str, int] = {}
        while what not in event:
            line = self._supervisor.stdout.readline()
            if not line:
                raise RuntimeError(f"the supervisor of {self.name} ended: {self._supervisor.wait()}")
            event = json.loads(line)
        self.init = event.get("on", 0)

    def wait_ssh(self, timeout_s: float = 20) -> LabHost:
        """Wait until port 22 listens inside."""
        end = time.monotonic() + timeout_s
        while ":0016 00000000:0000 0A" not in Path(f"/proc/{self.pid}/net/tcp").read_text():
            if time.monotonic() > end:
                raise TimeoutError(f"{self.name}: no sshd after {timeout_s} s; console:\n{self.console()[-3000:]}")
            time.sleep(0.01)
        return self

    def run(self, command: str, *, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a shell command as root in the host; it is not in the host's cgroup, so don't start daemons by it."""
        enter = ("nsenter", "-t", str(self.init), "-a", "-w")
        argv = [*TAME, *enter, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "sh", "-c", command]
        done = _awake(argv)
        if check and done.returncode:
            raise AssertionError(f"{self.name}: {command!r} ended with {done.returncode}: {done.stderr or done.stdout}")
        return done

    def net(self, *argv: object) -> str:
        """Run a program of this machine in the host's network, on or off: ip, tc, nft, ss."""
        return output(*TAME, "nsenter", "-t", self.pid, "-n", *argv)

    def path(self, inside: str) -> Path:
        """Name a file of the running host so that the test can read and write it."""
        return Path(f"/proc/{self.init}/root", inside.lstrip("/"))

    def console(self) -> str:
        """Return what systemd wrote on the console in all boots."""
        return Path(f"/proc/{self.pid}/root{CONSOLE}").read_text(errors="replace")

    def plug(self, up: bool) -> None:
        """Push the network cable in, or pull it: silence, no RST, no FIN."""
        self.net("ip", "link", "set", "eth0", "up" if up else "down")

    def cut_ssh(self) -> None:
        """End all SSH sessions; sshd itself stays."""
        self.run("kill -9 $(pgrep ^sshd | grep -vx $(systemctl show --value -p MainPID ssh))", check=False)

    def reboot(self) -> LabHost:
        """Reboot it and wait until sshd listens again."""
        self.run("systemctl reboot", check=False)
        self._event("on")
        return self.wait_ssh()

    def power(self, on: bool) -> None:
        """Switch it on, or off as when the plug is pulled: no FIN leaves."""
        assert self._supervisor
        assert self._supervisor.stdin
        if self.cable:
            self.plug(on)
        self._supervisor.stdin.write(b"1" if on else b"0")
        self._supervisor.stdin.flush()
        self._event("on" if on else "off")
        if on:
            self.wait_ssh()

    def stop(self) -> None:
        """Take it down; nothing of it stays."""
        if self._supervisor:
            with self._supervisor:  # closes its pipes, which ends it, and waits
                pass
            self._supervisor = None

    def __enter__(self) -> LabHost:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _awake(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run nsenter to its end.

    It stops when what it runs is stopped, and a host that goes down stops all processes before it ends them: nobody would
    reap that one then, and its PID 1 waits for that for ever.
    """
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(argv, text=True, **pipes) as running:
        while True:
            try:
                said, errors = running.communicate(timeout=1.0)
            except subprocess.TimeoutExpired:  # noqa: PERF203  once a second
                running.send_signal(signal.SIGCONT)
            else:
                return subprocess.CompletedProcess(argv, running.returncode, said, errors)

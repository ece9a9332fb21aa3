"""The console's side of a test: the project's own SshHost on its way to lab hosts, and a user who answers its questions."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from specconsole.clock import SystemClock
from specconsole.host.base import Link
from specconsole.host.prompts import Question
from specconsole.host.ssh import SshHost
from specconsole.host.target import parse
from specconsole.host.way import Way
from tests.lab.host import LabHost
from tests.lab.programs import output


class User:
    """Answers questions by the first pattern that their text or context matches, and keeps what was asked and told."""

    def __init__(self, **answers: str | bool) -> None:
        """Patterns are keywords with spaces as underscores: `Password=…`, `Verification_code=…`, `trust=True`."""
        self.answers = {name.replace("_", " "): answer for name, answer in answers.items()}
        self.asked: list[Question] = []
        self.told: list[str] = []

    def _answer(self, question: Question) -> str | bool | None:
        self.asked.append(question)
        said = f"{question.text} {question.context}"
        return next((answer for name, answer in self.answers.items() if re.search(name, said, re.IGNORECASE)), None)

    async def ask(self, question: Question) -> str | None:
        """Type an answer, or give up."""
        answer = self._answer(question)
        return answer if isinstance(answer, str) else None

    async def confirm(self, question: Question) -> bool:
        """Say yes only where told so."""
        return self._answer(question) is True

    def tell(self, line: str) -> None:
        """Keep it."""
        self.told.append(line)


def known(folder: Path, *hosts: LabHost, more: str = "") -> Path:
    """Write a known_hosts of these hosts' keys into a folder that stands for ~/.ssh, and return the folder."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "known_hosts").write_text("".join(host.known_hosts.read_text() for host in hosts) + more)
    return folder


def host_key(host: LabHost, name: str) -> str:
    """Return a line of known_hosts that gives the host's key another name: [127.0.0.1]:4711."""
    return f"{name} {host.key.with_name('hostkey.pub').read_text()}"


def way(folder: Path, *keys: Path, config: str | None = None, **changes: Any) -> Way:
    """Return a way that knows nothing of this machine: only the folder, these keys and this configuration."""
    path = None
    if config is not None:
        path = folder / "config"
        path.write_text(config)
    identities = tuple(map(str, keys))
    plain = Way(folder=folder, config=path, local_user="tester", local_host="laptop", identities=identities)
    return replace(plain, **changes)


@asynccontextmanager
async def reach(
    host: LabHost, user: str = "root", *, to: str = "", by: Way | None = None, who: User | None = None, **more: Any
) -> AsyncIterator[SshHost]:
    """Open the console's host on a lab host with its key and known_hosts; `to` and `by` say another way."""
    where = parse(to or f"{user}@{host.ip}")
    path = by or way(host.key.parent, host.key)
    console = SshHost(where, path, clock=SystemClock(), prompter=who or User(), **more)
    try:
        await console.open()
        yield console
    finally:
        await console.close()


async def until(console: SshHost, good: Callable[[Link], bool], timeout_s: float = 20) -> Link:
    """Wait for a state of the link."""

    async def watch() -> Link:
        links = console.links()
        try:
            async for link in links:
                if good(link):
                    return link
        finally:
            await links.aclose()
        raise AssertionError(f"the link ended as {console.link}")

    return await asyncio.wait_for(watch(), timeout_s)


async def gone(host: LabHost, timeout_s: float) -> None:
    """Wait until nothing of ours runs on a host."""
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout_s
    while left := await asyncio.to_thread(ours, host):
        assert loop.time() < end, f"still there after {timeout_s} s: {left}"
        await asyncio.sleep(0.05)


async def eventually(true: Callable[[], bool], timeout_s: float = 10) -> None:
    """Wait until something on the host holds; the host cannot tell us when."""
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout_s
    while not await asyncio.to_thread(true):
        assert loop.time() < end, f"not within {timeout_s} s: {true}"
        await asyncio.sleep(0.05)


_NOT_OURS = re.compile(
    r"^(ps|sh -c ps|\(?sd-pam\)?|sshd|sshd:|/usr/sbin/sshd|/usr/lib/openssh/|/usr/bin/dbus|dbus|-bash|/lib/systemd|/usr/lib/systemd"
    r"|/sbin/init|/usr/lib/polkit|/usr/libexec/polkit|\(systemd|sudo-i|/usr/sbin/sshd-session|\[)"
)


def ours(host: LabHost, but: Sequence[str] = ()) -> list[str]:
    """List the processes on a host that only the console can have started; `but`: words of what the test itself runs."""
    lines = host.run("ps -eo args --no-headers").stdout.splitlines()
    return [line for line in lines if not _NOT_OURS.match(line) and not any(word in line for word in but)]


@contextmanager
def agent(folder: Path, *keys: Path) -> Iterator[str]:
    """Run an agent of OpenSSH that holds these keys; yields the path of its socket."""
    path = folder / "agent"
    # The agent ends with the command that it is given, and that one with us, however we end.
    command = ("setpriv", "--pdeathsig", "KILL", "sleep", "600")
    running = subprocess.Popen(["ssh-agent", "-a", str(path), *command], stdout=subprocess.DEVNULL)
    try:
        while not path.exists():
            assert running.poll() is None
        environment = {**os.environ, "SSH_AUTH_SOCK": str(path)}
        subprocess.run(["ssh-add", "-q", *map(str, keys)], check=True, env=environment)
        yield str(path)
    finally:
        running.terminate()
        running.wait()


def locked_key(key: Path, folder: Path, passphrase: str) -> Path:
    """Copy a private key and lock the copy."""
    copy = folder / "locked"
    copy.write_bytes(key.read_bytes())
    copy.chmod(0o600)
    output("ssh-keygen", "-q", "-p", "-P", "", "-N", passphrase, "-f", copy)
    return copy

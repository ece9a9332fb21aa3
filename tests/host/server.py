"""An SSH server in this process whose commands are real processes of this machine, with every kind of login."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh

from specconsole.host.base import Host
from specconsole.host.way import Way

KEY = asyncssh.generate_private_key("ssh-ed25519")
"""One host key for tests that do not care which."""


@dataclass
class Rules:
    """How a server behaves; changed while it runs, the next login follows."""

    user_keys: list[asyncssh.SSHKey] = field(default_factory=list)
    """Public keys that may log in; with none, and no password or challenge, anybody may."""
    password: str | None = None
    challenge: dict[str, str] = field(default_factory=dict)
    """Keyboard-interactive: prompts and the answers that are wanted."""
    banner: str = ""
    noise: bytes = b""
    """What the login shell prints before each command."""
    shell: Sequence[str] = ("/bin/sh", "-c")
    forwards: bool = True
    logins: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    connections: list[asyncssh.SSHServerConnection] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    """Passwords and answers that were tried."""

    @property
    def open(self) -> bool:
        return not (self.user_keys or self.password or self.challenge)


class Server(asyncssh.SSHServer):
    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self.conn = conn
        self.rules.connections.append(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        self.rules.connections.remove(self.conn)

    def begin_auth(self, username: str) -> bool:
        if self.rules.banner:
            self.conn.send_auth_banner(self.rules.banner)
        if self.rules.open:
            self.rules.logins.append(username)
        return not self.rules.open

    def auth_completed(self) -> None:
        self.rules.logins.append(self.conn.get_extra_info("username"))

    def public_key_auth_supported(self) -> bool:
        return bool(self.rules.user_keys)

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return any(key.public_data == known.public_data for known in self.rules.user_keys)

    def validate_ca_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return self.validate_public_key(username, key)

    def password_auth_supported(self) -> bool:
        return self.rules.password is not None

    def validate_password(self, username: str, password: str) -> bool:
        self.rules.tried.append(password)
        return password == self.rules.password

    def kbdint_auth_supported(self) -> bool:
        return bool(self.rules.challenge)

    def get_kbdint_challenge(self, username: str, lang: str, submethods: str) -> Any:
        return "", "Two questions.", "", [(prompt, False) for prompt in self.rules.challenge]

    def validate_kbdint_response(self, username: str, responses: Sequence[str]) -> bool:
        self.rules.tried += responses
        return list(responses) == list(self.rules.challenge.values())

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> Any:
        return self._may()

    def unix_connection_requested(self, dest_path: str) -> Any:
        return self._may()

    def _may(self) -> bool:
        if not self.rules.forwards:
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED, "no forwards here")
        return True


async def serve(process: asyncssh.SSHServerProcess[bytes], rules: Rules) -> None:
    """Run one command for a client."""
    command = process.command or ""
    rules.commands.append(command)
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(*rules.shell, command, stdin=pipe, stdout=pipe, stderr=pipe)
    assert child.stdin
    assert child.stdout
    assert child.stderr
    pumps = [
        asyncio.create_task(_pump(process.stdin, child.stdin, True)),
        asyncio.create_task(_pump(child.stdout, process.stdout, False)),
        asyncio.create_task(_pump(child.stderr, process.stderr, False)),
    ]
    try:
        with suppress(OSError):  # the client may be gone before its command has begun
            process.stdout.write(rules.noise)
        await asyncio.gather(*pumps[1:])
        status = await child.wait()
        with suppress(OSError, asyncssh.Error):
            process.exit(status)
    finally:
        pumps[0].cancel()
        child.stdin.close()
        await asyncio.gather(*pumps, return_exceptions=True)
        await child.wait()
        child._transport.close()  # type: ignore[attr-defined]  # a client that went read not all of it


async def _pump(source: Any, sink: Any, closes: bool) -> None:
    with suppress(OSError, asyncssh.Error):
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
    if closes:
        sink.close()


@dataclass
class Running:
    """A server that listens."""

    rules: Rules
    key: asyncssh.SSHKey
    """The host key, where it is the usual one."""
    port: int

    @property
    def known_hosts_line(self) -> str:
        return f"[127.0.0.1]:{self.port} {self.key.export_public_key().decode().strip()}\n"

    def drop(self) -> None:
        """Cut every connection at once."""
        for connection in list(self.rules.connections):
            connection.abort()


@asynccontextmanager
async def running(
    rules: Rules | None = None, key: Any = KEY, port: int = 0, **options: Any
) -> AsyncGenerator[Running, None]:
    """Run a server on a port of loopback until the block is left; `key` may be several, or a key and its certificate."""
    rules = rules or Rules()
    children: set[asyncio.Task[None]] = set()

    def factory(process: asyncssh.SSHServerProcess[bytes]) -> None:
        task = asyncio.create_task(serve(process, rules))
        children.add(task)
        task.add_done_callback(children.discard)

    server = await asyncssh.listen(
        "127.0.0.1",
        port,
        server_factory=lambda: Server(rules),
        server_host_keys=key if isinstance(key, list) else [key],
        process_factory=factory,
        encoding=None,
        **options,
    )
    try:
        yield Running(rules, KEY, server.sockets[0].getsockname()[1])
    finally:
        server.close()
        for connection in list(rules.connections):
            connection.abort()
        await server.wait_closed()
        while children:
            await asyncio.wait(children)


async def until(host: Host, holds: Callable[[], bool]) -> None:
    """Wait for a change of the link after which something holds."""
    async with aclosing(host.links()) as links:
        async for _ in links:
            if holds():
                return


def way(home: Path, **values: Any) -> Way:
    """A user with an empty home."""
    folder = home / ".ssh"
    folder.mkdir(mode=0o700, exist_ok=True)
    return Way(**{"folder": folder, "config": folder / "config", "local_user": "me", "local_host": "laptop", **values})

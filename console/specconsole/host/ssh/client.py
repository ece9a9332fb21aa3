"""One connect to one hop: the library's options, and its callbacks for host keys and questions."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from typing import Any

import asyncssh
from asyncssh.encryption import get_encryption_algs
from asyncssh.kex import get_default_kex_algs, get_kex_algs
from asyncssh.mac import get_default_mac_algs, get_mac_algs
from asyncssh.public_key import get_certificate_algs, get_public_key_algs

from specconsole.host import tcp
from specconsole.host.ssh.key import Keys
from specconsole.host.ssh_algorithm import CIPHERS, HOST_KEYS, LOGINS, certificate_of, choose
from specconsole.host.ssh_login import Login
from specconsole.host.ssh_trust import HostKey, Trust
from specconsole.text import reason

KEEPALIVE_S = 1.0
KEEPALIVE_COUNT = 3
"""Unanswered for the fourth second: a dead link is seen within 5 s, also at a round trip of 200 ms."""
FAMILIES = {"inet": socket.AF_INET, "inet6": socket.AF_INET6}
LOGIN_S = 3600
"""The library's own limit on a login, out of the way: ours does not count the time that somebody types."""


class Step(Enum):
    """What a connect waits for, in the order in which they come."""

    WAY = "a connection"
    GREETING = "sshd's greeting"
    KEYS = "the exchange of keys"
    LOGIN = "the login"


class Client(asyncssh.SSHClient):
    """The library's callbacks for one connect to one hop."""

    def __init__(self, trust: Trust, login: Login, keys: Keys) -> None:
        self.trust = trust
        self.login = login
        self.keys = keys
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._connection: asyncssh.SSHClientConnection | None = None
        self._logs_in = False

    @property
    def step(self) -> Step:
        """What it waits for, as long as it is not connected."""
        if self._logs_in:
            return Step.LOGIN
        if self._connection and self._connection.get_extra_info("server_version"):
            return Step.KEYS
        # A proxy command or a jump host takes our connection before it has one of its own.
        return Step.GREETING if self._connection and not self.login.hop.proxy_command else Step.WAY

    async def connect(self, tunnel: asyncssh.SSHClientConnection | None) -> asyncssh.SSHClientConnection:
        """Connect and log in."""
        hop = self.login.hop
        options: dict[str, Any] = {
            "preferred_auth": [name for name in hop.preferred if name in LOGINS] or LOGINS,
            "compression_algs": ["zlib@openssh.com", "none"] if hop.compression else ["none"],
            "encryption_algs": choose(CIPHERS, hop.ciphers, _names(get_encryption_algs())),
            "mac_algs": choose(_names(get_default_mac_algs()), hop.macs, _names(get_mac_algs())),
            "kex_algs": choose(
                [name for name in _names(get_default_kex_algs()) if not name.startswith("gss-")],
                hop.kex,
                _names(get_kex_algs()),
            ),
            "server_host_key_algs": self._host_key_algorithms(),
        }
        # The library takes a proxy command's error stream for the host's own bytes, and its end for the link's.
        if tunnel:
            options["tunnel"] = tunnel
        elif hop.proxy_command:
            options["proxy_command"] = ["/bin/sh", "-c", f"exec 3>&2 2>/dev/null; exec {hop.proxy_command}"]
        else:
            family = FAMILIES.get(hop.address_family, socket.AF_UNSPEC)
            options["sock"] = await tcp.connect(hop.host, hop.port, family, hop.bind_address)
        return await asyncssh.connect(
            hop.host,
            hop.port,
            username=hop.user,
            client_factory=lambda: self,
            config=None,
            host_key_alias=hop.alias,
            known_hosts=([], [], []),  # nothing is trusted but by the callbacks below
            client_keys=None,
            agent_path=None,
            gss_host=None,
            x509_trusted_certs=None,
            public_key_auth=hop.publickey,
            password_auth=hop.password,
            kbdint_auth=hop.keyboard,
            login_timeout=LOGIN_S,
            keepalive_interval=KEEPALIVE_S,
            keepalive_count_max=KEEPALIVE_COUNT,
            **options,
        )

    def _host_key_algorithms(self) -> list[str]:
        """Types of keys that are known first: a host with several keys then shows the one that can be compared."""
        trust, hop = self.trust, self.login.hop
        known: list[str] = []
        for entry in (*trust.known.keys, *trust.fallback.keys):
            with suppress(asyncssh.KeyImportError):
                known += _names(asyncssh.import_public_key(entry.public_line).sig_algorithms)
        plain = [*(name for name in HOST_KEYS if name in known), *(name for name in HOST_KEYS if name not in known)]
        # A certificate is asked for only where an authority could vouch for it.
        authorities = trust.known.authorities or trust.fallback.authorities
        certificates = [certificate_of(name) for name in HOST_KEYS] if authorities else []
        supported = [*_names(get_certificate_algs()), *_names(get_public_key_algs())]
        return choose([*certificates, *plain], hop.host_key_algorithms, supported)

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        """Keep the connection for `begin_auth`."""
        self._connection = conn

    def begin_auth(self, username: str) -> None:  # noqa: ARG002  the library's name
        """Look at the key inside a certificate, which no other callback shows, before anything secret is sent."""
        self._logs_in = True
        key = self._connection and self._connection.get_server_host_key()
        if key and self.trust.is_revoked(shown := HostKey(key.get_algorithm(), key.public_data)):
            self.trust.shown = shown
            raise asyncssh.HostKeyNotVerifiable("Host key is revoked")

    def connection_lost(self, exc: Exception | None) -> None:
        """Note why it ended."""
        if not self.ended.done():
            self.ended.set_result(reason(exc) if exc else "")

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:  # noqa: ARG002
        """Compare the host's key with the known ones."""
        return self.trust.trusts(HostKey(key.get_algorithm(), key.public_data))

    def validate_host_ca_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:  # noqa: ARG002
        """Judge the authority of a host's certificate."""
        return self.trust.trusts_authority(HostKey(key.get_algorithm(), key.public_data))

    def auth_banner_received(self, msg: str, lang: str) -> None:  # noqa: ARG002
        """Keep it for the first question."""
        self.login.banner = msg.strip()

    async def password_auth_requested(self) -> str | None:
        """Ask for the password."""
        return await self.login.password()

    async def password_change_requested(self, prompt: str, lang: str) -> Any:  # noqa: ARG002
        """Change no password here."""
        self.login.given_up = True
        return NotImplemented

    async def kbdint_auth_requested(self) -> str | None:
        """Say whether there is somebody to ask."""
        return self.login.keyboard()

    async def kbdint_challenge_received(
        self,
        name: str,
        instructions: str,
        lang: str,  # noqa: ARG002
        prompts: Sequence[tuple[str, bool]],
    ) -> list[str] | None:
        """Ask what the server asks."""
        return await self.login.challenge(name, instructions, prompts)

    async def public_key_auth_requested(self) -> asyncssh.SSHKeyPair | None:
        """Give the next key to try."""
        return await self.keys.next()


def _names(algorithms: Sequence[bytes]) -> list[str]:
    return [name.decode() for name in algorithms]

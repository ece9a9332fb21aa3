"""The keys to log in with: the agent's, files, locked files, and the certificates that go with them."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import asyncssh

from specconsole.host.ssh_hop import Hop
from specconsole.host.ssh_login import PASSPHRASE_TRIES, Login
from specconsole.host.ssh_wire import public_of_private
from specconsole.stream import within

AGENT_LIST_S = 5.0


class Keys:
    """The keys for one hop, in the order in which ssh tries them."""

    def __init__(self, login: Login, unlocked: dict[Path, asyncssh.SSHKey]) -> None:
        self.login = login
        self.unlocked = unlocked
        """Keys that were unlocked since the program started, in memory only."""
        self._agent: asyncssh.SSHAgentClient | None = None
        self._opaque: list[tuple[Path, bytes]] = []
        self._keys = self._candidates()

    async def next(self) -> asyncssh.SSHKeyPair | None:
        """Give the next key to try, or None after the last."""
        pair = await anext(self._keys, None)
        self.login.keys_tried += pair is not None
        return pair

    async def _candidates(self) -> AsyncGenerator[asyncssh.SSHKeyPair, None]:
        """The keys to try, as ssh orders them: agent keys that are configured, other agent keys, other files."""
        hop = self.login.hop
        certificates = await asyncio.to_thread(_certificates, hop)
        in_files = [pair for path in hop.identities if (pair := await self._from_file(path))]
        blobs = [pair.key_public_data for pair in in_files]
        held = await self._from_agent()
        chosen = [pair for blob in blobs for pair in held if pair.key_public_data == blob]
        others = [] if hop.identities_only else [pair for pair in held if pair.key_public_data not in blobs]
        used = {pair.key_public_data for pair in chosen}
        # A security key signs through the agent only.
        files = [
            pair for pair in in_files if pair.key_public_data not in used and not pair.algorithm.startswith(b"sk-")
        ]
        for pair in (*chosen, *others, *files):
            for certificate in certificates.get(pair.key_public_data, []):
                vouched = copy.copy(pair)
                vouched.set_certificate(certificate)
                yield vouched
            yield pair
        for path, data in self._opaque:
            with suppress(ValueError):
                yield asyncssh.load_keypairs(await self.unlock(path, data))[0]

    async def _from_agent(self) -> list[asyncssh.SSHKeyPair]:
        path = self.login.hop.agent
        if not path:
            return []
        self._agent = agent = _Agent(path, self.login)
        with suppress(ValueError, OSError, asyncio.TimeoutError):
            return list(await within(AGENT_LIST_S, agent.get_keys()))
        return []

    async def close(self) -> None:
        """Let go of the agent and of keys that were not tried."""
        await self._keys.aclose()
        if self._agent:
            self._agent.close()

    async def _from_file(self, path: Path) -> asyncssh.SSHKeyPair | None:
        """Load a key; the passphrase of a locked one is asked for only once the host wants it."""
        try:
            data = await asyncio.to_thread(path.read_bytes)
        except OSError:
            return None
        with suppress(ValueError):
            return asyncssh.load_keypairs(self.unlocked.get(path) or asyncssh.import_private_key(data))[0]
        public = await asyncio.to_thread(_public_of, path, data)
        if public:
            return _LockedKey(public, lambda: self.unlock(path, data))
        if b"PRIVATE KEY-----" in data:
            self._opaque.append((path, data))
        return None

    async def unlock(self, path: Path, data: bytes) -> asyncssh.SSHKey:
        """Ask for a key's passphrase until it fits, and keep the key for the next connect; raises ValueError."""
        for attempt in range(0 if path in self.unlocked else PASSPHRASE_TRIES):
            passphrase = await self.login.passphrase(path, attempt)
            if not passphrase:
                break
            with suppress(ValueError):  # PEM has no check of its own: a wrong passphrase shows as nonsense
                self.unlocked[path] = await asyncio.to_thread(asyncssh.import_private_key, data, passphrase)
                break
        if path not in self.unlocked:
            raise ValueError("the key stays locked")
        return self.unlocked[path]


class _Agent(asyncssh.SSHAgentClient):
    """An agent that may wait for a touch or a confirmation."""

    def __init__(self, path: str, login: Login) -> None:
        super().__init__(path)
        self._login = login

    async def sign(self, key_blob: bytes, data: bytes, flags: int = 0) -> bytes:
        """Sign, and say what it waits for."""
        line = f"The agent waits: touch the security key, or confirm, for {self._login.hop.login}."
        return await self._login.prompter.outside(super().sign(key_blob, data, flags), line)


class _LockedKey(asyncssh.SSHKeyPair):
    """A key whose passphrase is asked for when the host has said that it would take the key."""

    def __init__(self, public: asyncssh.SSHKey, unlock: Callable[[], Awaitable[asyncssh.SSHKey]]) -> None:
        kinds = public.sig_algorithms
        super().__init__(public.algorithm, public.algorithm, kinds, kinds, public.public_data, None)
        self._unlock = unlock

    async def sign_async(self, data: bytes) -> bytes:
        """Sign, after unlocking."""
        return (await self._unlock()).sign(data, self.sig_algorithm)


def _public_of(path: Path, private: bytes) -> asyncssh.SSHKey | None:
    """The public half of a locked key: from its own file, or from the file beside it."""
    words = public_of_private(private)
    with suppress(OSError, ValueError):
        return asyncssh.import_public_key(" ".join(words)) if words else asyncssh.read_public_key(f"{path}.pub")
    return None


def _certificates(hop: Hop) -> dict[bytes, list[asyncssh.SSHCertificate]]:
    """Certificates by the key that they are for: those that are configured, and KEY-cert.pub beside each key."""
    found: dict[bytes, list[asyncssh.SSHCertificate]] = {}
    for path in (*hop.certificates, *(Path(f"{key}-cert.pub") for key in hop.identities)):
        with suppress(OSError, ValueError):
            certificate = asyncssh.read_certificate(str(path))
            found.setdefault(certificate.key.public_data, []).append(certificate)
    return found

"""The files of known host keys (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT): what they say of a host, and a new line for one."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from specconsole.host.ssh_config import matches

DEFAULT_PORT = 22


@dataclass(frozen=True)
class Entry:
    """One line."""

    patterns: str
    kind: str
    """The key's type: ssh-ed25519."""
    key: str
    """The key in base64."""
    marker: str = ""
    """"cert-authority", "revoked", or nothing."""
    where: str = ""
    """File and line, for people."""

    @property
    def public_line(self) -> str:
        """Type and key as public key files have them."""
        return f"{self.kind} {self.key}"

    @property
    def fingerprint(self) -> str:
        """SHA256:… as ssh-keygen prints it."""
        return fingerprint(base64.b64decode(self.key))

    def names(self, name: str) -> bool:
        """Whether the line is for this name."""
        if self.patterns.startswith("|"):
            return _hash_matches(self.patterns, name)
        return matches(tuple(self.patterns.lower().split(",")), name.lower())


@dataclass(frozen=True)
class Known:
    """What the files say of one host."""

    keys: tuple[Entry, ...] = ()
    authorities: tuple[Entry, ...] = ()
    revoked: tuple[Entry, ...] = ()


def fingerprint(key: bytes) -> str:
    """SHA256:… of a key's wire form."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def parse(text: str, file: str = "") -> list[Entry]:
    """Read a file's lines; one that makes no sense is passed over, as OpenSSH does."""
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        marker = words.pop(0)[1:] if words and words[0].startswith("@") else ""
        if len(words) < 3 or words[0].startswith("#") or marker not in ("", "cert-authority", "revoked"):
            continue
        try:
            base64.b64decode(words[2], validate=True)
        except (binascii.Error, ValueError):
            continue
        entries.append(Entry(words[0], words[1], words[2], marker, f"{file}, line {number}"))
    return entries


def read(paths: Iterable[Path]) -> list[Entry]:
    """Read those of the files that are there."""
    entries: list[Entry] = []
    for path in paths:
        with suppress(OSError):
            entries += parse(path.read_text(encoding="utf-8", errors="replace"), str(path))
    return entries


def name_of(host: str, port: int, alias: str | None) -> str:
    """The name that a host has in these files; an alias stands for itself, without a port."""
    if alias:
        return alias
    return host.lower() if port == DEFAULT_PORT else f"[{host.lower()}]:{port}"


def look_up(entries: Iterable[Entry], name: str) -> Known:
    """Gather what holds for a name."""
    mine = [entry for entry in entries if entry.names(name)]
    return Known(
        tuple(entry for entry in mine if not entry.marker),
        tuple(entry for entry in mine if entry.marker == "cert-authority"),
        tuple(entry for entry in mine if entry.marker == "revoked"),
    )


def new_line(name: str, kind: str, key: str, salt: bytes | None) -> str:
    """Make a line for a key; with a salt of 20 bytes the name is hashed (HashKnownHosts)."""
    if salt is not None:
        digest = hmac.new(salt, name.encode(), hashlib.sha1).digest()
        name = f"|1|{base64.b64encode(salt).decode()}|{base64.b64encode(digest).decode()}"
    return f"{name} {kind} {key}\n"


def append(path: Path, line: str) -> None:
    """Add a line at the end of a file, which is made with its folder where it is not there; raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        path.touch(mode=0o600)
    with path.open("r+b") as file:
        end = file.seek(0, 2)
        if end:
            file.seek(end - 1)
            if file.read(1) != b"\n":
                line = "\n" + line
        file.write(line.encode())


def _hash_matches(pattern: str, name: str) -> bool:
    try:
        _, version, salt, digest = pattern.split("|")
        wanted = base64.b64decode(digest)
        found = hmac.new(base64.b64decode(salt), name.encode(), hashlib.sha1).digest()
    except (ValueError, binascii.Error):
        return False
    return version == "1" and hmac.compare_digest(wanted, found)

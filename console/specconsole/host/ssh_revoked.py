"""RevokedHostKeys: a list of public keys as text, or a key revocation list in OpenSSH's own format (PROTOCOL.krl)."""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass, field

from specconsole.host.ssh_wire import Cursor

KRL_MAGIC = b"SSHKRL\n\0"
CERTIFICATES, EXPLICIT_KEY, FINGERPRINT_SHA1, SIGNATURE, FINGERPRINT_SHA256, EXTENSION = 1, 2, 3, 4, 5, 255


@dataclass
class Revoked:
    """What a file revokes."""

    keys: set[bytes] = field(default_factory=set)
    """Keys in wire form."""
    sha1: set[bytes] = field(default_factory=set)
    sha256: set[bytes] = field(default_factory=set)
    certificates: bool = False
    """It also revokes certificates by serial number or name; those are not looked into, so no certificate is trusted."""

    def has(self, key: bytes) -> bool:
        """Whether it revokes a key in wire form."""
        digests = hashlib.sha1(key).digest(), hashlib.sha256(key).digest()  # noqa: S324  the format's own digest
        return key in self.keys or digests[0] in self.sha1 or digests[1] in self.sha256


def parse(data: bytes) -> Revoked:
    """Read a file of either form.

    Raises:
        ValueError: it is neither, or it is cut: nothing may be trusted then.
    """
    return _binary(data) if data.startswith(KRL_MAGIC) else _text(data)


def _text(data: bytes) -> Revoked:
    revoked = Revoked()
    for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            revoked.keys.add(base64.b64decode(words[1], validate=True))
        except (IndexError, binascii.Error, ValueError) as error:
            raise ValueError(f"line {number} is no public key") from error
    return revoked


def _binary(data: bytes) -> Revoked:
    revoked = Revoked()
    version = Cursor(data, len(KRL_MAGIC)).number(4)
    if version != 1:
        raise ValueError(f"it has version {version}")
    cursor = Cursor(data, len(KRL_MAGIC) + 4 + 3 * 8)
    cursor.string()  # reserved
    cursor.string()  # comment
    while not cursor.done:
        kind = cursor.number(1)
        section = cursor.string()
        if kind == SIGNATURE:
            break  # nothing after it is signed or read
        if kind == CERTIFICATES:
            revoked.certificates = True
        elif kind != EXTENSION:
            target = {EXPLICIT_KEY: revoked.keys, FINGERPRINT_SHA1: revoked.sha1, FINGERPRINT_SHA256: revoked.sha256}
            if kind not in target:
                raise ValueError(f"it has a section of type {kind}")
            target[kind].update(_strings(section))
    return revoked


def _strings(data: bytes) -> list[bytes]:
    cursor, found = Cursor(data, 0), []
    while not cursor.done:
        found.append(cursor.string())
    return found

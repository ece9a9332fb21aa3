"""SSH's wire format, as far as key files and revocation lists use it."""

from __future__ import annotations

import base64


class Cursor:
    """Reads SSH's wire types (RFC 4251) one after the other; raises ValueError where the data is cut."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data = data
        self.at = at

    @property
    def done(self) -> bool:
        """Whether all is read."""
        return self.at >= len(self.data)

    def _take(self, size: int) -> bytes:
        piece = self.data[self.at : self.at + size]
        if len(piece) < size:
            raise ValueError("it is cut")
        self.at += size
        return piece

    def number(self, size: int) -> int:
        """A number of so many bytes."""
        return int.from_bytes(self._take(size), "big")

    def string(self) -> bytes:
        """Bytes with their count before them."""
        return self._take(self.number(4))


def public_of_private(text: bytes) -> tuple[str, str] | None:
    """The public key inside an OpenSSH private key file, readable without its passphrase, as (type, base64).

    None for other formats: PEM encrypts the whole key.
    """
    try:
        _, _, rest = text.partition(b"-----BEGIN OPENSSH PRIVATE KEY-----")
        body, found, _ = rest.partition(b"-----END OPENSSH PRIVATE KEY-----")
        data = base64.b64decode(b"".join(body.split())) if found else b""
        magic = b"openssh-key-v1\0"
        if not data.startswith(magic):
            return None
        cursor = Cursor(data, len(magic))
        for _ in range(3):  # cipher, key derivation, its options
            cursor.string()
        cursor.number(4)  # how many keys: always one
        key = cursor.string()
        return Cursor(key, 0).string().decode("ascii"), base64.b64encode(key).decode()
    except ValueError:
        return None

"""Whether a host is the one it was: its key against the known_hosts files, and the question where it was never seen."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass

from specconsole.errors import LinkRefused
from specconsole.host import known_hosts, ssh_revoked
from specconsole.host.known_hosts import Known
from specconsole.host.prompts import Prompter, Question
from specconsole.host.ssh_hop import Hop

SALT_BYTES = 20


@dataclass(frozen=True)
class HostKey:
    """A key that a host showed."""

    kind: str
    """ssh-ed25519."""
    blob: bytes
    """Its wire form."""

    @property
    def label(self) -> str:
        """Type and fingerprint as ssh shows them: ED25519 SHA256:…"""
        short = self.kind.removeprefix("ssh-").removeprefix("ecdsa-sha2-").split("@")[0].upper()
        return f"{'ECDSA' if self.kind.startswith('ecdsa') else short} {known_hosts.fingerprint(self.blob)}"


class Trust:
    """What is known of one hop's key at the moment of a connect."""

    def __init__(self, hop: Hop, accepted: set[bytes] | None = None) -> None:
        self.hop = hop
        self.accepted = set[bytes]() if accepted is None else accepted
        """Keys, in wire form, that were accepted since the program started; no file may be there to remember them."""
        entries = known_hosts.read((*hop.known_hosts, *hop.global_known_hosts))
        self.known = known_hosts.look_up(entries, hop.known_as)
        if not (self.known.keys or self.known.authorities) and hop.known_as.startswith("["):
            # As OpenSSH does: a key known for the port 22 is good for another port, but does not speak against one.
            plain = known_hosts.look_up(entries, hop.host)
            self.fallback = plain
        else:
            self.fallback = Known()
        self.revoked = _revoked(hop)
        self.shown: HostKey | None = None
        """The key that was shown and not trusted."""

    def trusts(self, key: HostKey) -> bool:
        """Whether a key is known and not revoked; one that is not is kept in `shown`."""
        good = any(base64.b64decode(entry.key) == key.blob for entry in (*self.known.keys, *self.fallback.keys))
        if (good or (key.blob in self.accepted and not self.known.keys)) and not self.is_revoked(key):
            return True
        self.shown = key
        return False

    def trusts_authority(self, key: HostKey) -> bool:
        """Whether certificates signed by a key are trusted for this host."""
        authorities = (*self.known.authorities, *self.fallback.authorities)
        if self.revoked.certificates or self.is_revoked(key):
            return False
        return any(base64.b64decode(entry.key) == key.blob for entry in authorities)

    def is_revoked(self, key: HostKey) -> bool:
        """Whether a key is revoked, by @revoked or RevokedHostKeys."""
        marked = (*self.known.revoked, *self.fallback.revoked)
        return self.revoked.has(key.blob) or any(base64.b64decode(entry.key) == key.blob for entry in marked)

    async def settle(self, prompter: Prompter) -> str:
        """Decide about the key that was shown: take it into known_hosts and return what to say of it, or refuse.

        Raises:
            LinkRefused: it is revoked, it has changed, or nobody accepted it.
        """
        key, hop = self.shown, self.hop
        if not key:
            raise LinkRefused(f"{hop.host} shows no key that can be verified.", hint=_CERTIFICATE_HINT)
        if self.is_revoked(key):
            raise LinkRefused(
                f"The key of {hop.host} is revoked: {key.label}.", hint="Ask who runs it for its new key."
            )
        if self.known.keys:
            raise self._changed(key)
        if hop.strict == "yes":
            raise LinkRefused(
                f"The key of {hop.host} is not known: {key.label}.",
                hint="StrictHostKeyChecking is yes: add the key to known_hosts after verifying it.",
            )
        if hop.strict != "accept-new" and not await prompter.confirm(self._question(key)):
            raise LinkRefused(
                f"The key of {hop.host} is not known and was not accepted: {key.label}.",
                hint="Verify the fingerprint on the host (ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub) and "
                "connect again, or give --accept-new.",
            )
        return self._remember(key)

    def _question(self, key: HostKey) -> Question:
        lines = [f"{self.hop.host} ({self.hop.known_as}) was never seen before. It shows the key", f"  {key.label}"]
        return Question(
            "Is this the right host, and shall its key be remembered", secret=False, context="\n".join(lines)
        )

    def _changed(self, key: HostKey) -> LinkRefused:
        before = self.known.keys[0]
        return LinkRefused(
            f"The key of {self.hop.host} has changed: it is {key.label} now, and {before.fingerprint} in {before.where}.",
            "Somebody may be between you and the host, or it was installed anew.",
            f"Verify the new fingerprint with who runs it, then: ssh-keygen -R '{self.hop.known_as}'",
        )

    def _remember(self, key: HostKey) -> str:
        """Write the key to the first known_hosts file, before it is used."""
        blob = base64.b64encode(key.blob).decode()
        salt = os.urandom(SALT_BYTES) if self.hop.hash_names else None
        said = f"The key of {self.hop.host} is new and was accepted: {key.label}."
        self.accepted.add(key.blob)
        if not self.hop.known_hosts:
            return f"{said} No known_hosts file is configured, so it is not remembered."
        path = self.hop.known_hosts[0]
        try:
            known_hosts.append(path, known_hosts.new_line(self.hop.known_as, key.kind, blob, salt))
        except OSError as error:
            return f"{said} It could not be written to {path}: {error.strerror}."
        return said


_CERTIFICATE_HINT = "It may have a certificate of an authority that no @cert-authority line in known_hosts names."


def _revoked(hop: Hop) -> ssh_revoked.Revoked:
    """Read the revocation lists; one that cannot be read revokes everything, as in ssh."""
    revoked = ssh_revoked.Revoked()
    for path in hop.revoked:
        try:
            found = ssh_revoked.parse(path.read_bytes())
        except (OSError, ValueError) as error:
            raise LinkRefused(
                f"{path} (RevokedHostKeys) cannot be read: {error}.", hint="Without it no host key may be trusted."
            ) from error
        revoked.keys |= found.keys
        revoked.sha1 |= found.sha1
        revoked.sha256 |= found.sha256
        revoked.certificates |= found.certificates
    return revoked

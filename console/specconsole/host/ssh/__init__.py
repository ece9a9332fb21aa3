"""A host over SSH; the only package that imports the SSH library."""

from specconsole.host.ssh.dialer import SshHost

__all__ = ["SshHost"]

"""A network of the tests' own: what is sent to a host that is gone must not leave the machine by its default route."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab.programs import output

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


@contextmanager
def isolated() -> Iterator[None]:
    """Put this thread, and the threads and programs that it starts meanwhile, into an empty network with a loopback.

    Afterwards the thread is back in the machine's network, so that other tests of the same process are as before.
    """
    with Path("/proc/thread-self/ns/net").open() as outside:
        _checked(_libc.unshare(_NEW_NETWORK), "unshare(CLONE_NEWNET)")
        try:
            output("ip", "link", "set", "lo", "up")
            yield
        finally:
            _checked(_libc.setns(outside.fileno(), _NEW_NETWORK), "setns")


def require_isolation() -> None:
    """Raise unless this thread is in a network without a way out."""
    if output("ip", "route", "show", "default"):
        raise RuntimeError("start lab hosts inside network.isolated(): here, packets for a lost host leave the machine")

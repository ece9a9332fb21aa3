"""Whether a port listens, asked of the kernel instead of the server.

A connect that is refused costs an error line in sshd's log ("connect_to 127.0.0.1 port 8000: failed"), so that a load
of 90 minutes polled at 2 Hz would write 10,800 of them into the host's journal. vLLM binds its port at once and
listens only when it is ready to answer: the kernel's table tells the two apart.
"""

from __future__ import annotations

from specconsole.errors import CommandFailed, DeadlineExceeded
from specconsole.host.base import Endpoint, Host

_LISTEN = "0A"


async def listening(host: Host, endpoint: Endpoint) -> bool | None:
    """True or False for a TCP port of the host's own network; None where it cannot be told (a socket file). Raises LinkLost."""
    if endpoint.uds:
        return None
    row = f"^ *[0-9]+: [0-9A-F]+:{endpoint.port:04X} [0-9A-F]+:0000 {_LISTEN} "
    status = await _grep(host, row, "/proc/net/tcp", "/proc/net/tcp6")
    if status == 2:  # a host without IPv6 has no second table
        status = await _grep(host, row, "/proc/net/tcp")
    return {0: True, 1: False}.get(status)


async def _grep(host: Host, row: str, *tables: str) -> int:
    try:
        return (await host.run(["grep", "-qsE", row, *tables], deadline_s=5.0)).status
    except (CommandFailed, DeadlineExceeded):
        return -1

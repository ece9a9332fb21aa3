"""How the lab runs programs of this machine, and what all of them must not be able to do to it."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout; the supervisor is started from here as a module."""

DROP = "-sys_time,-wake_alarm,-sys_module,-sys_rawio,-syslog,-audit_control,-mac_admin"
"""Not namespaced by the kernel: `date -s` inside would set the machine's clock. So it is taken from the supervisor, the
host, and the tests' back door alike."""

TAME = ("setpriv", "--bounding-set", DROP, "--inh-caps", DROP, "--")


def output(*argv: object, stdin: str | None = None) -> str:
    """Run a program of this machine to its end and return what it printed.

    Raises:
        subprocess.CalledProcessError: it failed; its errors went to our stderr.
    """
    words = [str(word) for word in argv]
    if stdin is None:
        return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL).stdout
    return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE, input=stdin).stdout

"""The interpreters of this machine: what runs on the host must run on old ones too."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

OLDEST_FIRST = ("3.8", "3.9", "3.10")


@cache
def oldest() -> str | None:
    """The oldest of 3.8 to 3.10 that is here and works, installed by the system or by pyenv; None: none is."""
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)  # the real one: tests have a home of their own
    for version in OLDEST_FIRST:
        own = sorted((home / ".pyenv/versions").glob(f"{version}.*/bin/python{version}"))
        for path in filter(None, (shutil.which(f"python{version}"), *map(str, own))):
            if subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
                return path
    return None


def interpreters() -> list[str]:
    """The running one, and the oldest one."""
    return [sys.executable, *filter(None, [oldest()])]

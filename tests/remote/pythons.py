"""Interpreters of this machine, old and own, for programs that must run on both."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def interpreters() -> list[str]:
    """The running one, and the oldest of 3.8 and newer that pyenv or the system has."""
    found = [sys.executable]
    for version in ("3.8", "3.9", "3.10"):
        for path in (
            *sorted(Path("/root/.pyenv/versions").glob(f"{version}.*/bin/python")),
            Path(f"/usr/bin/python{version}"),
        ):
            if path.exists() and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
                return [*found, str(path)]
    return found


def run_remote(module: str, arguments: object) -> list[str]:
    """The arguments of an interpreter that runs a module of `specconsole.remote` as the host does: isolated."""
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'console')!r})\n"
    code += f"from specconsole.remote.{module} import main\nsys.exit(main({arguments!r}))"
    return ["-I", "-c", code]

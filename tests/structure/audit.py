"""What the project stands on: how each dependency is pinned, what is installed, and which known vulnerabilities it has.

`./dev audit` runs it. It changes nothing of the environment it looks at: the tool that asks for vulnerabilities has one
of its own beside it. Without an answer from the network that is said in one sentence and is no failure; neither is
anything in CI, which only prints what is found.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
TOOL = "pip-audit>=2.9,<3"
INSTALL_S, ASK_S = 180, 180
_NAME = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*(.*)")


def pins(text: str) -> Iterator[tuple[str, str, str]]:
    """Name, specifier and how tight it is (exact, bounded, open), of each dependency in a pyproject.toml."""
    project = tomllib.loads(text)["project"]
    for line in (*project["dependencies"], *project["optional-dependencies"]["dev"]):
        requirement = line.partition(";")[0].strip()
        found = _NAME.fullmatch(requirement)
        assert found, f"{line} is no requirement"
        specifier = found[2].replace(" ", "")
        bound = "exact" if "==" in specifier else "bounded" if "<" in specifier or "~=" in specifier else "open"
        yield found[1], specifier or "any", bound


def installed(name: str) -> str:
    """The version that is installed; "—" where it is not."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "—"


def tool(folder: Path) -> Path | None:
    """The interpreter of the tool's own environment, made where it is not there; None: it cannot be had now."""
    python = folder / "bin" / "python"
    try:
        if not python.exists():
            venv.create(folder, with_pip=True, clear=True)
        have = subprocess.run([str(python), "-c", "import pip_audit"], capture_output=True, timeout=60, check=False)
        if have.returncode:
            install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", TOOL]
            subprocess.run(install, capture_output=True, timeout=INSTALL_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return python


def vulnerable(python: Path) -> tuple[int, list[str]] | None:
    """How many of the packages that are installed here were looked up, and a line for each known vulnerability of them.

    None: nobody answered.
    """
    ask = [str(python), "-m", "pip_audit", "--format=json", "--progress-spinner=off", "--skip-editable", "--timeout=15"]
    ask += ["--path", sysconfig.get_path("purelib")]
    try:
        done = subprocess.run(ask, capture_output=True, timeout=ASK_S, check=False)
        return read(done.stdout.decode())
    except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError):
        return None


def read(answer: str) -> tuple[int, list[str]] | None:
    """Read the tool's JSON; None: it looked nothing up. Raises ValueError, KeyError or TypeError where it is none."""
    known = [package for package in json.loads(answer)["dependencies"] if "vulns" in package]
    lines = []
    for package in known:
        for found in package["vulns"]:
            mended = ", ".join(found["fix_versions"]) or "no version yet"
            lines.append(f"{package['name']} {package['version']}: {found['id']}, mended in {mended}")
    return (len(known), lines) if known else None


def main(folder: str) -> int:
    """Print all of it; 1 where something known is vulnerable, outside of CI."""
    rows = [
        (name, bound, specifier, installed(name))
        for name, specifier, bound in pins((ROOT / "pyproject.toml").read_text())
    ]
    for name, bound, specifier, here in rows:
        print(f"  {name:<24} {bound:<8} {specifier:<16} {here}")
    python = tool(Path(folder))
    found = vulnerable(python) if python else None
    if found is None:
        print("Known vulnerabilities could not be looked up: no answer from the network.")
        return 0
    count, lines = found
    for line in lines:
        print(f"  {line}")
    print(f"{len(lines) or 'No'} known vulnerabilities in {count} packages.")
    return 1 if lines and not os.environ.get("CI") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

"""The programs that run on the host compile and import on Python 3.8, where such an interpreter is here."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

from tests.pythons import oldest

ROOT = Path(__file__).resolve().parents[2]
REMOTE = sorted((ROOT / "console" / "specconsole" / "remote").glob("*.py"))


def test_remote_is_written_in_the_grammar_of_3_8() -> None:
    for path in REMOTE:
        ast.parse(path.read_text(), filename=path.name, feature_version=(3, 8))


def test_remote_imports_on_the_oldest_python_here() -> None:
    python = oldest()
    assert python, "no Python of 3.8 to 3.10 on this machine"
    names = [f"specconsole.remote.{path.stem}" for path in REMOTE if path.stem != "__init__"]
    stubs = "import sys, types\n" + "".join(
        f"m = types.ModuleType({name!r}); m.__path__ = [{str(folder)!r}]; sys.modules[{name!r}] = m\n"
        for name, folder in (
            ("specconsole", ROOT / "console/specconsole"),
            ("specconsole.remote", ROOT / "console/specconsole/remote"),
        )
    )
    code = stubs + "".join(f"import {name}\n" for name in names)
    subprocess.run([python, "-I", "-c", code], check=True)

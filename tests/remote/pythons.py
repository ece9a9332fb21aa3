"""Programs of `specconsole.remote` run as the host runs them."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run_remote(module: str, arguments: object) -> list[str]:
    """The arguments of an interpreter that runs a module of `specconsole.remote` as the host does: isolated."""
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'console')!r})\n"
    code += f"from specconsole.remote.{module} import main\nsys.exit(main({arguments!r}))"
    return ["-I", "-c", code]

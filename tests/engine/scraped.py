"""The recorded answers of /metrics, by file name: vLLM 0.24 on an H200, 0.32 on a CPU, older versions from reports."""

from __future__ import annotations

import gzip
from pathlib import Path

FOLDER = Path(__file__).parent / "scrapes"
NAMES = sorted(path.name for path in FOLDER.iterdir())


def text(name: str) -> str:
    """One recorded answer, by its file's name or the name's beginning."""
    path = next(FOLDER.glob(f"{name}*"))
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()

"""The names of hosts that the user's SSH files know, for completion: nothing is evaluated, asked or connected to."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from pathlib import Path

from specconsole import paths
from specconsole.host.ssh_config import DEEPEST_INCLUDE, split

_PATTERN = frozenset("*?!")


def aliases(config: Path, folder: Path, depth: int = 0) -> Iterator[str]:
    """Yield the names of `Host` lines, of included files too; patterns are none, and what cannot be read is passed over."""
    try:
        text = config.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        try:
            keyword, words = split(line) or ("", ())
        except ValueError:
            continue
        if keyword == "host":
            yield from (word for word in words if not _PATTERN & set(word))
        elif keyword == "include" and depth < DEEPEST_INCLUDE:
            for word in words:
                path = paths.typed(word)
                for found in sorted(glob.glob(str(folder / path))):  # noqa: PTH207  an absolute pattern too
                    yield from aliases(Path(found), folder, depth + 1)


def known(path: Path) -> Iterator[str]:
    """Yield the names of a known_hosts file that are neither hashed nor patterns; [HOST]:PORT as HOST:PORT."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        first = line.split(maxsplit=1)[0] if line.strip() else "#"
        if first[0] in "#@|":
            continue
        for name in first.split(","):
            host, bracket, port = name.removeprefix("[").partition("]:")
            if not _PATTERN & set(host):
                yield f"{host}:{port}" if bracket and ":" not in host else name

"""Look at named checkpoints, and for drafters near them; reads only, bounded in folders, depth and time; Python 3.8.

Arguments: `look`: paths or repository names; `hubs`: caches of Hugging Face; `search`: folders to search, `depth` levels
deep; `most`: folders in all; `seconds`: for all of it. `site`: an environment whose packages are asked for, `packages`: their names.
Prints {"look": name, …} for each of `look`, {"found": …} for each drafter, {"packages": …}, and {"end": …} at last.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple

from specconsole.remote import checkpoint, outside

MOST = 5000
SECONDS = 8.0
DEPTH = 3
SHALLOW = (
    *("/", "/root", "/home", "/usr", "/etc", "/var", "/opt", "/srv", "/mnt", "/data", "/proc", "/sys", "/dev", "/run"),
    "/tmp",  # noqa: S108  named, not written to
)
"""Never searched as a whole: what lies beside a model there is anything."""
_REPOSITORY = re.compile(r"\w[\w.-]*/\w[\w.-]*\Z")


def main(arguments: Dict[str, Any]) -> int:
    """Look and search; always ends with 0, what cannot be read is said or left out."""
    until = time.monotonic() + float(arguments.get("seconds", SECONDS))
    hubs = [str(hub) for hub in arguments.get("hubs", [])]
    for name in arguments.get("look", []):
        say({"look": name, **look(str(name), hubs)})
    if arguments.get("site"):
        say({"packages": packages(str(arguments["site"]), [str(one) for one in arguments.get("packages", [])])})
    search = Search(int(arguments.get("most", MOST)), until)
    roots = [str(root) for root in arguments.get("search", [])]
    for folder in search.folders([(root, int(arguments.get("depth", DEPTH))) for root in roots]):
        told = checkpoint.read(folder)
        if told.get("kind"):
            say({"found": told})
    say({"end": {"folders": search.seen, "cut": search.cut}})
    return 0


def say(value: Dict[str, Any]) -> None:
    """Print one line."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def look(name: str, hubs: List[str]) -> Dict[str, Any]:
    """A checkpoint by its path, or by its repository's name in a cache; `cached` False: in none of them."""
    if name.startswith("/"):
        return checkpoint.read(name)
    if not _REPOSITORY.match(name):
        return {"path": name, "unread": "neither a path from the root on nor a repository"}
    for hub in hubs:
        folder = snapshot(os.path.join(hub, "models--" + name.replace("/", "--")))
        if folder:
            return checkpoint.read(folder)
    return {"path": name, "cached": False}


def snapshot(repository: str) -> Optional[str]:
    """The folder of a cached repository's main revision, or of its only one."""
    folder = os.path.join(repository, "snapshots")
    try:
        named = outside.regular(os.path.join(repository, "refs", "main"), 100).decode("ascii", "replace").strip()
        main_ = os.path.join(folder, outside.name(named))
        if os.path.isdir(main_):
            return main_
    except (OSError, ValueError):
        pass
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    return os.path.join(folder, names[0]) if len(names) == 1 else None


def packages(site: str, wanted: List[str]) -> Dict[str, Optional[str]]:
    """Versions of packages installed in an environment, by its dist-info folders; None: it is not there."""
    found: Dict[str, Optional[str]] = dict.fromkeys(wanted)
    for lib in ("lib", "lib64"):
        try:
            pythons = [one for one in os.listdir(os.path.join(site, lib)) if one.startswith("python3")]
        except OSError:
            continue
        for python in pythons:
            for kind in ("site-packages", "dist-packages"):
                try:
                    names = os.listdir(os.path.join(site, lib, python, kind))
                except OSError:
                    continue
                for name in names:
                    head, dash, version = name[: -len(".dist-info")].partition("-")
                    if name.endswith(".dist-info") and dash and head.lower() in found:
                        found[head.lower()] = version
    return found


class Search:
    """A walk over folders, the nearest first, that ends when it has seen enough."""

    def __init__(self, most: int, until: float) -> None:
        self.most = most
        self.until = until
        self.seen = 0
        self.cut = ""
        """Why it ended early: folders, time; "" when it saw all."""

    def folders(self, roots: List[Tuple[str, int]]) -> Iterator[str]:
        """Yield each folder that holds a config.json; links to folders are not followed, but a root may be one."""
        queue = [
            (root.rstrip("/"), depth) for root, depth in dict(roots).items() if root.rstrip("/") not in ("", *SHALLOW)
        ]
        known = set()
        while queue:
            folder, depth = queue.pop(0)
            real = os.path.realpath(folder)
            if real in known:
                continue
            known.add(real)
            if self._enough():
                return
            below, here = self._entries(folder)
            if here:
                yield folder
            if depth > 0:
                queue += [(one, self._depth(one, depth)) for one in below]

    def _enough(self) -> bool:
        self.seen += 1
        if self.seen > self.most:
            self.cut = "folders"
        elif time.monotonic() > self.until:
            self.cut = "time"
        return bool(self.cut)

    @staticmethod
    def _depth(folder: str, depth: int) -> int:
        """A cached repository is looked into down to its snapshots, however deep it lies."""
        name = os.path.basename(folder)
        return 2 if name.startswith("models--") else depth - 1

    @staticmethod
    def _entries(folder: str) -> Tuple[List[str], bool]:
        """The folders in it, by name, and whether it holds a config.json."""
        below: List[str] = []
        here = False
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name == checkpoint.CONFIG:
                        here = True
                    elif entry.name not in ("blobs", "refs") and not entry.name.startswith("."):
                        try:
                            if entry.is_dir(follow_symlinks=False):
                                below.append(entry.path)
                        except OSError:
                            continue
        except OSError:
            return [], False
        return sorted(below), here

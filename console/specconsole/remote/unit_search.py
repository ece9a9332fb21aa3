"""Which units may run vLLM, and what has to be read to know it; shared by the console and what runs on the host; Python 3.8.

Both make their command lines here: an answer that the host has given in advance is known by its words.
"""

from __future__ import annotations

import re
from typing import Iterable, List, Optional, Sequence, Set, Tuple

from specconsole.remote.systemctl import (
    BROKEN,
    FILES,
    STATE,
    Block,
    found_names,
    last,
    names,
    shown_argv,
    shown_path,
)

NAME = "vllm"
DETAILS = (*STATE, *FILES)
"""The properties of units that are worth a closer look."""
AT_ONCE = 200
"""Names for one `systemctl show`: a command line of 10 KB."""
SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "ash")
CAT = ("cat", "--")
HEAD_BYTES = 262144
HEAD = ("head", "-c", str(HEAD_BYTES), "--")
"""For what may be a program of any size."""
_OWN = ("systemd-", "user@", "user-runtime-dir@", "getty@", "dbus", "modprobe@")
_LISTED = re.compile(r"(.*) \(ignore_errors=(yes|no)\)\Z")
_HEX = re.compile(r"\\x([0-9a-f]{2})")
_SHEBANG = re.compile(r"#!\s*(/\S+)")
_LONG = re.compile(r"'''exec' \"?(/[^\"\n]+?)\"? \"\$0\"")
"""How pip and uv write the first lines where the interpreter's path is too long for a shebang."""


def all_names(found: str, loaded: str) -> List[str]:
    """The units of a manager: those that `find_unit_files` found and those that `list_units` lists."""
    return list(dict.fromkeys([*found_names(found), *names(loaded)]))


def searched(listed: Sequence[str], wanted: Set[str]) -> List[str]:
    """The units to search: all but systemd's own, and those that are wanted."""
    asked = [name for name in listed if not name.startswith(_OWN)]
    return [*asked, *sorted(wanted - set(asked))]


def lots(units: Sequence[str]) -> List[List[str]]:
    """The same units, as many at once as one `systemctl show` is asked for."""
    return [list(units[start : start + AT_ONCE]) for start in range(0, len(units), AT_ONCE)]


def mentioning(text: str, paths: Iterable[str]) -> List[str]:
    """Which text files hold a piece of text; not from a FIFO or a device, which might never answer."""
    return ["grep", "-lsIF", "--devices=skip", "-e", text, "--", *sorted(set(paths))]


class Search:
    """The units of one manager by their properties `systemctl.SEARCHED`: some are sure, of others a script decides."""

    def __init__(self, blocks: Sequence[Block], wanted: Set[str]) -> None:
        self.programs = {last(block, "Id"): programs(block) for block in blocks}
        self.scripts = {path for paths in self.programs.values() for path in paths}
        """Files that may be scripts which name it."""
        named = {last(b, "Id") for b in blocks if any(NAME in text.lower() for text in b.get("ExecStart", []))}
        self.sure = [name for name in self.programs if name in named | wanted]
        """Those whose command tells."""
        self._broken = {last(b, "Id"): last(b, "FragmentPath") for b in blocks if last(b, "LoadState") in BROKEN}

    @property
    def texts(self) -> Set[str]:
        """The files to search: scripts, and the files of units that systemd refused."""
        return self.scripts | set(filter(None, self._broken.values()))

    def more(self, hits: Set[str]) -> List[str]:
        """The other units of which such a file names it."""
        return [
            name
            for name, paths in self.programs.items()
            if name not in self.sure and hits & {*paths, self._broken.get(name, "")}
        ]


def programs(block: Block) -> List[str]:
    """Files that a command runs and that may be scripts: its program, what follows a shell, what ends in .sh."""
    paths: List[str] = []
    for path, text in zip(shown_path(block), shown_argv(block)):  # noqa: B905  as many, and Python 3.8 has no `strict`
        words = [path, *text.split(" ")[1:]]
        after_shell = path.rpartition("/")[2] in (*SHELLS, "env")
        paths += [
            word for word in words if word.startswith("/") and (word == path or after_shell or word.endswith(".sh"))
        ]
    return [path for path in paths if not path.startswith(("/lib/systemd/", "/usr/lib/systemd/"))]


def unit_files(block: Block) -> List[str]:
    """The paths of a unit's file and drop-ins, in the order in which systemd merges them."""
    fragment = last(block, "FragmentPath")
    drop_ins = [_HEX.sub(lambda found: chr(int(found[1], 16)), path) for path in last(block, "DropInPaths").split()]
    return [path for path in (fragment, *drop_ins) if path and path != "/dev/null"]


def environment_files(block: Block) -> List[Tuple[str, bool]]:
    """The environment files that systemd has loaded: path, and whether it may be missing."""
    listed = (_LISTED.match(value) for value in block.get("EnvironmentFiles", []))
    return [(found[1], found[2] == "yes") for found in listed if found]


def asked_files(block: Block) -> List[str]:
    """All files that a unit is made of; what systemd lists is nearly always what the files ask for."""
    return [*unit_files(block), *(path for path, _ in environment_files(block))]


def users(blocks: Sequence[Block]) -> Set[str]:
    """The accounts that units run as, root left out."""
    return {last(block, "User") for block in blocks} - {"", "root"}


def has_job(block: Block) -> bool:
    """Whether something waits or runs for a unit."""
    return last(block, "Job") not in ("", "0")


def prefix_of(program: str, head: Optional[str]) -> str:
    """The environment that a program belongs to: an interpreter's own, or that of a script's first line; "" unknown."""
    if head:
        found = _SHEBANG.match(head)
        if found:
            interpreter = _LONG.search(head) if found[1] in ("/bin/sh", "/usr/bin/env") else found
            program = interpreter[1] if interpreter else program
    folder, bin_, _ = program.rpartition("/bin/")
    return folder if bin_ else ""


def is_python(program: str) -> bool:
    """Whether a program is an interpreter by its name."""
    return program.rpartition("/")[2].startswith("python")


def installed(prefix: str) -> List[str]:
    """Find what tells the version of an environment's vLLM."""
    return ["find", "%s/lib" % prefix, "%s/lib64" % prefix, "-maxdepth", "3", "-name", "vllm-*.dist-info"]

"""The processes of a container that a unit runs by `docker run` or `podman run`; Python 3.8.

They are children of a daemon, not of the unit: neither its cgroup nor its stop shows them. So the engine is asked which
container the unit's own process has begun, and for that one's main process.
"""

from __future__ import annotations

import os
import re
from typing import Any, Callable, List, Optional, Sequence, Tuple

from specconsole.remote import outside
from specconsole.remote.probe_proc import bytes_of, text_of
from specconsole.remote.probe_unit import cgroup_path
from specconsole.remote.swap_process import Process, look, of_cgroup
from specconsole.remote.swap_unit import call

ASK_S = 10.0
PROGRAMS = ("docker", "podman", "nerdctl")
_CONTAINER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}\Z")
"""As the engines allow it; anything else in its place could be an option of theirs."""
Call = Callable[[Sequence[str], float, Any], Tuple[int, str, str]]


def whole(cgroup: str, boxed: bool) -> List[Process]:
    """A unit's processes: of its cgroup, and of the container that it runs where it is one that does."""
    own = of_cgroup(cgroup)
    known = {one.identity for one in own}
    return own + [one for one in (of_unit(own) if boxed else []) if one.identity not in known]


def of_unit(own: Sequence[Process], run: Call = call) -> List[Process]:
    """The processes of the container that one of these processes runs; [] where none can be told."""
    for one in own:
        argv = _argv(one.pid)
        # Behind an interpreter, too: podman's docker is a script. By its name alone: a process chooses the words of its
        # own command, and what a path in them leads to may be anybody's, while we are root.
        program = next((name for name in map(os.path.basename, argv[:3]) if name in PROGRAMS), "")
        if program and "run" in argv:
            ident = identity(argv)
            pid = main_pid(program, ident, run) if ident else None
            if pid:
                return tree(pid)
    return []


def identity(argv: Sequence[str]) -> Optional[str]:
    """The name or id of the container that a run command makes; None: it gives it neither a name nor a cidfile."""
    name, cidfile = option(argv, "--name"), option(argv, "--cidfile")
    if not name and cidfile:
        try:
            name = outside.regular(cidfile, 256).decode("utf-8", "replace").strip()
        except OSError:
            return None
    return name if name and _CONTAINER.match(name) else None


def option(argv: Sequence[str], name: str) -> Optional[str]:
    """The value of an option, behind = or in the next word."""
    for place, word in enumerate(argv):
        if word == name and place + 1 < len(argv):
            return argv[place + 1]
        if word.startswith(name + "="):
            return word[len(name) + 1 :]
    return None


def main_pid(program: str, ident: str, run: Call = call) -> Optional[int]:
    """The container's main process as the host numbers it; None: it does not run."""
    status, out, _ = run([program, "inspect", "--format", "{{.State.Pid}}", ident], ASK_S, None)
    text = out.strip()
    return int(text) if status == 0 and text.isdecimal() and len(text) < 11 and int(text) > 0 else None


def tree(pid: int) -> List[Process]:
    """A container's processes: those of its cgroup, or its main process alone where that is in nobody's own."""
    path = cgroup_path(text_of("/proc/%d/cgroup" % pid, 65536) or "") or ""
    inside = of_cgroup(path) if pid_is_contained(path) else []
    alone = look(pid)
    return inside or ([alone] if alone else [])


def pid_is_contained(path: str) -> bool:
    """Whether a cgroup is a container's own, so that all in it is the container's."""
    return any(word in path for word in ("docker", "libpod", "nerdctl", "containerd"))


def _argv(pid: int) -> List[str]:
    data = bytes_of("/proc/%d/cmdline" % pid, 1 << 17) or b""
    return [word.decode("utf-8", "replace") for word in data.split(b"\0")[:-1]]

"""The processes of a container that a unit runs by `docker run` or `podman run`; Python 3.8.

They are children of a daemon, not of the unit: neither its cgroup nor its stop shows them. So the engine is asked which
container the unit's own process has begun, and for that one's main process.
"""

from __future__ import annotations

import os
import re
from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple

from specconsole.remote import outside
from specconsole.remote.probe_proc import bytes_of, text_of
from specconsole.remote.probe_unit import cgroup_path
from specconsole.remote.swap_process import Process, look, of_cgroup
from specconsole.remote.swap_unit import call

ASK_S = 10.0
PROGRAMS = ("docker", "podman", "nerdctl")
_CONTAINER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}\Z")
"""As the engines allow it; anything else in its place could be an option of theirs."""
FORMAT = '{"pid":{{.State.Pid}},"image":{{json .Config.Image}},"cmd":{{json .Config.Cmd}}}'
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
            pid = main_pid(program, ident, run) if ident else unnamed_pid(program, argv, one.start, run)
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


def unnamed_pid(program: str, argv: Sequence[str], since: int, run: Call = call) -> Optional[int]:
    """The main process of the container that a run command made without a name of its own.

    It is the one that has the command's image and words and began after the command did (`since`, in ticks since boot);
    where several are that, none is: another's container must not be taken for this unit's.
    """
    status, out, _ = run([program, "ps", "--quiet", "--no-trunc"], ASK_S, None)
    idents = [word for word in out.split() if _CONTAINER.match(word)]
    if status != 0 or not idents:
        return None
    told = run([program, "inspect", "--format", FORMAT, *idents], ASK_S, None)[1]
    found = [pid for pid in _running(told, argv) if (main := look(pid)) is not None and main.start >= since]
    return found[0] if len(found) == 1 else None


def _running(told: str, argv: Sequence[str]) -> Iterator[int]:
    """The main processes of containers that a run command's last words describe."""
    for line in told.splitlines():
        try:
            one = outside.parse(line)
            pid, image, words = int(one["pid"]), str(one["image"]), [str(word) for word in one["cmd"] or ()]
        except (ValueError, LookupError, TypeError):
            continue
        if pid > 0 and _made_by(argv, image, words):
            yield pid


def _made_by(argv: Sequence[str], image: str, words: List[str]) -> bool:
    """Whether a command ends with this image and these words, or with the image alone, whose own words they are then."""
    ends = ((end, len(argv) - len(end)) for end in (words, []))
    return any(place > 0 and list(argv[place:]) == end and _names(argv[place - 1], image) for end, place in ends)


def _names(word: str, image: str) -> bool:
    """Whether a word of a command names an image, which podman completes by its registry and tag."""
    return image == word or image.endswith("/" + word) or (":" not in word and _names(word + ":latest", image))


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

"""What the console is about to ask of systemd and of files to find vLLM's units, asked here at once; Python 3.8.

Over a slow link each answer that has to be waited for costs a round trip, and there are eight. One JSON line an answer:
{"argv": what the console would run, "status", "out", "err"}. Nothing is judged here, and nothing has to be complete: what
is missing the console asks for itself. A file that gives no answer in its time (a network disk whose server is gone) is
told as late: {"argv", "late": true}, so that nobody waits for it twice, and the others come all the same. What was not
waited for is never told as late.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple, TypeVar

from specconsole.remote import account, outside, systemctl, unit_search
from specconsole.remote.systemctl import Block, Manager
from specconsole.remote.unit_search import CAT, DETAILS, HEAD, HEAD_BYTES, Search

ASK_S = 8.0
"""For one answer; a slower command is left to the console, a slower file is late."""
LEAST_S = 4.0
"""Who was given less has not failed to answer: where no more is left nothing more is asked."""
ALL_S = 12.0
"""For all answers: from then on the console asks for itself."""
AT_ONCE = 32
"""Files that are read at the same time, so that several of a dead disk cost no more than one."""
FILE_BYTES = 1 << 20
"""A file as large is left to the console."""
UPTIME = "/proc/uptime"

Answer = Tuple[int, str, str]
Run = Callable[[Sequence[str]], Optional[Answer]]
Read = Callable[[str, int], bytes]
_T = TypeVar("_T")


def main(arguments: Dict[str, Any]) -> int:
    """Print answers; `wanted` names units by manager that are of interest whatever they run."""
    wanted = {str(manager): set(map(str, units)) for manager, units in (arguments.get("wanted") or {}).items()}
    asker = Asker()
    with suppress(OutOfTime):
        Prefetch(asker.run, asker.read, _print, wanted, os.geteuid()).all()
    return 0


def _print(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


class OutOfTime(Exception):
    """The time for all answers is up."""


class Asker:
    """Asks this host, each question and all of them within their time; raises OutOfTime once that is up."""

    def __init__(self) -> None:
        self._until = time.monotonic() + ALL_S

    def _left(self) -> float:
        left = self._until - time.monotonic()
        if left < LEAST_S:
            raise OutOfTime
        return min(ASK_S, left)

    def run(self, argv: Sequence[str]) -> Optional[Answer]:
        """Run a command to its end: status and both outputs. None: it is not there, or took too long."""
        try:
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                timeout=self._left(),
                check=False,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return None
        return done.returncode, _text(done.stdout), _text(done.stderr[-4096:])

    def read(self, path: str, limit: int) -> bytes:
        """The beginning of a file. Raises OSError; TimeoutError where it gives no answer in time."""
        return in_time(lambda: outside.regular(path, limit), self._left())


def in_time(work: Callable[[], _T], seconds: float) -> _T:
    """Do what no signal ends, at most that long; raises what it raises, or TimeoutError and leaves it behind."""
    found: List[Callable[[], _T]] = []

    thread = threading.Thread(target=lambda: found.append(outcome(work)), daemon=True)
    thread.start()
    thread.join(seconds)
    if not found:
        raise TimeoutError
    return found[0]()


def outcome(work: Callable[[], _T]) -> Callable[[], _T]:
    """Do it; what comes returns, or raises, what it did, in whatever thread it is called."""
    try:
        value = work()
    except Exception as error:
        return partial(_raise, error)
    return lambda: value


def _raise(error: Exception) -> Any:
    raise error


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def together(*works: Callable[[], _T]) -> List[_T]:
    """Do all at the same time, each to its end; what they return, in order. Raises what the first of them raises."""
    found: Dict[int, Callable[[], _T]] = {}

    def one(at: int, work: Callable[[], _T]) -> None:
        found[at] = outcome(work)

    threads = [threading.Thread(target=one, args=item, daemon=True) for item in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[at]() for at in range(len(works))]


class Prefetch:
    """Asks, and tells each answer once; `read` gives the beginning of a file, `tell` takes a line."""

    def __init__(
        self, run: Run, read: Read, tell: Callable[[bytes], object], wanted: Dict[str, Set[str]], uid: int
    ) -> None:
        self._run, self._file, self._tell, self._wanted, self._uid = run, read, tell, wanted, uid
        self._told: Set[Tuple[str, ...]] = set()
        self._one = threading.Lock()

    def all(self) -> None:
        """All managers; first what tells of later changes, so that none falls in between, and last what ages."""
        system = Manager()
        self._ask(systemctl.show_manager(system, systemctl.LOADED_AT))
        names = self._names(system)
        together(lambda: self._search(system, names), lambda: self._users(account.user_ids(names)))
        self._read(CAT, UPTIME)

    def _users(self, uids: Set[str]) -> None:
        if self._uid:
            uids &= {str(self._uid)}
        if not uids:
            return
        known = account.accounts(self._ask(account.passwd(uids)))
        managers = account.user_managers(known, uids, as_root=self._uid == 0)
        together(*(partial(self._user, manager) for manager in managers))

    def _user(self, manager: Manager) -> None:
        self._search(manager, self._names(manager))

    def _names(self, manager: Manager) -> List[str]:
        folders, loaded = together(
            lambda: self._ask(systemctl.show_manager(manager, systemctl.FOLDERS)),
            lambda: self._ask(systemctl.list_units(manager)),
        )
        paths = systemctl.last(next(iter(systemctl.blocks(folders)), {}), systemctl.FOLDERS).split()
        found = self._ask(systemctl.find_unit_files(manager, paths)) if paths else ""
        return unit_search.all_names(found, loaded)

    def _search(self, manager: Manager, names: List[str]) -> None:
        wanted = self._wanted.get(manager.name, set())
        search = Search(self._show(manager, unit_search.searched(names, wanted), systemctl.SEARCHED), wanted)
        together(lambda: self._units(manager, search.sure), lambda: self._scripts(manager, search))

    def _scripts(self, manager: Manager, search: Search) -> None:
        if not search.texts:
            return
        hits = self._mentioning(search.texts)
        self._reads(HEAD, hits & search.scripts)
        self._units(manager, search.more(hits))

    def _mentioning(self, paths: Set[str]) -> Set[str]:
        argv = unit_search.mentioning(unit_search.NAME, paths)
        answer = self._run(argv)
        if answer is None:  # one of them gives no answer, and hides the others
            alone = [partial(self._run, unit_search.mentioning(unit_search.NAME, [path])) for path in sorted(paths)]
            said = [one for start in range(0, len(alone), AT_ONCE) for one in together(*alone[start : start + AT_ONCE])]
            answer = (0, "".join(one[1] for one in said if one), "")
        self._say(argv, answer)
        return set(answer[1].splitlines())

    def _units(self, manager: Manager, names: List[str]) -> None:
        blocks = self._show(manager, names, DETAILS)
        self._reads(CAT, {path for block in blocks for path in unit_search.asked_files(block)})
        if users := unit_search.users(blocks):
            self._ask(account.passwd(users))
        if any(map(unit_search.has_job, blocks)):
            self._ask(systemctl.list_jobs(manager))
        programs = {path for block in blocks for path in systemctl.shown_path(block)}
        for prefix in sorted({prefix for prefix in map(self._prefix, programs) if prefix}):
            self._ask(unit_search.installed(prefix))

    def _prefix(self, program: str) -> str:
        if unit_search.is_python(program):
            return unit_search.prefix_of(program, None)
        return unit_search.prefix_of(program, self._read(HEAD, program)) if unit_search.NAME in program else ""

    def _show(self, manager: Manager, names: List[str], properties: Sequence[str]) -> List[Block]:
        said = [self._ask(systemctl.show(manager, lot, properties)) for lot in unit_search.lots(names)]
        return [block for text in said for block in systemctl.blocks(text)]

    def _ask(self, argv: List[str]) -> str:
        answer = self._run(argv)
        if answer is None:
            return ""
        self._say(argv, answer)
        return answer[1]

    def _reads(self, program: Sequence[str], paths: Set[str]) -> None:
        wanted = sorted(paths)
        for start in range(0, len(wanted), AT_ONCE):
            together(*(partial(self._read, program, path) for path in wanted[start : start + AT_ONCE]))

    def _read(self, program: Sequence[str], path: str) -> str:
        """Read a file as a program would print it; one that is no ordinary file is left to the console."""
        limit = HEAD_BYTES if program == HEAD else FILE_BYTES
        try:
            data = self._file(path, limit)
        except (FileNotFoundError, PermissionError):
            self._say([*program, path], (1, "", ""))
            return ""
        except TimeoutError:
            self._once([*program, path], {"late": True})
            return ""
        except (OSError, ValueError):
            return ""
        if program == HEAD or len(data) < limit:
            self._say([*program, path], (0, _text(data), ""))
        return _text(data)

    def _say(self, argv: List[str], answer: Answer) -> None:
        status, out, err = answer
        self._once(argv, {"status": status, "out": out, "err": err})

    def _once(self, argv: List[str], said: Dict[str, Any]) -> None:
        line = json.dumps({"argv": argv, **said}).encode() + b"\n"
        with self._one:
            if tuple(argv) not in self._told:
                self._told.add(tuple(argv))
                self._tell(line)

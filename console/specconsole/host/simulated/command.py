"""The commands of the simulated host: each answers from the machine, and what is not known says so."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence

from specconsole.clock import Clock
from specconsole.host.base import Completed
from specconsole.host.simulated import files, journalctl, smi, systemctl
from specconsole.host.simulated.machine import Machine
from specconsole.host.simulated.options import parse

Answer = tuple[int, str | bytes]
"""Exit status and output; to stderr when the status is not 0."""

NOT_RECORDED = 127
_WRAPPERS = {"sudo": ("-u", "-g"), "env": ("-u",), "nice": ("-n",), "ionice": ("-c", "-n"), "timeout": ("-s", "-k")}
"""Programs that start another one, and their options that have a value."""


def unwrapped(argv: Sequence[str]) -> list[str]:
    """The command behind sudo, env, timeout and their like."""
    words = list(argv)
    while words and (name := words[0].rpartition("/")[2]) in _WRAPPERS:
        words.pop(0)
        while words and (words[0].startswith("-") or (name == "env" and "=" in words[0])):
            if words.pop(0) in _WRAPPERS[name]:
                words.pop(0)
        if name == "timeout" and words:
            words.pop(0)
    return words


async def run(machine: Machine, argv: Sequence[str]) -> Completed:
    """Run a command to its end."""
    machine.advance()
    words = unwrapped(argv)
    answer: Answer | None = None
    if words:
        name = words[0].rpartition("/")[2]
        if name == "systemctl" and (work := _control(machine, words[1:])) is not None:
            answer = await work
        elif (known := _COMMANDS.get(name)) is not None:
            answer = known(machine, words[1:])
    if answer is None:
        answer = (NOT_RECORDED, f"{' '.join(words[:3])}: not recorded\n")
    status, said = answer
    data = said.encode() if isinstance(said, str) else said
    return Completed(tuple(argv), status, data if not status else b"", data if status else b"")


def _control(machine: Machine, words: Sequence[str]) -> Awaitable[Answer] | None:
    """Start and stop units; like systemctl this returns when it is done, unless told not to wait."""
    options = parse(words, ("--job-mode", "-t", "-p", "--property", "--timestamp", "-M", "--machine"))
    deeds = {"start": (False, True), "stop": (True, False), "restart": (True, True), "try-restart": (True, True)}
    if not options.words or options.words[0] not in {*deeds, "reset-failed"} or "--user" in options.flags:
        return None
    names = systemctl.units_named(machine, options.words[1:])
    if options.words[0] == "reset-failed":
        return _reset(machine, names)
    return _change(machine, names, *deeds[options.words[0]], wait="--no-block" not in options.flags)


async def _reset(machine: Machine, names: Sequence[str]) -> Answer:
    for name in names:
        if name in machine.units:
            machine.units[name].forgive()
    return 0, ""


async def _change(machine: Machine, names: Sequence[str], stop: bool, start: bool, *, wait: bool) -> Answer:
    for name in names:
        if name not in machine.units:
            return 5, f"Failed to start {name}: Unit {name} not found.\n"
    machine.operated = True
    for name in names:
        if stop:
            machine.stop(name)
        if start:
            machine.start(name)
    if wait:
        await _until(machine.clock, lambda: all(_settled(machine, name, start) for name in names), machine)
    return 0, ""


def _settled(machine: Machine, name: str, start: bool) -> bool:
    active = machine.units[name].active
    return active in ("active", "failed") if start else active in ("inactive", "failed")


async def _until(clock: Clock, done: Callable[[], bool], machine: Machine) -> None:
    while not done():
        await clock.sleep(0.1)
        machine.advance()


def _journal(machine: Machine, words: Sequence[str]) -> Answer:
    if {"--header", "--disk-usage", "--list-boots", "--version", "--verify", "--vacuum-time"} & set(words):
        return _about_journal(machine, words)
    try:
        asked = journalctl.query(machine, words)
    except (ValueError, KeyError) as error:
        return (NOT_RECORDED if "not recorded" in str(error) else 1), f"{error}\n"
    return 0, b"".join(asked.show(entry) for entry in journalctl.past(machine, asked))


def _about_journal(machine: Machine, words: Sequence[str]) -> Answer:
    if "--version" in words:
        return 0, f"systemd {machine.site.systemd}\n"
    if "--header" in words:
        return 0, f"File path: /var/log/journal/{machine.site.boot_id}/system.journal\n"
    if "--disk-usage" in words:
        return 0, "Archived and active journals take up 8.0M in the file system.\n"
    return NOT_RECORDED, "journalctl: not recorded\n"


def _cat(machine: Machine, words: Sequence[str]) -> Answer:
    out = []
    for path in (word for word in words if word != "--"):
        content = files.read(machine, path)
        if content is None:
            return 1, f"cat: {path}: No such file or directory\n"
        out.append(content)
    return 0, "".join(out)


def _grep(machine: Machine, words: Sequence[str]) -> Answer:
    """Only what is asked: `-q`, `-s`, `-E`, `-F`, `-l` over files that are known."""
    options = parse(words, ("-e", "-m"))
    pattern, *paths = [*options.values("-e"), *options.words]
    wanted = re.escape(pattern) if "-F" in options.flags else pattern
    found, missing = [], False
    for path in paths:
        content = files.read(machine, path)
        missing = missing or content is None
        hits = [line for line in (content or "").splitlines() if re.search(wanted, line)]
        found += [path] if hits and "-l" in options.flags else hits
    if "-q" in options.flags and found:
        return 0, ""
    return (2 if missing else 0 if found else 1), "".join(f"{line}\n" for line in found)


def _head(machine: Machine, words: Sequence[str]) -> Answer:
    options = parse(words, ("-c", "-n"))
    status, said = _cat(machine, options.words)
    limit = options.values("-c")
    return (status, said[: int(limit[-1])]) if limit and not status else (status, said)


def _find(machine: Machine, words: Sequence[str]) -> Answer | None:
    """Only what is looked for: the folder that says which vLLM is installed."""
    where = f"{machine.site.prefix}/lib"
    if "vllm-*.dist-info" not in words:
        return None
    return 0, f"{where}/python3.12/site-packages/vllm-{machine.site.vllm}.dist-info\n" if where in words else ""


def _df(machine: Machine, words: Sequence[str]) -> Answer:
    """The host's file systems, in KiB."""
    head = "Filesystem     1024-blocks     Used Available Capacity Mounted on\n"
    mounts = machine.site.mounts
    paths = [word for word in words if word.startswith("/")]
    return 0, head + "".join(f"{mounts.get(path, mounts['/'])}\n" for path in paths)


def _sh(_: Machine, words: Sequence[str]) -> Answer | None:
    """Only the question whether the journal is kept on disk: it is."""
    return (0, "") if words[:1] == ["-c"] and 'test -d "/var/log/journal/' in "".join(words[1:2]) else None


def _getent(_: Machine, words: Sequence[str]) -> Answer:
    known = set(words[1:]) & {"root", "0"}
    return (0, "root:x:0:0:root:/root:/bin/bash\n") if known and words[0] == "passwd" else (2, "")


def _id(_: Machine, words: Sequence[str]) -> Answer:
    short = {"-u": "0", "-un": "root", "-g": "0", "-gn": "root", "-G": "0", "-Gn": "root", "-nG": "root", "-nu": "root"}
    return 0, f"{short.get(words[0] if words else '', 'uid=0(root) gid=0(root) groups=0(root)')}\n"


def _uname(machine: Machine, words: Sequence[str]) -> Answer:
    kernel, name = machine.site.kernel, machine.site.hostname
    parts = {"-r": kernel, "-n": name, "-m": "x86_64", "-s": "Linux", "": "Linux"}
    return 0, f"{parts.get(words[0] if words else '', f'Linux {name} {kernel} x86_64 GNU/Linux')}\n"


def _date(machine: Machine, words: Sequence[str]) -> Answer:
    from datetime import datetime, timezone

    now = machine.clock.now()
    form = next((word[1:] for word in words if word.startswith("+")), "%a %b %d %H:%M:%S UTC %Y")
    form = form.replace("%s", str(int(now))).replace("%N", f"{now % 1:.9f}"[2:])
    return 0, datetime.fromtimestamp(now, timezone.utc).strftime(form) + "\n"


_COMMANDS: dict[str, Callable[[Machine, Sequence[str]], Answer | None]] = {
    "systemctl": systemctl.answer,
    "journalctl": _journal,
    "nvidia-smi": smi.answer,
    "cat": _cat,
    "head": _head,
    "grep": _grep,
    "find": _find,
    "df": _df,
    "sh": _sh,
    "getent": _getent,
    "id": _id,
    "uname": _uname,
    "date": _date,
    "hostname": lambda machine, _: (0, f"{machine.site.hostname}\n"),
    "nproc": lambda machine, _: (0, f"{machine.site.cpu_count}\n"),
    "true": lambda *_: (0, ""),
    "false": lambda *_: (1, ""),
}

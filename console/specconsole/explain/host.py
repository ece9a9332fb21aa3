"""What a host's own tools print: processes, their counters, memory, disks, bridges; read into values, pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from specconsole.logs.stamp import moment
from specconsole.remote.probe_proc import TICK, keyed_kib
from specconsole.text import one_line

_DAY = re.compile(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)$")
_LAST = ("CMD", "COMMAND", "ARGS")
_AUX = ["USER", "PID", "%CPU", "%MEM", "VSZ", "RSS", "TTY", "STAT", "START", "TIME", "COMMAND"]


@dataclass(frozen=True)
class Process:
    """One row of ps."""

    pid: int
    command: str
    state: str = ""
    """The kernel's letter, R, S, D, Z …; "" where the column is missing."""
    ppid: int | None = None
    cpu_percent: float | None = None
    """Of one core."""


@dataclass(frozen=True)
class Processes:
    """A list of processes."""

    found: tuple[Process, ...]
    absent: tuple[int, ...] = ()
    """Pids of which ps said that they do not exist."""


def processes(text: str) -> Processes:
    """Read ps in any of its usual forms: the columns are named by its header, or those of `ps aux`."""
    columns: list[str] = []
    found: list[Process] = []
    absent = [int(pid) for pid in re.findall(r"process (\d{1,9}) does not exist", text)]
    for line in text.splitlines():
        words = line.split()
        if "PID" in words and words[-1].upper() in _LAST:
            columns = [word.upper() for word in words]
            continue
        if row := _row(columns or _AUX, line):
            found.append(row)
    return Processes(tuple(found[:4096]), tuple(absent[:64]))


def _row(columns: list[str], line: str) -> Process | None:
    words = line.split()
    values: dict[str, str] = {}
    at = 0
    for name in columns[:-1]:
        if at >= len(words):
            return None
        values[name] = words[at]
        at += 5 if name in ("STARTED", "LSTART") and _DAY.match(words[at]) else 1
    command = " ".join(words[at:])
    pid = values.get("PID", "")
    state = values.get("STAT", values.get("S", ""))
    if not pid.isdecimal() or not command or (state and not re.match(r"[RSDZTtWXIKP]", state)):
        return None
    ppid, cpu = values.get("PPID", ""), values.get("%CPU", "")
    return Process(
        int(pid),
        one_line(command, 200),
        state[:1],
        int(ppid) if ppid.isdecimal() else None,
        float(cpu) if re.fullmatch(r"\d{1,6}(?:\.\d+)?", cpu) else None,
    )


@dataclass(frozen=True)
class Counters:
    """Samples of one process's counters, oldest first."""

    pid: int | None
    samples: tuple[tuple[float | None, Mapping[str, float]], ...]
    """(seconds, values); None: the sample does not say when."""

    @property
    def window_s(self) -> float | None:
        """Seconds between the first and the last sample."""
        first, last = self.samples[0][0], self.samples[-1][0]
        return (
            last - first if len(self.samples) > 1 and first is not None and last is not None and last > first else None
        )

    def gained(self, name: str) -> float | None:
        """What a counter rose by from the first to the last sample."""
        first, last = self.samples[0][1].get(name), self.samples[-1][1].get(name)
        return None if len(self.samples) < 2 or first is None or last is None or last < first else last - first

    def rate(self, name: str) -> float | None:
        """The same a second."""
        gained, window = self.gained(name), self.window_s
        return None if gained is None or window is None else gained / window

    @property
    def state(self) -> str | None:
        """The kernel's letter, where all samples show the same."""
        states = {int(values["state"]) for _, values in self.samples if "state" in values}
        return chr(states.pop()) if len(states) == 1 else None


_MARK = re.compile(
    r"^#.*?(?:\bt=|@ ?)(?P<t>\d{1,15}(?:\.\d{1,9})?) ?s?\b|^# *(?P<date>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*)"
)
STAMP = (
    r"[-=#\[(\s]*(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*|(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d"
    r"(?: [AP]M)? \S{1,6} \d{4}|\d{10}(?:\.\d{1,9})?)[-=\])\s]*"
)
"""A line that is a moment alone, as a loop around `date` prints it between its samples."""
_STAMP = re.compile(STAMP)
_PID = re.compile(r"\bpid[= ](\d{1,9})|/proc/(\d{1,9})/")


def _samples(text: str) -> Iterator[tuple[float | None, int | None, list[str]]]:
    """Cut a file of several samples at its comment lines."""
    at: float | None = None
    pid: int | None = None
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("#") or _STAMP.fullmatch(line):
            if lines:
                yield at, pid, lines
            lines = []
            if found := _MARK.match(line):
                at = float(found["t"]) if found["t"] else moment(found["date"])
            elif _STAMP.fullmatch(line):
                at = moment(line.strip("-=#[]() "))
            pid = int(next(filter(None, found_pid.groups()))) if (found_pid := _PID.search(line)) else pid
        elif line.strip():
            lines.append(line)
    if lines:
        yield at, pid, lines


def io(text: str) -> tuple[Counters, ...]:
    """/proc/PID/io, one sample or several of one or several processes."""
    kept: dict[int | None, list[tuple[float | None, Mapping[str, float]]]] = {}
    for at, pid, lines in _samples(text):
        block: dict[str, float] = {}
        for line in lines:
            name, _, value = line.partition(":")
            if not value.strip().isdecimal():
                continue
            if name in block:
                kept.setdefault(pid, []).append((at, block))
                block = {}
            block[name.strip()] = float(value)
        if block:
            kept.setdefault(pid, []).append((at, block))
    return tuple(Counters(pid, tuple(samples)) for pid, samples in kept.items())


_STAT = re.compile(r"(?P<pid>\d{1,9}) \((?P<name>.{0,64})\) (?P<rest>[A-Za-z] .*)")


def stat(text: str) -> tuple[Counters, ...]:
    """/proc/PID/stat, one sample or several."""
    kept: dict[int | None, list[tuple[float | None, Mapping[str, float]]]] = {}
    for at, _, lines in _samples(text):
        for line in lines:
            found = _STAT.match(line)
            words = found["rest"].split() if found else []
            if found is None or len(words) < 13 or not all(word.lstrip("-").isdecimal() for word in words[1:13]):
                continue
            values = {
                "state": float(ord(words[0])),
                "ppid": float(words[1]),
                "faults": float(words[9]),
                "cpu_s": (float(words[11]) + float(words[12])) / TICK,
            }
            kept.setdefault(int(found["pid"]), []).append((at, values))
    return tuple(Counters(pid, tuple(samples)) for pid, samples in kept.items())


@dataclass(frozen=True)
class Usage:
    """Sizes of folders at several times."""

    samples: tuple[tuple[float | None, Mapping[str, float]], ...]

    @property
    def window_s(self) -> float | None:
        """Seconds from the first to the last sample."""
        first, last = (self.samples[0][0], self.samples[-1][0]) if self.samples else (None, None)
        return last - first if first is not None and last is not None and last > first else None

    @property
    def grown(self) -> float | None:
        """Bytes by which all folders grew, as far as the printed digits tell; None with one sample."""
        if len(self.samples) < 2:
            return None
        first, last = self.samples[0][1], self.samples[-1][1]
        return sum(last[name] - first[name] for name in first if name in last)


_SIZE = {"": 1024.0, "K": 1024.0, "M": 1024.0**2, "G": 1024.0**3, "T": 1024.0**4, "P": 1024.0**5, "B": 1.0}


def usage(text: str) -> Usage:
    """`du`, with or without -h."""
    samples: list[tuple[float | None, Mapping[str, float]]] = []
    for at, _, lines in _samples(text):
        sizes = {}
        for line in lines:
            if found := re.fullmatch(r"(\d{1,15}(?:\.\d+)?)([KMGTPB]?)(?:\t| +(?=[./~]))(\S.*)", line.rstrip()):
                sizes[one_line(found[3], 200)] = float(found[1]) * _SIZE[found[2]]
        if sizes:
            samples.append((at, sizes))
    return Usage(tuple(samples))


@dataclass(frozen=True)
class Disk:
    """A file system's fill."""

    mount: str
    total: int
    used: int
    free: int


@dataclass(frozen=True)
class Disks:
    """`df`, and listings of /dev/shm."""

    disks: tuple[Disk, ...] = ()
    segments: Mapping[str, int] = field(default_factory=dict)
    """Files of /dev/shm with their bytes."""

    @property
    def full(self) -> tuple[str, ...]:
        """Those with less than one part in a hundred left."""
        return tuple(disk.mount for disk in self.disks if disk.total > 0 and disk.free < disk.total / 100)

    def of(self, mount: str) -> Disk | None:
        """One file system."""
        return next((disk for disk in self.disks if disk.mount == mount), None)


_DF = re.compile(
    r"\S+ +(?:[a-z][\w.]{1,20} +)?([\d.]{1,20}[KMGTP]?i?) +([\d.]{1,20}[KMGTP]?i?) +([\d.]{1,20}[KMGTP]?i?) +\d+% +(/\S*)"
)
_LS = re.compile(r"[-rwxsStT]{10}\S? +\d+ +\S+ +\S+ +(\d+) .*?(?:/dev/shm/)?(\S+)$")


def disks(text: str) -> Disks:
    """Read `df` (in KiB, or -h) and `ls -l /dev/shm` from one text."""
    found, segments = [], {}
    for line in text.splitlines():
        if row := _DF.match(line):
            total, used, free = (_size(cell) for cell in row.groups()[:3])
            found.append(Disk(one_line(row[4], 200), total, used, free))
        elif row := _LS.match(line):
            segments[one_line(row[2], 120)] = int(row[1])
    return Disks(tuple(found), segments)


def _size(cell: str) -> int:
    number, unit = cell.rstrip("KMGTPi"), cell.rstrip("i")[-1:]
    return int(float(number) * _SIZE[unit if unit in "KMGTP" else ""]) if re.fullmatch(r"\d+(?:\.\d+)?", number) else 0


def memory(text: str) -> dict[str, int]:
    """/proc/meminfo in bytes."""
    return keyed_kib(text)


def redirects(text: str) -> dict[str, bool] | None:
    """The bits of ACSCtl over all bridges of an `lspci -vvv`: True where any bridge has it set; None: it shows none."""
    bits: dict[str, bool] = {}
    for control in re.findall(r"ACSCtl:([^\n]*)", text):
        for name, sign in re.findall(r"(\w{1,20})([+-])", control):
            bits[name] = bits.get(name, False) or sign == "+"
    return bits or None


def stack(text: str) -> tuple[str, ...]:
    """The functions of a kernel stack, innermost first."""
    return tuple(re.findall(r"^\[<[0-9a-fx]+>\] (\w[\w.]*)\+0x", text, re.MULTILINE)[:64])


def toolkit(text: str) -> str | None:
    """The CUDA toolkit's version by nvcc."""
    found = re.search(r"Cuda compilation tools, release (\d{1,3}\.\d{1,2})", text)
    return found[1] if found else None


def steady(counters: Counters, name: str) -> bool:
    """A counter that never moved over several samples."""
    values = [sample[name] for _, sample in counters.samples if name in sample]
    return len(values) > 1 and all(before == after for before, after in pairwise(values))

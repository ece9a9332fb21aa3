"""All files of one question, each read by the reader of its kind."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from specconsole.bench import captured, client_report, foreign
from specconsole.bench.captured import Captured
from specconsole.bench.client_report import ClientReport
from specconsole.bench.run import BenchRun
from specconsole.bench.sweep import Arm
from specconsole.engine import metrics, sound
from specconsole.engine.metrics import Scrape
from specconsole.errors import UsageError
from specconsole.explain import host, table, unit
from specconsole.explain.host import Counters, Disks, Processes, Usage
from specconsole.explain.kind import Kind
from specconsole.explain.log import LogReading
from specconsole.explain.report import FileSeen, HttpSeen
from specconsole.explain.unit import Calls, UnitSeen
from specconsole.gpu import printed, sample
from specconsole.gpu.printed import Printed
from specconsole.gpu.sample import Fleet
from specconsole.logs.wrapping import unwrap
from specconsole.remote import outside


@dataclass
class Readings:
    """What was read, by kind; filled file by file."""

    files: list[FileSeen] = field(default_factory=list)
    logs: list[LogReading] = field(default_factory=list)
    fleets: list[Fleet] = field(default_factory=list)
    """Samples of one host, oldest first."""
    scrapes: list[Scrape] = field(default_factory=list)
    doubtful: list[str] = field(default_factory=list)
    """What of the scrapes is not taken, a phrase each."""
    http: list[HttpSeen] = field(default_factory=list)
    streams: list[Captured] = field(default_factory=list)
    benches: list[ClientReport] = field(default_factory=list)
    arms: list[Arm] = field(default_factory=list)
    printed: list[Printed] = field(default_factory=list)
    asked_gpus: bool = False
    """A file holds an answer of nvidia-smi about GPUs."""
    processes: list[Processes] = field(default_factory=list)
    io: list[Counters] = field(default_factory=list)
    stat: list[Counters] = field(default_factory=list)
    stacks: list[tuple[str, ...]] = field(default_factory=list)
    dumps: list[str] = field(default_factory=list)
    """Texts of stacks of Python processes."""
    memory: dict[str, int] = field(default_factory=dict)
    module: str | None = None
    units: list[UnitSeen] = field(default_factory=list)
    acs: dict[str, bool] | None = None
    disks: list[Disks] = field(default_factory=list)
    usage: list[Usage] = field(default_factory=list)
    toolkit: str | None = None
    now: str | None = None
    calls: Calls | None = None


def take(readings: Readings, kind: Kind, text: str) -> str:
    """Read one file of any kind but a log; returns what is to be said of it."""
    reader = _READERS.get(kind)
    if reader is None:
        return "its content fits no form that is known here" if kind is Kind.UNKNOWN else "it holds nothing"
    return reader(readings, text) or ""


Reader = Callable[[Readings, str], "str | None"]


def _frames(readings: Readings, text: str) -> str | None:
    bad = 0
    for line in text.splitlines()[:10_000]:
        fleet = _frame(line)
        bad += fleet is None
        readings.fleets += [fleet] if fleet else []
    return f"{bad} lines are no samples" if bad else None


def _frame(line: str) -> Fleet | None:
    try:
        return sample.parse(line)
    except ValueError:
        return None


def _bundle(_readings: Readings, _text: str) -> str | None:
    return "not judged again"


def _metrics(readings: Readings, text: str) -> str | None:
    scrape, said = sound.sound(metrics.parse(text))
    if servers := sound.several(scrape):
        scrape, said = Scrape({}, f"{sound.SEVERAL} ({servers})"), ()
        readings.doubtful.append(f"whose figures these are: {scrape.no_data}")
    readings.scrapes.append(scrape)
    readings.doubtful += said
    return "; ".join(filter(None, (scrape.no_data, *said))) or None


def _http(readings: Readings, text: str) -> str | None:
    head, _, body = text.replace("\r\n", "\n").partition("\n\n")
    status = re.match(r"HTTP/\S+ (\d{3})", head)
    code = int(status[1]) if status else 0
    size = len(body.strip().encode(errors="replace"))
    readings.http.append(HttpSeen(code, size, 0 < code < 500))
    if code >= 400:
        return None
    if "text/plain" in head or "# HELP" in body or not body.strip():
        return _metrics(readings, body)
    return None


def _stream(readings: Readings, text: str) -> str | None:
    found = captured.read(text.splitlines())
    if found is None:
        return "it holds no event"
    readings.streams.append(found)
    return None


_REPORT = re.compile(r"^[ \t]*=+ Serving Benchmark Result =+", re.MULTILINE)


def _bench(readings: Readings, text: str) -> str | None:
    """One report, or several below one another: each is told for itself."""
    if text.lstrip()[:1] not in ("{", "["):
        text = "\n".join(unwrap(line).text for line in text.splitlines())
    begins = [found.start() for found in _REPORT.finditer(text)][1:]
    parts = [text[begin:end] for begin, end in zip([0, *begins], [*begins, None], strict=True)]
    found = [report for part in parts if (report := client_report.read(part)) is not None]
    readings.benches += found
    return None if found else "it holds no figure"


def _run(readings: Readings, text: str) -> str | None:
    """A run of ours."""
    try:
        value = outside.parse(text)
        report = client_report.of_run(BenchRun.from_json(value if isinstance(value, dict) else {}))
    except UsageError as error:
        return str(error)
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError) as error:
        return f"it is damaged ({type(error).__name__})"
    readings.benches.append(report)
    return None


def _foreign(readings: Readings, text: str) -> str | None:
    """Another client's result file, by the reader that `compare` uses."""
    try:
        runs = foreign.read(text, "the file") or ()
    except UsageError as error:
        return str(error)
    readings.benches += [client_report.of_run(run) for run in runs]
    weak = dict.fromkeys(said for run in runs if run.told for said in run.told.weak)
    return "; ".join(said.rstrip(".") for said in weak) or None


def _arms(read: Callable[[str], tuple[Arm, ...]]) -> Reader:
    def reader(readings: Readings, text: str) -> str | None:
        found = read(text)
        readings.arms += found
        return None if found else "no configuration could be read in it"

    return reader


def _printed(read: Callable[[str], Printed], *, gpus: bool = False) -> Reader:
    def reader(readings: Readings, text: str) -> None:
        readings.printed.append(read(text))
        readings.asked_gpus = readings.asked_gpus or gpus

    return reader


def _processes(readings: Readings, text: str) -> None:
    readings.processes.append(host.processes(text))


def _io(readings: Readings, text: str) -> None:
    readings.io += host.io(text)


def _stat(readings: Readings, text: str) -> None:
    readings.stat += host.stat(text)


def _stack(readings: Readings, text: str) -> None:
    readings.stacks.append(host.stack(text))


def _dump(readings: Readings, text: str) -> None:
    readings.dumps.append(text)


def _memory(readings: Readings, text: str) -> None:
    readings.memory.update(host.memory(text))


def _module(readings: Readings, text: str) -> None:
    readings.module = printed.module_version(text) or readings.module


def _shown(readings: Readings, text: str) -> None:
    readings.units += unit.shown(text)


def _status(readings: Readings, text: str) -> None:
    readings.units += unit.status(text)


def _lspci(readings: Readings, text: str) -> None:
    readings.acs = host.redirects(text) or readings.acs


def _disk(readings: Readings, text: str) -> None:
    readings.disks.append(host.disks(text))


def _usage(readings: Readings, text: str) -> None:
    readings.usage.append(host.usage(text))


def _toolkit(readings: Readings, text: str) -> None:
    readings.toolkit = host.toolkit(text) or readings.toolkit


def _moment(readings: Readings, text: str) -> None:
    readings.now = text.strip()[:64]


def _calls(readings: Readings, text: str) -> None:
    readings.calls = unit.calls(text)


_READERS: dict[Kind, Reader] = {
    Kind.FRAMES: _frames,
    Kind.BUNDLE: _bundle,
    Kind.METRICS: _metrics,
    Kind.HTTP: _http,
    Kind.STREAM: _stream,
    Kind.BENCH_TEXT: _bench,
    Kind.BENCH_JSON: _bench,
    Kind.AIPERF: _foreign,
    Kind.GUIDELLM: _foreign,
    Kind.RUN: _run,
    Kind.SWEEP: _arms(table.table),
    Kind.NOTES: _arms(table.notes),
    Kind.SMI_CSV: _printed(printed.rows, gpus=True),
    Kind.SMI_APPS: _printed(printed.applications),
    Kind.SMI_TABLE: _printed(printed.table, gpus=True),
    Kind.SMI_DMON: _printed(printed.monitor, gpus=True),
    Kind.SMI_TOPO: _printed(printed.topology),
    Kind.SMI_LIST: _printed(printed.listed, gpus=True),
    Kind.SMI_DETAIL: _printed(printed.detail),
    Kind.SMI_MESSAGE: _printed(printed.messages, gpus=True),
    Kind.PS: _processes,
    Kind.PROC_IO: _io,
    Kind.PROC_STAT: _stat,
    Kind.PROC_STACK: _stack,
    Kind.STACK: _dump,
    Kind.MEMINFO: _memory,
    Kind.DRIVER: _module,
    Kind.SHOW: _shown,
    Kind.STATUS: _status,
    Kind.LSPCI: _lspci,
    Kind.DISK: _disk,
    Kind.USAGE: _usage,
    Kind.TOOLKIT: _toolkit,
    Kind.MOMENT: _moment,
    Kind.CALLS: _calls,
}

"""What nvidia-smi prints for people and scripts, of every form, read into values; pure.

A cell that holds no number is unknown for the reason that it gives, never 0: N/A on unified memory and under MIG,
"Not Supported" on cards without a reading, a whole sentence in place of all rows when one GPU is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from specconsole.gpu.sample import Gpu, GpuProcess
from specconsole.remote import probe_smi
from specconsole.text import one_line

MIB = 1 << 20
_UNITS = (
    ("%", ("utilization.gpu", "utilization.memory")),
    ("MiB", ("memory.used", "memory.total")),
    ("W", ("power.draw", "power.limit")),
    ("MHz", ("clocks.sm", "clocks.mem")),
)


@dataclass(frozen=True)
class Printed:
    """What one output holds."""

    gpus: tuple[Gpu, ...] = ()
    processes: tuple[GpuProcess, ...] = ()
    lost: tuple[Lost, ...] = ()
    failure: str = ""
    """driver_library_mismatch, driver_not_loaded, tool_missing, no_devices, gpu_lost, gpu_error, nvml_error; "" for none."""
    library: str | None = None
    """NVML's version, where a mismatch names it."""
    module: str | None = None
    """The kernel module's version."""
    driver: str | None = None
    links: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """How two GPUs are joined: NODE, PHB, SYS, NV18 …, by pairs of their indices."""
    fabric: Mapping[str, str] = field(default_factory=dict)
    """State, Status, CliqueId, ClusterUUID of the NVSwitch fabric, of the first GPU."""
    architecture: str | None = None
    """sm_120, from the compute capability."""
    persistence: tuple[str, ...] = ()
    """On, Off, by GPU."""
    anonymous: tuple[int, ...] = ()
    """Pids of processes whose name the driver could not find."""


@dataclass(frozen=True)
class Lost:
    """A GPU that the driver cannot get hold of."""

    line: int
    bus: str
    """As it is printed, in capitals."""
    why: str


def rows(text: str) -> Printed:
    """`--query-gpu`, with or without its header and units."""
    lines = [line for line in text.splitlines() if line.strip()]
    headed = (
        bool(lines)
        and re.match(r"(?:\w+[\w.]*(?: \[[\w%]+\])?, ?)", lines[0]) is not None
        and not re.match(r"\d+, ?", lines[0])
    )
    fields = _fields(lines[0]) if headed else _guessed(lines[0]) if lines else ()
    known = [re.sub(r"^name$|^gpu_name$", "name", name) for name in fields]
    body = lines[1:] if headed else lines
    found: list[Gpu] = []
    caps: list[str] = []
    modes: list[str] = []
    for line in body:
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(known):
            continue
        values = dict(zip(known, cells, strict=True))
        row: dict[str, Any] = next(iter(probe_smi.rows("\n".join((",".join(known), line)), known)), {})
        if row:
            gone = {"error": "GPU is lost"} if _GONE.search(line) else {}
            index = len(found) if row["index"] < 0 and "index" not in values else row["index"]
            found.append(_gpu({**row, **gone, "index": index}))
        if re.fullmatch(r"\d{1,2}\.\d", values.get("compute_cap", "")):
            caps.append(values["compute_cap"])
        if (mode := values.get("persistence_mode")) is not None:
            modes.append("On" if mode in ("Enabled", "On") else "Off" if mode in ("Disabled", "Off") else mode)
    lost = messages(text)
    if not lost.failure and any(gpu.error for gpu in found):
        lost = replace(lost, failure="gpu_lost")
    arch = f"sm_{caps[0].replace('.', '')}" if caps else None
    return replace(lost, gpus=tuple(found), architecture=arch, persistence=tuple(modes))


def _fields(header: str) -> list[str]:
    return [re.sub(r"\s*\[.*", "", cell.strip()) for cell in header.split(",")]


def _guessed(line: str) -> list[str]:
    """Columns of a row without a header, by the units of its cells: the first of two alike is what is used."""
    fields = []
    left = {unit: list(names) for unit, names in _UNITS}
    for place, cell in enumerate(part.strip() for part in line.split(",")):
        unit = next((unit for unit in left if re.fullmatch(rf"[\d.]+ ?{unit}", cell)), None)
        if place == 0 and cell.isdecimal():
            fields.append("index")
        elif unit is not None and left[unit]:
            fields.append(left[unit].pop(0))
        elif re.match(r"GPU-[0-9a-f]", cell):
            fields.append("uuid")
        elif "name" not in fields and re.search(r"[A-Za-z]", cell) and not cell.startswith("["):
            fields.append("name")
        else:
            fields.append(f"column{place}")
    return fields


def _gpu(row: Mapping[str, Any]) -> Gpu:
    values = {name: value for name, value in row.items() if name in Gpu.__dataclass_fields__}
    name = one_line(str(values.get("name", "")), 120)
    values["name"] = "" if name.startswith("[") else name  # [GPU is lost] in every cell
    return Gpu(**values)


def applications(text: str) -> Printed:
    """`--query-compute-apps`, with or without its header."""
    lines = [line for line in text.splitlines() if line.strip()]
    first = [cell.strip() for cell in lines[0].split(",")] if lines else []
    fields: tuple[str, ...] = ("gpu_uuid", "pid", "process_name", "used_gpu_memory")
    if first and first[0].isdecimal():
        fields = fields[1:]
    held = probe_smi.holders(
        re.sub(r"(?m)^(pid|gpu_uuid), (?!.*process_name)(.*)\bname\b", r"\1, \2process_name", text), fields
    )
    processes = tuple(
        GpuProcess(item["pid"], one_line(item["name"], 120), item["memory"], None)
        for items in held.values()
        for item in items
    )
    anonymous = tuple(process.pid for process in processes if not process.name)
    return Printed(processes=processes, anonymous=anonymous)


_LOST = re.compile(
    r"Unable to de\w+ the device handle for GPU\s*(?:\d{1,3}:\s*)?(?P<bus>[0-9a-fA-F]+:[0-9a-fA-F]+:[0-9a-fA-F]+\.[0-9a-fA-F])\s*:\s*(?P<why>[^\n]*)"
)
_FAILURES = (
    ("driver_library_mismatch", re.compile(r"[Dd]river/library version mismatch")),
    ("driver_not_loaded", re.compile(r"couldn't communicate with the NVIDIA driver|Driver Not Loaded")),
    ("tool_missing", re.compile(r"nvidia-smi: (?:command )?not found|'nvidia-smi': No such file")),
    ("no_devices", re.compile(r"No devices were found")),
    ("nvml_error", re.compile(r"Failed to initialize NVML|NVIDIA-SMI has failed")),
)


def messages(text: str) -> Printed:
    """Sentences in place of an answer."""
    lost = tuple(
        Lost(number, found["bus"].upper(), one_line(found["why"], 120))
        for number, line in enumerate(text.splitlines(), 1)
        if (found := _LOST.search(line))
    )
    # Where it names a lost card, "No devices were found" only follows from that.
    failure = "gpu_lost" if lost else next((name for name, pattern in _FAILURES if pattern.search(text)), "")
    library = re.search(r"NVML library version: (\d[\d.]*)", text)
    return Printed(lost=lost, failure=failure, library=library[1].rstrip(".") if library else None)


def module_version(text: str) -> str | None:
    """The loaded kernel module's version, from /proc/driver/nvidia/version."""
    found = re.search(r"Kernel Module(?: for \S+)? +(\d[\d.]*)", text)
    return found[1] if found else None


_GONE = re.compile(r"\[GPU is lost\]", re.IGNORECASE)
_NONE = r"N/A|ERR!|Unknown Error|\[[^\]]*\]"
_CELL = re.compile(
    rf"(?P<temp>\d+|{_NONE}) ?C? +(?P<perf>P\d+|{_NONE}) +(?P<watts>\d+W|{_NONE}) */ *(?P<limit>\d+W|{_NONE})"
)


def table(text: str) -> Printed:
    """The table that plain `nvidia-smi` prints: two or three lines a GPU, cells between bars."""
    found: list[Gpu] = []
    modes: list[str] = []
    driver = re.search(r"Driver Version: *([\d.]+)", text)
    lines = text.splitlines()
    for place, line in enumerate(lines[:-1]):
        first = [cell.strip() for cell in line.strip().strip("|").split("|")]
        second = [cell.strip() for cell in lines[place + 1].strip().strip("|").split("|")]
        head = re.match(r"(\d{1,3}) {1,4}(\S.*?) +(On|Off|N/A)$", first[0])
        state = _CELL.search(second[0])
        if head is None:
            continue
        if state is None or len(second) < 2:
            if "%" in second[-1] or "MiB" in lines[place + 1]:
                found.append(Gpu(int(head[1]), "", one_line(head[2], 120), error="its row could not be read"))
                modes.append(head[3])
            continue
        modes.append(head[3])
        gpu = _of_cells(int(head[1]), head[2].strip(), first, state, second)
        found.append(replace(gpu, mig=_MIG.get("".join(lines[place + 2 : place + 3]).strip(" |"))))
    held = re.findall(r"(?m)^\| +(?:\d+) +(?:\S+ +\S+ +)?(\d+) +[CGM+]+ +(\S.*?) +(\d+MiB|N/A) *\|$", text)
    processes = tuple(GpuProcess(int(pid), one_line(name, 120), _mib(size), None) for pid, name, size in held)
    failure = "gpu_error" if any(gpu.error == ERRS for gpu in found) else ""
    return Printed(
        tuple(found), processes, failure=failure, driver=driver[1] if driver else None, persistence=tuple(modes)
    )


_MIG = {"Enabled": True, "Disabled": False}
"""The third line of a GPU; older drivers and cards without it print N/A or nothing."""
ERRS = "nvidia-smi prints ERR! for it"
"""Of a GPU with several such cells: the driver cannot read it."""


def _of_cells(index: int, name: str, first: list[str], state: re.Match[str], second: list[str]) -> Gpu:
    memory = re.search(r"(\d+)MiB */ *(\d+)MiB", second[1])
    util = re.search(r"(\d+)%", second[2]) if len(second) > 2 else None
    bus = re.search(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d", first[1]) if len(first) > 1 else None
    watts, limit = _watts(state["watts"]), _watts(state["limit"])
    ecc = re.fullmatch(r"(\d+)", first[2]) if len(first) > 2 else None
    why = {} if memory else {"memory_used": second[1] or "not printed", "memory_total": second[1] or "not printed"}
    if limit is None:
        why["power_limit_w"] = state["limit"]
    if watts is None:
        why["power_w"] = state["watts"]
    if util is None:
        why["util"] = (second[2].split() or ["not printed"])[0] if len(second) > 2 else "not printed"
    return Gpu(
        index,
        "",
        one_line(name, 120),
        bus=bus[0].lower() if bus else None,
        memory_used=int(memory[1]) * MIB if memory else None,
        memory_total=int(memory[2]) * MIB if memory else None,
        util=int(util[1]) / 100 if util else None,
        power_w=watts,
        power_limit_w=limit,
        temperature_c=float(state["temp"]) if state["temp"].isdecimal() else None,
        ecc_uncorrected=int(ecc[1]) if ecc else None,
        error=ERRS if " ".join(second).count("ERR!") > 1 else None,
        why=why,
    )


def _watts(text: str) -> float | None:
    return float(text[:-1]) if text.endswith("W") and text[:-1].isdecimal() else None


def _mib(text: str) -> int | None:
    return int(text.removesuffix("MiB")) * MIB if text.endswith("MiB") else None


def monitor(text: str) -> Printed:
    """`dmon`: columns named by its first comment line; several samples of a GPU are averaged."""
    columns: list[str] = []
    sums: dict[int, dict[str, list[float]]] = {}
    for line in text.splitlines():
        words = line.lstrip("# ").split()
        if line.startswith("#"):
            columns = words if "gpu" in words else columns
            continue
        if not columns or len(words) != len(columns):
            continue
        row = dict(zip(columns, words, strict=True))
        if not row.get("gpu", "").isdecimal():
            continue
        kept = sums.setdefault(int(row["gpu"]), {})
        for name, word in row.items():
            if re.fullmatch(r"\d{1,9}(?:\.\d+)?", word):
                kept.setdefault(name, []).append(float(word))
    return Printed(tuple(_monitored(index, values) for index, values in sorted(sums.items())))


def _monitored(index: int, values: Mapping[str, list[float]]) -> Gpu:
    def mean(name: str, factor: float = 1.0) -> float | None:
        known = values.get(name)
        return sum(known) / len(known) * factor if known else None

    return Gpu(
        index,
        "",
        "",
        util=mean("sm", 0.01),
        util_memory=mean("mem", 0.01),
        power_w=mean("pwr"),
        temperature_c=mean("gtemp"),
        pcie_rx=mean("rxpci", 1e6),
        pcie_tx=mean("txpci", 1e6),
    )


_LISTED = re.compile(
    r"^GPU (?P<index>\d{1,3}): (?P<name>.{1,120}?) \(UUID: (?P<uuid>GPU-[0-9a-fA-F-]{8,40})\)", re.MULTILINE
)


def listed(text: str) -> Printed:
    """`-L`: which GPUs there are, and of those that are lost which."""
    found = _LISTED.finditer(text)
    gpus = tuple(Gpu(int(one["index"]), one["uuid"], one_line(one["name"], 120)) for one in found)
    return replace(messages(text), gpus=gpus)


def topology(text: str) -> Printed:
    """`topo -m`: the matrix of links."""
    lines = [line.split() for line in re.sub(r"\x1b\[\d*m", "", text).splitlines() if line.strip()]
    header = next((words for words in lines if words[0] == "GPU0"), [])
    columns = [int(word[3:]) for word in header if re.fullmatch(r"GPU\d{1,3}", word)]
    links: dict[tuple[int, int], str] = {}
    for words in lines:
        if not re.fullmatch(r"GPU\d{1,3}", words[0]) or words is header:
            continue
        for column, word in zip(columns, words[1:], strict=False):
            if word != "X" and int(words[0][3:]) < column:
                links[int(words[0][3:]), column] = one_line(word, 12)
    return Printed(links=links)


def detail(text: str) -> Printed:
    """`-q`: of it what other forms do not tell, the fabric above all."""
    fabric: dict[str, str] = {}
    inside, depth = False, 0
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if line.strip() == "Fabric":
            inside, depth = True, len(line) - len(line.lstrip())
            continue
        if inside and line.strip() and len(line) - len(line.lstrip()) <= depth:
            inside = False
        if inside and colon:
            fabric.setdefault(name.strip(), one_line(value, 80))
    modes = re.findall(r"(?m)^ *Persistence Mode *: *(Enabled|Disabled)", text)
    driver = re.search(r"(?m)^Driver Version *: *([\d.]+)", text)
    return Printed(
        tuple(_of_sections(text)),
        fabric=fabric,
        driver=driver[1] if driver else None,
        persistence=tuple("On" if mode == "Enabled" else "Off" for mode in modes),
    )


_SECTION = re.compile(r"(?m)^GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d) *$")


def _of_sections(text: str) -> Iterator[Gpu]:
    """The GPUs of a `-q`: its sections begin with their bus addresses."""
    marks = list(_SECTION.finditer(text))
    for index, mark in enumerate(marks):
        part = text[mark.end() : marks[index + 1].start() if index + 1 < len(marks) else len(text)]
        memory = re.search(r"(?m)^ +FB Memory Usage\n((?: {8,}.*\n?)+)", part)
        inside = memory[1] if memory else ""
        total, used = (_in_mib(inside, name) for name in ("Total", "Used"))
        util = re.search(r"(?m)^ +Gpu *: *(\d{1,3}) %", part)
        draw = re.search(r"(?m)^ +(?:Average |Instantaneous )?Power Draw *: *([\d.]{1,12}) W", part)
        limit = re.search(r"(?m)^ +(?:Current |Enforced )?Power Limit *: *([\d.]{1,12}) W", part)
        heat = re.search(r"(?m)^ +GPU Current Temp *: *(\d{1,3}) C", part)
        name = re.search(r"(?m)^ +Product Name *: *(\S.*)$", part)
        yield Gpu(
            index,
            "",
            one_line(name[1], 120) if name else "",
            bus=mark[1].lower(),
            memory_used=used,
            memory_total=total,
            util=int(util[1]) / 100 if util else None,
            power_w=_real(draw),
            power_limit_w=_real(limit),
            temperature_c=float(heat[1]) if heat else None,
        )


def _in_mib(text: str, name: str) -> int | None:
    found = re.search(rf"(?m)^ +{name} *: *(\d{{1,9}}) MiB", text)
    return int(found[1]) * MIB if found else None


def _real(found: re.Match[str] | None) -> float | None:
    return float(found[1]) if found and re.fullmatch(r"\d+(?:\.\d+)?", found[1]) else None

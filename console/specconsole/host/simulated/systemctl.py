"""`systemctl` on the simulated host: the questions that the console asks, answered as systemd 255 prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from specconsole.host.simulated.machine import Machine
from specconsole.host.simulated.options import Options, parse
from specconsole.host.simulated.unit import SimulatedUnit

Answer = tuple[int, str]
"""Exit status and output; an error goes to stderr when the status is not 0."""

_VALUED = (
    "-p",
    "--property",
    "-P",
    "-t",
    "--type",
    "--state",
    "-o",
    "--output",
    "-n",
    "--timestamp",
    "-M",
    "--machine",
    "--job-mode",
)
_FLAGS = {
    "-a", "--all", "-l", "--full", "-q", "--quiet", "--no-pager", "--no-legend", "--plain", "--value", "--system", "--user",
    "--version", "--no-block", "--no-ask-password",
}  # fmt: skip
_INFINITY = "infinity"
_NEVER = "[not set]"


def answer(machine: Machine, words: Sequence[str]) -> Answer | None:
    """Answer a question; None: not one of those that are known here."""
    options = parse(words, _VALUED)
    if options.flags - _FLAGS:
        return None
    if "--user" in options.flags or options.values("-M", "--machine"):
        return 1, "Failed to connect to bus: No medium found"
    if "--version" in options.flags:
        return 0, f"systemd {machine.site.systemd}\n"
    if not options.words:
        return _list_units(machine, options, [])
    command, *names = options.words
    known = {
        "show": _show,
        "list-units": _list_units,
        "list-unit-files": _list_unit_files,
        "cat": _cat,
        "is-active": _is_active,
        "is-enabled": _is_enabled,
        "is-system-running": lambda *_: (0, "running\n"),
        "daemon-reload": lambda *_: (0, ""),
        "list-jobs": lambda *_: (0, "No jobs running.\n"),
    }.get(command)
    return known(machine, options, names) if known else None


def units_named(machine: Machine, patterns: Sequence[str]) -> list[str]:
    """The units that names or globs mean, in their order; a name that is none stays as it is."""
    found: list[str] = []
    for pattern in patterns:
        name = pattern if "." in pattern or "*" in pattern else f"{pattern}.service"
        glob = any(char in name for char in "*?[")
        found += [unit for unit in machine.units if fnmatchcase(unit, name)] if glob else [name]
    return found


def _show(machine: Machine, options: Options, names: Sequence[str]) -> Answer:
    wanted = [name for value in options.values("-p", "--property", "-P") for name in value.split(",")]
    only_values = "--value" in options.flags or bool(options.values("-P"))
    if not names:
        manager = {"Version": machine.site.systemd, "SystemState": "running", "UnitsLoadTimestampMonotonic": "5421336"}
        return 0, _block(manager, wanted, only_values)
    unix = options.values("--timestamp") == ["unix"]
    blocks = []
    for name in units_named(machine, names):
        unit = machine.units.get(name)
        values = properties(machine, unit, unix) if unit else _other(machine, name)
        blocks.append(_block(values, wanted, only_values))
    return 0, "\n".join(blocks)


def _block(values: Mapping[str, str], wanted: Sequence[str], only_values: bool) -> str:
    """Print those wanted in the unit's own order; systemd leaves unknown ones out silently."""
    shown = {name: value for name, value in values.items() if not wanted or name in wanted}
    return "".join(f"{value}\n" if only_values else f"{name}={value}\n" for name, value in shown.items())


def _other(machine: Machine, name: str) -> dict[str, str]:
    """A transient unit, or none at all."""
    said = machine.transients.get(name)
    if said is not None:
        states = {"LoadState": "loaded", "ActiveState": "active", "SubState": "running", "UnitFileState": "transient"}
        return {"Id": name, "Names": name, "Description": said, **states, "Transient": "yes", "Result": "success"}
    states = {"LoadState": "not-found", "ActiveState": "inactive", "SubState": "dead", "UnitFileState": ""}
    return {"Id": name, "Names": name, "Description": name, **states, "MainPID": "0", "Result": "success"}


def properties(machine: Machine, unit: SimulatedUnit, unix: bool) -> dict[str, str]:
    """All properties of a unit that are known here."""
    cpu = unit.cpu_s(machine.clock.now())
    sample = machine.sample() if unit.running else None
    resident = sum(row.rss for row in sample.tree) if sample and sample.tree else None
    values = {
        "Type": "exec",
        "ExitType": "main",
        "Restart": unit.file.restart,
        "NotifyAccess": "none",
        "RestartUSec": _span(unit.file.restart_s),
        "TimeoutStartUSec": _INFINITY,
        "TimeoutStopUSec": _span(unit.file.stop_s),
        "MainPID": str(unit.main_pid),
        "ControlPID": "0",
        "StatusText": "",
        "Result": unit.result,
        "NRestarts": str(unit.restarts),
        "ExecMainPID": str(unit.playback.script.main_pid if unit.playback else 0),
        "ExecMainCode": str(unit.exit_code),
        "ExecMainStatus": str(unit.exit_status),
        "ExecStart": _exec(unit),
        "Slice": "system.slice",
        "ControlGroup": unit.cgroup,
        "MemoryCurrent": _NEVER if resident is None else str(resident),
        "MemoryPeak": _NEVER,
        "CPUUsageNSec": _NEVER if cpu is None else str(round(cpu * 1e9)),
        "TasksCurrent": _NEVER,
        "IOReadBytes": _NEVER,
        "OOMPolicy": "stop",
        "Environment": " ".join(unit.file.environment),
        "LimitMEMLOCK": _INFINITY,
        "StandardOutput": "journal",
        "StandardError": "inherit",
        "KillMode": "mixed",
        "KillSignal": "15",
        "Id": unit.name,
        "Names": unit.name,
        "Conflicts": " ".join(["shutdown.target", *unit.file.conflicts]),
        "After": " ".join(["basic.target", "system.slice", "network-online.target", *unit.file.conflicts]),
        "Description": unit.file.description,
        "LoadState": "loaded",
        "ActiveState": unit.active,
        "SubState": unit.sub,
        "FragmentPath": unit.file.path,
        "DropInPaths": "",
        "UnitFileState": "enabled" if unit.enabled else "disabled",
        "UnitFilePreset": "enabled",
        "NeedDaemonReload": "no",
        "Transient": "no",
        "CanStart": "yes",
        "CanStop": "yes",
        "InvocationID": unit.invocation if unit.busy or unit.active == "failed" else "",
        "Job": "0",
    }
    for name in (
        "StateChange",
        "InactiveExit",
        "ActiveEnter",
        "ActiveExit",
        "InactiveEnter",
        "ExecMainStart",
        "ExecMainExit",
    ):
        moment = unit.stamps.get(name)
        values[f"{name}Timestamp"] = ("" if moment is None else f"@{moment:.0f}") if unix else _date(moment)
        values[f"{name}TimestampMonotonic"] = "0" if moment is None else str(round((moment - machine.booted) * 1e6))
    return values


def _span(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    parts = [f"{minutes:.0f}min"] * bool(minutes) + [f"{rest:g}s" if rest >= 1 else f"{rest * 1000:g}ms"] * bool(rest)
    return " ".join(parts) or "0"


def _date(moment: float | None) -> str:
    from datetime import datetime, timezone

    return "" if moment is None else datetime.fromtimestamp(moment, timezone.utc).strftime("%a %Y-%m-%d %H:%M:%S UTC")


def _exec(unit: SimulatedUnit) -> str:
    argv = unit.file.argv
    return (
        f"{{ path={argv[0]} ; argv[]={' '.join(argv)} ; ignore_errors=no ; start_time=[n/a] ; stop_time=[n/a] ;"
        " pid=0 ; code=(null) ; status=0/0 }"
    )


def _chosen(machine: Machine, options: Options, patterns: Sequence[str]) -> list[SimulatedUnit]:
    kinds = [kind for value in options.values("-t", "--type") for kind in value.split(",")]
    if kinds and "service" not in kinds:
        return []
    names = units_named(machine, patterns) if patterns else list(machine.units)
    return [machine.units[name] for name in names if name in machine.units]


def _list_units(machine: Machine, options: Options, patterns: Sequence[str]) -> Answer:
    states = [state for value in options.values("--state") for state in value.split(",")]
    everything = "--all" in options.flags or "-a" in options.flags
    lines = []
    for unit in _chosen(machine, options, patterns):
        loaded = unit.busy or unit.active == "failed" or everything
        if loaded and (not states or {unit.active, unit.sub, "loaded"} & set(states)):
            lines.append(f"{unit.name} loaded {unit.active} {unit.sub} {unit.file.description}\n")
    return 0, "".join(lines)


def _list_unit_files(machine: Machine, options: Options, patterns: Sequence[str]) -> Answer:
    chosen = _chosen(machine, options, patterns)
    return 0, "".join(f"{unit.name} {'enabled' if unit.enabled else 'disabled'} enabled\n" for unit in chosen)


def _cat(machine: Machine, _: Options, names: Sequence[str]) -> Answer:
    parts = []
    for name in units_named(machine, names):
        if name not in machine.units:
            return 1, f"No files found for {name}.\n"
        file = machine.units[name].file
        parts.append(f"# {file.path}\n{file.text}")
    return 0, "\n".join(parts)


def _is_active(machine: Machine, _: Options, names: Sequence[str]) -> Answer:
    states = [
        machine.units[name].active if name in machine.units else "inactive" for name in units_named(machine, names)
    ]
    return 0 if "active" in states else 3, "".join(f"{state}\n" for state in states)


def _is_enabled(machine: Machine, _: Options, names: Sequence[str]) -> Answer:
    known = [machine.units[name] for name in units_named(machine, names) if name in machine.units]
    return 0 if any(unit.enabled for unit in known) else 1, "".join(
        "enabled\n" if unit.enabled else "disabled\n" for unit in known
    )

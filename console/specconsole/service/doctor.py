"""What the console can and cannot do on a host, and why: one check for each thing that it leans on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from specconsole.host.base import Rights
from specconsole.remote.experiment_folder import HOMES
from specconsole.service import method_effect
from specconsole.service.examine import SHM, Mount, Readings, Unread
from specconsole.service.finding import Finding
from specconsole.service.lint import Linted, counted
from specconsole.service.swap import OUTCOMES, next_steps, title
from specconsole.text import bytes_binary, milliseconds, one_line

OUTPUT_FIELDS_SINCE = 236
"""The systemd whose journalctl takes --output-fields."""
SHM_SMALL = 1 << 30
DISK_SMALL = 5 << 30
NEARLY_FULL = 0.05
SKEW_S = 2.0
SLOW_LINK_S = 0.3
SAID = 3
"""So many findings of a unit are said, the gravest."""


class Level(Enum):
    """How much of what depends on it works."""

    OK = "ok"
    LIMITED = "limited"
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    level: Level
    found: str
    """What there is, in one sentence."""
    works: str = ""
    """What works because of it."""
    fails: str = ""
    """What does not, or not fully."""
    fix: str = ""
    """The command that would change it, to be run on the host where it does not say otherwise."""


def judge(readings: Readings) -> tuple[Check, ...]:
    """Judge every reading; nothing that could not be read passes for good."""
    return tuple(_checks(readings))


def worst(checks: tuple[Check, ...]) -> Level:
    """MISSING if anything is missing, else LIMITED if anything is less than OK, else OK."""
    levels = {check.level for check in checks}
    if Level.MISSING in levels:
        return Level.MISSING
    return Level.OK if levels <= {Level.OK} else Level.LIMITED


def _checks(readings: Readings) -> Iterator[Check]:
    yield _link(readings)
    yield _rights(readings)
    yield _python(readings)
    yield _gpus(readings)
    yield _systemd(readings)
    yield _journal(readings)
    yield _persistence(readings)
    yield _units(readings)
    if readings.differs:
        found = one_line(f"{'; '.join(readings.differs)}.")
        yield Check(
            "profile",
            Level.LIMITED,
            found,
            fails="what the profile calls usual is not of this unit",
            fix="mend the unit, or [expect] in the profile (on your machine)",
        )
    yield from _lint(readings)
    yield from _storage(readings)
    yield _swaps(readings)
    if readings.runs:
        yield _runs(readings)
    if readings.experiments:
        yield _experiments(readings)
    yield _clock(readings)
    yield _ssh(readings)


def _unread(name: str, reading: Unread, fails: str, fix: str = "") -> Check:
    return Check(name, Level.UNKNOWN, f"Could not be read: {reading.why}", fails=fails, fix=fix)


def _link(readings: Readings) -> Check:
    trip = readings.link.round_trip_s
    if trip is None:
        return Check("link", Level.UNKNOWN, "No round trip was measured yet.")
    works = "commands, followers and the engine's HTTP go over this one link"
    if trip > SLOW_LINK_S:
        return Check(
            "link", Level.LIMITED, f"A round trip takes {milliseconds(trip, 0)}.", works, "every answer takes as long"
        )
    return Check("link", Level.OK, f"A round trip takes {milliseconds(trip, 1)}.", works)


def _rights(readings: Readings) -> Check:
    facts = readings.facts
    if facts.rights is Rights.USER:
        why = "; ".join(note.text for note in readings.notes if note.topic == "rights")
        return Check(
            "rights",
            Level.LIMITED,
            one_line(f"Logged in as {facts.user} without root. {why}"),
            "everything that only reads what this login may read",
            "starting, stopping and swapping units; open files and process trees of others; GPU fields that are root's",
            f"as root: echo '{facts.user} ALL=(root) NOPASSWD: ALL' > /etc/sudoers.d/specconsole",
        )
    how = "as root" if facts.rights is Rights.ROOT else f"as {facts.user}, and sudo -n gives root"
    if readings.read_only_asked:
        return Check(
            "rights", Level.OK, f"Logged in {how}, read-only as asked.", "everything that reads", "nothing is changed"
        )
    return Check("rights", Level.OK, f"Logged in {how}.", "reading everything, and changing units after a confirmation")


def _python(readings: Readings) -> Check:
    facts = readings.facts
    if facts.python:
        return Check(
            "python",
            Level.OK,
            f"Python {facts.python_version} at {facts.python}.",
            "the GPU probe, evidence of a load, one link for all, benchmarks on the host itself",
        )
    why = " ".join(note.text for note in readings.notes if note.topic == "python")
    return Check(
        "python",
        Level.MISSING,
        one_line(why) or "There is no Python of 3.8 or newer.",
        "units, logs (renewed every 45 s), the engine's HTTP, GPUs by nvidia-smi",
        "the probe, so no process trees: a verdict on a load rests on the log and nvidia-smi; benchmarks run over the link",
        _install(readings, "python3", "python3.11"),
    )


def _install(readings: Readings, debian: str, red_hat: str) -> str:
    system = readings.system if isinstance(readings.system, str) else ""
    if re.search(r"\b(rhel|fedora|centos)\b", system):
        return f"dnf install -y {red_hat}"
    if re.search(r"\b(suse|opensuse\S*|sles)\b", system):
        return f"zypper install -y {red_hat.replace('.', '')}"
    return f"apt-get install -y {debian}"


def _gpus(readings: Readings) -> Check:
    fails = "memory, utilisation, power and faults of the GPUs, and who holds them"
    if isinstance(readings.gpus, Unread):
        return _unread("gpus", readings.gpus, fails, "nvidia-smi")
    fleet = readings.gpus
    if fleet.source == "none":
        why = one_line(fleet.why or "No GPU evidence.")
        return Check("gpus", Level.MISSING, why, fails=fails, fix=_driver(readings, why))
    names = sorted({gpu.name for gpu in fleet.gpus if gpu.name})
    found = f"{len(fleet.gpus)} × {', '.join(names) or 'unnamed'}, driver {fleet.driver or 'unknown'}, read by {fleet.source}."
    failed = [f"{gpu.index}: {one_line(gpu.error)}" for gpu in fleet.gpus if gpu.error]
    if failed:
        return Check("gpus", Level.LIMITED, f"{found} {'; '.join(failed)}.", "the others", fails, "dmesg | grep -i xid")
    if fleet.source != "nvml":
        why = one_line(fleet.why or "")
        return Check(
            "gpus",
            Level.LIMITED,
            f"{found} {why}".strip(),
            "what nvidia-smi prints, every few seconds",
            "fast sampling",
        )
    dropped = f"fields too dear at this rate: {', '.join(fleet.dropped)}" if fleet.dropped else ""
    return Check("gpus", Level.OK, found, "tiles, history, faults, and evidence of a load", dropped)


def _driver(readings: Readings, why: str) -> str:
    """What mends a driver depends on what it says; a mismatch comes from an update under the running module."""
    if "mismatch" in why.lower():
        return "systemctl reboot"
    if re.search(r"not loaded|communicate|permission", why, re.IGNORECASE):
        return "modprobe nvidia && nvidia-smi"
    return _install(readings, "nvidia-driver", "nvidia-driver")


def _systemd(readings: Readings) -> Check:
    fails = "units, swaps and starts"
    if isinstance(readings.systemd, Unread):
        return Check("systemd", Level.MISSING, f"systemctl does not answer: {readings.systemd.why}", fails=fails)
    version = re.match(r"systemd (\d+)", readings.systemd)
    if not version:
        return Check("systemd", Level.UNKNOWN, f"Its version could not be read: {readings.systemd}", fails=fails)
    if int(version[1]) < OUTPUT_FIELDS_SINCE:
        return Check("systemd", Level.LIMITED, f"{readings.systemd}.", "units", "logs come whole and half as fast")
    return Check(
        "systemd", Level.OK, f"{readings.systemd}.", "units, their states within a second, swaps as transient units"
    )


def _journal(readings: Readings) -> Check:
    fails = "logs of units, progress and diagnosis of a load: they may be logging, and nothing of it can be shown"
    if isinstance(readings.journal, Unread):
        return _unread("journal", readings.journal, fails)
    if readings.journal:
        return Check(
            "journal", Level.OK, "This login reads the system's journal.", "logs, progress and diagnosis of a load"
        )
    fix = f"usermod -aG systemd-journal {readings.facts.user}"
    return Check(
        "journal", Level.MISSING, f"{readings.facts.user} may not read the system's journal.", fails=fails, fix=fix
    )


def _persistence(readings: Readings) -> Check:
    if isinstance(readings.journal_persistent, Unread):
        return _unread("journal kept", readings.journal_persistent, "logs of before the last boot may be gone")
    if readings.journal_persistent:
        return Check(
            "journal kept",
            Level.OK,
            "The journal is persistent.",
            "logs of earlier boots; a crash can be read afterwards",
        )
    return Check(
        "journal kept",
        Level.LIMITED,
        "The journal is in memory only.",
        "logs since the last boot",
        "what was logged before a reboot or a crash is gone",
        "mkdir -p /var/log/journal && systemd-tmpfiles --create --prefix /var/log/journal && journalctl --flush",
    )


def _units(readings: Readings) -> Check:
    fails = "the units that a swap or a benchmark would be about"
    if isinstance(readings.units, Unread):
        return _unread("units", readings.units, fails)
    if not readings.units:
        return Check(
            "units",
            Level.LIMITED,
            "No unit runs vLLM.",
            fails=fails,
            fix="name them in a profile and give it with --profile (on your machine)",
        )
    listed = ", ".join(f"{unit.key} (vLLM {unit.version or 'of unknown version'})" for unit in readings.units)
    return Check("units", Level.OK, one_line(f"{listed}."), "state, log and engine of each")


def _lint(readings: Readings) -> Iterator[Check]:
    """A check for each unit of which something fails or ends badly; notes, and what a method brings, are left to the verb."""
    if isinstance(readings.linted, Unread):
        yield _unread("lint", readings.linted, "whether a start of these units would end badly")
        return
    for one in readings.linted:
        grave = _grave(one)
        if not grave:
            continue
        more = f" and {len(grave) - SAID} more" if len(grave) > SAID else ""
        name = one.unit.key.removesuffix(".service")
        mends = " --fix" if any(finding.remedy for finding in grave) else ""
        yield Check(
            "lint",
            Level.LIMITED,
            f"{name}: {counted(grave)}.",
            fails=" ".join(one_line(finding.sentence) for finding in grave[:SAID]) + more,
            fix=f"specconsole lint {readings.name} {name}{mends} (on your machine)",
        )
    if readings.linted and not any(map(_grave, readings.linted)):
        count = len(readings.linted)
        yield Check("lint", Level.OK, f"Nothing fails or ends badly in {count} unit{'s' if count > 1 else ''}.")


def _grave(one: Linted) -> list[Finding]:
    return [finding for finding in one.findings if finding.severity != "note" and finding.id not in method_effect.IDS]


def _storage(readings: Readings) -> Iterator[Check]:
    if isinstance(readings.mounts, Unread):
        yield _unread("storage", readings.mounts, "room for shared memory, logs and caches is not known")
        return
    seen: dict[str, str] = {}
    for mount in readings.mounts:
        if mount.path != SHM and mount.device in seen:
            continue
        seen[mount.device] = mount.path
        yield _shm(mount) if mount.path == SHM else _disk(mount)


def _room(mount: Mount) -> str:
    return f"{bytes_binary(mount.available)} of {bytes_binary(mount.size)} free."


def _shm(mount: Mount) -> Check:
    works = "workers of one engine talk over it"
    if mount.size < SHM_SMALL:
        fails = "engines with several GPUs may fail to start, or hang at their first collective"
        return Check(SHM, Level.LIMITED, _room(mount), works, fails, "mount -o remount,size=50% /dev/shm")
    if mount.available < mount.size * NEARLY_FULL:
        fails = "the next start may fail; segments of engines that died may lie there"
        return Check(SHM, Level.LIMITED, _room(mount), works, fails, "ls -la --sort=size /dev/shm")
    return Check(SHM, Level.OK, _room(mount), works)


def _disk(mount: Mount) -> Check:
    if mount.available < min(DISK_SMALL, mount.size // 10) or mount.available < mount.size * NEARLY_FULL:
        fails = "compiled kernels, logs and journal may find no room"
        return Check(
            f"disk {mount.path}", Level.LIMITED, _room(mount), "", fails, f"du -xh {mount.path} | sort -h | tail"
        )
    return Check(f"disk {mount.path}", Level.OK, _room(mount), "room for logs and caches")


def _swaps(readings: Readings) -> Check:
    """The last swap of the host's own record, and one that nobody goes on with."""
    known = readings.swaps
    if known.trouble:
        return Check("swaps", Level.UNKNOWN, f"The record of swaps could not be read: {one_line(known.trouble, 200)}")
    if not known.stories:
        return Check("swaps", Level.OK, "No swap is recorded on this host.")
    last = known.stories[-1]
    step = f" at step {last.step.name}" if last.step and last.outcome != "committed" else ""
    found = f"{len(known.stories)} recorded; the last: {title(last)}, {OUTCOMES.get(last.outcome, '?')}{step}."
    if known.running:
        return Check("swaps", Level.OK, found, "it runs now", fix=f"specconsole swap {readings.name} --follow")
    if known.interrupted:
        fix = " or: ".join(next_steps(readings.name, known))
        return Check("swaps", Level.LIMITED, found, fails="nobody goes on with it: finish it, or return", fix=fix)
    if last.outcome in ("failed", "handed_over"):
        fix = last.advice[0] if last.advice else f"specconsole status {readings.name}"
        return Check("swaps", Level.LIMITED, found, fails=one_line(last.why), fix=one_line(fix))
    return Check("swaps", Level.OK, found)


def _runs(readings: Readings) -> Check:
    """Benchmarks that lie on the host: one that goes on, and those that nobody has fetched."""
    fix = f"specconsole bench {readings.name} --follow"
    waiting = [run for run in readings.runs if not run.running]
    running = next((run for run in readings.runs if run.running), None)
    size = bytes_binary(sum(run.bytes for run in waiting))
    found = [f"One goes on: {running.label or running.unit}."] if running else []
    if waiting:
        names = ", ".join(run.label or run.unit for run in waiting)
        found.append(f"{len(waiting)} ended while no console looked on ({names}): {size} in /run/specconsole.")
    works = "the next benchmark fetches what waits; the host forgets it a day after its end"
    return Check("benchmarks", Level.OK, " ".join(found), works, fix=fix)


def _experiments(readings: Readings) -> Check:
    """Experiments that lie on the host: one that runs, one that nobody goes on with, and those to be fetched."""
    last = next((one for one in readings.experiments if one.running), readings.experiments[-1])
    verb = f"specconsole experiment {{}} {readings.name}"
    how = "runs now" if last.running else last.outcome or "interrupted"
    count = len(readings.experiments)
    found = f"{count} in {HOMES}; the last: {last.name}, {how}, {last.settled} of {last.steps} steps."
    if last.running:
        return Check("experiments", Level.OK, found, "the host goes on by itself", fix=verb.format("watch"))
    if last.outcome is None:
        fix = f"specconsole experiment run {last.name} {readings.name} --resume"
        return Check("experiments", Level.LIMITED, found, fails="nobody goes on with it", fix=fix)
    works = "its report can be fetched; what nobody fetches is taken away two weeks after its last change"
    return Check("experiments", Level.OK, found, works, fix=f"{verb.format('report')} --to FOLDER")


def _clock(readings: Readings) -> Check:
    skew = readings.facts.clock_skew_s
    if skew is None:
        return Check("clock", Level.UNKNOWN, "The host's clock was not compared yet.")
    way = "ahead of" if skew > 0 else "behind"
    found = f"The host's clock is {abs(skew):.1f} s {way} this machine's."
    if abs(skew) > SKEW_S:
        fails = "times of the host's log and of this machine do not compare; ages are right all the same"
        return Check("clock", Level.LIMITED, found, fails=fails, fix="timedatectl set-ntp true")
    return Check("clock", Level.OK, found, "times of the log are times of this machine")


def _ssh(readings: Readings) -> Check:
    ignored = [note.text for note in readings.notes if note.topic == "ssh"]
    if not ignored:
        return Check("ssh options", Level.OK, "No option of the SSH configuration is ignored.")
    return Check("ssh options", Level.LIMITED, one_line(" ".join(ignored)), fails="what these options say")

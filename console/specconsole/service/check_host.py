"""Checks of the machine itself: the way to it, rights, Python, GPUs, systemd, the journal, room on its disks, its clock; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from specconsole.host.base import Rights
from specconsole.service.check import Check, Level, unread
from specconsole.service.examine import SHM, Mount, Readings, Unread
from specconsole.text import bytes_binary, milliseconds, one_line

OUTPUT_FIELDS_SINCE = 236
"""The systemd whose journalctl takes --output-fields."""
SHM_SMALL = 1 << 30
DISK_SMALL = 5 << 30
NEARLY_FULL = 0.05
SKEW_S = 2.0
SLOW_LINK_S = 0.3


def link(readings: Readings) -> Check:
    """The way to the host and back."""
    trip = readings.link.round_trip_s
    if trip is None:
        return Check("link", Level.UNKNOWN, "No round trip was measured yet.")
    works = "commands, followers and the engine's HTTP go over this one link"
    if trip > SLOW_LINK_S:
        return Check(
            "link", Level.LIMITED, f"A round trip takes {milliseconds(trip, 0)}.", works, "every answer takes as long"
        )
    return Check("link", Level.OK, f"A round trip takes {milliseconds(trip, 1)}.", works)


def rights(readings: Readings) -> Check:
    """What this login may read and change."""
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


def python(readings: Readings) -> Check:
    """What runs the probe there."""
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


def gpus(readings: Readings) -> Check:
    """What the driver says, and by which way."""
    fails = "memory, utilisation, power and faults of the GPUs, and who holds them"
    if isinstance(readings.gpus, Unread):
        return unread("gpus", readings.gpus, fails, "nvidia-smi")
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


def systemd(readings: Readings) -> Check:
    """The service manager and what its version lacks."""
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


def journal(readings: Readings) -> Check:
    """Whether this login may read the log."""
    fails = "logs of units, progress and diagnosis of a load: they may be logging, and nothing of it can be shown"
    if isinstance(readings.journal, Unread):
        return unread("journal", readings.journal, fails)
    if readings.journal:
        return Check(
            "journal", Level.OK, "This login reads the system's journal.", "logs, progress and diagnosis of a load"
        )
    fix = f"usermod -aG systemd-journal {readings.facts.user}"
    return Check(
        "journal", Level.MISSING, f"{readings.facts.user} may not read the system's journal.", fails=fails, fix=fix
    )


def persistence(readings: Readings) -> Check:
    """Whether the log outlives a boot."""
    if isinstance(readings.journal_persistent, Unread):
        return unread("journal kept", readings.journal_persistent, "logs of before the last boot may be gone")
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


def storage(readings: Readings) -> Iterator[Check]:
    """Room in shared memory, and on each device once."""
    if isinstance(readings.mounts, Unread):
        yield unread("storage", readings.mounts, "room for shared memory, logs and caches is not known")
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


def clock(readings: Readings) -> Check:
    """The host's time against this machine's."""
    skew = readings.facts.clock_skew_s
    if skew is None:
        return Check("clock", Level.UNKNOWN, "The host's clock was not compared yet.")
    way = "ahead of" if skew > 0 else "behind"
    found = f"The host's clock is {abs(skew):.1f} s {way} this machine's."
    if abs(skew) > SKEW_S:
        fails = "times of the host's log and of this machine do not compare; ages are right all the same"
        return Check("clock", Level.LIMITED, found, fails=fails, fix="timedatectl set-ntp true")
    return Check("clock", Level.OK, found, "times of the log are times of this machine")


def ssh(readings: Readings) -> Check:
    """Options of the SSH configuration that are not followed."""
    ignored = [note.text for note in readings.notes if note.topic == "ssh"]
    if not ignored:
        return Check("ssh options", Level.OK, "No option of the SSH configuration is ignored.")
    return Check("ssh options", Level.LIMITED, one_line(" ".join(ignored)), fails="what these options say")

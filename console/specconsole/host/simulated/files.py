"""The files of the simulated host that are read by name."""

from __future__ import annotations

from specconsole.host.simulated.machine import Machine
from specconsole.host.simulated.unit import SimulatedUnit

_TCP = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def read(machine: Machine, path: str) -> str | None:
    """The content of a file; None: there is none."""
    machine.advance()
    fixed = {
        "/proc/sys/kernel/random/boot_id": f"{machine.site.boot_id}\n",
        "/proc/uptime": f"{machine.uptime:.2f} {machine.uptime * 14:.2f}\n",
        "/proc/net/tcp": _listening(machine),
        "/proc/net/tcp6": _TCP,
        "/etc/machine-id": f"{machine.site.boot_id[::-1]}\n",
        "/etc/hostname": f"{machine.site.hostname}\n",
        "/etc/os-release": 'PRETTY_NAME="Ubuntu 24.04 LTS"\nNAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu\n',
    }
    units = {unit.file.path: unit.file.text for unit in machine.units.values()}
    return {**machine.site.files, **fixed, **units}.get(path)


def answering(machine: Machine) -> dict[int, SimulatedUnit]:
    """The units whose server listens now, by port."""
    now = machine.clock.now()
    return {unit.file.port: unit for unit in machine.units.values() if unit.playback and unit.playback.ready(now)}


def _listening(machine: Machine) -> str:
    rows = (
        f"{number:4}: 0100007F:{port:04X} 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1\n"
        for number, port in enumerate([22, *answering(machine)])
    )
    return _TCP + "".join(rows)

"""What the console can and cannot do on a host, and why: one check for each thing that it leans on."""

from __future__ import annotations

from collections.abc import Iterator

from specconsole.service import check_host, check_units
from specconsole.service.check import Check, Level
from specconsole.service.examine import Readings


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
    yield check_host.link(readings)
    yield check_host.rights(readings)
    yield check_host.python(readings)
    yield check_host.gpus(readings)
    yield check_host.systemd(readings)
    yield check_host.journal(readings)
    yield check_host.persistence(readings)
    yield check_units.units(readings)
    if readings.differs:
        yield check_units.differs(readings)
    yield from check_units.lint(readings)
    yield from check_host.storage(readings)
    yield check_units.swaps(readings)
    if readings.runs:
        yield check_units.runs(readings)
    if readings.experiments:
        yield check_units.experiments(readings)
    yield check_host.clock(readings)
    yield check_host.ssh(readings)

"""The doctor's judgement, reading by reading: nothing unread passes for good, and every lack has a way out."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

import pytest

from specconsole.errors import CommandFailed, LinkLost
from specconsole.host.base import HostFacts, Rights
from specconsole.host.line import Note
from specconsole.host.lying import Lying
from specconsole.remote.swap_record import stories
from specconsole.service.check import Check, Level
from specconsole.service.doctor import judge, worst
from specconsole.service.examine import SHM, Mount, Readings, Unread, examine
from specconsole.service.finding import Finding
from specconsole.service.lint import Linted
from specconsole.service.swap import Known
from tests.fakes import FACTS, FakeClock, FakeHost, failed
from tests.service.test_lint import made

GIB = 1 << 30
DF = """Filesystem     1024-blocks    Used Available Capacity Mounted on
tmpfs            805306368    1024 805305344       1% /dev/shm
/dev/nvme0n1p2  1000000000 10000000 900000000      2% /
/dev/nvme0n1p2  1000000000 10000000 900000000      2% /
"""
FRAME = {
    "v": 1, "t": 1.7e9, "mono": 5.0, "source": "nvml", "why": None, "driver": "580.1", "shm": [], "units": {}, "host": {},
    "gpus": [{"index": i, "uuid": f"GPU-{i}", "name": "RTX PRO 6000"} for i in range(2)],
}  # fmt: skip


@dataclass
class NotedHost(FakeHost):
    notes: tuple[Note, ...] = field(default=())


def healthy() -> NotedHost:
    host = NotedHost()
    host.answer("cat /etc/os-release", 'NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\n')
    host.answer("systemctl --version", "systemd 255 (255.4-1ubuntu8)\n+PAM\n")
    host.answer("systemctl is-system-running", "running\n")
    host.answer("systemctl *list*", "")
    host.answer("systemctl *show*", "")
    host.answer("find /var/log/journal *", "/var/log/journal/x/system.journal\n")
    host.answer("journalctl *", "")
    host.answer("getent *", "")
    host.answer("loginctl *", "")
    host.answer("sh -c *machine-id*", "")
    host.answer("df -P -k *", DF)
    host.script("swap_follow", [b'{"unit":false,"id":null,"boot":"b"}\n{"end":""}\n'])
    host.script("probe", [json.dumps(FRAME).encode() + b"\n"])
    return host


async def checks_of(host: FakeHost) -> dict[str, Check]:
    return {check.name: check for check in judge(await examine(host, None, FakeClock(auto=True)))}


@pytest.fixture
async def readings() -> Readings:
    return await examine(healthy(), None, FakeClock(auto=True))


def check(readings: Readings, name: str, **changes: object) -> Check:
    changed = replace(readings, **changes)  # type: ignore[arg-type]
    return next(one for one in judge(changed) if one.name == name)


async def test_a_healthy_host_lacks_only_a_unit() -> None:
    checks = await checks_of(healthy())
    assert {name for name, one in checks.items() if one.level is not Level.OK} == {"units"}
    assert checks["gpus"].found == "2 × RTX PRO 6000, driver 580.1, read by nvml."
    assert checks["systemd"].found == "systemd 255 (255.4-1ubuntu8)."
    assert "disk /var" not in checks, "the same file system is named once"


async def test_commands_that_are_not_there_are_unknown_or_missing_never_good() -> None:
    host = FakeHost(facts=replace(FACTS, rights=Rights.USER, user="guest", groups=("guest",)))
    host.script("*", [CommandFailed("no")])
    checks = await checks_of(host)
    good = {name for name, one in checks.items() if one.level is Level.OK}
    assert good == {"link", "python", "clock", "ssh options"}
    assert checks["storage"].level is Level.UNKNOWN


async def test_a_link_that_breaks_meanwhile_is_told() -> None:
    host = healthy()
    host.answer("df *", LinkLost("cut"))
    with pytest.raises(LinkLost):
        await checks_of(host)


async def test_silence_of_the_journal_is_not_taken_for_an_empty_log() -> None:
    host = healthy()
    host.facts = replace(FACTS, rights=Rights.USER, user="guest", uid=1000, groups=("guest",))
    host.answer("find /var/log/journal *", failed(1, "find: Permission denied"))
    journal = (await checks_of(host))["journal"]
    assert (journal.level, journal.fix) == (Level.MISSING, "usermod -aG systemd-journal guest")
    host.facts = replace(host.facts, groups=("guest", "adm"))
    assert (await checks_of(host))["journal"].level is Level.OK


async def test_systemd_that_is_installed_and_does_not_run() -> None:
    host = healthy()
    host.answer("systemctl is-system-running", failed(1, "", "offline\n"))
    assert (await checks_of(host))["systemd"].level is Level.MISSING


@pytest.mark.parametrize(("status", "level"), [(0, Level.OK), (1, Level.LIMITED), (9, Level.UNKNOWN)])
async def test_where_the_journal_is_kept(status: int, level: Level) -> None:
    host = healthy()
    host.answer("sh -c *machine-id*", failed(status, ""))
    kept = (await checks_of(host))["journal kept"]
    assert kept.level is level
    assert ("/var/log/journal" in kept.fix) is (level is Level.LIMITED)


def test_rights(readings: Readings) -> None:
    user = replace(FACTS, rights=Rights.USER, user="ops")
    limited = check(readings, "rights", facts=user, notes=(Note("rights", "sudo -n says: a password is required"),))
    assert limited.level is Level.LIMITED
    assert "a password is required" in limited.found
    assert "ops ALL=(root) NOPASSWD" in limited.fix
    assert check(readings, "rights", facts=replace(user, rights=Rights.SUDO)).level is Level.OK
    assert "read-only as asked" in check(readings, "rights", read_only_asked=True).found


@pytest.mark.parametrize(
    ("system", "command"),
    [("ubuntu debian", "apt-get install -y python3"), ("rocky rhel centos fedora", "dnf install -y python3.11"), ("sles suse", "zypper install -y python311")],
)  # fmt: skip
def test_no_python(readings: Readings, system: str, command: str) -> None:
    facts = replace(FACTS, python=None, python_version="")
    lacking = check(
        readings, "python", facts=facts, system=system, notes=(Note("python", "/usr/bin/python3 is 3.6.8"),)
    )
    assert (lacking.level, lacking.fix, lacking.found) == (Level.MISSING, command, "/usr/bin/python3 is 3.6.8")


def test_gpus(readings: Readings) -> None:
    fleet = readings.gpus
    assert not isinstance(fleet, Unread)
    none = replace(fleet, source="none", gpus=(), why="Driver/library version mismatch")
    assert (check(readings, "gpus", gpus=none).level, check(readings, "gpus", gpus=none).fix) == (
        Level.MISSING,
        "systemctl reboot",
    )
    assert check(readings, "gpus", gpus=replace(none, why="Driver Not Loaded")).fix.startswith("modprobe")
    assert check(readings, "gpus", gpus=replace(none, why="NVML Shared Library Not Found")).fix.startswith("apt-get")
    smi = check(readings, "gpus", gpus=replace(fleet, source="nvidia-smi", why="NVML did not answer"))
    assert smi.level is Level.LIMITED
    assert "NVML did not answer" in smi.found
    lost = replace(fleet, gpus=(fleet.gpus[0], replace(fleet.gpus[1], error="GPU is lost")))
    assert "1: GPU is lost" in check(readings, "gpus", gpus=lost).found
    assert check(readings, "gpus", gpus=Unread("no sample")).level is Level.UNKNOWN


@pytest.mark.parametrize(
    ("version", "level"), [("systemd 235", Level.LIMITED), ("systemd 219 (x)", Level.LIMITED), ("?", Level.UNKNOWN)]
)
def test_old_systemd(readings: Readings, version: str, level: Level) -> None:
    assert check(readings, "systemd", systemd=version).level is level


@pytest.mark.parametrize(
    ("size", "available", "level"),
    [(64 << 20, 64 << 20, Level.LIMITED), (768 * GIB, 10 * GIB, Level.LIMITED), (768 * GIB, 700 * GIB, Level.OK)],
)
def test_shared_memory(readings: Readings, size: int, available: int, level: Level) -> None:
    assert check(readings, SHM, mounts=(Mount(SHM, "tmpfs", size, available),)).level is level


@pytest.mark.parametrize(
    ("size", "available", "level"),
    [(1000 * GIB, 4 * GIB, Level.LIMITED), (20 * GIB, 3 * GIB, Level.OK), (20 * GIB, GIB, Level.LIMITED), (1000 * GIB, 900 * GIB, Level.OK)],
)  # fmt: skip
def test_disks(readings: Readings, size: int, available: int, level: Level) -> None:
    mounts = (Mount("/", "a", size, available), Mount("/var", "b", size, available))
    assert [check(readings, name, mounts=mounts).level for name in ("disk /", "disk /var")] == [level, level]


@pytest.mark.parametrize(
    ("skew", "level", "words"),
    [(0.4, Level.OK, "0.4 s ahead of"), (-75.0, Level.LIMITED, "75.0 s behind"), (None, Level.UNKNOWN, "not compared")],
)
def test_clocks(readings: Readings, skew: float | None, level: Level, words: str) -> None:
    found = check(readings, "clock", facts=replace(FACTS, clock_skew_s=skew))
    assert found.level is level
    assert words in found.found


def test_ignored_options_are_named(readings: Readings) -> None:
    found = check(
        readings,
        "ssh options",
        notes=(Note("ssh", "gssapiauthentication (…/config, line 3) is ignored."), Note("key", "x")),
    )
    assert found.level is Level.LIMITED
    assert "line 3" in found.found
    assert "x" not in found.found.split()


def test_text_of_the_host_is_made_harmless(readings: Readings) -> None:
    facts = HostFacts("gpu", "ops", 1, Rights.USER, "b", None)
    evil = Note("rights", "sudo -n says: \x1b]0;owned\x07\nfake line")
    assert "\x1b" not in check(readings, "rights", facts=facts, notes=(evil,)).found
    assert "\n" not in check(readings, "rights", facts=facts, notes=(evil,)).found


def test_the_verdict_is_the_worst() -> None:
    def of(*levels: Level) -> Level:
        return worst(tuple(Check("x", level, "") for level in levels))

    assert of(Level.OK, Level.OK) is Level.OK
    assert of(Level.OK, Level.UNKNOWN) is Level.LIMITED, "unknown is not good"
    assert of(Level.LIMITED, Level.MISSING, Level.OK) is Level.MISSING


def test_every_lack_has_a_way_out_or_says_what_it_costs(readings: Readings) -> None:
    bad = replace(
        readings,
        facts=replace(FACTS, rights=Rights.USER, python=None, clock_skew_s=9.0),
        gpus=Unread("x"),
        journal=False,
        journal_persistent=False,
        mounts=(Mount(SHM, "a", 1, 0), Mount("/", "b", GIB, 0)),
        systemd=Unread("x"),
    )
    for one in judge(bad):
        if one.level not in (Level.OK, Level.UNKNOWN):
            assert one.fails, one
        if one.level is Level.LIMITED and one.name not in ("link", "ssh options"):
            assert one.fix, one


async def test_a_swap_that_nobody_goes_on_with_is_said(readings: Readings) -> None:
    plan = {
        "action": "swap",
        "target": {"key": "n.service", "name": "n.service"},
        "back_to": {"key": "b.service", "name": "b.service"},
    }
    event = {"v": 1, "id": "a", "n": 0, "at": 1.0, "boot": "before", "event": "begin", "plan": plan}
    broken = stories([event, {**event, "n": 1, "event": "step", "step": "watch", "state": "begin"}])
    found = check(readings, "swaps", swaps=Known(tuple(broken), None, "now"))
    assert found.level is Level.LIMITED
    assert "at step watch" in found.found
    assert found.fix == "specconsole swap root@gpu-1 n.service or: specconsole start root@gpu-1 b.service"
    runs = check(readings, "swaps", swaps=Known(tuple(broken), "a", "before"))
    assert (runs.level, runs.fix) == (Level.OK, "specconsole swap root@gpu-1 --follow")
    assert check(readings, "swaps", swaps=Known(trouble="Permission denied")).level is Level.UNKNOWN
    assert "No swap" in check(readings, "swaps", swaps=Known()).found


def test_what_lint_says_gravely_is_a_check_of_its_own(readings: Readings) -> None:
    def linted(*findings: Finding) -> tuple[Linted, ...]:
        return (Linted(made(), findings),)

    fails = Finding("type-notify", "refuse", "It fails.", "Type=notify", "s", "[Service]\nType=exec\n")
    choice = Finding("async-off", "warn", "Async is off.", "ngram", "s")
    taste = Finding("restart-none", "note", "Taste.", "Restart=no", "s")
    grave = check(readings, "lint", linted=linted(fails, choice, taste))
    assert (grave.level, grave.found, grave.fails) == (
        Level.LIMITED,
        "vllm-ngram: 1 fails, and 1 effect of speculation.",
        "It fails.",
    )
    assert grave.fix == "specconsole lint root@gpu-1 vllm-ngram --fix (on your machine)"
    told = check(readings, "lint", linted=linted(choice, choice, taste))
    assert told.level is Level.OK
    assert told.found == "Nothing fails or ends badly in 1 unit; lint tells 2 effects of speculation."
    assert told.fix == "specconsole lint root@gpu-1 (on your machine)"
    calm = check(readings, "lint", linted=linted(taste))
    assert (calm.found, calm.fix) == ("Nothing fails or ends badly in 1 unit.", "")
    grave, told = (one for one in judge(replace(readings, linted=linted(fails) + linted(choice))) if one.name == "lint")
    assert (grave.level, told.level) == (Level.LIMITED, Level.OK)
    assert "lint tells 1 effect of speculation" in told.found
    assert check(readings, "lint", linted=Unread("no bus")).level is Level.UNKNOWN


@pytest.mark.parametrize(
    ("lies", "level", "words", "fix"),
    [
        (Lying("e1", "night", 4, 1, running=True), Level.OK, "runs now, 1 of 4 steps", "experiment watch"),
        (Lying("e1", "night", 4, 1), Level.LIMITED, "interrupted, 1 of 4 steps", "experiment run night"),
        (
            Lying("e1", "night", 4, 3, outcome="finished"),
            Level.LIMITED,
            "finished, 3 of 4 steps",
            "experiment run night",
        ),
        (Lying("e1", "night", 4, 1, outcome="cancelled"), Level.LIMITED, "cancelled, 1 of 4", "experiment run night"),
        (Lying("e1", "night", 4, 4, outcome="finished"), Level.OK, "finished, 4 of 4 steps", "experiment report"),
    ],
)
def test_experiments_that_lie_on_the_host(readings: Readings, lies: Lying, level: Level, words: str, fix: str) -> None:
    known = judge(replace(readings, experiments=(lies,)))
    check = next(one for one in known if one.name == "experiments")
    assert check.level is level
    assert words in check.found
    assert "/var/lib/specconsole/experiments" in check.found
    assert check.fix.startswith(f"specconsole {fix}")
    assert ("--resume" in check.fix) is (check.level is Level.LIMITED)
    assert not any(one.name == "experiments" for one in judge(readings)), "where none lies, nothing is said"


async def test_what_the_host_tells_of_experiments_is_read() -> None:
    host = healthy()
    told = {"experiments": [{"id": "e1", "name": "night", "steps": 4, "settled": 1, "outcome": None}], "running": "e1"}
    host.script("experiment_follow", [json.dumps(told).encode() + b"\n"])
    assert "night, runs now" in (await checks_of(host))["experiments"].found


async def test_a_card_that_is_only_slow_is_waited_for() -> None:
    silent = {"index": 0, "uuid": "GPU-0", "name": "RTX PRO 6000", "error": "driver has not answered for 0.0 s"}
    slow = {**FRAME, "gpus": [silent]}
    host = healthy()
    host.script("probe", [json.dumps(row).encode() + b"\n" for row in (slow, FRAME)])
    read = await examine(host, None, FakeClock(auto=True))
    assert not isinstance(read.gpus, Unread)
    assert [gpu.error for gpu in read.gpus.gpus] == [None, None]

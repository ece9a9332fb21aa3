"""One swap, broken at one step by one event: what must be true afterwards, and whether it is.

A cell holds the swap at a step (a rehearsal's `hold`), lets the event happen, lets go, and compares the host with what
`Expectation` says: which unit serves, what the record says, what a console tells, and that nothing else was touched.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import time
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from specconsole.clock import SystemClock
from specconsole.host.base import LinkKind
from specconsole.host.errand import new_id
from specconsole.remote.swap_record import Story, events, stories
from specconsole.remote.swap_rule import BACK
from specconsole.service import choose, prepare, swap
from specconsole.service.discover import discover
from specconsole.service.plan import Choices, Plan
from specconsole.service.swap import SwapView
from specconsole.stream import within
from tests.lab.cards import cards
from tests.lab.host import LabHost
from tests.lab.reach import eventually, reach, until
from tests.lab.test_lab_itself import get
from tests.lab.test_verbs import Desk
from tests.lab.units import SYSTEM, deployment, writer

BASELINE, NGRAM = "vllm-kimi-k25-int4.service", "vllm-kimi-k25-int4-ngram.service"
RECORD = "/var/lib/specconsole/swaps.jsonl"
BYSTANDER = "bystander.service"
FORWARD = ("preflight", "drain", "stop", "verify", "clean", "start", "watch", "prove", "commit")
EVENTS = ("fail", "console killed", "link cut", "runner killed", "reboot", "foreign")
WHOLE_S = 60.0


@dataclass(frozen=True)
class Cell:
    """One place of the matrix."""

    step: str
    event: str
    back: bool = False

    def __str__(self) -> str:
        return f"{'roll back, ' if self.back else ''}{self.step}: {self.event}"


@dataclass(frozen=True)
class Expectation:
    """What must be true afterwards; several outcomes where a race decides, each of them right."""

    serves: str | None
    outcomes: tuple[str | None, ...]


def expected(cell: Cell) -> Expectation:
    """What the design says of a cell."""
    before = cell.step in ("preflight", "drain") and not cell.back
    if cell.event in ("console killed", "link cut"):
        return Expectation(BASELINE, ("rolled_back",)) if cell.back else Expectation(NGRAM, ("committed",))
    if cell.event == "reboot":  # the baseline is enabled, so it starts by itself
        proven = ("committed",) if cell.step == "commit" else ("interrupted", None)
        return Expectation(BASELINE, ("unchanged",) if before else proven)
    if cell.step == "commit":
        return Expectation(NGRAM, ("committed",))
    if before:
        return Expectation(BASELINE, ("unchanged",))
    if cell.event == "runner killed":
        return Expectation(BASELINE, ("handed_over",))
    if cell.back:
        if cell.event == "fail":
            serves = BASELINE if cell.step in ("verify", "clean", "watch", "prove") else None
            ends = "rolled_back" if cell.step in ("verify", "clean") else "failed"
            return Expectation(serves, (ends,))
        return Expectation(BASELINE, ("rolled_back",))
    return Expectation(BASELINE, ("rolled_back",))


def host_files(load_s: float = 0.3) -> dict[str, str]:
    """Return what the hosts of the matrix are: both units with shared memory left behind, weights, a bystander."""
    units = deployment(load_s, tensor_parallel=2)
    more = f"Environment=PYTHONUNBUFFERED=1 FAKE_SHM=1 FAKE_MAPS={WEIGHTS} "
    units = {path: text.replace("Environment=PYTHONUNBUFFERED=1 ", more) for path, text in units.items()}
    return {**cards(2, power=288_000), **units, **writer("bystander", "import time\ntime.sleep(10**6)"), **STAGED_BY}


WEIGHTS = "/dev/shm/psm_weights"
STAGE = f"""[Unit]
Before={BASELINE} {NGRAM}
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'head -c 100000 /dev/zero >{WEIGHTS}; head -c 5000 /dev/zero >/dev/shm/psm_detached; \
setpriv --reuid=1000 head -c 10 /dev/zero >/dev/shm/sem.mp-other'
[Install]
WantedBy=multi-user.target
"""
STAGED_BY = {f"{SYSTEM}/stage.service": STAGE}


def ready(host: LabHost) -> LabHost:
    """Bring a host to where every cell begins: the baseline serves, enabled; staged weights; a bystander runs."""
    host.run(
        f"systemctl stop {NGRAM} specconsole-swap 2>/dev/null; systemctl reset-failed; rm -f {RECORD}", check=False
    )
    # The stub's files outlive a reboot, which no GPU memory does, and a pid in their name may be somebody else's by now.
    mine = (
        "for f in /var/lib/fakegpu/*/procs/[0-9]*; do grep -q ^VLLM /proc/${f##*/}/comm 2>/dev/null || rm -f $f; done"
    )
    host.run(mine)
    host.run(
        f"systemctl enable -q {BASELINE} stage {BYSTANDER} 2>/dev/null; systemctl start stage {BYSTANDER} {BASELINE}"
    )
    host.run(f"for i in $(seq 200); do {get('/health')} 2>/dev/null && exit; sleep 0.1; done; exit 1")
    return host


def untouched(host: LabHost) -> dict[str, Any]:
    """What no swap may change: files, other units, staged shared memory, the bystander's process."""
    files = host.run("find /etc /opt /root /home /usr/local /srv -xdev -type f -printf '%p %s %T@\\n' | sort").stdout
    units = host.run("systemctl list-units --all --no-legend --plain --type=service,timer,mount,socket").stdout
    kept = [" ".join(line.split()[:4]) for line in units.splitlines()
            if not re.match(r"vllm|specconsole|session|user|run-user|systemd-|ssh@|getty|modprobe", line)]  # fmt: skip
    shm = host.run("cd /dev/shm; ls -l --time-style=full-iso psm_weights psm_detached sem.mp-other").stdout
    return {
        "files": files,
        "units": sorted(kept),
        "shm": shm,
        "bystander": host.run(f"systemctl show -p MainPID --value {BYSTANDER}").stdout,
        "run": host.run("ls /run/specconsole 2>/dev/null", check=False).stdout,
        "lib": host.run("ls /var/lib/specconsole 2>/dev/null", check=False).stdout.replace("swaps.jsonl\n", ""),
    }


async def planned(console: Any, **choices: Any) -> Plan:
    """Plan the swap from baseline to n-gram."""
    units = await discover(console)
    target = choose.named(units, NGRAM)
    return await prepare.plan(console, units, target, "swap", new_id(), choices=Choices(drain_s=1, **choices))


async def told(console: Any, ident: str) -> SwapView:
    """Follow a swap to its end."""
    view = SwapView()
    async with aclosing(swap.follow(console, ident, SystemClock())) as views:
        async for now in views:
            view = now
    return view


def record(host: LabHost) -> Story:
    """The last story of the record, as it lies on the host."""
    lines = host.run(f"cat {RECORD}", check=False).stdout.encode().splitlines()
    found = stories(events(lines))
    return found[-1] if found else Story()


def serving(host: LabHost) -> str | None:
    """Which of the units runs, seen past SSH; None: none or several."""
    text = host.run("systemctl list-units --state=active,activating --no-legend --plain 'vllm*'").stdout
    found = [line.split()[0] for line in text.splitlines()]
    return found[0] if len(found) == 1 else None


def answers(host: LabHost) -> bool:
    """Whether something answers at the port."""
    return host.run(get("/health"), check=False).returncode == 0


async def held(host: LabHost, ident: str) -> None:
    """Wait until the swap has come to the step where it is held."""
    await eventually(lambda: host.run(f"test -e /run/specconsole/{ident}/held", check=False).returncode == 0, 30)


def let_go(host: LabHost, ident: str) -> None:
    """Let it go on."""
    host.run(f"rm -f /run/specconsole/{ident}/held")


async def play(host: LabHost, cell: Cell, desk: Desk) -> tuple[SwapView | None, Story]:
    """Play one cell; what a console told last, and what the record says in the end."""
    hold: dict[str, Any] = {"step": cell.step, "back": cell.back}
    if cell.event == "fail":
        hold["fail"] = "injected"
    async with reach(host) as console:
        plan = await planned(console, hold=hold)
        ident = await swap.begin(console, plan)
        if cell.back:
            await _turn(host, ident)
        watching = asyncio.create_task(told(console, ident))
        try:
            await held(host, ident)
            view = await _happen(host, cell, ident, console, watching, desk)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
    return view, record(host)


async def _turn(host: LabHost, ident: str) -> None:
    """Make it roll back: somebody stops the unit that it has started."""
    await eventually(lambda: host.run(f"systemctl is-active -q {NGRAM}", check=False).returncode == 0, 30)
    host.run(f"systemctl stop {NGRAM}")


async def _happen(
    host: LabHost, cell: Cell, ident: str, console: Any, watching: asyncio.Task[SwapView], desk: Desk
) -> SwapView | None:
    if cell.event == "reboot":
        await asyncio.to_thread(host.reboot)
        await until(console, lambda link: link.kind is LinkKind.UP, WHOLE_S)
        await eventually(lambda: answers(host), WHOLE_S)
        return await within(WHOLE_S, told(console, ident))
    if cell.event == "console killed":
        argv = desk.argv("swap", "gpu-1", "--follow", "--json")
        with subprocess.Popen(argv, env=desk.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as killed:
            assert killed.stdout
            killed.stdout.readline()
            killed.kill()
        watching.cancel()
        await console.close()
        let_go(host, ident)
        return await _afterwards(host, ident)
    if cell.event == "runner killed":
        host.run("kill -9 $(systemctl show --value -p MainPID specconsole-swap)")
    elif cell.event == "link cut":
        host.cut_ssh()
    elif cell.event == "foreign":
        _foreign(host, cell)
    let_go(host, ident)
    return await within(WHOLE_S, watching)


async def _afterwards(host: LabHost, ident: str) -> SwapView:
    """A second console, which was not there before."""
    async with reach(host) as second:
        return await within(WHOLE_S, told(second, ident))


def _foreign(host: LabHost, cell: Cell) -> None:
    """Somebody else's systemctl, the most likely one at each step."""
    restarts = {
        "preflight": f"restart {BASELINE}",
        "drain": f"restart {BASELINE}",
        "stop": f"restart {BASELINE}",
        "start": f"start {NGRAM}",
        "prove": f"restart {NGRAM}",
        "commit": f"restart {NGRAM}",
    }
    words = f"start {BASELINE}" if cell.back else restarts.get(cell.step, f"start {BASELINE}")
    host.run(f"systemctl {words}")


async def judge(host: LabHost, cell: Cell, view: SwapView | None, story: Story, before: Mapping[str, Any]) -> list[str]:
    """Everything that is not as it must be; [] when all is."""
    wrong: list[str] = []
    want = expected(cell)
    if want.serves:
        end = time.monotonic() + WHOLE_S
        while not (serving(host) == want.serves and answers(host)) and time.monotonic() < end:
            await asyncio.sleep(0.2)
    # ExecStopPost may still be at work when the record has its last line.
    state = "systemctl show -p ActiveState --value specconsole-swap"
    await eventually(lambda: host.run(state).stdout.strip() == "inactive", WHOLE_S)
    story = record(host)
    if story.outcome not in want.outcomes:
        wrong.append(f"the record says {story.outcome} ({story.why}), not {want.outcomes}")
    if serving(host) != want.serves:
        wrong.append(f"{serving(host)} serves, not {want.serves}")
    if view is not None and (view.story.outcome, view.story.count) != (story.outcome, story.count):
        wrong.append(f"the console was told {view.story.outcome} and {view.story.count} events, not {story.count}")
    if story.outcome not in ("committed", "rolled_back", "unchanged") and not (story.why or story.outcome is None):
        wrong.append("the record does not say why")
    after = untouched(host)
    if cell.event == "reboot":  # another life: units, processes and shared memory are new
        before = {**before, **{what: after[what] for what in ("units", "bystander", "shm")}}
    wrong += [f"{what} changed: {before[what]!r} → {after[what]!r}" for what in before if before[what] != after[what]]
    return wrong


def all_cells() -> list[Cell]:
    """The whole matrix."""
    forward = [Cell(step, event) for step in FORWARD for event in EVENTS]
    return forward + [Cell(step, event, back=True) for step in BACK for event in EVENTS]


def compact() -> list[Cell]:
    """Each failure point once, each event at least twice, on one host but for the reboots."""
    events_ = (
        "foreign",
        "link cut",
        "runner killed",
        "console killed",
        "fail",
        "runner killed",
        "foreign",
        "fail",
        "reboot",
    )
    cells = [Cell(step, event) for step, event in zip(FORWARD, events_, strict=True)]
    return [
        *cells,
        Cell("start", "runner killed", back=True),
        Cell("watch", "foreign", back=True),
        Cell("prove", "fail", back=True),
    ]


def page(rows: Mapping[str, Mapping[Cell, list[str]]], took: Mapping[str, float]) -> str:
    """The matrix as Markdown, for benchmarks/faults.md."""
    lines = []
    for suite, found in rows.items():
        lines += [
            f"## {suite} ({took[suite] / 60:.0f} min)",
            "",
            "| step | " + " | ".join(EVENTS) + " |",
            "|---|" + "---|" * len(EVENTS),
        ]
        for back in (False, True):
            for step in BACK if back else FORWARD:
                cells = [Cell(step, event, back) for event in EVENTS]
                words = [_word(cell, found.get(cell)) for cell in cells]
                lines.append(f"| {'roll back: ' if back else ''}{step} | " + " | ".join(words) + " |")
        lines += ["", *(f"- {cell}: {'; '.join(wrong)}" for cell, wrong in found.items() if wrong), ""]
    return "\n".join(lines)


def _word(cell: Cell, wrong: list[str] | None) -> str:
    if wrong is None:
        return "not run"
    outcomes = " or ".join(str(outcome or "no end") for outcome in expected(cell).outcomes).replace("_", " ")
    serves = {BASELINE: "baseline", NGRAM: "n-gram", None: "none"}[expected(cell).serves]
    return "**wrong**" if wrong else f"{outcomes}, {serves} serves"

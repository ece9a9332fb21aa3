"""Twenty-four hours of the console on a simulated host, as fast as this machine can: what it holds must not grow.

    ./dev night [--hours 24] [--lines 10000000]

Eight GPUs are sampled every second, the servers load, serve, crash and are swapped, and as many lines are printed as a busy
service prints in a day. Keys are pressed by chance meanwhile. The console is the real one, without a terminal.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from specconsole.engine.history import EngineHistory
from specconsole.gpu.history import History
from specconsole.history.memory import Memory
from specconsole.host.base import LinkKind
from specconsole.host.simulated import journal
from specconsole.host.simulated.host import SimulatedHost
from specconsole.host.simulated.scenario import kimi, usual
from specconsole.host.simulated.scenario.load import Plan, sway
from specconsole.host.simulated.scenario.opening import opening
from specconsole.host.simulated.scenario.scenario import Scenario, Start
from specconsole.host.simulated.unit import SimulatedUnit
from specconsole.logs.buffer import LogBuffer
from specconsole.service.hook import Hooks
from specconsole.ui.app import SpecConsole
from specconsole.ui.commands import COMMANDS
from specconsole.ui.feed.host import HostFeeds
from specconsole.ui.part import live
from specconsole.ui.part.announcing import Announcer
from tests.long.clock import NightClock, quiet
from tests.long.complaint import complaints
from tests.long.gauge import Reading, ended, grown, read, table

QUICK = Plan(shards=sway("warm", 1.5), init=8.0, post=10.0, compile=0.0, profile=6.0, kv=3.0, capture=20.0)
"""A load of some three minutes: a night has many."""
SCENARIO = Scenario(
    name="night",
    title="loads and swaps all night",
    baseline=Start(QUICK, usual.PLAIN),
    ngram=Start(replace(QUICK, tokens=kimi.K), usual.PAYING),
    serving=True,
)
LEAVING = {"q", "ctrl+c", "s", "i"}
"""They end the console, or write a file each time."""
KEYS = sorted({key for one in COMMANDS for key in one.keys.split(",")} - LEAVING)
BEHIND = 3_000
"""Time waits while so many lines were printed and not taken: the simulated journal keeps 20,000 only."""
PATIENCE_S = 10.0
"""Of the machine's time, for that."""
MOST = 400
"""Lines a second at most."""
LINES = (
    '(APIServer pid=%d) INFO:     10.0.0.7:51234 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    "(APIServer pid=%d) INFO 11-14 22:13:20 [logger.py:43] Received request cmpl-7d1f: params: SamplingParams(n=1)",
    "(EngineCore_DP0 pid=%d) DEBUG 11-14 22:13:20 [core.py:312] EngineCore loop active.",
    "(Worker_TP3 pid=%d) INFO 11-14 22:13:20 [gpu_model_runner.py:2602] batch of 12 at 131 tokens/s",
    "(APIServer pid=%d) INFO 11-14 22:13:20 [async_llm.py:270] Added request chatcmpl-91",
    "(EngineCore_DP0 pid=%d) WARNING 11-14 22:13:20 [scheduler.py:201] Waiting for room: 3 requests",
)
_NUMBER = re.compile(r"request (\d+) of the night")
DRAWN = 10
"""The screen is drawn every so many steps: at a hundred times the speed nobody sees more, and it is most of the work."""
TOUR = (*"12345678", "question_mark", "escape", "1", "tab", "enter", "escape", "tab", "tab", "enter", "escape")
"""Every screen is made once before anything is measured: it is kept from then on."""
HOME = ("escape", "escape", "escape", "1")


@dataclass(frozen=True)
class _Run:
    """What lives through it."""

    app: SpecConsole
    host: SimulatedHost
    clock: NightClock
    pilot: Any
    chance: random.Random


@dataclass
class Night:
    """One night, as it goes."""

    hours: float
    lines: int
    """Printed over the whole of it, besides what the servers say."""
    seed: int
    folder: Path
    every_s: float
    """Between two readings, by the night's clock."""
    limit: int
    """Records of the log that the console keeps."""
    step_s: float = 1.0
    """The console samples the host so often, and time goes on by so much at once."""
    ring: int = 600
    """Samples that are kept for curves: a short night has to fill them, too."""
    prove: bool = False
    """After it a third as long once more, with leaks: `leaking` must show them."""
    readings: list[Reading] = field(default_factory=list)
    leaking: list[Reading] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    printed: int = 0
    took_s: float = 0.0
    late: int = 0
    """How often the console did not take in time what was printed."""
    deeds: dict[str, int] = field(default_factory=dict)
    _newest: int = 0

    async def play(self) -> None:
        """Live through it."""
        began = time.monotonic()
        state = self.folder / "state"
        state.mkdir(parents=True, exist_ok=True)
        with complaints(asyncio.get_running_loop()) as said:
            clock = NightClock()
            host = SimulatedHost("night", clock=clock, site=SCENARIO.site(), begin=opening(SCENARIO))
            await host.open()
            memory = Memory(state / "history.db")
            feeds = HostFeeds(host, clock, None, {}, memory, state / "experiments")
            journal._MOST = min(journal._MOST, self.limit)  # the host's own journal is no leak of the console
            live.EngineHistory = partial(EngineHistory, self.ring)  # type: ignore[attr-defined, assignment]
            app = SpecConsole(host, feeds, clock=clock, state=state, interval_s=self.step_s)
            app.logs, app._history = LogBuffer(self.limit, spool_records=max(self.limit // 16, 256)), History(self.ring)
            app.announcer = Announcer(host.name, clock, Hooks(), {})
            try:
                async with app.run_test(size=(120, 40)) as pilot:
                    await self._live(_Run(app, host, clock, pilot, random.Random(self.seed)), state)
            finally:
                await memory.close()
                await host.close()
        await asyncio.sleep(0)
        self.wrong += [f"complaint: {one}" for one in said]
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        self.wrong += [f"a task was left behind: {task!r}" for task in left]
        fault = state / "specconsole.log"
        if fault.exists():
            self.wrong.append(f"a fault was written down: {fault.read_text()[:4000]}")
        self.took_s = time.monotonic() - began

    async def _live(self, run: _Run, state: Path) -> None:
        """The night; and where a leak is to be proven, some more of it with everything leaking."""
        await run.clock.advance(self.step_s)
        await press(run.pilot, *TOUR)
        await self._swap(run, "S")  # what the first one imports stays, too
        self.readings = await self._watch(run, state, self.hours, lambda: None)
        if self.prove:
            kept: list[Any] = []
            self.leaking = await self._watch(run, state, self.hours / 3, lambda: leak(kept))
            for one in kept:
                (one.cancel if isinstance(one, asyncio.Task) else getattr(one, "close", str))()
            await asyncio.gather(*(one for one in kept if isinstance(one, asyncio.Task)), return_exceptions=True)
        if not run.app.is_running:
            self.wrong.append(f"the console ended by itself with {run.app.return_code}")
        await ended(run.app)

    async def _watch(self, run: _Run, state: Path, hours: float, each: Callable[[], None]) -> list[Reading]:
        """Let so many hours pass, with readings of them; `each` is called at every step."""
        readings: list[Reading] = []
        began, rate, owed = run.clock.monotonic(), self.lines / (self.hours * 3600) * self.step_s, 0.0
        next_reading, next_deed = began + self.every_s, began + 20.0
        while run.clock.monotonic() < began + hours * 3600 and run.app.is_running:
            with run.app.batch_update():
                for _ in range(DRAWN):
                    owed = self._print(run.host, int(owed + rate)) + (owed + rate) % 1
                    await run.clock.advance(self.step_s)
                    run.app.tick()
                    each()
            if self.printed - self._newest > BEHIND:
                await self._caught_up(run.app)
            if run.clock.monotonic() >= next_deed:
                await self._deed(run)
                next_deed = run.clock.monotonic() + run.chance.uniform(20.0, 240.0)
            if run.clock.monotonic() >= next_reading:
                next_reading += self.every_s
                await press(run.pilot, *HOME)
                await quiet()
                readings.append(read((run.clock.monotonic() - began) / 3600, state, self.folder / "tmp"))
                print(table(readings[-1:]).splitlines()[1], flush=True)
        return readings

    def _print(self, host: SimulatedHost, many: int) -> int:
        """Lines of the server that runs, as a busy one prints them; returns how many could not be printed now."""
        machine, unit = host.machine, host.machine.serving
        if unit is None or unit.playback is None:
            return many
        now = min(many, MOST)
        for _ in range(now):
            self.printed += 1
            machine.journal.add(machine.clock.now(), self._fields(unit, LINES[self.printed % len(LINES)]))
        machine.journal.announce()
        return many - now

    def _fields(self, unit: SimulatedUnit, line: str) -> dict[str, str | bytes]:
        pid = 4_000 + self.printed % 9
        return {
            "MESSAGE": f"{line % pid} request {self.printed} of the night",
            "PRIORITY": "6",
            "SYSLOG_IDENTIFIER": "python3",
            "_PID": str(pid),
            "_SYSTEMD_UNIT": unit.name,
            "_SYSTEMD_INVOCATION_ID": unit.invocation,
            "_TRANSPORT": "stdout",
        }

    async def _caught_up(self, app: SpecConsole) -> None:
        """Wait until the console has taken what was printed, as far as its link lets it."""
        patience = time.monotonic() + PATIENCE_S
        while self.printed - self._seen(app) > BEHIND and app.link is not None and app.link.kind is LinkKind.UP:
            if time.monotonic() > patience:
                self.late += 1
                return
            await asyncio.sleep(0.002)

    def _seen(self, app: SpecConsole) -> int:
        """The number of the newest of our lines that the console has."""
        for record in reversed(app.logs.get(app.logs.next - 60, app.logs.next)):
            if found := _NUMBER.search(record.text):
                self._newest = max(self._newest, int(found[1]))
                break
        return self._newest

    async def _deed(self, run: _Run) -> None:
        """Something happens: keys, a swap by keys, somebody's systemctl, a cut link, another size."""
        chance, machine = run.chance, run.host.machine
        what = chance.choices(("keys", "swap", "systemctl", "cut", "size"), (10, 4, 2, 2, 2))[0]
        self.deeds[what] = self.deeds.get(what, 0) + 1
        if what == "keys":
            await press(run.pilot, *chance.choices(KEYS, k=chance.randint(1, 12)))
        elif what == "swap":
            await self._swap(run, chance.choice("SSSRX"))
        elif what == "systemctl":
            (machine.stop if chance.random() < 0.3 else machine.start)(chance.choice(list(machine.units)))
        elif what == "cut":
            run.host.cut(chance.uniform(1.0, 120.0))
        else:
            await run.pilot.resize_terminal(chance.randint(20, 200), chance.randint(8, 60))

    async def _swap(self, run: _Run, key: str) -> None:
        """Swap, restart or stop by keys, of one of both units."""
        await press(run.pilot, *HOME, "tab", run.chance.choice("jk"), key)
        await run.clock.advance(1.0)
        await press(run.pilot, "y")


def leak(kept: list[Any]) -> None:
    """Leak some of everything that a night watches."""
    kept.append(asyncio.get_running_loop().create_task(asyncio.Event().wait()))
    kept.append(Path("/dev/null").open("rb"))  # noqa: SIM115  that is the leak
    kept += [f"a record {len(kept) + number} that nobody drops" for number in range(5_000)]


async def press(pilot: Any, *keys: str) -> None:
    """Press keys one after the other; the pilot's own way waits for an idle processor, which a shared one never is."""
    for key in keys:
        pilot.app.simulate_key(key)
        await pilot.pause(0)
        await pilot.pause(0)


def own_folder(folder: Path) -> None:
    """Let all that the console keeps be kept there; before anything of it is imported that looks."""
    (folder / "tmp").mkdir(parents=True, exist_ok=True)
    os.environ |= {"HOME": str(folder), "TMPDIR": str(folder / "tmp"), "TZ": "UTC", "TEXTUAL_ANIMATIONS": "none"}
    for name in ("STATE", "CACHE", "CONFIG"):
        os.environ[f"XDG_{name}_HOME"] = str(folder / name.lower())
    tempfile.tempdir = None
    os.chdir(folder)


def main(words: Sequence[str]) -> int:
    """Play a night; 1 when anything grew, or went wrong."""
    parser = argparse.ArgumentParser(prog="./dev night", description=__doc__)
    parser.add_argument("--hours", type=float, default=24.0, help="how long a night (24)")
    parser.add_argument("--lines", type=int, default=10_000_000, help="log lines over the whole of it (10,000,000)")
    parser.add_argument("--seed", type=int, default=1, help="of all that is by chance (1)")
    parser.add_argument("--every", type=float, default=1800.0, help="seconds of the night between readings (1800)")
    parser.add_argument("--keep", type=int, default=1_000_000, help="records of the log that are kept (1,000,000)")
    parser.add_argument("--step", type=float, default=1.0, help="seconds between samples of the GPUs (1)")
    parser.add_argument("--ring", type=int, default=600, help="samples that are kept for curves (600)")
    parser.add_argument("--prove", action="store_true", help="let it leak afterwards: 1 when that is not seen")
    args = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="night-") as folder:
        own_folder(Path(folder))
        night = Night(
            args.hours, args.lines, args.seed, Path(folder), args.every, args.keep, args.step, args.ring, args.prove
        )
        asyncio.run(night.play())
        os.chdir("/")
    night.wrong += grown(night.readings[len(night.readings) // 4 :])
    print(table(night.readings))
    print(
        f"{args.hours:g} h in {night.took_s / 60:.1f} min, {night.printed:,} lines printed, {night.late} times late,"
        f" deeds {night.deeds}"
    )
    if args.prove:
        seen = {name.split()[0] for name in grown(night.leaking)}
        night.wrong += [f"a leak of {name} was not seen" for name in ("blocks", "tasks", "files") if name not in seen]
    print("\n".join(night.wrong) or "nothing grew")
    return int(bool(night.wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

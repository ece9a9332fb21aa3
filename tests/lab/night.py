"""A long night on a lab host: links are cut, hosts reboot, servers crash, logs flood, disks fill, windows are dragged, keys pressed.

    python -m tests.lab.night [--minutes 60] [--seed N]     part of ./dev lab --long

The console is the real one, without a terminal, over the real SSH. What it says is held against the host as it is read past
SSH (`truth.py`); whatever asyncio or Python complains of is a failure, as is a console that ends by itself, writes down a
fault of its own, loses or doubles a line of the log, or leaves a task, a thread, a file or a process behind. One seed, one night.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from specconsole.clock import SystemClock
from specconsole.errors import HostError
from specconsole.history.memory import Memory
from specconsole.host.base import LinkKind
from specconsole.host.ssh import SshHost
from specconsole.logs.record import Kind
from specconsole.service.hook import Hooks
from specconsole.ui.app import SpecConsole
from specconsole.ui.feed.host import HostFeeds
from specconsole.ui.freshness import Feed, log_feed
from specconsole.ui.part.announcing import Announcer
from specconsole.ui.part.feeding import RETRY_S
from tests.lab.cards import cards
from tests.lab.host import LabHost
from tests.lab.image import SUITES, base_image, gpu_layer, missing, vllm_layer
from tests.lab.mischief import Deeds, Fate, Hands
from tests.lab.network import isolated
from tests.lab.reach import ours, reach
from tests.lab.truth import Oracle
from tests.lab.units import deployment
from tests.long.complaint import complaints
from tests.long.gauge import Reading, ended, grown, read, table

UNITS = ("vllm-kimi-k25-int4.service", "vllm-kimi-k25-int4-ngram.service")
FLOOD = 3000
WATCH_S = (30.0, 150.0)
"""Each console stays so long; then it is left, and the next one comes."""
CALM_S = RETRY_S + 5.0
"""Without mischief at the end of each, in which it has to catch up: a log that this disk took no more of is opened again after 15 s."""
DISK_MIB = 96
_MARK = re.compile(r"flood (\w+/\d+)")
_PRIVATE = "SPECCONSOLE_NIGHT_PRIVATE"


def files(load_s: float) -> dict[str, str]:
    """The host: two cards, both units, the baseline enabled and started again after a crash."""
    units = deployment(load_s, tensor_parallel=2)
    more = f"Environment=PYTHONUNBUFFERED=1 FAKE_FLOOD={FLOOD} "
    units = {path: text.replace("Environment=PYTHONUNBUFFERED=1 ", more) for path, text in units.items()}
    crashes = {
        path: text.replace("[Service]\n", "[Service]\nRestart=on-failure\nRestartSec=3\n")
        for path, text in units.items()
    }
    return {**cards(2, power=88_000), **crashes}


@dataclass
class Night:
    """One night, as it goes."""

    host: LabHost
    folder: Path
    seed: int
    minutes: float
    wrong: list[str] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    deeds: Counter[str] = field(default_factory=Counter)
    checks: int = 0

    def say(self, text: str) -> None:
        """Print a line with the time of the night."""
        print(f"{time.monotonic() - self.began:7.1f}  {text}", flush=True)

    def tell(self, found: str) -> None:
        """Note something that is wrong."""
        self.wrong.append(found)
        self.say(f"WRONG  {found}")

    async def play(self) -> None:
        """Console after console until the time is over."""
        loop = asyncio.get_running_loop()
        loop.slow_callback_duration = 60.0
        self.state.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(self.host.run, f"systemctl enable -q {UNITS[0]}; systemctl start --no-block {UNITS[0]}")
        with complaints(loop) as said:
            while time.monotonic() - self.began < self.minutes * 60:
                await self.console(random.Random(f"{self.seed} {len(self.readings)}"))
                await self.left()
                for one in said:
                    self.tell(f"complaint: {one}")
                said.clear()
        if len(self.readings) > 12:
            for found in grown(self.readings[3:]):
                self.tell(found)

    @property
    def state(self) -> Path:
        """The consoles' state folder."""
        return self.folder / "state"

    async def console(self, chance: random.Random) -> None:
        """One console from its opening until it is left."""
        try:
            async with reach(self.host, "root") as host:
                await self.use(host, chance)
        except HostError as error:
            self.say(f"not opened: {error}")
            await asyncio.sleep(2.0)

    async def use(self, host: SshHost, chance: random.Random) -> None:
        """The console's screen, what befalls it, and what it says of the host."""
        memory = Memory(self.state / "history.db")
        feeds = HostFeeds(host, SystemClock(), None, {}, memory, self.state / "experiments")
        app = SpecConsole(host, feeds, clock=SystemClock(), state=self.state)
        app.announcer = Announcer(host.name, SystemClock(), Hooks(), {})
        oracle, since, story = Oracle(self.host, UNITS, self.tell), time.monotonic(), list[str]()
        watching: asyncio.Task[None] | None = None
        try:
            async with app.run_test(size=(120, 40)) as pilot:
                watching = asyncio.create_task(oracle.watch(app, story))
                hands = Hands(random.Random(chance.random()), pilot, story)
                fate = Fate(random.Random(chance.random()), pilot, story, host=self.host, units=UNITS, ours=self.folder)
                left_s = self.minutes * 60 - (time.monotonic() - self.began)
                await self.suffer(min(chance.uniform(*WATCH_S), max(left_s, 15.0)), hands, fate)
                if not app.is_running and app.return_code:  # the palette may have chosen to leave
                    self.tell(f"the console ended by itself with {app.return_code} after {story[-4:]}")
                elif app.is_running and chance.random() < 0.7:  # else it is left in the midst of it
                    await asyncio.sleep(CALM_S)
                    await self.compare_logs(app, story)
                await ended(app)
        except Exception as error:
            self.tell(f"the console broke: {''.join(traceback.format_exception(error))[-3000:]} after {story[-4:]}")
        finally:
            if watching is not None:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
            await memory.close()
        self.checks += oracle.checks
        self.deeds.update(" ".join(name.split()[:3]) if name[0] in "rcto" else name.split()[0] for name in story)
        self.say(f"{len(story)} deeds in {time.monotonic() - since:.0f} s; {oracle.checks} looks at the host")

    async def suffer(self, seconds: float, *all_deeds: Deeds) -> None:
        """Let deeds be done side by side for so long, each to its end."""
        tasks = [asyncio.create_task(deeds.go_on()) for deeds in all_deeds]
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        for deeds in all_deeds:
            deeds.over = True
        await asyncio.gather(*tasks)

    async def compare_logs(self, app: SpecConsole, story: Sequence[str]) -> None:
        """Each numbered line of a flood that the journal holds stands once in the console's log, or it says what keeps it out."""
        if app.link is None or app.link.kind is not LinkKind.UP:
            return
        records = app.logs.get(app.logs.first, app.logs.next)
        seen = Counter(found[1] for record in records if (found := _MARK.search(record.text)))
        if twice := [mark for mark, times in seen.items() if times > 1]:
            self.tell(f"{len(twice)} lines stand more than once in the log, {twice[0]} first")
        asked = f"journalctl -b -o cat -n 400 -u {' -u '.join(UNITS)}"
        held = _MARK.findall((await asyncio.to_thread(self.host.run, asked, check=False)).stdout)
        said = any(record.kind is Kind.GAP for record in records) or any(
            app.feeds.get(log_feed(name), Feed()).problem for name in UNITS
        )
        if (lost := [mark for mark in held if mark not in seen]) and not said:
            self.tell(
                f"{len(lost)} of {len(held)} lines of the journal are missing, {lost[0]} first, and nothing tells of it;"
                f" before that: {', '.join(story[-8:])}"
            )

    async def left(self) -> None:
        """What a console leaves behind: nothing."""
        await asyncio.sleep(1.0)
        if others := [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]:
            self.tell(f"{len(others)} tasks were left behind: {others[0]!r}")
        fault = self.state / "specconsole.log"
        if fault.exists() and fault.stat().st_size:
            self.tell(f"a fault was written down: {fault.read_text()[:6000]}")
            fault.unlink()
        for _ in range(40):
            try:
                mine = [
                    line for line in await asyncio.to_thread(ours, self.host, ("vllm", "VLLM")) if "specconsole" in line
                ]
            except (AssertionError, OSError):
                break
            if not [line for line in mine if "/run/specconsole/" not in line]:  # swaps and experiments go on
                break
            await asyncio.sleep(1.0)
        else:
            self.tell(f"processes were left on the host: {mine}")
        self.readings.append(read((time.monotonic() - self.began) / 3600, self.state, self.folder / "tmp"))
        self.say(table(self.readings[-1:]).splitlines()[1])


def main(words: Sequence[str]) -> int:
    """Play a night on a host of its own; 1 when anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.night", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="how long (60)")
    parser.add_argument("--seed", type=int, default=1, help="of all that is by chance (1)")
    parser.add_argument("--suite", choices=SUITES, default="trixie", help="the host's Debian (trixie)")
    parser.add_argument("--load", type=float, default=6.0, help="seconds of a load (6)")
    args = parser.parse_args(words)
    if reason := missing():
        print(reason, file=sys.stderr)
        return 2
    if _PRIVATE not in os.environ:  # the small disk is mounted where nobody else sees it, and goes with us
        argv = ["unshare", "--mount", "--propagation", "private", sys.executable, "-m", "tests.lab.night", *words]
        return subprocess.run(argv, env={**os.environ, _PRIVATE: "1"}).returncode
    image = base_image(args.suite)
    with tempfile.TemporaryDirectory(prefix="lab-night-") as folder, isolated():
        layers = (gpu_layer(Path(folder, "gpu")), vllm_layer(Path(folder, "vllm")))
        disk = _own_disk(Path(folder, "disk"))
        try:
            with LabHost("gpu-1", *layers, image, files=files(args.load)) as host:
                night = Night(host, disk, args.seed, args.minutes)
                asyncio.run(night.play(), debug=True)
        finally:
            os.chdir("/")
            subprocess.run(["umount", "-l", disk], check=True)
    print(table(night.readings))
    print(dict(night.deeds), f"{night.checks} looks at the host")
    print(
        "\n".join(night.wrong) or f"as it must be: seed {args.seed}, {args.minutes:g} minutes, systemd of {args.suite}"
    )
    return int(bool(night.wrong))


def _own_disk(place: Path) -> Path:
    """A small disk, and all that a console keeps on it."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "night", place], check=True)
    (place / "tmp").mkdir()
    os.environ |= {"HOME": str(place), "TMPDIR": str(place / "tmp"), "TZ": "UTC", "TEXTUAL_ANIMATIONS": "none"}
    for name in ("STATE", "CACHE", "CONFIG"):
        os.environ[f"XDG_{name}_HOME"] = str(place / name.lower())
    tempfile.tempdir = None
    os.chdir(place)
    return place


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What a written start takes of the machine: its processes, the GPUs, memory; pure functions of the moment.

Everything that counts is a sum over the phases so far, so that any two samples agree, whenever they are taken.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate

from specconsole.host.simulated.scenario.phase import IDLE, RANKS, Card, Child, Phase, noise
from specconsole.host.simulated.script import Ending, Holder, Reading, Room, Row, Sample

GIB = 2**30
_PIDS = 20_000
_FLOOR_GIB = 12.0
"""What the host itself uses."""
_IDLE_CACHE_GIB = 9.0
_SLOT_S = 5.0
"""What looks random changes so often."""
_COOLING_S = 90.0
_SPIN = {"api": 0.12, "engine": 0.55, "worker": 1.0}
"""Cores of each while requests run: workers spin on shared memory."""
_REST = {"api": 0.01, "engine": 0.02, "worker": 0.05}
IDLE_WATTS, CONTEXT_WATTS = 34.0, 84.0


class Body:
    """The machine under one start."""

    def __init__(self, phases: Sequence[Phase], command: str, seed: int, memory: int) -> None:
        self.phases = phases
        self.command = command
        self.seed = seed
        self.memory = memory
        self.begins = [0.0, *accumulate(phase.seconds for phase in phases)]
        self._base = 40_000 + seed % _PIDS

    @property
    def length(self) -> float:
        """Seconds until the last phase is over."""
        return self.begins[-1]

    def pid(self, who: str) -> int:
        """The process of a name: api, engine, or a rank's number."""
        return self._base + {"api": 0, "engine": 71}.get(who, 140) + (int(who) if who.isdecimal() else 0)

    # -- what it prints --

    def prefixed(self, who: str, text: str) -> bytes:
        """A line as vLLM 0.16 prints it: everything that Python writes has the prefix of its process."""
        text = text.replace("{pid}", str(self.pid("api")))
        name = {"api": "APIServer", "engine": "EngineCore_DP0"}.get(who, f"Worker_TP{who}")
        return (f"({name} pid={self.pid(who)}) {text}" if who else text).encode()

    @cached_property
    def lines(self) -> list[tuple[float, bytes]]:
        """All lines of the phases, in order."""
        said = [item for place in range(len(self.phases)) for item in self._said(place)]
        return sorted(said, key=lambda item: item[0])

    def _said(self, place: int) -> Iterator[tuple[float, bytes]]:
        phase, begin = self.phases[place], self.begins[place]
        for number, say in enumerate(phase.says):
            at = begin + (say.at if say.at >= 0 else phase.seconds + say.at)
            if say.who != "each":
                yield at, self.prefixed(say.who, say.text)
                continue
            for rank in range(RANKS):
                late = 0.12 * (1 + noise(self.seed, place, number, rank))
                yield at + late, self.prefixed(str(rank), say.text.replace("{rank}", str(rank)))

    # -- where it is --

    def place(self, at: float) -> int:
        """Which phase it is; the last one when all are over."""
        return min(max(bisect_right(self.begins, at) - 1, 0), len(self.phases) - 1)

    def _within(self, place: int, at: float) -> float:
        """Seconds in the phase so far."""
        return min(max(at - self.begins[place], 0.0), self.phases[place].seconds)

    def _sum(self, name: str, at: float) -> float:
        """A rate of the phases, summed up to a moment."""
        place = self.place(at)
        within = self._within(place, at)
        rate: float = getattr(self.phases[place], name)
        return self._sums[name][place] + rate * within

    @cached_property
    def _sums(self) -> dict[str, list[float]]:
        names = ("api", "engine", "worker", "read_mb_s", "faults_s")
        return {name: [0.0, *accumulate(getattr(p, name) * _finite(p.seconds) for p in self.phases)] for name in names}

    @cached_property
    def _compiled(self) -> list[float]:
        """CPU seconds of the compilers of all phases before each."""
        return [0.0, *accumulate(_cores(phase.children) * _finite(phase.seconds) for phase in self.phases)]

    def cpu_s(self, at: float, busy_s: float = 0.0) -> float:
        """CPU seconds of all processes by then, also of those that ended; `busy_s`: how long requests ran."""
        place = self.place(at)
        served = max(at - self.length, 0.0)
        roles = {"api": 1, "engine": 1, "worker": RANKS}
        own = sum((self._sum(name, at) + _served(name, served, busy_s)) * many for name, many in roles.items())
        return own + self._compiled[place] + _cores(self.phases[place].children) * self._within(place, at)

    # -- samples --

    def loading(self, at: float) -> Sample:
        """The machine at a moment of the phases."""
        if at < 0:
            return Sample(at, (self._cold(at),) * RANKS, self._room(at, (), 0.0))
        place = self.place(at)
        phase = self.phases[place]
        tree = self._tree(at, phase, 0.0)
        gpus = tuple(self._reading(at, gpu, phase.card, self._memory(place, at), phase) for gpu in range(RANKS))
        return Sample(at, gpus, self._room(at, tree, self._load(phase)), tree, shm=self._shm(phase))

    def serving(self, at: float, busy_s: float, running: int, *, speculates: bool) -> Sample:
        """The machine while it serves so many requests; `busy_s`: how long requests ran since it was ready."""
        last = self.phases[-1]
        full = last.gpu_gib or self._gib[-1]
        card = _at_work(running, speculates=speculates) if running else Card(watts=CONTEXT_WATTS)
        tree = self._tree(at, last, busy_s, running=running)
        gpus = tuple(self._reading(at, gpu, card, full, last) for gpu in range(RANKS))
        load = (RANKS + 1.2) if running else 0.6
        return Sample(at, gpus, self._room(at, tree, load), tree, shm=self._shm(last))

    def stopping(self, before: Sample, ending: Ending, since_s: float) -> Sample:
        """The machine so long after SIGTERM: workers go first, memory comes back while they do."""
        if since_s >= ending.gone_s:
            at = before.at + since_s
            return Sample(at, (self._cold(at),) * RANKS, before.room)
        left = min(max(1.3 - 1.6 * since_s / ending.gone_s, 0.0), 1.0)
        tree = tuple(row for row in before.tree if row.pid != self.pid("api") or since_s < ending.exit_s)
        tree = tuple(row._replace(state="D" if left < 1 else row.state) for row in tree if left or row.ppid == 1)
        gpus = tuple(
            reading._replace(
                memory_used=round(reading.memory_used * left),
                util=0.0,
                power_w=IDLE_WATTS + (CONTEXT_WATTS - IDLE_WATTS) * left,
                pcie_rx=0.0,
                pcie_tx=0.0,
                holders=tuple(
                    holder._replace(memory=round(holder.memory * left)) for holder in reading.holders if left
                ),
            )
            for reading in before.gpus
        )
        return Sample(before.at + since_s, gpus, before.room, tree, shm=before.shm)

    # -- processes --

    def _tree(self, at: float, phase: Phase, busy_s: float, running: int = 0) -> tuple[Row, ...]:
        served = max(at - self.length, 0.0)
        main = self.pid("api")
        cpu = {name: self._sum(name, at) + _served(name, served, busy_s) for name in ("api", "engine", "worker")}
        rows = [Row(main, 1, self.command[:200], "S", round(1.1 * GIB), cpu["api"], 203_778_514, 0, 412, 0.0)]
        if phase.alive >= 2:
            state = "R" if phase.engine > 0.5 or running else "S"
            born = self._born(2)
            rows.append(
                Row(
                    self.pid("engine"),
                    main,
                    "VLLM::EngineCore",
                    state,
                    round(1.4 * GIB),
                    cpu["engine"],
                    214_966_864,
                    0,
                    77,
                    born,
                )
            )
        if phase.alive >= 3:
            rows += [self._worker(at, phase, rank, cpu["worker"], running) for rank in range(RANKS)]
            rows += self._children(at)
        return tuple(rows)

    def _worker(self, at: float, phase: Phase, rank: int, cpu_s: float, running: int) -> Row:
        read = self._sum("read_mb_s", at) * 1e6
        unlike = 1 + 0.01 * noise(self.seed, "worker", rank)
        state = "R" if running or (phase.state == "S" and phase.worker > 0.6) else phase.state
        if state == "D" and noise(self.seed, rank, at // _SLOT_S) < -0.7:
            state = "R"
        return Row(
            pid=self.pid(str(rank)),
            ppid=self.pid("engine"),
            command=f"VLLM::Worker_TP{rank}",
            state=state,
            rss=round(phase.rss_gib * unlike * GIB),
            cpu_s=cpu_s * unlike,
            read_chars=round(208_114_000 + read * 0.002),
            read_bytes=round(read * unlike),
            major_faults=round((1_800 + self._sum("faults_s", at)) * unlike),
            began_s=self._born(3) + 0.02 * rank,
        )

    def _born(self, kinds: int) -> float:
        """When processes of a kind were first there."""
        return next((self.begins[i] for i, phase in enumerate(self.phases) if phase.alive >= kinds), 0.0)

    def _children(self, at: float) -> Iterator[Row]:
        if at >= self.length:
            return
        place = self.place(at)
        for kind, child in enumerate(self.phases[place].children):
            within = self._within(place, at)
            turn, age = divmod(within, child.life_s) if child.life_s else (0.0, within)
            for number in range(child.count):
                pid = self._base + 1_000 + (place * 37 + kind * 311 + int(turn) * child.count + number) % 9_000
                parent = self.pid(str(number % RANKS))
                yield Row(pid, parent, child.command, "R", 300 * 2**20, child.cores * age, 4_000_000, 0, 0, at - age)

    @property
    def leak(self) -> tuple[tuple[str, int], ...]:
        """The ring that stays in /dev/shm when the workers are ended: the one for answers."""
        return self._shm(self.phases[-1])[1:2]

    def _shm(self, phase: Phase) -> tuple[tuple[str, int], ...]:
        """What vLLM's workers share: a ring for the engine's calls, one for answers, and NCCL's segments."""
        if phase.alive < 3:
            return ()
        rings = (("engine", 167_772_160), ("answers", 83_886_080))
        names = tuple((f"psm_{abs(noise(self.seed, name)) * 2**32:08.0f}"[:12], size) for name, size in rings)
        nccl = tuple((f"nccl-{abs(noise(self.seed, rank)) * 10**6:06.0f}", 9_637_888) for rank in range(RANKS))
        return names + nccl if phase.gpu_gib is None or phase.gpu_gib > 0.5 else names

    # -- GPUs --

    @cached_property
    def _gib(self) -> list[float]:
        """Memory of each GPU at the beginning of each phase, and at the end."""
        found = [0.0]
        for phase in self.phases:
            found.append(found[-1] if phase.gpu_gib is None else phase.gpu_gib)
        return found

    def _memory(self, place: int, at: float) -> float:
        phase = self.phases[place]
        before, after = self._gib[place], self._gib[place + 1]
        if phase.at_once or not math.isfinite(phase.seconds):
            return after
        share = self._within(place, at) / phase.seconds if phase.seconds else 1.0
        return before + (after - before) * share

    @cached_property
    def _heat(self) -> list[float]:
        """Celsius at the beginning of each phase."""
        found = [_warmth(IDLE_WATTS)]
        for phase in self.phases:
            found.append(_cooled(found[-1], phase.card.watts, _finite(phase.seconds) or _COOLING_S * 9))
        return found

    def _reading(self, at: float, gpu: int, card: Card, gib: float, phase: Phase) -> Reading:
        place = self.place(at)
        sway = noise(self.seed, gpu, at // 2)
        watts = card.watts * (1 + 0.02 * sway + 0.01 * noise("card", gpu))
        unlike = 0.12 * noise("memory", gpu) if gib > 1 else 0.0
        used = round((gib + unlike) * GIB)
        holder = Holder(self.pid(str(gpu)), max(used - 300 * 2**20, 0), f"VLLM::Worker_TP{gpu}")
        since = at - self.begins[place] if at < self.length else at - self.length
        begun = self._heat[place] if at < self.length else self._heat[-1]
        return Reading(
            memory_used=used,
            util=1.0 if card.util == 1 else round(min(max(card.util * (1 + 0.03 * sway), 0.0), 1.0), 2),
            util_memory=round(min(card.util_memory * (1 + 0.05 * sway), 1.0), 2),
            power_w=round(watts, 2),
            celsius=round(_cooled(begun, card.watts, since) + 1.5 * noise("place", gpu)),
            sm_mhz=card.mhz if gib else 180,
            memory_mhz=12_481 if gib else 405,
            pcie_rx=round(card.rx_mb_s * 1e6 * (1 + 0.1 * sway)),
            pcie_tx=round(card.tx_mb_s * 1e6 * (1 + 0.1 * sway)),
            holders=(holder,) if phase.alive >= 3 and gib > 0 else (),
        )

    def _cold(self, at: float) -> Reading:
        return self._reading(max(at, 0.0), 0, IDLE, 0.0, Phase("off", 0.0, alive=0))

    # -- the host --

    def _room(self, at: float, tree: Sequence[Row], load: float) -> Room:
        read = self._sum("read_mb_s", max(at, 0.0)) * 1e6 * RANKS
        cached = min(_IDLE_CACHE_GIB * GIB + read, self.memory * 0.8)
        resident = sum(row.rss for row in tree)
        rings = sum(size for _, size in self._shm(self.phases[self.place(at)])) if tree else 0
        return Room(round(self.memory - _FLOOR_GIB * GIB - resident), round(cached), round(load, 2), rings + 4_096)

    def _load(self, phase: Phase) -> float:
        waiting = RANKS if phase.state == "D" else phase.worker * RANKS
        return (waiting if phase.alive >= 3 else 0.0) + phase.api + phase.engine + _cores(phase.children)


def _served(name: str, served_s: float, busy_s: float) -> float:
    """CPU seconds of a process since it was ready."""
    return _SPIN[name] * busy_s + _REST[name] * max(served_s - busy_s, 0.0)


def _at_work(running: int, *, speculates: bool) -> Card:
    """The GPUs while they serve: one stream of a big mixture is bound by memory and by the links between the cards."""
    more = min(math.log2(running + 1), 5.0)
    util = 0.81 if speculates else 0.94
    return Card(
        util, 232.0 + 22.0 * more + (14.0 if speculates else 0.0), 2_050.0, 1_990.0, util_memory=0.28 + 0.03 * more
    )


def _cores(children: Sequence[Child]) -> float:
    return sum(child.count * child.cores for child in children)


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def _warmth(watts: float) -> float:
    """Celsius that a card comes to in the end."""
    return 27.0 + 0.115 * watts


def _cooled(begun: float, watts: float, seconds: float) -> float:
    end = _warmth(watts)
    return end + (begun - end) * math.exp(-max(seconds, 0.0) / _COOLING_S)

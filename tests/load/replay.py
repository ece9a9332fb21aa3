"""Recorded and made-up loads played through the evidence with their real timing, without waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from specconsole.gpu.sample import Fleet, Gpu, GpuProcess, UnitProcess, UnitTree, Vitals, parse
from specconsole.host.simulated import probe, recording
from specconsole.host.simulated.fixture import site, unit_of
from specconsole.host.simulated.machine import Machine
from specconsole.load import ledger, sign
from specconsole.load.gather import gather
from specconsole.load.judge import judge
from specconsole.load.ledger import Ledger
from specconsole.load.sign import Signs
from specconsole.load.timeline import LoadTimeline
from specconsole.load.verdict import Verdict
from specconsole.logs.reader import read
from specconsole.logs.record import LogRecord
from tests.fakes import FakeClock

UNIT = "vllm.service"
GIB = 1024**3


def records_of(name: str, start: float = 0.0) -> list[LogRecord]:
    """The log of a recorded start, each record stamped by when it was read."""
    lines = [(at, line) for at, line in recording.load(name).lines]
    data = b"\n".join(line.rstrip(b"\n") for _, line in lines)
    return read(data, unit=UNIT, stamps=[start + at for at, _ in lines])


def recorded(name: str, every_s: float = 1.0) -> Iterator[tuple[float, Verdict]]:
    """Judge a recorded start at each moment from its spawn until it is ready, or has failed."""
    clock = FakeClock()
    machine = Machine(clock, site())
    unit, begun = unit_of(name), clock.time
    machine.start(unit, begun)
    played = recording.load(name)
    left = records_of(name, begun)
    signs, book = Signs(), Ledger(UNIT)
    timeline = LoadTimeline(UNIT, "i", begun)
    passed = 0.0
    while passed < (played.ready or played.moment("exited")):
        clock.time = begun + passed
        machine.advance()
        fleet = parse(probe.frame(machine, [unit], every_s, clock.time).replace(unit.encode(), UNIT.encode()))
        book = ledger.feed(book, fleet)
        while left and left[0].at <= clock.time:
            signs = sign.read(signs, left.pop(0))
        yield passed, judge(gather(timeline, signs, book, clock.time))
        passed += every_s


@dataclass
class Scene:
    """A host that is made up: what its GPUs and processes show at each moment."""

    gpus: tuple[Gpu, ...]
    processes: Callable[[float], tuple[UnitProcess, ...]]

    def fleet(self, at: float) -> Fleet:
        return Fleet(
            at=at,
            mono=at,
            source="nvml",
            why=None,
            gpus=self.gpus,
            vitals=Vitals(net_rx=0),
            units={UNIT: UnitTree(self.processes(at))},
        )


def played(
    scene: Scene, log: str, begun: float = 0.0, until: float = 400.0, **known: object
) -> list[tuple[float, Verdict]]:
    """Judge a made-up scene each second from `begun`, when the last line of `log` was printed, until `until`."""
    signs, book = Signs(), Ledger(UNIT)
    for record in read(log.encode(), unit=UNIT, stamps=[begun] * (log.count("\n") + 1)):
        signs = sign.read(signs, record)
    timeline = LoadTimeline(UNIT, "i", begun - 30, **known)  # type: ignore[arg-type]
    said = []
    for second in range(int(until - begun)):
        at = begun + second
        book = ledger.feed(book, scene.fleet(at))
        said.append((float(second), judge(gather(timeline, signs, book, at))))
    return said


def spinning(count: int, at: float, reads: float = 0.0, state: str = "R") -> tuple[UnitProcess, ...]:
    """An engine core that waits and workers that each keep a core busy, and read so many bytes a second."""
    core = UnitProcess(
        100, 1, "VLLM::EngineCore", "S", cpu_s=10 + at * 0.003, read_bytes=0, major_faults=0, rss=GIB, started_s=0.0
    )
    workers = tuple(
        UnitProcess(
            101 + index, 100, f"VLLM::Worker_TP{index}", state, cpu_s=at, read_bytes=int(reads * at), read_chars=0,
            major_faults=0, rss=2 * GIB, started_s=0.0,
        )
        for index in range(count)
    )  # fmt: skip
    return (core, *workers)


def busy_gpu(
    index: int,
    watts: float,
    *,
    limit: float | None = 600.0,
    used: int = 803,
    name: str = "NVIDIA RTX PRO 6000 Blackwell",
) -> Gpu:
    """A GPU at 100 % that holds a worker of the unit."""
    return Gpu(
        index, f"GPU-{index}", name, memory_used=used << 20, memory_total=97887 << 20, util=1.0, util_memory=0.0,
        power_w=watts, power_limit_w=limit, pcie_rx=0.0, pcie_tx=0.0,
        processes=(GpuProcess(101 + index, f"VLLM::Worker_TP{index}", used << 20, UNIT),),
    )  # fmt: skip

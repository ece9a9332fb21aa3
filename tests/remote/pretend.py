"""A pretended host for the steps of a swap, whose clock is moved by waiting: for what takes minutes, and what no lab has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from specconsole.remote.swap_judge import GIB
from specconsole.remote.swap_process import Process
from specconsole.remote.swap_record import Event, read
from specconsole.remote.swap_run import Before, Run
from specconsole.remote.swap_world import World

BASE, NGRAM = "base.service", "ngram.service"
UP = {"ActiveState": "active", "SubState": "running", "InvocationID": "i" * 32}
DOWN = {"ActiveState": "inactive", "SubState": "dead", "InvocationID": ""}
Page = Callable[[str], tuple[int, bytes]]


def metrics(running: int) -> Page:
    """A server with so many requests."""
    return lambda _: (200, b'vllm:num_requests_running{model_name="m"} %d\nvllm:num_requests_waiting{model_name="m"} 0\n' % running)  # fmt: skip


class Pretend(World):
    """A host that does what a test says; waiting moves its clock, and `each` sees every moment."""

    def __init__(self) -> None:
        super().__init__()
        self.at = 1000.0
        self.units: dict[str, dict[str, str]] = {BASE: dict(UP), NGRAM: dict(DOWN)}
        self.left: list[Process] = []
        self.lonely: list[Process] = []
        """Engines without a parent."""
        self.ended: list[Process] = []
        self.rows: list[dict[str, Any]] = []
        self.server: Page | None = None
        self.there: set[int] = set()
        """Who listens at the port."""
        self.shm: tuple[int | None, int | None] = (64 * GIB, 64 * GIB)
        self.each: Callable[[], None] = lambda: None

    def now(self) -> float:
        return 1_700_000_000.0 + self.at

    def monotonic(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds
        self.each()

    def say(self, text: str) -> None:
        pass

    def call(self, argv: Sequence[str], deadline_s: float, ref: object) -> tuple[int, str, str]:
        said = {"LoadState": "loaded", **self.units.get(argv[-1], DOWN)}
        return 0, "".join(f"{name}={value}\n" for name, value in said.items()), ""

    def read_gpus(self) -> list[dict[str, Any]]:
        return self.rows

    @property
    def gpus_why(self) -> str:
        return "no driver"

    def processes(self, cgroup: str, boxed: bool) -> list[Process]:
        return []

    def still(self, known: Iterable[Process]) -> list[Process]:
        alive = {one.identity: one for one in self.left}
        return [alive[one.identity] for one in known if one.identity in alive]

    def look(self, pid: int) -> Process | None:
        return Process(pid, 1, "S", 1, "nginx: master process", "nginx.service")

    def strays(self) -> list[Process]:
        return self.lonely

    def end(self, wanted: Sequence[Process]) -> list[Process]:
        self.ended += wanted
        self.left = [one for one in self.left if one not in wanted]
        self.lonely = [one for one in self.lonely if one not in wanted]
        return []

    def listeners(self, endpoint: dict[str, Any], *, binds: bool = False) -> set[int]:
        return self.there

    def shm_space(self) -> tuple[int | None, int | None]:
        return self.shm

    def get(self, target: object, path: str, silence_s: float) -> tuple[int, bytes]:
        if self.server is None:
            raise ConnectionRefusedError
        return self.server(path)


def unit(name: str, *, up: bool = False, **more: Any) -> dict[str, Any]:
    seen = {"up": up, "invocation": "i" * 32 if up else ""}
    return {"name": name, "key": name, "endpoint": {"port": 8000}, "seen": seen, "utilization": 0.9, **more}


def gpu(used: int | None, *holders: tuple[int, int | None], index: int = 0, **more: Any) -> dict[str, Any]:
    processes = [{"pid": pid, "name": "python", "memory": memory, "unit": "train.service"} for pid, memory in holders]
    return {
        "index": index, "uuid": f"GPU-{index}", "memory_used": used, "memory_total": 96 * GIB, "processes": processes, **more,
    }  # fmt: skip


def events(run: Run, kind: str = "note") -> list[Event]:
    return [event for event in read(run.record.path) if event["event"] == kind]


def notes(run: Run) -> str:
    return "\n".join(event["text"] for event in events(run))


def stopped(run: Run, *processes: Process) -> Run:
    """Where the baseline was stopped by us, and had these processes."""
    run.before[BASE] = Before(list(processes))
    world = run.world
    assert isinstance(world, Pretend)
    world.units[BASE] = dict(DOWN)
    return run

"""Plays a start: the rows of `stages.py` through the right processes, with bars, GPU memory, and the ways to fail."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass, field

from .child import Child
from .options import Options
from .record import Process, Style
from .stages import Row, rows

FREE_MEMORY = (
    "Free memory on device cuda:0 (49.53/139.8 GiB) on startup is less than desired GPU memory utilization "
    "(0.99, 138.4 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes."
)
KV_TOO_SMALL = (
    "To serve at least one request with the model's max seq len (131072), (16.0 GiB KV cache is needed, which is larger "
    "than the available KV cache memory (4.35 GiB). Based on the available memory, the estimated maximum model length "
    "is 35648. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine."
)
FAILURES = {
    "oom": ("gpu_worker.py:508", f"ValueError: {FREE_MEMORY}"),
    "kv": ("kv_cache_utils.py:2146", f"ValueError: {KV_TOO_SMALL}"),
    "drafter": ("gpu_model_runner.py:5184", "RuntimeError: Error(s) in loading state_dict for EagleLlamaForCausalLM"),
}
"""By name: the row at which the start ends, and the last line of the first traceback."""
STALLS = "/run/fake-stalls"
"""When it printed nothing on purpose, a line of JSON each."""
GENERIC = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"


class StartFailed(Exception):
    """The start ended with the failure that was asked for; the log says why, as the real one's does."""


def trace(cause: str) -> str:
    """Return a traceback that ends with a cause."""
    return (
        "Traceback (most recent call last):\n"
        '  File "/opt/vllm/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 1222, in run_engine_core\n'
        "    engine_core = EngineCoreProc(*args, engine_index=dp_rank, **kwargs)\n"
        "                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        '  File "/opt/vllm/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 131, in __init__\n'
        "    self.model_executor = executor_class(vllm_config)\n"
        f"{cause}"
    )


@dataclass
class Server:
    """The processes of one server, and how they write."""

    options: Options
    style: Style
    api: Process
    engine: Child | None = None
    workers: list[Child] = field(default_factory=list)
    stalled: set[tuple[str, str]] = field(default_factory=set)

    @classmethod
    def of(cls, options: Options) -> Server:
        """Name this process the API server."""
        style = Style.of(options)
        return cls(options, style, Process(style.name("api"), os.getpid()))

    def log(self, level: str, source: str, message: str) -> None:
        """Write a record as the API server."""
        self.write(self.style.record(self.api, level, source, message, time.time()))

    def uvicorn(self, message: str) -> None:
        """Write a line as the HTTP server."""
        self.write(self.style.uvicorn(self.api, message, time.time()))

    def write(self, text: str, *, stderr: bool = False) -> None:
        """Write whole, by one call: lines of several threads never mix."""
        os.write(2 if stderr else 1, text.encode())

    def spawn(self) -> None:
        """Start the engine, and a worker a GPU where there are several."""
        self.engine = Child("VLLM::EngineCore", stubborn=self.options.stubborn)
        ranks = range(self.options.tensor_parallel if self.options.tensor_parallel > 1 else 0)
        self.workers = [Child(f"VLLM::Worker_TP{rank}", stubborn=self.options.stubborn) for rank in ranks]
        for child in (self.engine, *self.workers):
            child.share(self.options.shm, self.options.maps)

    def start(self) -> None:
        """Play the whole start.

        Raises:
            StartFailed: as FAKE_FAIL asked for.
        """
        for row in rows(self.options):
            share, who, _, source, _ = row
            if self.options.fail == "hang" and source == "default_loader.py:430":
                while True:
                    time.sleep(3600)
            time.sleep(share * self.options.load_s)
            for _, how, seconds in [stall for stall in self.options.stalls if stall[0] == source]:
                self._stall(source, how, seconds)
            if source and source == FAILURES.get(self.options.fail, ("",))[0]:
                self._fail(FAILURES[self.options.fail][1])
            if who == "A":
                self._say_api(row)
            else:
                self._say_below(row)

    def _stall(self, source: str, how: str, seconds: float) -> None:
        """Print nothing for so long, and note when: `idle`, `spin` on the CPU, `read` a file, or `compile` in a child."""
        if (source, how) in self.stalled:
            return  # every rank has the row
        self.stalled.add((source, how))
        begin = time.time()
        children = [*self.workers, *((self.engine,) if self.engine else ())]
        compiler = Child("ptxas") if how == "compile" else None
        while time.time() - begin < seconds:
            if how == "spin":
                for child in children:
                    child.do(burn_s=0.15)
            elif how == "read":
                for child in children:
                    child.do(reads=64)
            elif compiler:
                compiler.do(burn_s=0.15)
            time.sleep(0.5)
        if compiler:
            compiler.end()
        with open(STALLS, "a") as file:  # noqa: PTH123
            file.write(json.dumps({"how": how, "source": source, "begin": begin, "end": time.time()}) + "\n")

    def _say_api(self, row: Row) -> None:
        _, _, level, source, message = row
        if level == "uvicorn":
            self.uvicorn(message.format(pid=self.api.pid))
        else:
            self.log(level, source, message)

    def _say_below(self, row: Row) -> None:
        _, who, level, source, message = row
        if self.engine is None:
            self.spawn()
        for rank, child in self._speakers(who):
            process = Process(self._name(who, rank), child.pid)
            if level == "hold":
                gpus = self.options.gpus if not self.workers else self.options.gpus[rank : rank + 1]
                child.hold(gpus, int(float(message) * self.options.gib * 2**30))
            elif level == "raw":
                child.write(message + "\n", stderr=True)
            elif level == "bar:shards":
                self._shards(child, process, message)
            elif level == "bar:graphs":
                child.write(self.style.bare(process, graph_bar(message)), stderr=True)
            else:
                text = message.replace("{ranks}", str(self.options.tensor_parallel)).replace("{rank}", str(rank))
                child.write(self.style.record(process, level, source, text, time.time()))

    def _speakers(self, who: str) -> list[tuple[int, Child]]:
        assert self.engine
        if who == "E" or not self.workers:
            return [(0, self.engine)]
        return list(enumerate(self.workers))[: 1 if who == "0" else None]

    def _name(self, who: str, rank: int) -> str:
        if who == "E" or not self.workers:
            return self.style.name("engine")
        return self.style.name("worker", rank, self.options.tensor_parallel)

    def _shards(self, child: Child, process: Process, text: str) -> None:
        total = self.options.shards
        pause = 0.35 * self.options.load_s / total
        for done in range(total + 1):
            child.write(self.style.bare(process, shard_bar(text, done, total, pause)), stderr=True)
            child.do(burn_s=min(pause, 0.02))
            time.sleep(max(pause - 0.02, 0))
        child.write(self.style.bare(process, shard_bar(text, total, total, pause)), stderr=True)
        child.write(self.style.bare(process, "\n"), stderr=True)

    def _fail(self, cause: str) -> None:
        _, child = self._speakers("0")[0]
        process = Process(self._name("0", 0), child.pid)
        record = "EngineCore failed to start.\n" + trace(cause)
        child.write(self.style.record(process, "ERROR", "core.py:1231", record, time.time()))
        child.write(self.style.bare(process, trace(cause) + "\n"), stderr=True)
        self.stop()
        self.write(self.style.bare(self.api, trace(GENERIC) + "\n"), stderr=True)
        raise StartFailed(cause)

    def stop(self) -> None:
        """End the processes below."""
        for child in (*self.workers, *((self.engine,) if self.engine else ())):
            child.end()

    def say_shutdown(self) -> None:
        """Write what 0.23 and newer print on SIGTERM."""
        self.log("INFO", "launcher.py:100", "[shutdown] API server: shutdown triggered")
        self.log("INFO", "core_client.py:655", "[shutdown] MPClient: start timeout=0s")
        self.log("INFO", "launcher.py:149", "[shutdown] API server: shutting down FastAPI HTTP server")
        self.uvicorn("Shutting down")
        self.uvicorn("Application shutdown complete.")


def shard_bar(text: str, done: int, total: int, pause: float) -> str:
    """Return one state of the shard bar: a line of its own, with a CR in front."""
    rate = "?it/s" if not done else f"{1 / max(pause, 0.001):5.2f}it/s"
    left = "?" if not done else f"00:{int((total - done) * pause) % 60:02}"
    return f"\r{text}: {done * 100 // total:3}% Completed | {done}/{total} [00:{int(done * pause) % 60:02}<{left}, {rate}]\n"


def graph_bar(text: str, total: int = 48) -> str:
    """Return the whole capture bar: repaints with CRs and one newline at the end, so one record in the journal."""
    states = []
    for done in range(0, total + 1, 2):
        bar = "█" * (done * 10 // total)
        rate = "?it/s" if not done else "16.61it/s"
        states.append(f"\r{text}: {done * 100 // total:3}%|{bar:<10}| {done}/{total} [00:00<00:02, {rate}]")
    return "".join(states) + "\n"


def flush() -> None:
    """Push out what Python still buffers."""
    sys.stdout.flush()
    sys.stderr.flush()

"""How a written server ends when it is told to, and the words of the ends that come by themselves."""

from __future__ import annotations

from collections.abc import Iterable

from specconsole.host.simulated.scenario.body import Body
from specconsole.host.simulated.scenario.phase import RANKS, Say, error, info
from specconsole.host.simulated.script import Ending

_EXIT_S, _GONE_S = 2.3, 8.4
"""The API server goes first; eight workers with 90 GiB each take seconds more, in state D."""
_LOADING_EXIT_S = 1.1


def after_serving(body: Body) -> Ending:
    """SIGTERM to a server that answers: the engine dies under the API server and says so, which is no crash."""
    main = body.pid("api")
    said = (
        (0.05, "api", info("launcher.py:110", "Shutting down FastAPI HTTP server.")),
        (0.15, "api", "INFO:     Shutting down"),
        (0.25, "api", "INFO:     Waiting for application shutdown."),
        (0.26, "api", "INFO:     Application shutdown complete."),
        (0.27, "api", f"INFO:     Finished server process [{main}]"),
        *((0.6 + 0.02 * rank, str(rank), info("multiproc_executor.py:707", _PARENT)) for rank in range(RANKS)),
        (2.1, "", _LEAKED),
        (2.1, "", "  warnings.warn('resource_tracker: There appear to be %d '"),
    )  # fmt: skip
    lines = tuple((at, body.prefixed(who, text)) for at, who, text in said)
    return Ending(_EXIT_S, _GONE_S, lines=lines, shm=body.leak)


_LEAKED = (
    "/usr/lib/python3.12/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 1 leaked"
    " shared_memory objects to clean up at shutdown"
)
_PARENT = "Parent process exited, terminating worker"


def while_loading(body: Body, at: float) -> Ending:
    """SIGTERM while it loads: a traceback and status 1, which systemd calls a failure though it was asked for."""
    alive = body.phases[body.place(at)].alive
    said = [(0.1, "api", line) for line in _INTERRUPTED]
    if alive >= 3:
        said += [(0.5 + 0.02 * rank, str(rank), info("multiproc_executor.py:707", _PARENT)) for rank in range(RANKS)]
    gone = 5.2 if alive >= 3 else _LOADING_EXIT_S
    lines = tuple((moment, body.prefixed(who, text)) for moment, who, text in said)
    return Ending(_LOADING_EXIT_S, gone, status=1, result="exit-code", lines=lines)


_INTERRUPTED = (
    "Traceback (most recent call last):",
    '  File "/opt/vllm/bin/vllm", line 10, in <module>',
    "    sys.exit(main())",
    '  File "/opt/vllm/lib/python3.12/site-packages/vllm/v1/utils.py", line 163, in signal_handler',
    '    raise KeyboardInterrupt("terminated")',
    "KeyboardInterrupt: terminated",
)


def raised(
    at: float, who: str, source: str, title: str, frames: Iterable[tuple[str, int, str, str]], last: str
) -> tuple[Say, ...]:
    """A traceback that vLLM logs: each of its lines has a header of its own."""
    said = [title, "Traceback (most recent call last):"] if title else ["Traceback (most recent call last):"]
    for file, line, function, code in frames:
        said += [f'  File "/opt/vllm/lib/python3.12/site-packages/{file}", line {line}, in {function}', f"    {code}"]
    return tuple(Say(at, who, error(source, text).rstrip()) for text in [*said, last])


def engine_failed(at: float) -> tuple[Say, ...]:
    """What follows when workers failed to start: the engine core, then the API server; neither is the cause."""
    why = "Exception: WorkerProc initialization failed due to an exception in a background process. See stack trace for root cause."
    frames = (
        (
            "vllm/v1/engine/core.py",
            935,
            "run_engine_core",
            "engine_core = EngineCoreProc(*args, engine_index=dp_rank, **kwargs)",
        ),
        (
            "vllm/v1/executor/multiproc_executor.py",
            161,
            "_init_executor",
            "self.workers = WorkerProc.wait_for_ready(unready_workers)",
        ),
    )
    return (
        *raised(at, "engine", "core.py:946", "EngineCore failed to start.", frames, why),
        *api_failed(at + 1.3),
    )


def api_failed(at: float) -> tuple[Say, ...]:
    """The API server's own end, bare: it only says that the engine failed."""
    said = (
        "Traceback (most recent call last):",
        '  File "/opt/vllm/bin/vllm", line 10, in <module>',
        "    sys.exit(main())",
        '  File "/opt/vllm/lib/python3.12/site-packages/vllm/v1/engine/utils.py", line 881, in wait_for_engine_startup',
        '    raise RuntimeError("Engine core initialization failed. "',
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
    )
    return tuple(Say(at, "api", line) for line in said)


def notice() -> str:
    """What the engine core says each minute while the workers are busy with one call."""
    return info(
        "shm_broadcast.py:542",
        "No available shared memory broadcast block found in 60 seconds. This typically happens when some processes are "
        "hanging or doing some time-consuming work (e.g. compilation, weight/kv cache quantization).",
    )

"""A start that fails since a worker of an earlier one still holds a GPU."""

from __future__ import annotations

from specconsole.host.simulated.machine import Stranger
from specconsole.host.simulated.scenario import kimi, usual
from specconsole.host.simulated.scenario.load import until
from specconsole.host.simulated.scenario.phase import Card, Phase
from specconsole.host.simulated.scenario.scenario import Scenario, Start
from specconsole.host.simulated.scenario.stop import engine_failed, raised
from specconsole.host.simulated.script import Ending

_GPU, _HELD_GIB = 3, 61.3
_TOTAL_GIB = kimi.GPU_MEMORY / 2**30 - 0.62
"""What torch sees of a card."""
_FRAMES = (
    ("vllm/v1/executor/multiproc_executor.py", 742, "worker_main", "worker = WorkerProc(*args, **kwargs)"),
    (
        "vllm/v1/worker/gpu_worker.py",
        241,
        "init_device",
        "self.requested_memory = request_memory(init_snapshot, self.cache_config)",
    ),
    ("vllm/v1/worker/utils.py", 264, "request_memory", "raise ValueError("),
)
_SAID = (
    f"ValueError: Free memory on device cuda:{_GPU} ({_TOTAL_GIB - _HELD_GIB - 0.61:.2f}/{_TOTAL_GIB:.2f} GiB) on startup is less than"
    f" desired GPU memory utilization (0.95, {_TOTAL_GIB * 0.95:.2f} GiB). Decrease GPU memory utilization or reduce GPU memory used"
    " by other processes."
)


def _course(phases: tuple[Phase, ...]) -> tuple[Phase, ...]:
    failing = raised(1.4, str(_GPU), "multiproc_executor.py:772", "WorkerProc failed to start.", _FRAMES, _SAID)
    says = (*failing, *engine_failed(2.6))
    return (*until(phases, "groups"), Phase("groups", 4.6, says, worker=0.4, card=Card(watts=82.0)))


def _fate(length: float) -> Ending:
    return Ending(length, length + 1.8, status=1, result="exit-code")


SCENARIO = Scenario(
    name="held-gpu",
    title="a worker that outlived its server holds GPU 3, so the baseline fails a minute and a half after its start",
    baseline=Start(usual.COLD, usual.PLAIN, course=_course, while_held=True, fate=_fate),
    ngram=Start(usual.NGRAM, usual.LOSING, course=_course, while_held=True, fate=_fate),
    before=False,
    speed=10.0,
    strangers=(Stranger(31_877, f"VLLM::Worker_TP{_GPU}", _GPU, round(_HELD_GIB * 2**30)),),
)

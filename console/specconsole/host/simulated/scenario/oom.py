"""A load that runs out of GPU memory late: the last megabytes go while graphs are captured."""

from __future__ import annotations

from specconsole.host.simulated.scenario import kimi, usual
from specconsole.host.simulated.scenario.load import until
from specconsole.host.simulated.scenario.phase import RANKS, Card, Phase, Say
from specconsole.host.simulated.scenario.scenario import Scenario, Start
from specconsole.host.simulated.scenario.stop import api_failed, raised
from specconsole.host.simulated.script import Ending

_FRAMES = (
    (
        "vllm/v1/worker/gpu_worker.py",
        451,
        "compile_or_warm_up_model",
        "cuda_graph_memory_bytes = self.model_runner.capture_model()",
    ),
    ("vllm/v1/worker/gpu_model_runner.py", 4957, "capture_model", "self._capture_cudagraphs("),
    ("vllm/v1/worker/gpu_model_runner.py", 5041, "_capture_cudagraphs", "self._dummy_run("),
)


def _text(rank: int) -> str:
    return (
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU {rank} has a total capacity of 94.97 GiB"
        " of which 1.21 GiB is free. Including non-PyTorch memory, this process has 93.74 GiB memory in use. Of the allocated"
        " memory 90.18 GiB is allocated by PyTorch, with 412.00 MiB allocated in private pools (e.g., CUDA Graphs), and 1.07"
        " GiB is reserved by PyTorch but unallocated."
    )


def _course(phases: tuple[Phase, ...]) -> tuple[Phase, ...]:
    says: tuple[Say, ...] = ()
    for rank in range(RANKS):
        says += raised(
            71.0 + 0.04 * rank,
            str(rank),
            "multiproc_executor.py:822",
            "WorkerProc hit an exception.",
            _FRAMES,
            _text(rank),
        )
    said = _text(0).replace("'", "")
    engine = f"RuntimeError: Worker failed with error '{said}', please check the stack trace above for the root cause"
    says += raised(72.1, "engine", "core.py:946", "EngineCore failed to start.", (), engine)
    says += api_failed(74.0)
    card = Card(0.99, 288.0, 2_050.0, 1_990.0, mhz=2_310, util_memory=0.4)
    return (*until(phases, "capture"), Phase("capture", 75.0, says, worker=1.0, state="R", card=card, gpu_gib=93.76))


def _fate(length: float) -> Ending:
    return Ending(length, length + 6.5, status=1, result="exit-code")


SCENARIO = Scenario(
    name="oom",
    title="the n-gram unit runs out of GPU memory after half an hour, while it captures graphs",
    baseline=usual.BASELINE,
    ngram=Start(usual.NGRAM_AGAIN, usual.LOSING, course=_course, fate=_fate),
    opens=kimi.NGRAM,
)

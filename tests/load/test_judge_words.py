"""What a verdict says beyond its word: the sentence of the case at hand, and what is missing to be sure."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from specconsole.gpu.sample import Gpu
from specconsole.load.condition import Evidence
from specconsole.load.evidence import Holder, HostEvidence
from specconsole.load.judge import judge
from specconsole.load.pace import Pace
from specconsole.load.phase import Phase
from specconsole.load.sign import Signs
from specconsole.load.verdict import GATHERING, Judgement
from tests.load.replay import GIB, busy_gpu

READING = HostEvidence(window_s=30.0, read=800e6, processes=9, gpus=(busy_gpu(0, 120.0),))


@pytest.mark.parametrize(
    ("phase", "said"), [(Phase.WEIGHTS, "weights"), (Phase.DRAFTER, "weights"), (Phase.INIT, "files")]
)
def test_weights_are_read_only_where_weights_are_loaded(phase: Phase, said: str) -> None:
    assert judge(Evidence(now=40.0, stalled_s=40.0, phase=phase, host=READING)).sentence == f"{said} are being read"


def test_a_slow_count_says_its_pace_and_a_usual_one_does_not() -> None:
    slow = Pace(3, 141, "shards", ((0.0, 0), (171.0, 3)))
    said = judge(Evidence(now=175.0, stalled_s=3.0, phase=Phase.WEIGHTS, pace=slow)).sentence
    assert said == f"the count moves on, slowly: {slow.words}"
    quick = Pace(50, 64, "shards", tuple((float(at), at) for at in range(51)))
    assert judge(Evidence(now=51.0, stalled_s=1.0, phase=Phase.WEIGHTS, pace=quick)).sentence == "the count moves on"


@pytest.mark.parametrize(("phase", "silent"), [(Phase.CAPTURE, True), (Phase.COMPILE, False)])
def test_the_silence_of_a_graph_capture_is_explained_there_alone(phase: Phase, silent: bool) -> None:
    host = HostEvidence(window_s=30.0, cpu=1.0, processes=3, gpus=(replace(busy_gpu(0, 80.0), util=0.0),))
    verdict = judge(Evidence(now=90.0, stalled_s=60.0, phase=phase, host=host))
    assert verdict.signature == "thinking"
    assert verdict.sentence.endswith("graph capture is silent in the journal until it ends") is silent


def test_the_wait_for_a_peer_says_for_how_long() -> None:
    signs = Signs(peers=(1, 2), peers_since=100.0)
    assert judge(Evidence(now=190.0, signs=signs)).sentence == "it waits for other nodes or processes, for 1:30"
    assert judge(Evidence(signs=signs)).sentence == "it waits for other nodes or processes"


def test_the_greatest_holder_of_memory_is_named_whatever_it_is_called() -> None:
    small = Holder(0, 7, "python", 70 * GIB, None)
    for name, said in (("VLLM::Worker", "VLLM::Worker"), ("", "an unknown process")):
        host = HostEvidence(
            window_s=20.0, holders=(small, Holder(1, 9, name, 80 * GIB, None)), totals={0: 96 * GIB, 1: 96 * GIB}
        )
        evidence = Evidence(now=9.0, stalled_s=3.0, phase=Phase.CONFIG, host=host, workers=2, utilization=0.9)
        assert judge(evidence).sentence.endswith(f": {said} (pid 9) holds 80.0 GiB on GPU 1")


def test_too_few_samples_are_named_as_missing_only_while_they_are() -> None:
    assert GATHERING in judge(Evidence(now=9.0, stalled_s=9.0, host=READING, gathering=True)).missing
    assert judge(Evidence(now=9.0, stalled_s=9.0, host=READING)).missing == ()


IDLE, SPINS, COMPUTES, COPIES = (
    replace(busy_gpu(0, 84.0), util=0.0, pcie_rx=0.0, pcie_tx=0.0),
    replace(busy_gpu(0, 90.0), pcie_rx=0.0, pcie_tx=0.0),
    replace(busy_gpu(0, 500.0), pcie_rx=0.0, pcie_tx=0.0),
    replace(busy_gpu(0, 84.0), util=0.0, pcie_rx=30e6, pcie_tx=0.0),
)
UNKNOWN = replace(busy_gpu(0, 90.0), power_w=None, power_limit_w=None, name="?", pcie_rx=None, pcie_tx=None)
CLAIMS: tuple[tuple[str, str], ...] = (
    ("being read, but not from storage", r"reads .*/s, .* of it from storage"),
    ("files are being read$", r"reads \S+ \SB/s$|major faults"),
    ("weights are being read$", r"reads \S+ \SB/s$|major faults"),
    ("over PCIe", r"^PCIe \S+"),
    ("the GPUs compute", r"GPUs? (?:[1-9]\d|100) % busy"),
    ("the GPUs idle", r"GPUs? 0 % busy"),
    ("seem busy at idle power", r"GPUs? 100 % busy at \d+ of"),
    ("the CPU is busy", r"CPU [\d.]+ cores"),
    ("memory in use changes", r"/min"),
    ("processes are being started", r"new process"),
    ("its processes idle", r"CPU 0\.\d cores"),
)
"""What a sentence may say only where one of the readings beside it shows it."""


@pytest.mark.parametrize(
    "gpus", [(), (IDLE,), (SPINS,), (COMPUTES,), (COPIES,), (UNKNOWN,), (replace(IDLE, util=None),)]
)
@pytest.mark.parametrize("stalled_s", [3.0, 90.0, 4000.0])
def test_a_sentence_says_no_more_than_the_readings_beside_it(gpus: tuple[Gpu, ...], stalled_s: float) -> None:
    rates: tuple[dict[str, Any], ...] = (
        {"read": 0.0},
        {"read": 5e4},
        {"read": 9e8},
        {"read": 0.0, "chars": 9e8},
        {"faults": 900.0},
    )
    more: list[dict[str, Any]] = [{}, {"resident": 9e6}, {"new_processes": 2}, *([{"gpu_memory": 9e6}] if gpus else [])]
    for first, second, cpu, phase in product(rates, more, (None, 0.02, 8.0), (Phase.INIT, Phase.WEIGHTS)):
        host = replace(HostEvidence(window_s=30.0, cpu=cpu, processes=9, gpus=gpus), **{**first, **second})
        told = judge(Evidence(now=stalled_s, stalled_s=stalled_s, phase=phase, host=host))
        for claim, shown in CLAIMS:
            if re.search(claim, told.sentence):
                assert any(re.search(shown, row) for row in told.evidence), (told.sentence, told.evidence)
        if any(re.search(r"[1-9]\d* % busy", row) for row in told.evidence):
            assert "only" not in told.sentence, (told.sentence, told.evidence)
            assert "idle" not in told.sentence.replace("idle power", "").replace("its processes idle", "")


def test_gpus_that_spin_for_a_moment_are_not_called_idle() -> None:
    host = HostEvidence(window_s=30.0, cpu=8.0, processes=9, gpus=(SPINS,), read=0.0)
    young = judge(Evidence(now=40.0, stalled_s=40.0, phase=Phase.INIT, host=host))
    assert (young.judgement, young.signature) == (Judgement.WORKING, "spinning")
    assert young.sentence == "the GPUs seem busy at idle power, as for a moment in any collective"


def test_a_server_whose_requests_are_not_known_is_not_called_idle() -> None:
    assert judge(Evidence(serving=True)).sentence == "it answers; whether requests run is not known"
    known = judge(Evidence(serving=True, running=2))
    assert (known.sentence, known.evidence) == ("it serves requests", ("2 requests running",))

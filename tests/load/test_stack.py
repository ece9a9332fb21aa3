"""Two looks at the stacks of a process tell work from a hang."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.gpu.sample import Gpu
from specconsole.load import stack
from specconsole.load.condition import Evidence
from specconsole.load.evidence import HostEvidence
from specconsole.load.judge import judge
from specconsole.load.sign import Signs
from specconsole.load.verdict import Judgement

PYSPY = """Process 4711: VLLM::Worker_TP0
Python v3.12.3 (/usr/bin/python3.12)

Thread 4711 (active): "MainThread"
    {leaf} (torch/cuda/streams.py:225)
    all_reduce (vllm/distributed/parallel_state.py:300)
Thread 4712 (idle): "watchdog"
    wait (threading.py:359)
"""
FAULT = 'Current thread 0x00007f1 (most recent call first):\n  File "/x/streams.py", line 225 in {leaf}\n  File "/x/y.py", line 3 in run\n'


@pytest.mark.parametrize("form", [PYSPY, FAULT])
@pytest.mark.parametrize(("second", "moved"), [("synchronize", False), ("copy_", True)])
def test_leaf_between_two_dumps(form: str, second: str, moved: bool) -> None:
    texts = [form.format(leaf="synchronize"), form.format(leaf=second)]
    assert stack.moved(stack.dumps(texts)) is moved
    assert stack.moved(stack.dumps(["".join(texts)])) is moved


def test_one_dump_tells_nothing() -> None:
    assert stack.moved(stack.dumps([PYSPY.format(leaf="x")])) is None
    assert stack.read(PYSPY.format(leaf="x"))[0].leaf == "x (torch/cuda/streams.py:225)"


def test_verdicts() -> None:
    busy = HostEvidence(cpu=8.0, gpus=(Gpu(0, "a", "NVIDIA H200", util=1.0),), window_s=30.0)
    compiling = HostEvidence(cpu=8.0, gpus=(Gpu(0, "a", "NVIDIA H200", util=0.0),), window_s=30.0)
    assert judge(Evidence(host=busy, stepping=True)).judgement is Judgement.WORKING
    assert judge(Evidence(host=busy, stepping=False, stalled_s=400.0)).judgement is Judgement.STUCK
    assert judge(Evidence(host=compiling, stepping=False, stalled_s=400.0)).judgement is Judgement.WORKING
    assert judge(Evidence(stepping=False)).judgement is Judgement.WATCH
    silent = Signs(last="vLLM is using nccl==2.27.5")  # two stacks beside such a log make the hang no less sure
    assert judge(Evidence(stepping=False, stalled_s=400.0, signs=silent)).judgement is Judgement.STUCK
    assert judge(Evidence(stepping=False, stalled_s=60.0, signs=silent)).judgement is Judgement.WATCH


@given(st.text(max_size=500))
def test_any_text(text: str) -> None:
    stack.moved(stack.dumps([text, text]))

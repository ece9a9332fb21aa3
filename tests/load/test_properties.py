"""Whatever a log or a host says: no crash, bounded time and memory, and nothing that a terminal would obey."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from specconsole.gpu.sample import Gpu
from specconsole.load import sign
from specconsole.load.condition import Evidence
from specconsole.load.evidence import Holder, HostEvidence
from specconsole.load.judge import judge
from specconsole.load.pace import Pace
from specconsole.load.phase import Phase
from specconsole.load.sign import SHAPES, Signs
from specconsole.load.verdict import Verdict
from specconsole.logs.record import Kind, Level, LogRecord

WILD = st.text(st.sampled_from("ab1\x1b]0;\x07[31m\x9b\n\r\t#%|/\u202e:"), max_size=200)
LINES = WILD | st.sampled_from(
    [
        "No available shared memory broadcast block found in 60 seconds.",
        "Waiting for 1 core engine proc(s) to start: {\x1b[31m0}",
        "Wait for all ray workers to be active. 1/2 is active",
        "99999999999999999999/999999999999999999999 nodes joined",
        "vLLM is using nccl==2.27\x1b]0;x\x07",
        "NCCL WARN NET/IB: error status=\x1b[2J",
        "Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 1.0 tokens/s, Running: 4 reqs",
        "Fetching 12 files:   0%| | 0/12",
    ]
)
RATE = st.none() | st.floats(allow_nan=False, allow_infinity=False, width=32)
GPUS = st.builds(
    Gpu, st.integers(-1, 9), st.just("GPU-1"), WILD,
    memory_used=st.none() | st.integers(0, 2**40), memory_total=st.none() | st.integers(0, 2**40), util=RATE, util_memory=RATE,
    power_w=RATE, power_limit_w=RATE, pcie_rx=RATE, pcie_tx=RATE, dram_active=RATE,
)  # fmt: skip
HOSTS = st.builds(
    HostEvidence, window_s=st.none() | st.floats(1, 60), cpu=RATE, read=RATE, chars=RATE, received=RATE, faults=RATE,
    resident=RATE, gpus=st.lists(GPUS, max_size=3).map(tuple), gpu_memory=RATE, gpu_why=WILD,
    compilers=st.sampled_from([(), ("ptxas",)]), blocked=st.lists(WILD, max_size=2).map(tuple),
    processes=st.none() | st.integers(0, 300), holders=st.lists(st.builds(Holder, st.integers(0, 3), st.integers(1, 9), WILD, st.none() | st.integers(0, 2**40), st.none() | WILD), max_size=3).map(tuple),
    totals=st.dictionaries(st.integers(0, 3), st.integers(0, 2**40), max_size=3), not_permitted=st.sampled_from([(), ("bytes read",)]),
)  # fmt: skip


def texts(value: Any) -> list[str]:
    """All strings in a frozen value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, tuple):
        return [text for item in value for text in texts(item)]
    if isinstance(value, dict):
        return texts((*value, *value.values()))
    return []


def harmless(value: Any) -> None:
    """Every text of a verdict or a diagnosis is one clean line."""
    for field in fields(value):
        for text in texts(getattr(value, field.name)):
            assert not any(ord(char) < 32 or 127 <= ord(char) < 160 or char == "\u202e" for char in text), repr(text)


def fed(lines: list[str]) -> Signs:
    signs = Signs()
    for seq, line in enumerate(lines):
        kind = Kind.BAR if seq % 5 == 4 else Kind.LINE
        signs = sign.read(
            signs, LogRecord(seq, float(seq), "u", line, Level.INFO, kind, process=f"EngineCore_DP{seq % 2}")
        )
    return signs


@given(st.lists(LINES, max_size=8), st.none() | HOSTS, st.none() | st.sampled_from(Phase), RATE, RATE, st.booleans())
@settings(max_examples=100, deadline=None)
def test_any_evidence_is_judged_in_clean_words(
    lines: list[str],
    host: HostEvidence | None,
    phase: Phase | None,
    now: float | None,
    stalled: float | None,
    serving: bool,
) -> None:
    pace = Pace(3, 9, "shards", ((0.0, 0), (1.0, 3))) if serving else None
    evidence = Evidence(
        now=now,
        stalled_s=stalled,
        signs=fed(lines),
        phase=phase,
        pace=pace,
        host=host,
        serving=serving,
        running=2,
        workers=2,
    )
    verdict = judge(evidence)
    assert isinstance(verdict, Verdict)
    assert verdict.sentence
    harmless(verdict)


def test_a_log_of_lines_that_all_differ_takes_bounded_memory() -> None:
    signs = Signs()
    words = "abcdefghijklmnopqrstuvwxyz"
    for i in range(SHAPES + 500):
        line = f"{words[i % 26]}{words[i // 26 % 26]}{words[i // 676 % 26]} said" + "x" * 10_000
        signs = sign.read(signs, LogRecord(i, float(i), "u", line))
    assert len(signs.shapes) == SHAPES
    assert len(signs.last) <= 300
    assert signs.last_at == float(SHAPES + 499)

from __future__ import annotations

import json

import pytest

from specconsole.bench.evidence import Claims, claims, jit_lines, of_unit
from specconsole.errors import DeadlineExceeded
from specconsole.logs.source import Source
from tests.fakes import FakeHost, failed

UNIT = Source("vllm-a.service")
JIT = "(EngineCore pid=3277) WARNING 11-29 14:18:25 [jit_monitor.py:106] Triton kernel JIT compilation during inference: rejection_greedy_sample_kernel."


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (
            ["[gpu_worker.py:331] Using V2 Model Runner", "[vllm.py:1006] Asynchronous scheduling is enabled."],
            Claims("V2", True),
        ),
        (
            [
                "[core.py:114] Initializing a V1 LLM engine (v0.24.0) with config",
                "Model Runner V2 does not yet support ngram/ngram_gpu speculative decoding; using the V1 model runner instead.",
                "[gpu_model_runner.py:5160] Starting to load model /m...",
                "Async scheduling not supported with ngram-based speculative decoding and will be disabled.",
                "[vllm.py:1006] Asynchronous scheduling is disabled.",
            ],
            Claims("V1", False),
        ),
        (
            ["Async scheduling is disabled because the V1 model runner does not support it with ngram."],
            Claims(None, False),
        ),
        (["Initializing a V0 LLM engine (v0.8.5) with config"], Claims("V0", None)),
        ([], Claims(None, None)),
    ],
)
def test_what_each_version_says(lines: list[str], found: Claims) -> None:
    assert claims(lines) == found


def entry(text: str, at: float = 1000.5) -> str:
    return json.dumps(
        {"MESSAGE": text, "__REALTIME_TIMESTAMP": str(int(at * 1e6)), "_SYSTEMD_UNIT": "vllm-a.service", "_PID": "7"}
    )


async def test_the_start_is_asked_for_by_its_invocation() -> None:
    host = FakeHost()
    host.answer(
        "journalctl *", entry("Using V2 Model Runner") + "\n" + entry("Asynchronous scheduling is enabled.") + "\n"
    )
    assert await of_unit(host, UNIT, "f" * 32) == Claims("V2", True)
    assert f"_SYSTEMD_INVOCATION_ID={'f' * 32}" in host.calls[-1]
    assert "--grep" in host.calls[-1]


async def test_when_kernels_were_compiled() -> None:
    host = FakeHost()
    host.answer("journalctl *", entry(JIT, 1000.25) + "\n" + entry(JIT, 1001.5) + "\n")
    assert await jit_lines(host, UNIT, "f" * 32, 999.0) == (1000.25, 1001.5)
    assert "--since=@999.000" in host.calls[-1]


@pytest.mark.parametrize("answer", [failed(1, "unrecognized option '--grep'"), DeadlineExceeded("too long")])
async def test_a_log_that_cannot_be_read_is_unknown(answer: object) -> None:
    host = FakeHost()
    host.answer("journalctl *", answer)  # type: ignore[arg-type]
    assert await of_unit(host, UNIT, "f" * 32) == Claims()
    assert await jit_lines(host, UNIT, "f" * 32, 1.0) is None


async def test_a_log_without_a_match_is_known() -> None:
    host = FakeHost()
    host.answer("journalctl *", failed(1, ""))
    assert await jit_lines(host, UNIT, "f" * 32, 1.0) == ()


async def test_a_log_file_or_no_start_is_not_asked_for() -> None:
    host = FakeHost()
    assert await of_unit(host, Source("vllm-a.service", log_file="/var/log/a"), "f" * 32) == Claims()
    assert await of_unit(host, UNIT, "") == Claims()
    assert host.calls == []

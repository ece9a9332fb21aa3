"""One log in what more collectors make of it: it is the same log, to its last line."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest

from specconsole.explain.document import document
from specconsole.explain.files import explain
from tests.explain.test_meaning import told

LOG = """(APIServer pid=31) INFO 01-15 21:00:01 [api_server.py:1839] vLLM API server version 0.13.0
(EngineCore_DP0 pid=301) INFO 01-15 21:00:14 [core.py:93] Initializing a V1 LLM engine (v0.13.0) with config: model='/srv/m', speculative_config=None, tokenizer='/srv/m', max_seq_len=131072, tensor_parallel_size=2, pipeline_parallel_size=1
(Worker_TP0 pid=411) INFO 01-15 21:00:32 [pynccl.py:111] vLLM is using nccl==2.27.5
(Worker_TP0 pid=411) INFO 01-15 21:07:12 [default_loader.py:308] Loading weights took 396.21 seconds
(EngineCore_DP0 pid=301) INFO 01-15 21:08:41 [kv_cache_utils.py:1291] GPU KV cache size: 188,864 tokens
(EngineCore_DP0 pid=301) INFO 01-15 21:09:03 [core.py:259] init engine (profile, create kv cache, warmup model) took 90.11 seconds
(APIServer pid=31) INFO:     Started server process [31]
(APIServer pid=31) INFO:     Waiting for application startup.
(APIServer pid=31) INFO:     Application startup complete.
"""
LINES = list(enumerate(LOG.splitlines()))


def _each(form: Callable[[int, str], str]) -> str:
    return "".join(form(number, line) + "\n" for number, line in LINES)


def _stored(number: int, line: str) -> str:
    return json.dumps({"line": line, "timestamp": f"2026-01-15T21:00:{number:02d}Z", "fields": {}})


def _pretty(number: int, line: str) -> str:
    return json.dumps({"__REALTIME_TIMESTAMP": str(1768510800000000 + number), "_PID": "31", "MESSAGE": line}, indent=8)


FORMS: dict[str, str] = {
    "pod and container": _each(lambda _, line: f"llm-0 vllm {line}"),
    "a name in brackets": _each(lambda _, line: f"[llm] {line}"),
    "numbered": _each(lambda number, line: f"{number + 1:5d}  {line}"),
    "a stamp and a tab": _each(lambda number, line: f"2026-01-15T21:00:{number:02d}.123Z\t{line}"),
    "export": _each(lambda number, line: f"__REALTIME_TIMESTAMP=176851080000000{number}\n_PID=31\nMESSAGE={line}\n"),
    "verbose": _each(
        lambda number, line: f"Thu 2026-01-15 22:00:{number:02d}.123456 CET [s=1]\n    _PID=31\n    MESSAGE={line}"
    ),
    "json, pretty": _each(_pretty),
    "a log store": _each(_stored),
}


@pytest.mark.parametrize("name", FORMS)
def test_what_a_collector_puts_before_each_line_hides_nothing(name: str) -> None:
    load = told(FORMS[name])["load"]
    assert (load["ready"], load["phase"], load["version"], load["kv_tokens"]) == (True, "api", "0.13.0", 188864)
    assert load["durations_s"] == {"weights": 396.21, "init_engine": 90.11}


def test_what_a_powershell_wrote_is_read() -> None:
    found: dict[str, Any] = document(explain(iter([("log", BytesIO(LOG.encode("utf-16")))])))
    load = found["load"]
    assert (load["ready"], load["kv_tokens"]) == (True, 188864)


def test_a_prefix_that_few_lines_have_stays() -> None:
    mixed = LOG + "".join(f"worker {line}\n" for _, line in LINES[2:4])
    assert told(mixed)["load"]["kv_tokens"] == 188864

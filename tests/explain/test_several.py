"""Several logs, and logs of several servers: no failure vanishes behind a server that is well, and figures have their start."""

from __future__ import annotations

import json
from typing import Any

import pytest

from specconsole.explain.lines import lines
from tests.explain.test_meaning import explained, told

ENGINE = "(EngineCore pid={engine}) INFO {day} {hour}:{at} [core.py:60] Initializing a V1 LLM engine (v0.20.0) with config: model='{model}', speculative_config=None, tensor_parallel_size=1, pipeline_parallel_size=1, data_parallel_size=1, x=1\n"
STATS = "(APIServer pid={api}) INFO {day} {hour}:{at} [loggers.py:123] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: {rate} tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 4.1%\n"


def start(
    model: str, *, hour: str = "10", end: str = "", api: int = 10, engine: int = 20, port: int = 8000
) -> list[str]:
    """Lines of a start that loads; `end`: failed or ready."""
    day = "06-01"
    made = [
        f"(APIServer pid={api}) INFO {day} {hour}:00:00 [api_server.py:1] vLLM API server version 0.20.0\n",
        f"(APIServer pid={api}) INFO {day} {hour}:00:01 [utils.py:2] non-default args: {{'model': '{model}', 'port': {port}}}\n",
        ENGINE.format(engine=engine, day=day, hour=hour, at="00:10", model=model),
        f"(EngineCore pid={engine}) INFO {day} {hour}:00:20 [gpu_model_runner.py:4] Starting to load model {model}...\n",
        f"(EngineCore pid={engine}) Loading safetensors checkpoint shards:  25% Completed | 4/16 [00:20<01:00,  5.00s/it]\n",
    ]
    if end == "failed":
        made += [
            f"(EngineCore pid={engine}) ERROR {day} {hour}:01:00 [core.py:7] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.1 GiB of which 1.00 GiB is free.\n",
            f"(EngineCore pid={engine}) ERROR {day} {hour}:01:01 [core.py:7] EngineCore failed to start.\n",
        ]
    if end == "ready":
        made += [
            f"(EngineCore pid={engine}) INFO {day} {hour}:01:20 [kv_cache_utils.py:1] GPU KV cache size: 75,456 tokens\n",
            f"(APIServer pid={api}) INFO:     Application startup complete.\n",
            STATS.format(api=api, day=day, hour=hour, at="02:00", rate=33.0),
        ]
    return made


def log(*args: Any, **options: Any) -> str:
    return "".join(start(*args, **options))


def woven(*logs: list[str]) -> str:
    """Lines in turn."""
    longest = max(map(len, logs))
    return "".join(one[place] for place in range(longest) for one in logs if place < len(one))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_failure_does_not_vanish_behind_a_server_that_is_ready(order: tuple[int, int]) -> None:
    both = [log("a/big", end="failed"), log("b/small", hour="11", end="ready")]
    bad, good = order.index(0), order.index(1)
    found = told(*(both[place] for place in order))
    assert found["headline"].startswith(f"f{bad}: It failed")
    assert f"Another log, f{good}: The log says that it is ready" in found["headline"]
    assert {one["name"]: (one["state"], one["told"]) for one in found["logs"]} == {
        f"f{bad}": ("failed", True),
        f"f{good}": ("ready", False),
    }
    assert any("a/big" in text and "b/small" in text for text in found["unknown"])
    assert "comparison" not in found


def test_a_log_that_is_not_told_has_its_failure_in_headline_and_advice() -> None:
    """A later start of the same server is told; that the one before failed is named all the same."""
    found = told(log("a/big", end="failed"), log("a/big", hour="11"))
    assert [one["told"] for one in found["logs"]] == [False, True]
    assert "Another log, f0: It failed" in found["headline"]
    assert any(text.startswith("f0: ") for text in found["advice"])


def test_an_older_server_that_is_ready_does_not_hide_one_that_loads() -> None:
    found = told(log("a/small", end="ready"), log("b/big", hour="11"))
    assert found["headline"].startswith("f1: It works")
    assert "f0: The log says that it is ready" in found["headline"]
    assert found["load"]["model"] == "b/big"


def test_a_fault_in_the_log_of_the_kernel_comes_before_a_server_that_seems_ready() -> None:
    found = told(
        log("a/b", end="ready"),
        "[12345.678901] NVRM: Xid (PCI:0000:c1:00): 79, pid=4712, name=x, GPU has fallen off the bus.\n",
    )
    assert found["headline"].startswith("f1: It failed")
    assert "f0: The log says that it is ready" in found["headline"]
    assert found["load"]["model"] == "a/b"


def test_logs_of_one_start_are_told_as_one() -> None:
    """What two nodes of one start print at the same time, and the kernel's log beside it."""
    found = told(log("a/big"), log("a/big", api=11, engine=21), "[12345.678901] usb 1-1: new device\n")
    assert "f0" not in found["headline"]
    assert not [text for text in found["unknown"] if "one start" in text]


def test_lines_of_two_servers_in_one_file_make_nothing_sure() -> None:
    found = told(woven(start("a/big", end="failed"), start("b/small", end="ready")))
    assert found["headline"].startswith("Lines of two servers are mixed in f0")
    assert "one of them failed" in found["headline"]
    assert not {"load", "verdict", "serving"} & found.keys()
    assert [(one["state"], one["model"]) for one in found["logs"]] == [("mixed", None)]
    assert found["unknown"][0].startswith("which line is whose")


@pytest.mark.parametrize(
    "text",
    [
        woven(start("a/b", end="ready", api=10, engine=20), start("a/b", hour="11", end="ready", api=11, engine=21)),
        woven(start("a/b", end="ready"), start("a/b", hour="11", end="ready")),
        "".join(start("a/b", end="ready")) + woven(start("c/d", hour="11", api=11), [STATS.format(api=10, day="06-01", hour="11", at=f"00:{s}", rate=9.0) for s in (10, 20, 30)]),
        "".join(f"vllm-{place % 2}  | {line}" for place, line in enumerate(woven(start("a/b"), start("a/b")).splitlines(True))),
    ],
    ids=["pids", "one model and the same pids", "one serves while another loads", "compose"],
)  # fmt: skip
def test_servers_that_are_mixed_are_found(text: str) -> None:
    assert told(text)["logs"][0]["state"] == "mixed"


def test_two_units_of_one_journal_are_mixed() -> None:
    """Versions before 0.10 name no process; the journal tells whose a line is."""

    def told_by(unit: str, second: int) -> str:
        line = f"INFO 06-01 10:00:{second:02d} api_server.py:5] step {second}"
        return json.dumps({"MESSAGE": line, "_SYSTEMD_UNIT": unit, "_SYSTEMD_INVOCATION_ID": unit[0] * 32, "_PID": "7", "__REALTIME_TIMESTAMP": f"17000000{second:02d}000000"})  # fmt: skip

    assert told("\n".join(told_by("ab"[place % 2], place) for place in range(6)))["logs"][0]["state"] == "mixed"
    assert "logs" not in told("\n".join(told_by("aaabbb"[place], place) for place in range(6)))


@pytest.mark.parametrize(
    "text",
    [
        log("a/b", end="ready") + log("c/d", hour="11", api=11, engine=21, end="ready"),
        log("a/b", end="failed") + log("a/b", hour="11", end="ready"),
        "".join(start("a/b")[:3]) + log("a/b", hour="11", end="ready"),
        log("a/b", end="ready").replace("EngineCore pid=20", "EngineCore_DP0 pid=20") + woven(*([f"(EngineCore_DP{r} pid={r}) INFO 06-01 10:02:0{n} [x.py:1] step\n" for n in range(4)] for r in range(3))),
        log("a/b", end="ready").replace("APIServer pid=10) INFO:     Application", "ApiServer_0 pid=12) INFO:     Application") + "(ApiServer_1 pid=13) INFO:     Application startup complete.\n",
    ],
    ids=["a swap", "a restart", "an end in the configuration", "data parallel", "several API servers"],
)  # fmt: skip
def test_starts_one_after_the_other_and_processes_of_one_are_not_mixed(text: str) -> None:
    found = told(text)
    assert "logs" not in found
    assert found["load"]["ready"]


def test_speed_is_that_of_the_start_that_is_told() -> None:
    served = log("a/b", end="ready")
    assert told(served)["serving"]["steady_tok_s"] == 33.0
    assert "serving" not in told(served + log("c/d", hour="11"))
    found = told(served + log("c/d", hour="11", end="ready").replace("33.0 tokens/s", "12.5 tokens/s"))
    assert found["serving"]["steady_tok_s"] == 12.5


def test_a_mark_of_byte_order_hides_no_first_line() -> None:
    """The outer stamps are two hours off the inner ones; a first line that has only its inner one makes a long start."""
    lines_of = start("a/b", end="ready")
    text = "".join(f"2026-06-01 08:00:{place:02d}.000 | {line}" for place, line in enumerate(lines_of))
    assert told("\ufeff" + text)["load"]["since_first_line_s"] == told(text)["load"]["since_first_line_s"] == 6.0


def test_the_text_names_each_log() -> None:
    text = list(lines(explained(log("a/big", end="failed"), log("b/small", hour="11", end="ready"))))
    assert any("f0: failed, a/big" in line and "(told here)" in line for line in text)
    assert any("f1: ready, b/small" in line for line in text)

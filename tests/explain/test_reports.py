"""Small reports as people send them: what is said of each, and what must not be said."""

from __future__ import annotations

from typing import Any

import pytest

from tests.explain.test_meaning import told

BOOT = """INFO 03-11 09:14:02 [__init__.py:216] Automatically detected platform cuda.
(APIServer pid=2211) INFO 03-11 09:14:05 [api_server.py:1839] vLLM API server version 0.11.0
(EngineCore_DP0 pid=2304) INFO 03-11 09:14:21 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='acme/m-70b', speculative_config=None, tokenizer='acme/m-70b', tensor_parallel_size=4, pipeline_parallel_size=1, data_parallel_size=1
"""
READY = "(APIServer pid=2211) INFO:     Application startup complete.\n"
STATS = "(APIServer pid=2211) INFO 03-11 09:{minute:02d}:{second:02d} [loggers.py:127] Engine 000: Avg prompt throughput: {prompt} tokens/s, Avg generation throughput: {rate} tokens/s, Running: {running} reqs, Waiting: 0 reqs, GPU KV cache usage: 11.2%, Prefix cache hit rate: 0.0%\n"
NOTICE = "(EngineCore_DP0 pid=2304) INFO 03-11 09:{minute:02d}:48 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds. This typically happens when some processes are hanging or doing some time-consuming work (e.g. compilation).\n"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB. GPU 2 has a total capacity of 23.65 GiB of which 412.31 MiB is free."


def died(process: str, error: str, head: str = "WorkerProc failed to start.") -> str:
    prefix = f"({process}) ERROR 03-11 09:30:40 [multiproc_executor.py:597] "
    return "".join(
        prefix + line + "\n"
        for line in (head, "Traceback (most recent call last):", '  File "x.py", line 571, in y', error)
    )


def serving(*, still: bool = False, running: int = 12, minute: int = 20, second: int = 0) -> str:
    prompt, rate = (0.0, 0.0) if still else (812.1, 301.2)
    return STATS.format(prompt=prompt, rate=rate, running=running, minute=minute, second=second)


def test_memory_that_ran_out_under_the_weights_is_not_given_back_by_a_smaller_cache() -> None:
    begun = (
        "(Worker_TP2 pid=2402) INFO 03-11 09:14:44 [gpu_model_runner.py:2602] Starting to load model acme/m-70b...\n"
    )
    found = told(BOOT + begun + died("Worker_TP2 pid=2402", OOM))
    assert (found["load"]["phase"], found["diagnosis"]["phase"]) == ("weights", "weights")
    assert "--tensor-parallel-size" in found["advice"][0]
    assert not any("--gpu-memory-utilization" in text for text in found["advice"])


def test_memory_that_ran_out_while_serving_is_no_failed_start() -> None:
    found = told(
        BOOT + READY + serving() + died("EngineCore_DP0 pid=2304", OOM, "EngineCore encountered a fatal error.")
    )
    assert (found["load"]["phase"], found["load"]["ready"], found["load"]["failed"]) == ("serving", False, True)
    assert "while serving" in found["headline"]
    assert "--max-num-batched-tokens" in found["advice"][0]


def test_memory_that_ran_out_in_the_warm_up_is_told_as_before() -> None:
    found = told(
        BOOT
        + "(Worker_TP2 pid=2402) INFO 03-11 09:16:00 [w.py:1] Graph capturing finished in 21 secs, took 1.20 GiB\n"
        + died("Worker_TP2 pid=2402", OOM)
    )
    assert "so that more stays free beside the KV cache" in found["advice"][0]


SHUTDOWN = """(APIServer pid=2211) INFO 03-11 09:40:00 [launcher.py:110] Shutting down FastAPI HTTP server.
(APIServer pid=2211) INFO:     Shutting down
(APIServer pid=2211) INFO:     Application shutdown complete.
"""
NOISE = """(APIServer pid=2211) ERROR 03-11 09:40:01 [async_llm.py:480] AsyncLLM output_handler failed.
(APIServer pid=2211) ERROR 03-11 09:40:01 [async_llm.py:480] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.
"""


@pytest.mark.parametrize("log", [SHUTDOWN, SHUTDOWN + NOISE], ids=["in order", "noisily"])
def test_a_server_that_was_stopped_is_not_ready_and_has_not_failed(log: str) -> None:
    found = told(BOOT + READY + log)
    assert (found["load"]["ready"], found["load"]["failed"], found["load"]["stopped_by"]) == (False, False, "shutdown")
    assert "verdict" not in found
    assert "diagnosis" not in found
    assert "stopped" in found["headline"]


def test_an_engine_that_died_first_has_failed_though_the_server_shut_down_in_order() -> None:
    gone = "(APIServer pid=2211) ERROR 03-11 09:39:59 [core_client.py:564] Engine core proc EngineCore_DP0 died unexpectedly, shutting down client.\n"
    found = told(BOOT + READY + gone + NOISE + SHUTDOWN)
    assert found["diagnosis"]["name"] == "engine_died"
    assert (found["load"]["ready"], found["load"]["failed"]) == (False, True)


def test_a_ready_line_without_a_stamp_gives_no_seconds() -> None:
    found = told(READY + serving())
    assert found["load"]["since_first_line_s"] is None
    assert " s after" not in found["headline"]


def verdict(*logs: str) -> dict[str, Any]:
    found: dict[str, Any] = told(BOOT + READY + "".join(logs))["verdict"]
    return found


def test_requests_that_run_without_a_token_while_the_engine_waits_are_stuck() -> None:
    assert verdict(serving(), serving(still=True, second=10), NOTICE.format(minute=21))["judgement"] == "stuck"
    assert verdict(serving(), NOTICE.format(minute=21), serving(second=50, minute=21))["judgement"] == "working"


def test_lines_of_statistics_without_a_token_are_looked_at_and_then_stuck() -> None:
    still = [serving(still=True, minute=21 + at // 6, second=at % 6 * 10) for at in range(20)]
    assert verdict(serving(), *still[:2])["judgement"] == "working"  # a long prompt is read in one go
    assert verdict(serving(), *still[:6])["judgement"] == "watch"
    assert verdict(serving(), *still)["judgement"] == "stuck"
    assert verdict(serving(), *still, serving(minute=25))["judgement"] == "working"
    assert verdict(serving(), *still, serving(still=True, minute=25, running=0))["judgement"] == "idle"


def test_statistics_that_no_longer_come_while_others_speak() -> None:
    health = "".join(
        f'2025-03-11T09:{minute}:00+0000 gpu3 vllm[5]: (APIServer pid=5) INFO:     10.1.1.1:5121{minute} - "GET /health HTTP/1.1" 200 OK\n'
        for minute in range(22, 29)
    )
    stats = "2025-03-11T09:20:00+0000 gpu3 vllm[5]: "
    assert verdict(stats + serving(), health)["judgement"] == "stuck"
    assert verdict(stats + serving(running=0), health)["judgement"] == "idle"


def test_notices_right_after_nccl_are_a_hung_collective() -> None:
    nccl = "(Worker_TP0 pid=700) INFO 03-11 09:20:40 [pynccl.py:103] vLLM is using nccl==2.27.5\n"
    found = told(BOOT + nccl + "".join(NOTICE.format(minute=21 + at) for at in range(5)))
    assert (found["verdict"]["judgement"], found["verdict"]["cause"]) == ("stuck", "nccl_p2p_hang")
    assert told(BOOT + nccl + NOTICE.format(minute=21))["verdict"]["judgement"] == "watch"


@pytest.mark.parametrize(
    "line",
    [
        "INFO 02-11 13:20:41 [ray_utils.py:232] Waiting for creating a placement group of specs for 10 seconds. specs=[{'GPU': 1.0}]. Check `ray status` to see if you have enough resources",
        "(APIServer pid=10) INFO 02-11 13:20:50 [utils.py:800] Waiting for 0 local, 8 remote core engine proc(s) to connect.",
    ],
    ids=["placement group", "remote engines"],
)
def test_waiting_for_other_hosts_is_part_of_the_ranks_meeting(line: str) -> None:
    found = told(line + "\n" + line.replace("13:20", "13:22") + "\n")
    assert (found["load"]["phase"], found["verdict"]["judgement"]) == ("init", "waiting_for_peer")


BAR = "model-00004-of-00030.safetensors:  31%|###       | 1.55G/5.00G [02:10<04:51, 11.8MB/s]\n"


def test_a_files_own_bar_is_a_download_and_alone_no_hang() -> None:
    found = told("Fetching 30 files:   3%|3         | 1/30 [00:01<00:37,  1.29s/it]\n" + BAR)
    assert (found["load"]["phase"], found["verdict"]["judgement"]) == ("download", "needs_probe")
    flat = "# 2026-02-11T13:30:00Z\n41231234567\t/hub/m\n# 2026-02-11T13:45:00Z\n41231234567\t/hub/m\n"
    assert told(BAR, flat)["verdict"]["judgement"] == "stuck"


def test_a_hub_that_is_asked_for_files_is_downloading() -> None:
    asked = (
        "(Worker_TP0 pid=700) INFO 03-11 09:20:40 [weight_utils.py:265] Using model weights format ['*.safetensors']\n"
    )
    assert told(BOOT + asked)["load"]["phase"] == "download"


REQUEST = "(APIServer pid=2211) ERROR 03-11 09:20:41 [serving_chat.py:257] "


@pytest.mark.parametrize(
    "error",
    [
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/img.png'",
        "PermissionError: [Errno 13] Permission denied: '/data/a.png'",
        "requests.exceptions.ConnectTimeout: HTTPSConnectionPool(host='img.example', port=443): Max retries exceeded with url: /a.png",
        "KeyError: 'layer.weight'",
        "ValueError: This model's maximum context length is 8192 tokens.",
        "asyncio.exceptions.CancelledError",
        "ConnectionResetError: Cannot write to closing transport",
    ],
)
def test_what_goes_wrong_with_one_request_is_not_the_servers_end(error: str) -> None:
    lines = ("Error in preprocessing prompt inputs", "Traceback (most recent call last):", error)
    request = "".join(f"{REQUEST}{line}\n" for line in lines)
    for log in (BOOT + READY + serving() + request, (READY + serving() + request).replace("(APIServer pid=2211) ", "")):
        found = told(log)
        assert "diagnosis" not in found
        assert (found["load"]["ready"], found["load"]["failed"]) == (True, False)


def test_a_dead_engine_is_the_servers_end_whoever_says_so() -> None:
    dead = f"{REQUEST}vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.\n"
    found = told(BOOT + READY + serving() + dead)
    assert (found["load"]["ready"], found["load"]["failed"]) == (False, True)


def test_of_two_errors_of_a_server_the_one_that_ends_it_is_told() -> None:
    request = f"{REQUEST}FileNotFoundError: [Errno 2] No such file or directory: '/data/img.png'\n"
    end = died("EngineCore_DP0 pid=2304", OOM, "EngineCore encountered a fatal error.")
    assert told(BOOT + READY + serving() + request + end)["diagnosis"]["name"] == "oom"

"""Every form in which vLLM's versions, and what runs beside it, print a line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.logs.peel import Peeled, peel
from specconsole.logs.record import Kind, Level
from tests.logs.journald import as_journald_keeps, capture

HEAD = "INFO 02-05 14:07:01 [core.py:12] "
ESC = "\x1b"


def one(line: str | bytes) -> Peeled:
    (only,) = peel(line)
    return only


@pytest.mark.parametrize(
    ("prefix", "process", "rank", "pid"),
    [
        ("", None, None, None),  # API server up to 0.10.0, V0's rank 0
        ("(APIServer pid=582) ", "APIServer", None, 582),
        ("(ApiServer_0 pid=7) ", "ApiServer_0", None, 7),
        ("(APIServer_DP1 pid=7) ", "APIServer_DP1", None, 7),
        ("(EngineCore_0 pid=9) ", "EngineCore_0", None, 9),
        ("(EngineCore_DP0 pid=9) ", "EngineCore_DP0", None, 9),
        ("(EngineCore pid=9) ", "EngineCore", None, 9),
        ("(DPSupervisor pid=9) ", "DPSupervisor", None, 9),
        ("(VllmWorkerProcess pid=3) ", "VllmWorkerProcess", None, 3),
        ("(VllmWorker rank=3 pid=3) ", "VllmWorker rank=3", 3, 3),
        ("(VllmWorker TP3 pid=3) ", "VllmWorker TP3", 3, 3),
        ("(VllmWorker PP0_TP1 pid=3) ", "VllmWorker PP0_TP1", 1, 3),
        ("(VllmWorker-0 pid=3) ", "VllmWorker-0", 0, 3),
        ("(Worker pid=3) ", "Worker", None, 3),
        ("(Worker_TP3 pid=3) ", "Worker_TP3", 3, 3),
        ("(Worker_TP3_EP3 pid=3) ", "Worker_TP3_EP3", 3, 3),
        ("(Worker_DP1_PP2_PCP0_TP5_DCP1_EP13 pid=3) ", "Worker_DP1_PP2_PCP0_TP5_DCP1_EP13", 5, 3),
        ("(Worker_DP3_EP3 pid=3) ", "Worker_DP3_EP3", None, 3),
        ("(MainProcess pid=3) ", "MainProcess", None, 3),
        ("(RayWorkerWrapper pid=366, ip=10.20.3.119) ", "RayWorkerWrapper", None, 366),
        ("(pid=366) ", None, None, 366),  # Ray before the actor has a name
        ("(RayWorkerWrapper pid=366, ip=10.20.3.119) (Worker_TP1 pid=12) ", "Worker_TP1", 1, 12),
    ],
)
def test_process_names_of_all_versions(prefix: str, process: str | None, rank: int | None, pid: int | None) -> None:
    expected = Peeled("loading", Level.INFO, Kind.LINE, process, rank, pid, "core.py:12", "02-05 14:07:01")
    assert one(f"{prefix}{HEAD}loading") == expected
    if prefix:  # up to 0.30.0 whatever Python printed had it
        bare = one(f"{prefix}Triton is installed")
        assert (bare.text, bare.process, bare.rank, bare.pid) == ("Triton is installed", process, rank, pid)


@pytest.mark.parametrize("level", ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"])
def test_levels_and_both_headers(level: str) -> None:
    new = one(f"(Worker_TP0 pid=1) {level} 02-05 14:07:01 [model_executor/.../fp8_utils.py:12] text here")
    old = one(f"{level} 02-05 14:07:01 fp8_utils.py:12] text here")  # up to 0.7.3
    assert (new.level, new.source, new.text) == (Level[level], "model_executor/.../fp8_utils.py:12", "text here")
    assert (old.level, old.source, old.text) == (Level[level], "fp8_utils.py:12", "text here")


@pytest.mark.parametrize(
    "line",
    [
        f"(Worker_TP0 pid=1) node7|{HEAD}loading",  # VLLM_LOGGING_PREFIX up to 0.30.0
        f"node7|(Worker_TP0 pid=1) {HEAD}loading",  # from 0.31.0
        f"[node 7] (Worker_TP0 pid=1) {HEAD}loading",
        f"(Worker_TP0 pid=1) [node 7] {HEAD}loading",
        f"{ESC}[1;36m(Worker_TP0 pid=1){ESC}[0;0m {HEAD}loading",  # 0.10.1 to 0.11.2, not a terminal
        f"{ESC}[0;36m(Worker_TP0 pid=1){ESC}[0;0m {ESC}[32mINFO{ESC}[0m {ESC}[90m02-05 14:07:01{ESC}[0m {ESC}[90m[core.py:12]{ESC}[0m loading",
        f"vllm-1  | (Worker_TP0 pid=1) {HEAD}loading",
        f"2025-05-16T14:12:16.645427617Z (Worker_TP0 pid=1) {HEAD}loading",
        f"2025-05-16T14:12:16.645427617+02:00 stderr F (Worker_TP0 pid=1) {HEAD}loading",
        f"[pod/vllm-0/server] 2025-05-16T14:12:16Z (Worker_TP0 pid=1) {HEAD}loading",
        f"2026-05-01 23:45:03.974 | (Worker_TP0 pid=1) {HEAD}loading",
        f"2024-10-07T23:54:54,595 [INFO ] W-9000-model_1.0-stdout MODEL_LOG - (Worker_TP0 pid=1) {HEAD}loading",
        f"Aug 19 19:34:27 gpu04 vllm[8733]: (Worker_TP0 pid=1) {HEAD}loading",
        f"июн 29 16:42:44 gpu05 vllm[901]: (Worker_TP0 pid=1) {HEAD}loading",
        f"2026-08-19T19:34:27+0200 gpu04 vllm[8733]: (Worker_TP0 pid=1) {HEAD}loading",
        json.dumps({"log": f"(Worker_TP0 pid=1) {HEAD}loading\n", "stream": "stderr", "time": "2025-05-16T14:12:16Z"}),
        f"(Worker_TP0 pid=1) {HEAD}loading      \r",
    ],
)
def test_wrappings_are_taken_off(line: str) -> None:
    assert one(line) == Peeled("loading", Level.INFO, Kind.LINE, "Worker_TP0", 0, 1, "core.py:12", "02-05 14:07:01")


@pytest.mark.parametrize(
    ("line", "level", "source", "text"),
    [
        ("INFO:     Started server process [582]", Level.INFO, "uvicorn", "Started server process [582]"),
        ("ERROR:    Exception in ASGI application", Level.ERROR, "uvicorn", "Exception in ASGI application"),
        ("[W1129 13:24:36.092196226 utils.cpp:68] Warning: NUMA", Level.WARNING, "utils.cpp:68", "Warning: NUMA"),
        ("[E1129 13:24:36.092 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught", Level.ERROR, "ProcessGroupNCCL.cpp:632", "[Rank 3] Watchdog caught"),
        ("E0000 00:00:1731 123 cuda_dnn.cc:8310] Unable to register", Level.ERROR, "cuda_dnn.cc:8310", "Unable to register"),
        ("/opt/x/dispatcher.py:138: FutureWarning: `a` is deprecated", Level.WARNING, "dispatcher.py:138", "FutureWarning: `a` is deprecated"),
        ("[2025-11-06 10:50:43] INFO tokenization_kimi.py:119: #words", Level.INFO, "tokenization_kimi.py:119", "#words"),
        ("2025-08-27 05:43:37,609 - INFO - autotuner.py:256 - flashinfer.jit: starts", Level.INFO, "autotuner.py:256", "flashinfer.jit: starts"),
        ("2025-09-01 04:23:03,321 - modelscope - WARNING - exists", Level.WARNING, "modelscope", "exists"),
        ("2025-04-29 14:37:11,961 INFO worker.py:1841 -- Connected", Level.INFO, "worker.py:1841", "Connected"),
        ("2026-01-01 10:00:00.123 | ERROR    | app.main:run:12 - broken", Level.ERROR, "app.main:run:12", "broken"),
        ("2026-01-01T00:00:00.123456Z  WARN vllm_router::server: slow", Level.WARNING, "vllm_router::server", "slow"),
        ("WARNING:root:careful", Level.WARNING, "root", "careful"),
        ("Traceback (most recent call last):", Level.ERROR, "", "Traceback (most recent call last):"),
        ("torch.OutOfMemoryError: CUDA out of memory.", Level.ERROR, "", "torch.OutOfMemoryError: CUDA out of memory."),
        ("Some error happened, says a word", Level.INFO, "", "Some error happened, says a word"),
        ("    raise ValueError(x)", Level.INFO, "", "    raise ValueError(x)"),
    ],
)  # fmt: skip
def test_what_others_print(line: str, level: Level, source: str, text: str) -> None:
    found = one(line)
    assert (found.level, found.source, found.text, found.stamp) == (level, source, text, "")
    assert one(f"(EngineCore pid=5) {line}")[1:5] == (level, found.kind, "EngineCore", None)


def test_ranks_that_libraries_name() -> None:
    watchdog = one("[rank3]:[E1129 13:24:36.092 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught")
    assert (watchdog.rank, watchdog.level) == (3, Level.ERROR)
    trace = one("[rank2]: Traceback (most recent call last):")
    assert (trace.rank, trace.text, trace.level) == (2, "Traceback (most recent call last):", Level.ERROR)


def test_nccl_names_its_pid_and_level() -> None:
    line = "[2025-10-13 10:06:25] node-0:3669:4050 [0] misc/shmutils.cc:129 NCCL WARN Error while creating"
    assert one(line)[:2] == ("NCCL WARN Error while creating", Level.WARNING)
    info = one("h07:861:3122 [0] NCCL INFO comm 0x55 rank 0 - Init COMPLETE")
    assert (info.text, info.level, info.source, info.pid) == (
        "NCCL INFO comm 0x55 rank 0 - Init COMPLETE",
        Level.INFO,
        "NCCL",
        861,
    )


@pytest.mark.parametrize(
    "client", ["127.0.0.1:47508", "::1:47508", "10.0.0.1:1", ""]  # nothing behind a unix socket
)  # fmt: skip
def test_access_lines(client: str) -> None:
    found = one(f'(APIServer pid=5) INFO:     {client} - "GET /health HTTP/1.1" 200 OK')
    assert (found.kind, found.source, found.level, found.process) == (Kind.ACCESS, "uvicorn", Level.INFO, "APIServer")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        # Up to 0.30.0 the prefix stands before the carriage return.
        ("(Worker_TP0 pid=1) \rLoading safetensors checkpoint shards:  33% Completed | 1/3 [00:01<00:02,  1.20s/it]", "Loading safetensors checkpoint shards:  33% Completed | 1/3 [00:01<00:02,  1.20s/it]"),
        ("(Worker_TP0 pid=1) \rCapturing CUDA graphs (decode, FULL):   0%|          | 0/2 [00:00<?, ?it/s]\rCapturing CUDA graphs (decode, FULL): 100%|██████████| 2/2 [00:01<00:00,  1.5it/s]\r   ", "Capturing CUDA graphs (decode, FULL): 100%|██████████| 2/2 [00:01<00:00,  1.5it/s]"),
        ("(Worker_TP0 pid=1) DeepGEMM warmup:  72%|███████▏  | 574/797 [00:59<00:22,  9.70it/s]", "DeepGEMM warmup:  72%|███████▏  | 574/797 [00:59<00:22,  9.70it/s]"),
        ("(Worker_TP0 pid=1) Reconstructing:   0%|      |  0.00B / 51.6GB", "Reconstructing:   0%|      |  0.00B / 51.6GB"),
        ("(Worker_TP0 pid=1) Downloading bytes:       |  0.00B", "Downloading bytes:       |  0.00B"),
        ("(Worker_TP0 pid=1) Tokenizing: 12it [00:03,  3.9it/s]", "Tokenizing: 12it [00:03,  3.9it/s]"),
    ],
)  # fmt: skip
def test_bars_keep_their_last_state(line: str, text: str) -> None:
    assert one(line) == Peeled(text, Level.INFO, Kind.BAR, "Worker_TP0", 0, 1)


def test_a_bare_bar_of_the_newest_versions() -> None:
    assert (
        one("\rLoading safetensors checkpoint shards: 100% Completed | 4/4 [00:00<00:00, 354.59it/s]").kind is Kind.BAR
    )


def test_a_percentage_in_a_vllm_record_is_no_bar() -> None:
    assert one(f"{HEAD}Prefetching checkpoint files: 20% (2/2)").kind is Kind.LINE


def test_a_record_glued_to_a_bar_is_two() -> None:
    bar, line = peel(
        f"Capturing CUDA graph shapes:   0%|     | 0/11 [00:00<?, ?it/s](VllmWorkerProcess pid=17) {HEAD}Capturing cudagraphs"
    )
    assert (bar.kind, bar.process, bar.text) == (
        Kind.BAR,
        None,
        "Capturing CUDA graph shapes:   0%|     | 0/11 [00:00<?, ?it/s]",
    )
    assert (line.kind, line.process, line.pid, line.text) == (
        Kind.LINE,
        "VllmWorkerProcess",
        17,
        "Capturing cudagraphs",
    )


def test_a_record_glued_to_half_a_line_keeps_both() -> None:
    first, second = peel(f"h07:861:861 [0] NC(RayWorkerWrapper pid=366, ip=10.0.0.1) {HEAD}Found nccl")
    assert (first.text, second.text, second.process) == ("h07:861:861 [0] NC", "Found nccl", "RayWorkerWrapper")


def test_two_records_on_one_line() -> None:
    first, second = peel(f"(Worker_TP0 pid=1) {HEAD}one two(Worker_TP1 pid=2) {HEAD}three")
    assert (first.text, first.pid, second.text, second.pid) == ("one two", 1, "three", 2)


def test_text_after_a_bar_is_a_line_of_its_own() -> None:
    bar, line = peel("(Worker_TP0 pid=1) \rx: 100%|███| 2/2 [00:01<00:00,  1.5it/s]\rdone and gone")
    assert (bar.kind, line.kind, line.text, line.pid) == (Kind.BAR, Kind.LINE, "done and gone", 1)


@pytest.mark.parametrize(
    "line", ["", "   ", "\r", "(Worker_TP0 pid=1)", "(Worker_TP0 pid=1) \r", f"(Worker_TP0 pid=1) {HEAD}", f"{ESC}[0m"]
)
def test_lines_that_hold_nothing_are_dropped(line: str) -> None:
    assert peel(line) == []


def test_json_logging() -> None:
    line = {
        "asctime": "2026-02-05 14:07:01,123", "levelname": "ERROR", "name": "vllm.v1.engine.core", "processName": "Worker_TP2",
        "process": 31, "message": "failed\r\nbadly", "exc_info": "Traceback (most recent call last):\n  ...",
    }  # fmt: skip
    found = one(json.dumps(line))
    assert (found.level, found.process, found.rank, found.pid, found.source) == (
        Level.ERROR,
        "Worker_TP2",
        2,
        31,
        "vllm.v1.engine.core",
    )
    assert found.text == "failed\nbadly\nTraceback (most recent call last):\n  ..."
    access = one(
        json.dumps(
            {
                **line,
                "name": "uvicorn.access",
                "levelname": "INFO",
                "exc_info": None,
                "message": '1.2.3.4:5 - "GET / HTTP/1.1" 200',
            }
        )
    )
    assert (access.kind, access.source) == (Kind.ACCESS, "uvicorn")


@pytest.mark.parametrize(
    "line", ['{"model": "x", "note": 1}', "{'a': 1}", "{}", '{"message": "no level"}', '["list"]', "{"]
)
def test_other_json_stays_as_it_is(line: str) -> None:
    assert one(line).text == line


def test_systemd_lines_of_a_paste() -> None:
    found = one("Aug 07 11:48:33 gpu02 systemd[1]: vllm.service: Found left-over process 5466")
    assert (found.kind, found.source, found.pid) == (Kind.SYSTEMD, "systemd", 1)


def test_bytes_that_are_no_utf8() -> None:
    assert one(b"(Worker_TP0 pid=1) caf\xe9").text == "caf\ufffd"


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200)))
def test_whatever_comes_is_taken(line: bytes | str) -> None:
    for part in peel(line):
        assert part.text.strip()
        assert "\r" not in part.text


@given(
    st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=60),
    st.sampled_from(["", "(Worker_TP1 pid=7) "]),
)
def test_text_behind_a_header_is_never_changed(text: str, prefix: str) -> None:
    assert one(f"{prefix}{HEAD}{text}").text == text


# INFO, WARNING and ERROR, bars and access lines, as grep counts them in the same bytes; lone prefixes and empty messages
# (one to four a run) are no records.
RUNS = {
    "D0-dense8b-base": (187, 4, 0, 12, 76),
    "D5-dense8b-ngram-k5": (223, 10, 0, 12, 106),
    "E3-moe30b-eagle3-k3": (214, 10, 0, 22, 72),
    "M0-moe30b-base": (200, 5, 8, 20, 76),
    "M0s-moe30b-base-sync": (162, 5, 0, 20, 47),
    "M5-moe30b-ngram-k5": (236, 8, 0, 20, 106),
}


@pytest.mark.parametrize("run", RUNS)
def test_recorded_starts(run: str) -> None:
    parts = [part for line in as_journald_keeps(capture(run)) for part in peel(line)]
    levels, kinds = [part.level for part in parts], [part.kind for part in parts]
    counts = (
        levels.count(Level.INFO),
        levels.count(Level.WARNING),
        levels.count(Level.ERROR),
        kinds.count(Kind.BAR),
        kinds.count(Kind.ACCESS),
    )
    assert counts == RUNS[run]
    assert {part.process for part in parts} == {"APIServer", "EngineCore", None}

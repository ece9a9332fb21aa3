"""What files mean together, in kinds that the public cases do not hold."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest

from specconsole.explain.document import document
from specconsole.explain.files import explain
from specconsole.explain.report import Report

STATS = "(APIServer pid=1) INFO 06-01 10:00:{second:02d} [loggers.py:259] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: {rate} tokens/s, Running: {running} reqs, Waiting: 0 reqs, GPU KV cache usage: 4.1%\n"
COUNTERS = 'vllm:generation_tokens_total{{engine="0"}} {made}\nvllm:spec_decode_num_drafts_total{{engine="0"}} {drafts}\nvllm:spec_decode_num_draft_tokens_total{{engine="0"}} {drafted}\nvllm:spec_decode_num_accepted_tokens_total{{engine="0"}} {accepted}\nprocess_start_time_seconds {start}\n'


def explained(*contents: str) -> Report:
    return explain((f"f{place}", BytesIO(content.encode())) for place, content in enumerate(contents))


def told(*contents: str) -> dict[str, Any]:
    return document(explained(*contents))


@pytest.mark.parametrize(("running", "word"), [(3, "stuck"), (0, "idle")])
def test_silence_of_a_server_depends_on_what_runs(running: int, word: str) -> None:
    assert told(STATS.format(second=1, rate=0.0, running=running), "06-01 10:05:00\n")["verdict"]["judgement"] == word


def test_a_bad_request_is_no_failure_of_a_server() -> None:
    log = STATS.format(second=1, rate=10.0, running=1) + "(APIServer pid=1) ValueError: prompt is too long\n"
    found = told(log)
    assert "diagnosis" not in found
    assert found["load"]["failed"] is False


def test_the_grave_xid_is_the_cause() -> None:
    lines = "[12345.1] NVRM: Xid (PCI:0000:41:00): 45, pid=4712, name=x, Ch 1\n[12345.678901] NVRM: Xid (PCI:0000:c1:00): 79, GPU has fallen off the bus.\n"
    found = told(lines)
    assert found["diagnosis"]["numbers"]["xid"] == 79
    assert [one["code"] for one in found["host"]["xids"]] == [79, 45]


def test_a_journal_that_may_not_be_read_is_no_empty_log() -> None:
    found = told("Hint: You are currently not seeing messages from other users and the system.\n-- No entries --\n")
    assert found["journal"]["limited"] == "no permission"
    assert "verdict" not in found
    assert found["unknown"] == ["the journal: no permission"]


def test_a_start_that_a_time_limit_ends_again_and_again() -> None:
    show = "Id=a.service\nType=notify\nLoadState=loaded\nActiveState=activating\nSubState=auto-restart\nResult=timeout\nNRestarts=14\nMemoryCurrent=[not set]\nTimeoutStartUSec=1min 30s\n"
    found = told(show)
    assert found["diagnosis"]["name"] == "start_timeout"
    assert any("Type=exec" in text for text in found["advice"])
    status = "● a.service - x\n     Loaded: loaded (/etc/a.service; enabled)\n     Active: failed (Result: exit-code) since x\n   Main PID: 812 (code=exited, status=1/FAILURE)\n"
    assert told(status)["units"][0]["main_pid"] == 812


def test_a_win_that_the_load_takes_away() -> None:
    wide = "concurrency,baseline_tok_s,spec_tok_s\n1,91.5,112.5\n128,2164.7,2044.3\n"
    table = "| concurrency | k | tok/s |\n|---|---|---|\n| 1 | 0 | 91.5 |\n| 1 | 3 | 112.5 |\n| 128 | 0 | 2164.7 |\n| 128 | 3 | 2044.3 |\n"
    for text in (wide, table):
        found = told(text)["comparison"]
        assert found["word"] == "mixed"
        assert [round(row["speedup"], 3) for row in found["rows"]] == [1.23, 0.944]


def test_notes_are_read_to_the_number() -> None:
    found = told(
        "Baseline: 74.2 tok/s, TPOT 13.5 ms\nngram k=5: 62.1 tok/s, TPOT (mean) 16.1 ms, acceptance length 1.61\n"
    )["comparison"]
    assert (found["baseline"]["tpot_s"], found["rows"][0]["arm"]["tpot_s"]) == (0.0135, 0.0161)


def test_several_scrapes_are_told_by_what_they_gained() -> None:
    first = COUNTERS.format(made=100, drafts=10, drafted=30, accepted=20, start=1.7e9)
    found = told(first, COUNTERS.format(made=900, drafts=210, drafted=630, accepted=320, start=1.7e9))["window"]
    assert (found["reset"], found["acceptance"]["rate"], found["acceptance"]["length"]) == (False, 0.5, 2.5)
    again = told(first, COUNTERS.format(made=50, drafts=1, drafted=3, accepted=2, start=1.71e9))["window"]
    assert (again["restarted"], again["reset"], again["acceptance"]["rate"]) == (True, True, None)


def test_one_look_at_a_process_that_waits_proves_nothing() -> None:
    ps = "    PID    PPID STAT %CPU     TIME COMMAND\n   4711       1 D     0.1 00:01:00 VLLM::Worker_TP0\n"
    assert "verdict" not in told(ps)
    log = "(Worker_TP0 pid=4711) INFO 06-01 10:00:01 [x.py:1] Starting to load model /m/x...\n"
    assert told(log, ps)["verdict"]["signature"] != "blocked"
    assert (
        told(ps, ps.replace("0.1", "0.0"), "GPU 00000000:4F:00.0\n", "0, NVIDIA H200, 0 %, 9 MiB, 143771 MiB\n")[
            "verdict"
        ]["signature"]
        == "blocked"
    )


def test_cells_that_hold_no_number_keep_their_gpu() -> None:
    table = (
        "| NVIDIA-SMI 535.183.01   Driver Version: 535.183.01   CUDA Version: 12.2     |\n"
        "|   0  NVIDIA A100-SXM...  Off  | 00000000:0B:00.0 Off |                    0 |\n"
        "| ERR!   31C    P0    ERR! / 400W |  0MiB / 81920MiB |    ERR!      Default |\n"
    )
    (gpu,) = told(table)["gpus"]["gpus"]
    assert (gpu["power_w"], gpu["util"], gpu["power_limit_w"]) == (None, None, 400.0) or gpu["error"]
    detail = "GPU 00000000:4F:00.0\n    Product Name                          : NVIDIA H200\n    FB Memory Usage\n        Total                             : 143771 MiB\n        Used                              : 130000 MiB\n    Utilization\n        Gpu                               : 97 %\n        Average Power Draw                : 122.10 W\n"
    (card,) = told(detail)["gpus"]["gpus"]
    assert (card["memory_used"] >> 20, card["util"], card["power_w"]) == (130000, 0.97, 122.1)


def test_a_full_disk_is_told() -> None:
    df = "Filesystem      Size  Used Avail Use% Mounted on\ntmpfs            64M   64M     0 100% /dev/shm\n/dev/nvme0n1p1  3.5T  1.2T  2.3T  35% /models\n"
    assert told(df)["host"]["full"] == ["/dev/shm"]

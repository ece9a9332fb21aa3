"""What a host's tools print, in more of their forms: what is read of it, and what a colleague would add."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest

from specconsole.explain.files import explain
from specconsole.explain.lines import lines
from tests.explain.test_meaning import told

TABLE = """+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 570.124.06             Driver Version: 570.124.06     CUDA Version: 12.8     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
|=========================================+========================+======================|
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:1B:00.0 Off |                    2 |
| N/A   38C    P0            121W /  700W |   71234MiB /  81559MiB |      0%      Default |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA H100 80GB HBM3          On  |   00000000:43:00.0 Off |                    0 |
| N/A   ERR!  ERR!          ERR! / ERR!   |   71210MiB /  81559MiB |    ERR!      Default |
+-----------------------------------------+------------------------+----------------------+
"""
LOST_CELLS = "index, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n0, NVIDIA H200, 3 %, 120000 MiB, 143771 MiB\n1, NVIDIA H200, [GPU is lost], [GPU is lost], [GPU is lost]\n"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (TABLE, "gpu_error"),
        (LOST_CELLS, "gpu_lost"),
        ("Unable to determine the device handle for GPU4: 0000:9B:00.0: Unknown Error\n", "gpu_lost"),
        ("bash: nvidia-smi: command not found\n", "tool_missing"),
        ("Failed to initialize NVML: Unknown Error\n", "nvml_error"),
        ("No devices were found\n", "no_devices"),
    ],
    ids=["ERR!", "lost cells", "numbered handle", "no tool", "nvml", "no devices"],
)
def test_what_nvidia_smi_complains_of_is_named(text: str, status: str) -> None:
    found = told(text)
    assert found["gpus"]["status"] == status
    assert found["advice"]


def test_uncorrected_errors_of_memory_are_told_from_the_table() -> None:
    assert any("GPU 0: 2 uncorrected ECC errors" in text for text in told(TABLE)["advice"])
    assert [gpu["error"] is None for gpu in told(TABLE)["gpus"]["gpus"]] == [True, False]


def test_columns_without_a_blank_behind_the_comma() -> None:
    found = told(
        "index,name,utilization.gpu,memory.used,memory.total\n0,NVIDIA L40S,97,40211,46068\n1,NVIDIA L40S,0,4,46068\n"
    )
    assert [gpu["util"] for gpu in found["gpus"]["gpus"]] == [0.97, 0.0]
    assert found["headline"] == "2 GPUs, 39.3 GiB of 90.0 GiB used, the busiest at 97 %."


JOURNAL = "Mar 03 10:11:12 gpu3 systemd[1]: vllm.service: "


@pytest.mark.parametrize(
    ("log", "name"),
    [
        (JOURNAL + "Watchdog timeout (limit 30s)!\n" + JOURNAL + "Failed with result 'watchdog'.\n", "watchdog"),
        (
            JOURNAL + "State 'stop-sigterm' timed out. Killing.\n" + JOURNAL + "Failed with result 'timeout'.\n",
            "stop_timeout",
        ),
        (JOURNAL + "start operation timed out. Terminating.\n", "start_timeout"),
        (JOURNAL + "Main process exited, code=killed, status=9/KILL\n", "killed"),
        ("[ 12.120391] nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 51 LTSSM Fault Up\n", "gpu_fault"),
        ("[ 12.120391] NVRM: Xid (PCI:0000:1b:00): 31, pid=1823, name=python3, MMU Fault\n", "gpu_error"),
        ("[ 12.120391] NVRM: Xid (PCI:0000:1b:00): 79, pid=1823, GPU has fallen off the bus.\n", "gpu_fault"),
    ],
)
def test_what_systemd_and_the_kernel_say(log: str, name: str) -> None:
    found = told(log)
    assert found["diagnosis"]["name"] == name
    assert found["load"]["ready"] is False


def test_a_kill_is_told_by_what_the_log_says_itself() -> None:
    said = "Mar 03 10:11:10 gpu3 vllm[7]: ValueError: No available memory for the cache blocks. Try increasing it.\n"
    found = told(said + JOURNAL + "Main process exited, code=killed, status=9/KILL\n")
    assert found["diagnosis"]["name"] == "no_kv_memory"


def unit(text: str) -> dict[str, Any]:
    found: dict[str, Any] = told(text)["units"][0]
    return found


def test_a_failed_unit_by_its_status() -> None:
    status = "× a.service - x\n     Loaded: loaded (/etc/a.service; enabled)\n     Active: failed (Result: oom-kill) since x\n   Main PID: 4111 (code=killed, signal=KILL)\n"
    assert (unit(status)["active"], unit(status)["result"], unit(status)["exit_status"]) == ("failed", "oom-kill", 9)
    assert told(status)["diagnosis"]["name"] == "host_oom"


@pytest.mark.parametrize(
    ("said", "load"),
    [
        ("Unit a.service could not be found.\n", "not-found"),
        ("Failed to start a.service: Unit a.service not found.\n", "not-found"),
        ("Failed to start a.service: Unit a.service is masked.\n", "masked"),
    ],
)
def test_a_unit_that_systemctl_refuses(said: str, load: str) -> None:
    assert (unit(said)["name"], unit(said)["load"], unit(said)["startable"]) == ("a.service", load, False)


def test_df_with_the_type_of_each_file_system() -> None:
    df = "Filesystem     Type      Size  Used Avail Use% Mounted on\n/dev/md0       ext4      3.5T  3.5T     0 100% /data\ntmpfs          tmpfs      64M   12M   52M  19% /dev/shm\n"
    assert told(df)["host"]["full"] == ["/data"]
    assert told(df)["host"]["shm_free"] == 52 << 20


def test_an_engine_without_its_server_is_pointed_out() -> None:
    ps = "  PID  PPID S    ELAPSED COMMAND\n77641     1 S   03:12:11 VLLM::EngineCore\n77700 77690 S   03:12:11 VLLM::Worker_TP0\n"
    found = told(ps)
    assert [one["pid"] for one in found["host"]["orphans"]] == [77641]
    assert "77641" in found["headline"]
    assert "77641" in found["advice"][0]


def test_kernel_messages_that_journald_missed_are_a_gap() -> None:
    found = told("Mar 03 10:11:12 gpu3 systemd-journald[611]: Missed 212 kernel messages\n")["journal"]
    assert (found["complete"], found["gaps"][0]["count"], found["gaps"][0]["unit"]) == (False, 212, "kernel")


@pytest.mark.parametrize(
    ("pasted", "kind", "headline"),
    [
        ("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-11111111-2222-3333-4444-555555555555)\n", "smi_list", "One GPU."),
        ("GPU 0: NVIDIA L4 (UUID: GPU-11111111-2222-3333-4444-555555555555)\r\nGPU 1: NVIDIA L4 (UUID: GPU-11111111-2222-3333-4444-555555555556)\r\n", "smi_list", "2 GPUs."),
    ],
)  # fmt: skip
def test_a_pasted_list_of_gpus_is_recognised(pasted: str, kind: str, headline: str) -> None:
    report = explain(iter([("paste", BytesIO(pasted.encode()))]))
    assert [file.kind for file in report.files] == [kind]
    assert next(iter(lines(report))) == headline


def test_a_pasted_status_says_how_a_unit_failed() -> None:
    pasted = (
        "× vllm.service - vLLM\n     Loaded: loaded (/etc/systemd/system/vllm.service; enabled; preset: enabled)\n"
        "     Active: failed (Result: exit-code) since Mon 2026-11-30 12:00:00 UTC; 5min ago\n"
    )
    report = explain(iter([("paste", BytesIO(pasted.encode()))]))
    assert "  unit          vllm.service: loaded, failed (exit-code)" in lines(report)

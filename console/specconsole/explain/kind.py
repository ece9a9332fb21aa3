"""The kinds of files that are read, and what each is called."""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    """What a file holds, told by its content alone."""

    LOG = "log"
    RECORDS = "records"
    FRAMES = "frames"
    BUNDLE = "bundle"
    METRICS = "metrics"
    HTTP = "http"
    STREAM = "stream"
    BENCH_TEXT = "bench_text"
    BENCH_JSON = "bench_json"
    AIPERF = "aiperf"
    GUIDELLM = "guidellm"
    RUN = "run"
    SWEEP = "sweep"
    NOTES = "notes"
    SMI_CSV = "smi_csv"
    SMI_APPS = "smi_apps"
    SMI_TABLE = "smi_table"
    SMI_DMON = "smi_dmon"
    SMI_TOPO = "smi_topo"
    SMI_LIST = "smi_list"
    SMI_DETAIL = "smi_detail"
    SMI_MESSAGE = "smi_message"
    PS = "ps"
    PROC_IO = "proc_io"
    PROC_STAT = "proc_stat"
    PROC_STACK = "proc_stack"
    STACK = "stack"
    MEMINFO = "meminfo"
    DRIVER = "driver"
    SHOW = "show"
    STATUS = "status"
    LSPCI = "lspci"
    DISK = "disk"
    USAGE = "usage"
    TOOLKIT = "toolkit"
    MOMENT = "moment"
    CALLS = "calls"
    EMPTY = "empty"
    UNKNOWN = "unknown"

    @property
    def title(self) -> str:
        """What a person calls it."""
        return _TITLES[self]


_TITLES = {
    Kind.LOG: "log",
    Kind.RECORDS: "log of a bundle",
    Kind.FRAMES: "samples of a host",
    Kind.BUNDLE: "part of a bundle for people",
    Kind.METRICS: "scrape of /metrics",
    Kind.HTTP: "HTTP answer",
    Kind.STREAM: "captured stream of events",
    Kind.BENCH_TEXT: "report of a benchmark client",
    Kind.BENCH_JSON: "result file of vllm bench serve",
    Kind.AIPERF: "result file of AIPerf",
    Kind.GUIDELLM: "result file of GuideLLM",
    Kind.RUN: "run of specconsole bench",
    Kind.SWEEP: "table of measured configurations",
    Kind.NOTES: "hand-written results",
    Kind.SMI_CSV: "nvidia-smi --query-gpu",
    Kind.SMI_APPS: "nvidia-smi --query-compute-apps",
    Kind.SMI_TABLE: "nvidia-smi's table",
    Kind.SMI_DMON: "nvidia-smi dmon",
    Kind.SMI_TOPO: "nvidia-smi topo -m",
    Kind.SMI_LIST: "nvidia-smi -L",
    Kind.SMI_DETAIL: "nvidia-smi -q",
    Kind.SMI_MESSAGE: "a failure of nvidia-smi",
    Kind.PS: "list of processes",
    Kind.PROC_IO: "/proc/PID/io",
    Kind.PROC_STAT: "/proc/PID/stat",
    Kind.PROC_STACK: "kernel stack",
    Kind.STACK: "stacks of Python processes",
    Kind.MEMINFO: "/proc/meminfo",
    Kind.DRIVER: "/proc/driver/nvidia/version",
    Kind.SHOW: "systemctl show",
    Kind.STATUS: "systemctl status",
    Kind.LSPCI: "lspci",
    Kind.DISK: "fill of file systems",
    Kind.USAGE: "sizes of folders",
    Kind.TOOLKIT: "nvcc --version",
    Kind.MOMENT: "the time of collection",
    Kind.CALLS: "recorded commands",
    Kind.EMPTY: "empty file",
    Kind.UNKNOWN: "not recognised",
}

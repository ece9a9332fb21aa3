"""Signatures of a load: what a set of readings is called, what it means and what to do about it; a table of data.

Rows are tried in their order by `judge`; the first whose condition (the function of its name in `condition`) holds decides.
A sentence names only what the readings beside it show; where these differ from case to case, `sentence` says which it is.
Sources: reports of hangs and slow loads by people who run vLLM, and real starts on an H200.
"""

from __future__ import annotations

from typing import NamedTuple


class Signature(NamedTuple):
    """One row."""

    name: str
    sentence: str
    advice: str = ""
    probe: str = ""


STACK = (
    "two stacks of a worker half a minute apart (py-spy dump --pid PID, twice): a changed innermost frame means work"
)
P2P = (
    "Start it with NCCL_P2P_DISABLE=1 and --disable-custom-all-reduce: if that comes up, the path between the GPUs is at"
    " fault (IOMMU or ACS on PCIe, fabric manager on NVLink)"
)
SIGNATURES: tuple[Signature, ...] = (
    Signature("desync", "all data-parallel engines wait for one another, and nothing is generated", "Restart it: the ranks no longer agree on what to do"),
    Signature("wedge", "requests run and no token comes", "Restart it once its stacks are saved", STACK),
    Signature("serving", "it serves requests"),
    Signature("idle", "it answers and has nothing to do"),
    Signature("peers", "it waits for other nodes or processes", "Look at the host that is missing: its unit, its network, and the port of Ray or the rendezvous"),
    Signature("held_memory", "other processes hold the GPU memory that this start needs", "Stop the holder, or wait for it to end; vLLM checks right after its start and gives up"),
    Signature("mmap", "pages of the checkpoint are fetched one by one through a mapping, in the way of network disks", "Start it with --safetensors-load-strategy prefetch (or eager) next time; this load gets there, slowly"),
    Signature("compilers", "kernels are being compiled; a first start on a cold cache takes 1 to 10 min for it"),
    Signature("reading", "files are being read"),
    Signature("copying", "data is moving over PCIe"),
    Signature("receiving", "data arrives from the network"),
    Signature("computing", "the GPUs compute"),
    Signature("stepping", "its stacks change from one look to the next, as they only do in work"),
    Signature("network", "NCCL's network fails, and nothing moves", "Test with NCCL_IB_DISABLE=1; then look at the RoCE and GPU-direct settings (NCCL_IB_GDR_LEVEL, NCCL_NET_GDR_LEVEL)"),
    Signature("ghost", "the GPUs seem busy at idle power: a collective spins and nothing comes", P2P, STACK),
    Signature("same_frame", "the same innermost frame twice, and nothing else moves", P2P, "its kernel and NCCL's state: NCCL_DEBUG=INFO, cuda-gdb or a core"),
    Signature("blocked", "processes wait for storage that does not answer", "Look at the file system (dmesg, mount): no signal reaches a process in that state"),
    Signature("download", "a download stands still", "Set HF_HUB_DISABLE_XET=1 and fetch the model before the start; partial files are resumed"),
    Signature("flat", "its processes idle, and nothing moves", "Restart it once its stacks are saved", STACK),
    Signature("collective", "the first collective has not come back", P2P, STACK),
    Signature("counting", "the count moves on"),
    Signature("overdue", "the count has not moved for three times its slowest recent step", "", "bytes read of the workers, twice (/proc/PID/io)"),
    Signature("traced", "every Python function is recorded (VLLM_TRACE_FUNCTION), which slows it many times over", "Unset VLLM_TRACE_FUNCTION, and raise the start's time limit until then"),
    Signature("filling", "the memory in use changes"),
    Signature("forking", "processes are being started"),
    Signature("spinning", "all GPUs seem busy, as while a collective waits"),
    Signature("thinking", "the CPU is busy"),
    Signature("long_thinking", "nothing but CPU time has moved on for longer than usual", "", STACK),
    Signature("fresh", "it moved a moment ago"),
    Signature("gathering", "too early to tell: it takes two samples of the host half a minute apart"),
    Signature("heartbeats", "the log only says that it waits, which tells nothing of the engine", "", "CPU time, bytes read and GPUs of the engine's processes, twice half a minute apart"),
    Signature("silent", "what can be seen does not tell whether it gets on", "", "CPU time, bytes read and GPUs of the unit's processes, twice half a minute apart"),
)  # fmt: skip
BY_NAME = {row.name: row for row in SIGNATURES}

CAUSES: tuple[tuple[str, str], ...] = (
    ("nccl_ib_error", "network"),
    ("dp_rank_desync", "desync"),
    ("mmap_network_fs", "mmap"),
    ("trace_function_enabled", "traced"),
    ("hf_xet_stall", "download"),
    ("gpu_memory_held", "held_memory"),
    ("storage_stalled", "blocked"),
)
"""Causes that follow from the signature alone; those of a hung collective depend on when it hangs."""

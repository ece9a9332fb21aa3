"""Lines that tell more of a start than its phases do: ports, versions of libraries, ranks, seconds of single steps; data."""

from __future__ import annotations

import re

NUMBERS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("port", re.compile(r"Starting vLLM (?:API )?server.{0,12}? on https?://\S*?:(\d{1,5})\b")),
    ("port", re.compile(r"Uvicorn running on https?://\S*?:(\d{1,5})\b")),
    ("port", re.compile(r"(?:^|[ ({,])'?port'?[=:] ?(\d{1,5})\b")),
    ("nodes", re.compile(r"'?nnodes'?[=:] ?(\d{1,5})\b")),
    ("tensor_parallel", re.compile(r"'?tensor_parallel_size'?[=:] ?(\d{1,5})\b")),
    ("pipeline_parallel", re.compile(r"'?pipeline_parallel_size'?[=:] ?(\d{1,5})\b")),
    ("data_parallel", re.compile(r"'?data_parallel_size'?[=:] ?(\d{1,5})\b")),
    ("k", re.compile(r"num_spec(?:ulative)?_tokens['\"]?[=:] ?(\d{1,4})\b")),
    ("engine_pid", re.compile(r"Started engine process with PID (\d{1,9})")),
    ("restarts", re.compile(r"Scheduled restart job, restart counter is at (\d{1,9})")),
    ("nccl_ranks", re.compile(r"NCCL INFO .{0,200}?\bnranks[ =](\d{1,6})\b")),
    ("world_size", re.compile(r"(?:\bworld_size=|in world size )(\d{1,6})\b")),
)
"""Whole numbers; the first line that says one counts, of the port the last."""

SECONDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("dynamo", re.compile(r"Dynamo bytecode transform time: (\d{1,9}(?:\.\d{1,9})?) s")),
    ("profiling", re.compile(r"Initial profiling/warmup run took (\d{1,9}(?:\.\d{1,9})?) s")),
    ("profiling", re.compile(r"Memory profiling takes (\d{1,9}(?:\.\d{1,9})?) seconds")),
    ("mm_warmup", re.compile(r"Multi-?modal (?:processor )?warm-?up completed in (\d{1,9}(?:\.\d{1,9})?) ?s")),
    ("prefetch", re.compile(r"Prefetching checkpoint files into page cache finished in (\d{1,9}(?:\.\d{1,9})?) ?s")),
)
"""Seconds of single steps; the longest of several counts."""

WORDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("platform", re.compile(r"Automatically detected platform (\w{1,20})")),
    ("platform", re.compile(r"device_config=(\w{1,20})")),
    ("nccl", re.compile(r"vLLM is using nccl==(\d[\w.]{0,20})")),
    ("nccl", re.compile(r"NCCL version (\d[\d.]{1,20})")),
    ("proposer", re.compile(r"proposer=<class '(?:[\w]{1,64}\.){0,12}(\w{1,64})'>")),
    ("method", re.compile(r"['\"]method['\"]: ?['\"](\w{1,40})['\"]")),
    ("method", re.compile(r"SpeculativeConfig\(method='(\w{1,40})'")),
)  # fmt: skip

ENGINES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("V0", re.compile(r"Falling back to V0|a V0 LLM engine|SpecDecodeWorker|# \w+ blocks: \d+, # CPU blocks|Memory profiling takes |Capturing cudagraphs for decoding|Initializing an LLM engine \(v0\.[0-7]\.|Swapped: \d+ reqs|Started engine process with PID")),
    ("V1", re.compile(r"a V1 LLM engine|on V1 engine|GPU KV cache size: |core engine proc\(s\) to start|Engine 0\d\d: |EngineCore")),
)  # fmt: skip
"""What only one of the two engines prints; the first that is found stays, but a fall-back to V0 is believed at once."""
PROCESSES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("V0", re.compile(r"VllmWorkerProcess$")),
    ("V1", re.compile(r"EngineCore|VllmWorker |Worker_|Worker$|APIServer|ApiServer")),
)

EXECUTORS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("ray", re.compile(r"Ray cluster|ray workers|local Ray instance|RayDistributedExecutor")),
    ("mp", re.compile(r"multiproc_executor|fallback to mp distributed executor")),
)
SPECULATES = re.compile(
    r"speculative decoding|SpecDecodeWorker|Loading drafter model|SpecDecoding metrics|Speculative metrics"
)
NCCL_COMPLETE = re.compile(r"\brank (\d{1,6}) nranks \d{1,6} .{0,300}Init COMPLETE")
ASSIGNED = re.compile(r"world_size=\d+ rank=(\d{1,6})\b|\brank (\d{1,6}) in world size \d+ is assigned")
PLACE = re.compile(r"(?P<axis>DP|PP|TP|EP) rank (?P<rank>\d{1,6})\b")
PLACED = re.compile(r"(DP|PP|TP|EP)(\d{1,6})")
READY_WORKER = "Worker ready; awaiting tasks"

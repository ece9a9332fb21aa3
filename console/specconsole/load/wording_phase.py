"""The milestones of a start in every form from 0.6.0 to 0.33.0; data.

Sources: the released sources of these versions, and starts recorded on an H200 (0.24.0) and on CPUs (0.32.0).
"""

from __future__ import annotations

from specconsole.load.phase import Phase
from specconsole.load.wording import By, Edge, Table, Wording

BEGIN, END = Edge.BEGIN, Edge.END
_N = r"[\d,]+"
_S = r"(?P<took>\d{1,9}(?:\.\d{1,9})?)"
_LOADED = r"(?P<model_gib>[\d.]+) Gi?B(?: memory)?(?: and (?P<load_s>[\d.]+) seconds)?"

CONFIG = (
    Wording("vLLM API server version ", r"(?P<version>\S+)", Phase.CONFIG, until="0.14.1"),
    Wording("vLLM server version ", r"(?P<version>[^\s,]+), serving model (?P<model>\S+)", Phase.CONFIG, since="0.16.0"),
    Wording("█  version ", r"(?P<version>\S+)(?s:.{0,200}?█  model +(?P<model>\S+))?", Phase.CONFIG, since="0.16.0", inside=True),
    Wording("█  model ", r" *(?P<model>\S+)", Phase.CONFIG, since="0.16.0", inside=True),
    Wording("args: Namespace(", r"(?:.*?enforce_eager=(?P<eager>True|False))?", Phase.CONFIG, until="0.8.5"),
    Wording("non-default args: {", r"(?:.*?'enforce_eager': (?P<eager>True|False))?", Phase.CONFIG, since="0.9.0"),
    Wording("Automatically detected platform ", "", Phase.CONFIG, since="0.7.0", until="0.11.0"),
    Wording("Resolved architecture: ", r"(?P<architecture>\S+)", Phase.CONFIG, since="0.10.1"),
    Wording("Using max model len ", rf"(?P<max_model_len>{_N})", Phase.CONFIG, since="0.9.2"),
    Wording("Chunked prefill is enabled with ", "", Phase.CONFIG),
    Wording("Started engine process with PID ", "", Phase.CONFIG, until="0.10.2"),
    Wording("Launching Rust frontend: ", "", Phase.CONFIG, since="0.22.1"),
    Wording("Enforce eager set, disabling torch.compile", facts=(("eager", True),), since="0.11.1"),
)  # fmt: skip

INIT = (
    Wording("Initializing a V1 LLM engine (v", r"(?P<version>[^)\s]+)\)", Phase.INIT, BEGIN, since="0.7.3", facts=(("engine", "V1"),)),
    Wording("Initializing a V0 LLM engine (v", r"(?P<version>[^)\s]+)\)", Phase.INIT, BEGIN, since="0.7.3", until="0.10.2", facts=(("engine", "V0"),)),
    Wording("Initializing an LLM engine (v", r"(?P<version>0\.[0-6]\.[0-5][^)\s]*)\)", Phase.INIT, BEGIN, until="0.6.5", facts=(("engine", "V0"),)),
    Wording("Initializing an LLM engine (v", r"(?P<version>[^)\s]+)\)", Phase.INIT, BEGIN, since="0.6.6", until="0.7.0"),
    Wording("Wait for all ray workers", "", Phase.INIT),
    Wording("Started a local Ray instance", "", Phase.INIT),
    Wording("Connecting to existing Ray cluster", "", Phase.INIT),
    Wording("Connected to existing Ray cluster", "", Phase.INIT),
    Wording("No current placement group found", "", Phase.INIT),
    Wording("Waiting for creating a placement group", "", Phase.INIT),
    Wording("Waiting for ", r"\d+ local, [1-9]\d* remote core engine proc", Phase.INIT),
    Wording("Worker ready; awaiting tasks", "", Phase.INIT, until="0.10.2"),
    Wording("DP group leader: ", "", Phase.INIT, since="0.30.0"),
    Wording("world_size=", r"(?P<world_size>\d+) rank=\d+", Phase.INIT),
    Wording("rank ", r"\d+ in world size (?P<world_size>\d+) is assigned as ", Phase.INIT, since="0.8.0"),
    Wording("Found nccl from ", "", Phase.INIT, until="0.11.0"),
    Wording("vLLM is using nccl==", "", Phase.INIT),
    Wording("generating GPU P2P access cache in ", "", Phase.INIT),
    Wording("reading GPU P2P access cache from ", "", Phase.INIT),
    Wording("NCCL INFO ", r"(?:comm 0x\w{1,32} rank \d{1,6} |Channel \d|Bootstrap |NET/|ncclCommInitRank)", Phase.INIT),
    Wording("Configuring SpecDecodeWorker ", "", Phase.INIT, until="0.10.2", facts=(("engine", "V0"),)),
    Wording("Custom allreduce is disabled because ", "", Phase.INIT),
    Wording("Using ", r".{1,200}all-reduce backends \(in dispatch order\)", Phase.INIT, since="0.22.1"),
    Wording("Using V2 Model Runner", "", Phase.INIT, since="0.16.0", facts=(("runner", "V2"),)),
)  # fmt: skip

WEIGHTS = (
    Wording("Starting to load model ", r"(?P<model>\S+?)\.\.\.", Phase.DOWNLOAD, BEGIN, by=By.WORKERS, each=("0.6.0", "0.11.0"), facts=(("runner", "V1"),)),
    Wording("Loading model from scratch...", "", Phase.DOWNLOAD, BEGIN, by=By.WORKERS, each=("0.10.2", "0.26.0")),
    Wording("Time spent downloading weights for ", rf"\S+: {_S} seconds", Phase.DOWNLOAD, END, since="0.7.3"),
    Wording("Filesystem type for checkpoints: ", r"(?P<filesystem>[^\s.]+)\. Checkpoint size: (?P<checkpoint_gib>[\d.]+) GiB", Phase.WEIGHTS, since="0.20.2"),
    Wording("Auto-prefetch is disabled because ", "", Phase.WEIGHTS, since="0.18.0"),
    Wording("Prefetching checkpoint files into page cache ", "", Phase.WEIGHTS, since="0.18.0"),
    Wording("Prefetching checkpoint files: ", r"\d+% \((?P<prefetched>\d+/\d+)\)", Phase.WEIGHTS, since="0.18.0"),
    Wording("Using model weights format ", "", Phase.DOWNLOAD, until="0.10.2"),
    Wording("Initializing model took ", "", Phase.WEIGHTS, since="0.32.0"),
    Wording("Loading weights took ", rf"{_S} seconds", Phase.WEIGHTS, END, since="0.8.0", by=By.WORKERS, each=("0.8.0", "0.11.0")),
    Wording("Loading drafter model...", "", Phase.DRAFTER, BEGIN, since="0.8.3", runner="V1"),
    Wording("Detected EAGLE model ", "", Phase.DRAFTER, since="0.11.1"),
    Wording("Detected MTP model", "", Phase.DRAFTER, since="0.11.1"),
    Wording("Model loading took ", _LOADED, Phase.DRAFTER, END, since="0.8.0", by=By.WORKERS, each=("0.8.0", "0.11.0"), runner="V1"),
    Wording("Model loading took ", _LOADED, Phase.DRAFTER, END, since="0.12.0", by=By.WORKERS, runner="V2"),
    Wording("Loading model weights took ", _LOADED, Phase.DRAFTER, END, until="0.7.3", by=By.WORKERS),
)  # fmt: skip
"""The order is that of the log: "Model loading took" ends the drafter, or post-processing where there is none."""

COMPILE = (
    Wording("Using cache directory: ", r"\S+ for vLLM's torch\.compile", Phase.COMPILE, since="0.6.6"),
    Wording("Starting torch.compile", "", Phase.COMPILE, since="0.32.0"),
    Wording("Warming up model for the compilation...", "", Phase.COMPILE),
    Wording("Dynamo bytecode transform time: ", "", Phase.COMPILE, since="0.6.6"),
    Wording("Cache the graph of ", "", Phase.COMPILE, since="0.7.3", facts=(("compile_cached", False),)),
    Wording("Compiling a graph for ", "", Phase.COMPILE, since="0.6.6", facts=(("compile_cached", False),)),
    Wording("Directly load the compiled graph", "", Phase.COMPILE, since="0.7.3", facts=(("compile_cached", True),)),
    Wording("Directly load AOT compilation from path ", "", Phase.COMPILE, since="0.11.1", facts=(("compile_cached", True),)),
    Wording("saved AOT compiled function to ", "", Phase.COMPILE, since="0.16.0", facts=(("compile_cached", False),)),
    Wording("torch.compile takes ", r"(?P<compile_s>[\d.]+) s in total", Phase.COMPILE, END, since="0.6.6", until="0.17.1", by=By.WORKERS, each=("0.6.6", "0.11.0")),
    Wording("torch.compile took ", r"(?P<compile_s>[\d.]+) s in total", Phase.COMPILE, END, since="0.18.0", by=By.WORKERS, each=("0.32.0", "")),
)  # fmt: skip

PROFILE = (
    Wording("NCCL INFO AllReduce: ", r".{0,120}? count [1-9]\d{6,} ", Phase.PROFILE),
    Wording("Initial profiling/warmup run took ", "", Phase.PROFILE, since="0.18.0"),
    Wording("Memory profiling takes ", "", Phase.PROFILE, until="0.10.2"),
    Wording("Warming up done.", "", Phase.PROFILE),
    Wording("Profiling CUDA graph memory: ", r"(?P<graphs>.*)", Phase.PROFILE, since="0.18.0"),
    Wording("Estimated CUDA graph memory: ", "", Phase.PROFILE, since="0.18.0"),
    Wording("Applying persisted startup plan ", "", Phase.PROFILE, since="0.26.0"),
    Wording("Available KV cache memory: ", r"(?P<kv_gib>[\d.]+) GiB", Phase.PROFILE, END, since="0.9.1", by=By.WORKERS, each=("0.9.1", "0.11.0")),
    Wording("Initial free memory ", r"[\d.]+ GiB, reserved (?P<kv_gib>[\d.]+) GiB memory for KV Cache", Phase.PROFILE, END, since="0.11.0"),
    Wording("Explicitly set (", r"(?P<kv_gib>[\d.]+)/[\d.]+\) GiB for KV cache", Phase.PROFILE, END),
    Wording("# GPU blocks: ", "", Phase.KV_CACHE, END, until="0.10.2"),
    Wording("# CPU blocks: ", "", Phase.KV_CACHE, END, until="0.10.2"),
    Wording("GPU KV cache size: ", rf"(?P<kv_tokens>{_N}) tokens(?:, Maximum concurrency for {_N} tokens per request: (?P<concurrency>[\d.]+)x)?", Phase.KV_CACHE, END, since="0.8.0"),
    Wording("CPU KV cache size: ", rf"(?P<kv_tokens>{_N}) tokens(?:, Maximum concurrency for {_N} tokens per request: (?P<concurrency>[\d.]+)x)?", Phase.KV_CACHE, END, since="0.30.0"),
    Wording("Maximum concurrency for ", rf"{_N} tokens per request: (?P<concurrency>[\d.]+)x", Phase.KV_CACHE, END, since="0.6.6"),
)  # fmt: skip

WARMUP = (
    Wording("Compile and warming up model for size ", "", Phase.WARMUP),
    Wording("Warming up FlashInfer attention.", "", Phase.WARMUP, since="0.10.2", until="0.26.0"),
    Wording("Running FlashInfer autotune with ", "", Phase.WARMUP, since="0.22.1"),
    Wording("Using FlashInfer autotune cache file: ", "", Phase.WARMUP, since="0.22.1", until="0.26.0"),
    Wording("[Autotuner]: Autotuning process ends", "", Phase.WARMUP, END, inside=True),
    Wording("[Autotuner]: ", "", Phase.WARMUP, inside=True),
    Wording("JIT kernel warmup starting.", "", Phase.WARMUP, since="0.29.0", by=By.WORKERS),
    Wording("JIT kernel warmup finished in ", rf"{_S}s", Phase.WARMUP, END, since="0.29.0", by=By.WORKERS),
)  # fmt: skip

CAPTURE = (
    Wording("Capturing cudagraphs for decoding. ", "", Phase.CAPTURE, since="0.6.6", until="0.10.2"),
    Wording("Capturing the model for CUDA graphs. ", "", Phase.CAPTURE, until="0.6.5"),
    Wording("Capturing model for Eagle speculator...", "", Phase.CAPTURE, since="0.12.0", until="0.22.1"),
    Wording("Capturing model for speculator...", "", Phase.CAPTURE, since="0.23.0"),
    Wording("Graph capturing finished in ", rf"{_S} secs(?:, took (?P<graph_gib>[\d.]+) GiB)?", Phase.CAPTURE, END, by=By.WORKERS, each=("0.6.0", "0.11.0")),
    Wording("CUDA graph pool memory: ", "", Phase.WARMUP_AFTER, since="0.18.0"),
    Wording("Kernel JIT monitor activated", "", Phase.WARMUP_AFTER, since="0.20.2"),
)  # fmt: skip

API = (
    Wording("init engine (profile, create kv cache, warmup model) took ", r"(?P<init_s>[\d.]+) s(?:econds)?", Phase.WARMUP_AFTER, END, since="0.6.6", by=By.ENGINES),
    Wording("Supported tasks: ", "", Phase.API, since="0.11.1"),
    Wording("Supported_tasks: ", "", Phase.API, since="0.10.1", until="0.11.0"),
    Wording("Multi-modal warmup completed in ", "", Phase.API),
    Wording("Starting vLLM API server on ", "", Phase.API, since="0.7.3", until="0.9.0"),
    Wording("Starting vLLM API server ", r"\d+ on ", Phase.API, since="0.9.1", until="0.17.1"),
    Wording("Starting vLLM server on ", "", Phase.API, since="0.18.0"),
    Wording("Available routes are:", "", Phase.API),
    Wording("Started server process [", "", Phase.API),
    Wording("Waiting for application startup.", "", Phase.API),
)  # fmt: skip

MILESTONES = Table((*CONFIG, *INIT, *WEIGHTS, *COMPILE, *PROFILE, *WARMUP, *CAPTURE, *API))
HEARTBEATS = (
    "No available shared memory broadcast block found",
    "No available block found in ",
    "Waiting for ",
    "Wait for all ray workers",
)
"""What such a line begins with: it says only that a process lives and waits."""

"""Every wording of every milestone from 0.6.0 to 0.33.0, and what it is taken for."""

from __future__ import annotations

import re

import pytest

from specconsole.load.phase import Phase
from specconsole.load.wording import By, Edge, Wording, release, within
from specconsole.load.wording_notice import PARAMETERS, REMARKS, SCHEDULING
from specconsole.load.wording_phase import API, CAPTURE, COMPILE, CONFIG, INIT, MILESTONES, PROFILE, WARMUP, WEIGHTS

BEGIN, IN, END = Edge.BEGIN, Edge.IN, Edge.END
FORMS: list[tuple[str, Phase | None, Edge, dict[str, str]]] = [
    ("vLLM API server version 0.8.5.post1", Phase.CONFIG, IN, {"version": "0.8.5.post1"}),
    ("vLLM server version 0.18.0, serving model /models/kimi", Phase.CONFIG, IN, {"version": "0.18.0", "model": "/models/kimi"}),
    (" ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.23.1rc1.dev197+g0119", Phase.CONFIG, IN, {"version": "0.23.1rc1.dev197+g0119"}),
    ("  █▄█▀ █     █     █     █  model   moonshotai/Kimi-K2.5", Phase.CONFIG, IN, {"model": "moonshotai/Kimi-K2.5"}),
    ("args: Namespace(host=None, port=8000, enforce_eager=True, model='m')", Phase.CONFIG, IN, {"eager": "True"}),
    ("args: Namespace(host=None)", Phase.CONFIG, IN, {}),
    ("non-default args: {'model': 'm', 'enforce_eager': True, 'port': 1}", Phase.CONFIG, IN, {"eager": "True"}),
    ("Automatically detected platform cuda.", Phase.CONFIG, IN, {}),
    ("Resolved architecture: KimiK25ForConditionalGeneration", Phase.CONFIG, IN, {"architecture": "KimiK25ForConditionalGeneration"}),
    ("Using max model len 262144", Phase.CONFIG, IN, {"max_model_len": "262144"}),
    ("Chunked prefill is enabled with max_num_batched_tokens=8192.", Phase.CONFIG, IN, {}),
    ("Started engine process with PID 280", Phase.CONFIG, IN, {}),
    ("Launching Rust frontend: vllm-frontend", Phase.CONFIG, IN, {}),
    ("Initializing an LLM engine (v0.6.1.dev238+ge2c6) with config: model='m'", Phase.INIT, BEGIN, {"version": "0.6.1.dev238+ge2c6"}),
    ("Initializing an LLM engine (v0.7.0) with config: model='m'", Phase.INIT, BEGIN, {"version": "0.7.0"}),
    ("NCCL INFO comm 0x5562e3a1c0b0 rank 0 nranks 32 cudaDev 0 busId 17000 - Init COMPLETE", Phase.INIT, IN, {}),
    ("Configuring SpecDecodeWorker with proposer=<class 'vllm.spec_decode.multi_step_worker.MultiStepWorker'>", Phase.INIT, IN, {}),
    ("Initializing a V0 LLM engine (v0.8.3) with config: model='m'", Phase.INIT, BEGIN, {"version": "0.8.3"}),
    ("Initializing a V1 LLM engine (v0.24.0) with config: model='m'", Phase.INIT, BEGIN, {"version": "0.24.0"}),
    ("Wait for all ray workers to be active. 1/2 is active", Phase.INIT, IN, {}),
    ("Worker ready; awaiting tasks", Phase.INIT, IN, {}),
    ("DP group leader: node_rank=0, node_rank_within_dp=0, master_addr=127.0.0.1", Phase.INIT, IN, {}),
    ("world_size=8 rank=3 local_rank=3 distributed_init_method=tcp://192.0.2.2:49119 backend=nccl", Phase.INIT, IN, {"world_size": "8"}),
    ("rank 3 in world size 8 is assigned as DP rank 0, PP rank 0, TP rank 3", Phase.INIT, IN, {"world_size": "8"}),
    ("rank 0 in world size 1 is assigned as DP rank 0, PP rank 0, PCP rank 0, TP rank 0, ETP rank 0, EP rank N/A, EPLB rank N/A", Phase.INIT, IN, {"world_size": "1"}),
    ("Found nccl from library libnccl.so.2", Phase.INIT, IN, {}),
    ("Found nccl from environment variable VLLM_NCCL_SO_PATH=/x", Phase.INIT, IN, {}),
    ("vLLM is using nccl==2.27.3", Phase.INIT, IN, {}),
    ("generating GPU P2P access cache in /root/.cache/vllm/gpu_p2p.json", Phase.INIT, IN, {}),
    ("reading GPU P2P access cache from /root/.cache/vllm/gpu_p2p.json", Phase.INIT, IN, {}),
    ("Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs. To silence this", Phase.INIT, IN, {}),
    ("Using ['PYNCCL'] all-reduce backends (in dispatch order) for group 'tp:0' out of x", Phase.INIT, IN, {}),
    ("Using V2 Model Runner", Phase.INIT, IN, {}),
    ("Starting to load model /models/kimi...", Phase.DOWNLOAD, BEGIN, {"model": "/models/kimi"}),
    ("Loading model from scratch...", Phase.DOWNLOAD, BEGIN, {}),
    ("Time spent downloading weights for moonshotai/Kimi-K2.5: 1843.223401 seconds", Phase.DOWNLOAD, END, {"took": "1843.223401"}),
    ("Filesystem type for checkpoints: NFS4. Checkpoint size: 554.62 GiB. Available RAM: 900.01 GiB.", Phase.WEIGHTS, IN, {"filesystem": "NFS4", "checkpoint_gib": "554.62"}),
    ("Auto-prefetch is disabled because the filesystem (EXT4) is not a recognized network FS", Phase.WEIGHTS, IN, {}),
    ("Prefetching checkpoint files into page cache started (in background)", Phase.WEIGHTS, IN, {}),
    ("Prefetching checkpoint files: 20% (13/64)", Phase.WEIGHTS, IN, {"prefetched": "13/64"}),
    ("Prefetching checkpoint files into page cache finished in 71.20s", Phase.WEIGHTS, IN, {}),
    ("Connected to existing Ray cluster, address: 10.0.0.4:6379...", Phase.INIT, IN, {}),
    ("No current placement group found. Creating a new placement group.", Phase.INIT, IN, {}),
    ("Waiting for creating a placement group of specs for 30 seconds.", Phase.INIT, IN, {}),
    ("Waiting for 0 local, 8 remote core engine proc(s) to connect.", Phase.INIT, IN, {}),
    ("Using model weights format ['*.safetensors']", Phase.DOWNLOAD, IN, {}),
    ("Initializing model took 0.349629 seconds", Phase.WEIGHTS, IN, {}),
    ("Loading weights took 1582.04 seconds", Phase.WEIGHTS, END, {"took": "1582.04"}),
    ("Loading drafter model...", Phase.DRAFTER, BEGIN, {}),
    ("Detected EAGLE model without its own embed_tokens in the checkpoint.", Phase.DRAFTER, IN, {}),
    ("Detected MTP model. Sharing target model embedding weights with the draft model.", Phase.DRAFTER, IN, {}),
    ("Loading model weights took 6.0160 GB", Phase.DRAFTER, END, {"model_gib": "6.0160"}),
    ("Model loading took 14.9889 GB and 33.226813 seconds", Phase.DRAFTER, END, {"model_gib": "14.9889", "load_s": "33.226813"}),
    ("Model loading took 14.9889 GiB and 33.226813 seconds", Phase.DRAFTER, END, {"model_gib": "14.9889", "load_s": "33.226813"}),
    ("Model loading took 14.9889 GiB memory and 33.226813 seconds", Phase.DRAFTER, END, {"model_gib": "14.9889", "load_s": "33.226813"}),
    ("Model loading took 56.88 GiB memory and 17.405639 seconds", Phase.DRAFTER, END, {"model_gib": "56.88", "load_s": "17.405639"}),
    ("Model loading took 15.0 GiB and 15.825334 seconds", Phase.DRAFTER, END, {"model_gib": "15.0", "load_s": "15.825334"}),
    ("Using cache directory: /root/.cache/vllm/torch_compile_cache/1d/rank_0_0/backbone for vLLM's torch.compile", Phase.COMPILE, IN, {}),
    ("[backbone] Using cache directory: /c for vLLM's torch.compile", Phase.COMPILE, IN, {}),
    ("[backbone] Starting torch.compile", Phase.COMPILE, IN, {}),
    ("Dynamo bytecode transform time: 10.07 s", Phase.COMPILE, IN, {}),
    ("Compiling a graph for general shape takes 40.11 s", Phase.COMPILE, IN, {}),
    ("Compiling a graph for dynamic shape takes 40.11 s", Phase.COMPILE, IN, {}),
    ("Compiling a graph for compile range (1, 8192) takes 13.14 s", Phase.COMPILE, IN, {}),
    ("Cache the graph of compile range (1, 8192) for later use", Phase.COMPILE, IN, {}),
    ("Directly load the compiled graph for shape None from the cache", Phase.COMPILE, IN, {}),
    ("Directly load the compiled graph(s) for shape None from the cache, took 7.500 s", Phase.COMPILE, IN, {}),
    ("Directly load the compiled graph(s) for dynamic shape from the cache, took 7.500 s", Phase.COMPILE, IN, {}),
    ("Directly load the compiled graph(s) for compile range (1, 8192) from the cache, took 2.260 s", Phase.COMPILE, IN, {}),
    ("[eagle_head] Directly load AOT compilation from path /root/.cache/vllm/x", Phase.COMPILE, IN, {}),
    ("saved AOT compiled function to /root/.cache/vllm/x", Phase.COMPILE, IN, {}),
    ("torch.compile takes 44.93 s in total", Phase.COMPILE, END, {"compile_s": "44.93"}),
    ("torch.compile took 30.20 s in total", Phase.COMPILE, END, {"compile_s": "30.20"}),
    ("[backbone] torch.compile took 30.20 s in total", Phase.COMPILE, END, {"compile_s": "30.20"}),
    ("Warming up model for the compilation...", Phase.COMPILE, IN, {}),
    ("NCCL INFO AllReduce: opCount 1 sendbuff 0xe5 recvbuff 0xe6 count 75497472 datatype 9 op 0 root 0", Phase.PROFILE, IN, {}),
    ("[backbone] Initial profiling/warmup run took 0.09 s", Phase.PROFILE, IN, {}),
    ("Warming up done.", Phase.PROFILE, IN, {}),
    ("Memory profiling takes 1.52 seconds", Phase.PROFILE, IN, {}),
    ("Profiling CUDA graph memory: PIECEWISE=49 (largest=512), FULL=49 (largest=512)", Phase.PROFILE, IN, {"graphs": "PIECEWISE=49 (largest=512), FULL=49 (largest=512)"}),
    ("Estimated CUDA graph memory: 0.64 GiB total", Phase.PROFILE, IN, {}),
    ("Applying persisted startup plan (fingerprint 1a2b). Memory profiling will be skipped.", Phase.PROFILE, IN, {}),
    ("Available KV cache memory: 53.57 GiB", Phase.PROFILE, END, {"kv_gib": "53.57"}),
    ("Initial free memory 139.29 GiB, reserved 2.0 GiB memory for KV Cache as specified by kv_cache_memory_bytes", Phase.PROFILE, END, {"kv_gib": "2.0"}),
    ("Explicitly set (1.0/9.71) GiB for KV cache on node 0.", Phase.PROFILE, END, {"kv_gib": "1.0"}),
    ("# GPU blocks: 3412, # CPU blocks: 512", Phase.KV_CACHE, END, {}),
    ("# GPU blocks: 3412", Phase.KV_CACHE, END, {}),
    ("GPU KV cache size: 343,664 tokens", Phase.KV_CACHE, END, {"kv_tokens": "343,664"}),
    ("GPU KV cache size: 343,664 tokens, Maximum concurrency for 8,192 tokens per request: 41.95x", Phase.KV_CACHE, END, {"kv_tokens": "343,664", "concurrency": "41.95"}),
    ("CPU KV cache size: 524,288 tokens, Maximum concurrency for 2,048 tokens per request: 256.00x", Phase.KV_CACHE, END, {"kv_tokens": "524,288", "concurrency": "256.00"}),
    ("Maximum concurrency for 8,192 tokens per request: 53.57x", Phase.KV_CACHE, END, {"concurrency": "53.57"}),
    ("Compile and warming up model for size 8", Phase.WARMUP, IN, {}),
    ("Warming up FlashInfer attention.", Phase.WARMUP, IN, {}),
    ("Running FlashInfer autotune with 8192 tokens", Phase.WARMUP, IN, {}),
    ("Using FlashInfer autotune cache file: /root/.cache/flashinfer/x.json", Phase.WARMUP, IN, {}),
    ("flashinfer.jit: [Autotuner]: Autotuning process starts ...", Phase.WARMUP, IN, {}),
    ("flashinfer.jit: [Autotuner]: Autotuning process ends", Phase.WARMUP, END, {}),
    ("JIT kernel warmup starting.", Phase.WARMUP, IN, {}),
    ("JIT kernel warmup finished in 12.31s.", Phase.WARMUP, END, {"took": "12.31"}),
    ("Capturing the model for CUDA graphs. This may lead to unexpected consequences", Phase.CAPTURE, IN, {}),
    ("Capturing cudagraphs for decoding. This may lead to unexpected consequences if the model is not static.", Phase.CAPTURE, IN, {}),
    ("Capturing model for Eagle speculator...", Phase.CAPTURE, IN, {}),
    ("Capturing model for speculator...", Phase.CAPTURE, IN, {}),
    ("Graph capturing finished in 21 secs.", Phase.CAPTURE, END, {"took": "21"}),
    ("Graph capturing finished in 23 secs, took 0.84 GiB", Phase.CAPTURE, END, {"took": "23", "graph_gib": "0.84"}),
    ("CUDA graph pool memory: 0.84 GiB (actual), 0.64 GiB (estimated), difference: 0.2 GiB (23.6%).", Phase.WARMUP_AFTER, IN, {}),
    ("Kernel JIT monitor activated — Triton JIT compilations during inference will be logged as warnings.", Phase.WARMUP_AFTER, IN, {}),
    ("init engine (profile, create kv cache, warmup model) took 37.52 seconds", Phase.WARMUP_AFTER, END, {"init_s": "37.52"}),
    ("init engine (profile, create kv cache, warmup model) took 43.35 s", Phase.WARMUP_AFTER, END, {"init_s": "43.35"}),
    ("init engine (profile, create kv cache, warmup model) took 86.54 s (compilation: 46.00 s)", Phase.WARMUP_AFTER, END, {"init_s": "86.54"}),
    ("init engine (profile, create kv cache, warmup model) took 86.54 s (compilation: 46.00 s — language_model: 40.0 s, encoder: 6.0 s)", Phase.WARMUP_AFTER, END, {"init_s": "86.54"}),
    ("Supported_tasks: ['generate']", Phase.API, IN, {}),
    ("Supported tasks: ['generate']", Phase.API, IN, {}),
    ("Multi-modal warmup completed in 8.731s", Phase.API, IN, {}),
    ("Starting vLLM API server on http://0.0.0.0:8000", Phase.API, IN, {}),
    ("Starting vLLM API server 0 on http://0.0.0.0:8000", Phase.API, IN, {}),
    ("Starting vLLM server on https://0.0.0.0:8000", Phase.API, IN, {}),
    ("Available routes are:", Phase.API, IN, {}),
    ("Started server process [875]", Phase.API, IN, {}),
    ("Waiting for application startup.", Phase.API, IN, {}),
    ("Enforce eager set, disabling torch.compile and CUDAGraphs. This is equivalent to setting -cc.mode=none", None, IN, {}),
]  # fmt: skip
ROWS = (*CONFIG, *INIT, *WEIGHTS, *COMPILE, *PROFILE, *WARMUP, *CAPTURE, *API)


@pytest.mark.parametrize(("text", "phase", "edge", "values"), FORMS)
def test_each_form_is_read(text: str, phase: Phase | None, edge: Edge, values: dict[str, str]) -> None:
    said = MILESTONES.find(text)
    assert said
    assert (said.wording.phase, said.wording.edge, dict(said.values)) == (phase, edge, values)


def test_no_row_is_without_an_example() -> None:
    used = {said.wording for text, *_ in FORMS if (said := MILESTONES.find(text))}
    rare = {row.says for row in ROWS if row not in used}
    # A later row of one text differs in its range alone; Ray's own lines name what Ray does.
    assert rare <= {"Model loading took ", "Started a local Ray instance", "Connecting to existing Ray cluster", "# CPU blocks: "}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "Free memory on device (130.2/139.8 GiB) on startup. Desired GPU memory utilization is (0.9, 125.8 GiB). Actual usage is 15.0 GiB",
        "NCCL INFO AllReduce: opCount 0 sendbuff 0xe5 recvbuff 0xe6 count 8 datatype 0 op 0 root 0",
        "Encoder cache will be initialized with a budget of 8192 tokens, and profiled with 3 video items",
        "EP Rank 2/8",
        "experts: 1/8",
        "Engine 000: Avg prompt throughput: 87.4 tokens/s, Avg generation throughput: 114.1 tokens/s, Running: 1 reqs",
        "The following error message 'operation scheduled before its operands' can be ignored.",
        "Route: /health, Methods: GET",
        "Lifespan: LLM worker 0 reported ready.",
        "SymmMemCommunicator: Device capability 12.0 not supported",
        "Found ulimit of 20000 and failed to automatically increase",
        "we saw 'Model loading took 3 GiB' in another log",
    ],
)
def test_other_lines_are_no_milestone(text: str) -> None:
    assert MILESTONES.find(text) is None
    assert SCHEDULING.find(text) is None
    assert not any(text.startswith(remark.says) for remark in REMARKS)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("Async scheduling not supported with ngram-based speculative decoding and will be disabled.", {"async_scheduling": False}),
        ("Async scheduling is disabled because the V1 model runner does not support it with suffix.", {"async_scheduling": False}),
        ("Currently, async scheduling is only supported with EAGLE/MTP kind of speculative decoding", {"async_scheduling": False}),
        ("Asynchronous scheduling is enabled.", {"async_scheduling": True}),
        ("Asynchronous scheduling is disabled.", {"async_scheduling": False}),
        ("Model Runner V2 does not yet support ngram speculative decoding; using the V1 model runner instead.", {"runner": "V1"}),
        ("Model Runner V2 requires Triton; using the V1 model runner instead.", {"runner": "V1"}),
        ("Model Runner v2 does not yet support x; using the v1 model runner instead.", {"runner": "V1"}),
    ],
)  # fmt: skip
def test_scheduling_and_runner(text: str, facts: dict[str, object]) -> None:
    said = SCHEDULING.find(text)
    assert said
    assert dict(said.wording.facts) == facts


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("min_p, logit_bias, and min_tokens parameters won't currently work with speculative decoding enabled.", ("min_p", "logit_bias", "min_tokens")),
        ("min_p and logit_bias parameters won't work with speculative decoding.", ("min_p", "logit_bias")),
    ],
)  # fmt: skip
def test_parameters_that_do_not_work(text: str, names: tuple[str, ...]) -> None:
    said = PARAMETERS.find(text)
    assert said
    assert dict(said.wording.facts) == {"ineffective": names}


def test_who_repeats_a_line_depends_on_the_version() -> None:
    loaded = next(row for row in WEIGHTS if row.says == "Loading weights took ")
    assert loaded.by is By.WORKERS
    assert [loaded.repeats(version) for version in ("0.8.5", "0.11.0", "0.11.1", "0.24.0", None)] == [True, True, False, False, False]  # fmt: skip
    compiled = next(row for row in COMPILE if row.says == "torch.compile took ")
    assert [compiled.repeats(version) for version in ("0.24.0", "0.32.0", "0.33.0")] == [False, True, True]


@pytest.mark.parametrize(
    ("version", "number"),
    [("0.24.0", (0, 24, 0)), ("0.23.1rc1.dev197+g01192139b.d20260619", (0, 23, 1)), ("0.8", (0, 8, 0)), ("dev", (0, 0, 0)), ("", (0, 0, 0)), ("9" * 900, (999999, 999999, 999999))],
)  # fmt: skip
def test_versions(version: str, number: tuple[int, ...]) -> None:
    assert release(version) == number


def test_ranges_and_their_forms_are_sound() -> None:
    for row in ROWS:
        assert not row.until or release(row.since) <= release(row.until), row.says
        re.compile(row.more)
        assert isinstance(row, Wording)
    assert within("0.10.2", "0.10.1", "0.11.0")
    assert not within("0.11.1", "0.10.1", "0.11.0")

"""The load of Kimi-K2.5 INT4 on eight cards by vLLM 0.16, phase by phase, in the words that it uses.

Lengths are arguments, so that scenarios differ in what they are about: a slow disk, a cold cache of compiled kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from specconsole.host.simulated.scenario.phase import Card, Child, Phase, Say, info, noise, warning
from specconsole.host.simulated.scenario.stop import notice

SHARDS = 64
CHECKPOINT_GB = 595.0
MODEL = "/models/Kimi-K2.5"
SERVED = "kimi-k2.5"
LONGEST = 131_072
KV_TOKENS = 343_664
_WEIGHTS_GIB, _FULL_GIB = 73.1, 88.9
_GRAPHS_GIB = 3.9
_SHARD_MB = CHECKPOINT_GB * 1000 / SHARDS
_MINUTE = 60.0
_PTXAS = Child("ptxas --gpu-name=sm_120a -O3 /tmp/tmpk2h1w9.ptx -o /tmp/tmpk2h1w9.cubin", 3, 0.95, 14.0)
_INDUCTOR = Child(
    "/opt/vllm/bin/python3 /opt/vllm/lib/python3.12/site-packages/torch/_inductor/compile_worker/__main__.py --workers=32",
    32, 0.86, None,
)  # fmt: skip
_NVCC = (
    Child("/usr/local/cuda/bin/nvcc -gencode=arch=compute_120a,code=sm_120a -c mla_decode_sm120.cu", 2, 0.2, 40.0),
    Child("cicc --c++17 --arch compute_120a mla_decode_sm120.cudafe1.gpu", 2, 0.98, 26.0),
)
_COMPILING = Card(watts=88.0)

_READING = Phase("weights", 0.0, worker=0.34, state="D", card=Card(0.01, 86.0, 52.0, 0.1))


@dataclass(frozen=True)
class Plan:
    """How long the phases of a load are, in seconds."""

    tokens: int = 0
    """Tokens that n-gram speculation drafts; 0: none."""
    shards: Sequence[float] = (22.66,) * SHARDS
    reading: Phase = _READING
    """What reading the weights takes, besides the rate that follows from the shards."""
    init: float = 31.0
    post: float = 182.0
    compile: float = 284.0
    """0: the compiled graphs are found in the cache."""
    profile: float = 48.0
    kernels: float = 0.0
    """Of `profile`, how long kernels are compiled first."""
    kv: float = 20.0
    capture: float = 370.0
    api: float = 4.0


def phases(plan: Plan) -> tuple[Phase, ...]:
    """The whole load, to the moment at which it answers."""
    return tuple(
        phase
        for part in (_config, _start, _init, _weights, _post, _compile, _profile, _kv, _capture, _api)
        for phase in part(plan)
    )


def until(phases: Sequence[Phase], name: str) -> tuple[Phase, ...]:
    """The phases before the first one of that name."""
    names = [phase.name for phase in phases]
    return tuple(phases[: names.index(name)])


def method(plan: Plan) -> str:
    """The speculation in the words of the config."""
    return f"SpeculativeConfig(method='ngram', model=None, num_spec_tokens={plan.tokens})" if plan.tokens else "None"


def _config(plan: Plan) -> Iterator[Phase]:
    yield Phase("imports", 14.2, alive=1, api=1.0)
    said = [
        info("utils.py:301", f"vLLM server version 0.16.0, serving model {MODEL}"),
        info("utils.py:233", f"non-default args: {_arguments(plan)}"),
        info("model.py:541", "Resolved architecture: KimiK25ForConditionalGeneration"),
        info("model.py:1561", f"Using max model len {LONGEST}"),
        info("scheduler.py:226", "Chunked prefill is enabled with max_num_batched_tokens=8192."),
    ]
    if plan.tokens:
        said.append(
            warning(
                "vllm.py:604",
                "Async scheduling not supported with ngram-based speculative decoding and will be disabled.",
            )
        )
    state = "disabled" if plan.tokens else "enabled"
    said.append(info("vllm.py:624", f"Asynchronous scheduling is {state}."))
    says = tuple(Say(0.4 + 0.35 * number, "api", text) for number, text in enumerate(said))
    yield Phase("config", 9.1, says, alive=1, api=0.9)


def _arguments(plan: Plan) -> str:
    speculation = f", 'speculative_config': {ngram(plan.tokens)}" if plan.tokens else ""
    return (
        f"{{'model_tag': '{MODEL}', 'host': '0.0.0.0', 'model': '{MODEL}', 'trust_remote_code': True, 'max_model_len':"
        f" {LONGEST}, 'served_model_name': ['{SERVED}'], 'tensor_parallel_size': 8, 'gpu_memory_utilization': 0.95,"
        f" 'reasoning_parser': 'kimi_k2', 'tool_call_parser': 'kimi_k2'{speculation}}}"
    )


def ngram(tokens: int) -> dict[str, object]:
    """The speculative config of the command line."""
    return {"method": "ngram", "num_speculative_tokens": tokens, "prompt_lookup_max": 4}


def _start(plan: Plan) -> Iterator[Phase]:
    yield Phase("engine imports", 17.4, alive=2, engine=1.0)
    sizes = ", ".join(str(size) for size in range(1, 513) if size % 8 == 0 or size < 9)
    dump = (
        f"Initializing a V1 LLM engine (v0.16.0) with config: model='{MODEL}', speculative_config={method(plan)},"
        f" tokenizer='{MODEL}', skip_tokenizer_init=False, tokenizer_mode=auto, revision=None, trust_remote_code=True,"
        f" dtype=torch.bfloat16, max_seq_len={LONGEST}, download_dir=None, load_format=auto, tensor_parallel_size=8,"
        " pipeline_parallel_size=1, data_parallel_size=1, disable_custom_all_reduce=False, quantization=compressed-tensors,"
        " enforce_eager=False, kv_cache_dtype=auto, device_config=cuda, reasoning_parser='kimi_k2', seed=0,"
        f" served_model_name={SERVED}, enable_prefix_caching=True, enable_chunked_prefill=True, compilation_config="
        "{'level': None, 'mode': <CompilationMode.VLLM_COMPILE: 3>, 'backend': 'inductor', 'custom_ops': ['none'],"
        " 'splitting_ops': ['vllm::unified_attention', 'vllm::unified_mla_attention', 'vllm::sparse_attn_indexer'],"
        f" 'cudagraph_mode': <CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>, 'cudagraph_capture_sizes': [{sizes}], "
        f"'compile_ranges_split_points': [8192], 'inductor_compile_config': {{{_passes()}}}}}"
    )
    yield Phase("workers", 18.6, (Say(0.1, "engine", info("core.py:97", dump)),), worker=1.0, rss_gib=0.6)


def _passes() -> str:
    """What makes the config longer than the 4 KiB that journalctl shows unasked."""
    return ", ".join(
        f"'pass_{number:02}_{name}': False" for number in range(24) for name in ("fuse_norm_quant", "fuse_act_quant")
    )


def _init(plan: Plan) -> Iterator[Phase]:
    begun = (
        Say(0.2, "each", info("parallel_state.py:1200", "world_size=8 rank={rank} local_rank={rank} "
            "distributed_init_method=tcp://127.0.0.1:54713 backend=nccl")),
        Say(6.0, "0", info("pynccl.py:111", "vLLM is using nccl==2.27.5")),
    )  # fmt: skip
    yield Phase("nccl", plan.init * 0.45, begun, worker=0.9, gpu_gib=0.61, card=Card(0.0, 82.0))
    silence = "To silence this warning, specify disable_custom_all_reduce=True explicitly."
    said = [
        Say(0.1, "each", warning("custom_all_reduce.py:165", "Custom allreduce is disabled because it's not supported on more "
            f"than two PCIe-only GPUs. {silence}")),
        Say(1.4, "each", info("parallel_state.py:1411", "rank {rank} in world size 8 is assigned as DP rank 0, PP rank 0, "
            "PCP rank 0, TP rank {rank}, EP rank {rank}")),
    ]  # fmt: skip
    if plan.tokens:
        text = "min_p, logit_bias, and min_tokens parameters won't currently work with speculative decoding enabled."
        said.append(Say(3.0, "each", warning("__init__.py:204", text)))
    said += [
        Say(4.0, "0", info("gpu_model_runner.py:4021", f"Starting to load model {MODEL}...")),
        Say(
            7.0,
            "0",
            info("cuda.py:368", "Using TRITON_MLA attention backend out of potential backends: ['TRITON_MLA']"),
        ),
        Say(7.4, "0", info("compressed_tensors_moe.py:198", "Using CompressedTensorsWNA16MarlinMoEMethod")),
    ]
    yield Phase("groups", plan.init * 0.55, tuple(said), worker=0.8, gpu_gib=1.24, card=Card(0.02, 84.0, 40.0, 40.0))


def _weights(plan: Plan) -> Iterator[Phase]:
    total = len(plan.shards)
    passed = 0.0
    yield replace(
        plan.reading, seconds=0.8, says=(Say(0.6, "0", bar(0, total, 0.0)),), gpu_gib=_WEIGHTS_GIB, at_once=True
    )
    for number, seconds in enumerate(plan.shards, 1):
        passed += seconds
        says: tuple[Say, ...] = (Say(-0.05, "0", bar(number, total, passed)),)
        if number == total:
            says = (*says, Say(-0.02, "0", bar(number, total, passed)))
        yield replace(plan.reading, seconds=seconds, says=says, read_mb_s=_SHARD_MB / 8 / seconds, rss_gib=9.4)
    took = info("default_loader.py:292", f"Loading weights took {passed:.2f} seconds")
    yield Phase("weights read", 0.6, (Say(0.2, "0", took),), worker=0.9, card=Card(0.05, 96.0), rss_gib=9.4)


def bar(done: int, total: int, passed: float) -> str:
    """The loader's bar: it comes after a carriage return, and tqdm's guess of what is left is as good as it is there."""
    head = f"\rLoading safetensors checkpoint shards: {done * 100 // total:3}% Completed | {done}/{total} "
    if not done:
        return f"{head}[00:00<?, ?it/s]"
    each = passed / done
    rate = f"{each:5.2f}s/it" if each >= 1 else f"{1 / each:5.2f}it/s"
    return f"{head}[{clock(passed)}<{clock(each * (total - done))}, {rate}]"


def clock(seconds: float) -> str:
    """A span as tqdm writes it."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


def _post(plan: Plan) -> Iterator[Phase]:
    working = Phase("post", plan.post, worker=1.0, card=Card(0.36, 168.0, 310.0, 12.0, util_memory=0.2), rss_gib=6.1)
    weights = sum(plan.shards)
    took = weights + plan.post + 4.2
    said = [info("gpu_model_runner.py:4118", f"Model loading took 71.94 GiB memory and {took:.6f} seconds")]
    if plan.tokens:
        said.insert(0, info("gpu_model_runner.py:4089", "Loading drafter model..."))
    yield working
    says = tuple(Say(0.3 + 0.5 * number, "0", text) for number, text in enumerate(said))
    yield Phase("loaded", 2.0, says, worker=0.9, card=Card(0.05, 96.0))


def _compile(plan: Plan) -> Iterator[Phase]:
    folder = "/root/.cache/vllm/torch_compile_cache/3f8a1c0d2b/rank_0_0/backbone"
    dynamo = max(plan.compile * 0.11, 9.0)
    yield Phase("dynamo", dynamo, _notices(dynamo), worker=1.0, card=_COMPILING)
    said = [
        info("backends.py:872", f"Using cache directory: {folder} for vLLM's torch.compile"),
        info("backends.py:931", f"Dynamo bytecode transform time: {dynamo:.2f} s"),
    ]
    first = tuple(Say(0.1 + 0.2 * number, "0", text) for number, text in enumerate(said))
    if not plan.compile:
        found = info(
            "backends.py:267",
            "Directly load the compiled graph(s) for compile range (1, 8192) from the cache, took 3.117 s",
        )
        total = info("monitor.py:34", f"torch.compile takes {dynamo + 3.12:.2f} s in total")
        yield Phase("cached", 4.0, (*first, Say(3.2, "0", found), Say(3.6, "0", total)), worker=1.0, card=_COMPILING)
        return
    inductor = plan.compile - dynamo
    took = info("backends.py:302", f"Compiling a graph for compile range (1, 8192) takes {inductor:.2f} s")
    total = info("monitor.py:34", f"torch.compile takes {plan.compile:.2f} s in total")
    says = (*first, *_notices(inductor), Say(-0.6, "0", took), Say(-0.2, "0", total))
    yield Phase("compile", inductor, says, worker=0.42, children=(_INDUCTOR,), card=_COMPILING)


def _notices(seconds: float) -> tuple[Say, ...]:
    """The engine core's complaint of each whole minute."""
    return tuple(Say(_MINUTE * number, "engine", notice()) for number in range(1, int(seconds // _MINUTE) + 1))


def _profile(plan: Plan) -> Iterator[Phase]:
    if plan.kernels:
        yield Phase(
            "kernels", plan.kernels, _notices(plan.kernels), worker=0.3, children=_NVCC, card=_COMPILING, gpu_gib=74.4
        )
    said = (Say(-0.3, "0", info("gpu_worker.py:356", "Available KV cache memory: 10.42 GiB")),)
    card = Card(0.44, 214.0, 900.0, 900.0, util_memory=0.2)
    yield Phase("profile", plan.profile - plan.kernels, said, worker=1.0, card=card, gpu_gib=78.3)


def _kv(plan: Plan) -> Iterator[Phase]:
    said = (
        Say(0.4, "engine", info("kv_cache_utils.py:1305", f"GPU KV cache size: {KV_TOKENS:,} tokens")),
        Say(0.5, "engine", info("kv_cache_utils.py:1310", f"Maximum concurrency for {LONGEST:,} tokens per request: "
            f"{KV_TOKENS / LONGEST:.2f}x")),
    )  # fmt: skip
    yield Phase("kv", plan.kv, said, worker=0.7, card=Card(0.03, 92.0), gpu_gib=_FULL_GIB, at_once=True)


def _capture(plan: Plan) -> Iterator[Phase]:
    """The bars reach the journal when they are closed: until then all is silent but for the engine's notice."""
    kinds = (("mixed prefill-decode, PIECEWISE", 51, 0.62), ("decode, FULL", 35, 0.38))
    card = Card(0.99, 288.0, 2_050.0, 1_990.0, mhz=2_310, util_memory=0.4)
    gib = _FULL_GIB
    for name, graphs, share in kinds:
        seconds = plan.capture * share
        gib += _GRAPHS_GIB * share
        says = (*_notices(seconds), Say(-0.1, "0", graphs_bar(name, graphs, seconds)))
        yield Phase("capture", seconds, says, worker=1.0, state="R", children=(_PTXAS,), card=card, gpu_gib=gib)
    said = info(
        "gpu_model_runner.py:4983", f"Graph capturing finished in {plan.capture:.0f} secs, took {_GRAPHS_GIB:.2f} GiB"
    )
    tail = plan.profile + plan.kv + plan.capture + (plan.compile or 13.0)
    took = info("core.py:273", f"init engine (profile, create kv cache, warmup model) took {tail:.2f} seconds")
    says = (Say(0.2, "0", said), Say(2.6, "engine", took))
    yield Phase("warm-up", 3.2, says, worker=1.0, card=Card(0.6, 190.0), gpu_gib=_FULL_GIB + _GRAPHS_GIB)


def graphs_bar(name: str, total: int, seconds: float) -> str:
    """The capture's bar as the journal gets it: all its states in one record, each after a carriage return."""
    states = []
    for done in range(total + 1):
        share = done / total
        eighths = round(share * 80)
        drawn = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
        passed = seconds * share
        rate = f"{passed / done:5.2f}s/it" if done else "?it/s"
        left = clock(seconds - passed) if done else "?"
        states.append(
            f"Capturing CUDA graphs ({name}): {share * 100:3.0f}%|{drawn:<10}| {done}/{total} [{clock(passed)}<{left}, {rate}]"
        )
    return "\r" + "\r".join(states)


def _api(plan: Plan) -> Iterator[Phase]:
    routes = ("/health", "/metrics", "/version", "/v1/models", "/v1/chat/completions", "/v1/completions", "/tokenize")
    said = [
        info("api_server.py:495", "Supported tasks: ['generate']"),
        info("api_server.py:1014", "Starting vLLM API server 0 on http://0.0.0.0:8000"),
        info("launcher.py:38", "Available routes are:"),
        *(
            info("launcher.py:46", f"Route: {route}, Methods: {'POST' if 'comp' in route or 'tok' in route else 'GET'}")
            for route in routes
        ),
    ]
    says = [Say(0.5 + 0.01 * number, "api", text) for number, text in enumerate(said)]
    says += [
        Say(-0.4, "api", "INFO:     Started server process [{pid}]"),
        Say(-0.3, "api", "INFO:     Waiting for application startup."),
        Say(-0.05, "api", "INFO:     Application startup complete."),
    ]
    yield Phase("api", plan.api, tuple(says), api=0.8, card=Card(watts=90.0))


def sway(seed: str, shards: float, total: int = SHARDS, share: float = 0.12) -> tuple[float, ...]:
    """Lengths of so many shards around a mean, in all exactly `total` of it."""
    raw = [1 + share * noise(seed, number) for number in range(total)]
    return tuple(shards * total * value / sum(raw) for value in raw)

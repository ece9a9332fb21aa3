"""What vLLM prints on its way up, in order, as a table; the wordings are those of 0.24 on a real H200.

A row is (share of the load's time before it, who, level, source, message). Who: A the API server, E the engine, W every
worker, 0 the first worker; where there is one GPU, the engine is the worker. "bar:…" rows are progress bars.
"""

from __future__ import annotations

from .options import Options

Row = tuple[float, str, str, str, str]

_OPERATORS = """
unified_attention_with_output unified_mla_attention_with_output mamba_mixer2 mamba_mixer short_conv linear_attention
plamo2_mamba_mixer qwen_gdn_attention_core gdn_attention_core_xpu kda_attention olmo_hybrid_gdn_full_forward
sparse_attn_indexer rocm_aiter_sparse_attn_indexer deepseek_v4_attention
"""
_PASSES = """
norm_quant act_quant attn_quant gemm_comms allreduce_rms rope_kvcache_cat_mla act_padding
"""


def _speculative(options: Options) -> str:
    if not options.speculative:
        return "None"
    method = options.speculative.get("method", "draft_model")
    model = options.speculative.get("model")
    return f"SpeculativeConfig(method={method!r}, model={model!r}, num_spec_tokens={options.k})"


def arguments(options: Options) -> str:
    """Return the line that repeats the command line, the key included: the real one prints it too."""
    given: dict[str, object] = {"model_tag": options.model, "host": options.host, "port": options.port}
    if options.uds:
        given["uds"] = options.uds
    if options.api_key:
        given["api_key"] = [options.api_key]
    given |= {"model": options.model, "max_model_len": options.max_model_len, "served_model_name": list(options.names)}
    if options.tensor_parallel > 1:
        given["tensor_parallel_size"] = options.tensor_parallel
    if options.speculative:
        given["speculative_config"] = dict(options.speculative)
    return f"non-default args: {given}"


def config(options: Options) -> str:
    """Return the config dump: one line beyond the 4096 bytes at which journalctl prints null without --all."""
    sizes = [1, 2, 4, *range(8, 257, 8), *range(272, 513, 16)]
    extra = {"api_key": options.api_key} if options.api_key else {}
    operators = ", ".join(f"'vllm::{name}'" for name in _OPERATORS.split())
    passes = ", ".join(f"'fuse_{name}': False" for name in _PASSES.split())
    layers = ", ".join(f"'model.layers.{index}.self_attn.attn': 0" for index in range(80))
    return (
        f"Initializing a V1 LLM engine (v{options.version_text}) with config: model={options.model!r}, "
        f"speculative_config={_speculative(options)}, tokenizer={options.model!r}, skip_tokenizer_init=False, "
        "tokenizer_mode=auto, revision=None, trust_remote_code=False, dtype=torch.bfloat16, "
        f"max_seq_len={options.max_model_len}, download_dir=None, load_format=auto, "
        f"tensor_parallel_size={options.tensor_parallel}, pipeline_parallel_size=1, data_parallel_size=1, "
        f"quantization=None, enforce_eager={options.eager}, kv_cache_dtype=auto, device_config=cuda, "
        "structured_outputs_config=StructuredOutputsConfig(backend='auto', disable_any_whitespace=False), "
        f"seed=0, served_model_name={options.names[0]}, enable_prefix_caching=True, additional_config={extra}, "
        f"compilation_config={{'mode': <CompilationMode.VLLM_COMPILE: 3>, 'splitting_ops': [{operators}], "
        f"'cudagraph_capture_sizes': {sizes}, 'pass_config': {{{passes}}}, "
        f"'static_forward_context': {{{layers}}}}}"
    )


def _logo(options: Options) -> str:
    return (
        "\n       █     █     █▄   ▄█\n"
        f" ▄▄ ▄█ █     █     █ ▀▄▀ █  version {options.version_text}\n"
        f"  █▄█▀ █     █     █     █  model   {options.model}\n"
        "   ▀▀  ▀▀▀▀▀ ▀▀▀▀▀ ▀     ▀\n"
    )


def rows(options: Options) -> list[Row]:
    """List the whole start."""
    method = str(options.speculative.get("method", "draft_model")) if options.speculative else ""
    synchronous = method in ("ngram", "suffix")
    gib = options.gib
    before: list[Row] = [
        (0.10, "A", "INFO", "api_utils.py:339", _logo(options)),
        (0, "A", "INFO", "api_utils.py:273", arguments(options)),
        (0, "A", "INFO", "model.py:598", "Resolved architecture: LlamaForCausalLM"),
        (0, "A", "INFO", "model.py:1725", f"Using max model len {options.max_model_len}"),
        (0, "A", "INFO", "scheduler.py:252", "Chunked prefill is enabled with max_num_batched_tokens=8192."),
    ]
    if synchronous:
        text = f"Async scheduling not supported with {method}-based speculative decoding and will be disabled."
        before.append((0, "A", "WARNING", "vllm.py:981", text))
    state = "disabled" if synchronous else "enabled"
    before.append((0, "A", "INFO", "vllm.py:1006", f"Asynchronous scheduling is {state}."))
    engine: list[Row] = [
        (0.10, "E", "INFO", "core.py:114", config(options)),
        (0, "W", "INFO", "parallel_state.py:1588", "world_size={ranks} rank={rank} local_rank={rank} backend=nccl"),
        (0, "W", "raw", "", "[W1129 14:06:51.285848734 socket.cpp:207] [c10d] The hostname of the client socket cannot be retrieved. err=-3"),
        (0.03, "W", "INFO", "parallel_state.py:1923", "rank {rank} in world size {ranks} is assigned as DP rank 0, PP rank 0, TP rank {rank}"),
    ]  # fmt: skip
    if options.speculative:
        text = "min_p and logit_bias parameters won't work with speculative decoding."
        engine.append((0, "W", "WARNING", "__init__.py:204", text))
    engine += [
        (0, "W", "INFO", "gpu_model_runner.py:5160", f"Starting to load model {options.model}..."),
        (0, "W", "hold", "", "0.15"),
        (0.35, "0", "bar:shards", "", "Loading safetensors checkpoint shards"),
        (0, "0", "INFO", "default_loader.py:430", "Loading weights took 3.08 seconds"),
    ]
    if options.speculative:
        engine.append((0, "W", "INFO", "gpu_model_runner.py:5184", "Loading drafter model..."))
    engine.append((0, "W", "INFO", "gpu_model_runner.py:5255", f"Model loading took {gib * 0.15:.1f} GiB memory and 3.676078 seconds"))  # fmt: skip
    if not options.eager:
        engine += [
            (0.08, "0", "INFO", "backends.py:1089", "Using cache directory: /root/.cache/vllm/torch_compile_cache/7357fc352c/rank_0_0/backbone for vLLM's torch.compile"),
            (0, "0", "INFO", "backends.py:1148", "Dynamo bytecode transform time: 8.58 s"),
            (0.08, "0", "INFO", "monitor.py:53", "torch.compile took 23.17 s in total"),
        ]  # fmt: skip
    engine += [
        (0.04, "W", "INFO", "gpu_worker.py:508", f"Available KV cache memory: {gib * 0.8:.2f} GiB"),
        (0, "W", "hold", "", "0.95"),
        (0, "E", "INFO", "kv_cache_utils.py:2146", f"GPU KV cache size: {options.blocks * 16:,} tokens"),
        (
            0,
            "E",
            "INFO",
            "kv_cache_utils.py:2147",
            f"Maximum concurrency for 8,192 tokens per request: {options.blocks / 512:.2f}x",
        ),
    ]
    if not options.eager:
        engine += [
            (0.06, "0", "bar:graphs", "", "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE)"),
            (0.06, "0", "bar:graphs", "", "Capturing CUDA graphs (decode, FULL)"),
            (0, "W", "INFO", "gpu_model_runner.py:6656", "Graph capturing finished in 7 secs, took 0.62 GiB"),
        ]
    engine += [
        (0.06, "W", "hold", "", "1.0"),
        (0, "E", "INFO", "core.py:337", "init engine (profile, create kv cache, warmup model) took 45.15 s (compilation: 23.17 s)"),
    ]  # fmt: skip
    where = f"unix:{options.uds}" if options.uds else f"http://{options.host}:{options.port}"
    after: list[Row] = [
        (0.02, "A", "INFO", "api_server.py:577", "Supported tasks: ['generate']"),
        (0, "A", "INFO", "api_server.py:581", f"Starting vLLM server on {where}"),
        (0, "A", "INFO", "launcher.py:37", "Available routes are:"),
        *((0, "A", "INFO", "launcher.py:46", f"Route: {path}, Methods: {method}") for path, method in ROUTES),
        (0.02, "A", "uvicorn", "", "Started server process [{pid}]"),
        (0, "A", "uvicorn", "", "Waiting for application startup."),
        (0, "A", "uvicorn", "", "Application startup complete."),
    ]
    return before + engine + after


ROUTES = (
    ("/openapi.json", "GET, HEAD"),
    ("/load", "GET"),
    ("/version", "GET"),
    ("/health", "GET"),
    ("/metrics", "GET"),
    ("/v1/models", "GET"),
    ("/v1/chat/completions", "POST"),
    ("/v1/completions", "POST"),
)

"""What a start says of itself; every value is from its own log, None where it has not said it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LoadFacts:
    """Facts of one start, as its log gives them."""

    version: str | None = None
    engine: str | None = None
    """V0 or V1."""
    runner: str | None = None
    """The model runner, V1 or V2."""
    model: str | None = None
    architectures: tuple[str, ...] = ()
    """The target's, then the drafter's."""
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    data_parallel: int | None = None
    world_size: int | None = None
    max_model_len: int | None = None
    quantization: str | None = None
    kv_cache_dtype: str | None = None
    eager: bool | None = None
    kv_tokens: int | None = None
    """Tokens that the KV cache holds, of one engine."""
    kv_gib: float | None = None
    concurrency: float | None = None
    """Requests of full length that fit at once, as printed."""
    method: str | None = None
    """The speculative method; None: not said, see `speculation`."""
    k: int | None = None
    drafter: str | None = None
    speculation: bool | None = None
    """Whether the engine's configuration has speculation; None: not said."""
    async_scheduling: bool | None = None
    async_why: str | None = None
    """Why it is off, in vLLM's words."""
    ineffective: tuple[str, ...] = ()
    """Request parameters that do not work with this configuration: min_p, logit_bias, min_tokens."""
    filesystem: str | None = None
    checkpoint_gib: float | None = None
    model_gib: float | None = None
    """GPU memory of the weights, of one worker."""
    weights_s: float | None = None
    """"Loading weights took", of the target; the slowest worker's where several say it."""
    load_s: float | None = None
    """"Model loading took … seconds"."""
    download_s: float | None = None
    compile_s: float | None = None
    compile_cached: bool | None = None
    """True: the compiled graph came from the cache; False: it was compiled."""
    graphs: int | None = None
    """CUDA graphs that will be captured, where the memory profile names them beforehand (0.18.0 and later)."""
    capture_s: float | None = None
    graph_gib: float | None = None
    init_s: float | None = None
    """"init engine … took"."""
    prefetched: tuple[int, int] | None = None
    """Checkpoint files in the page cache by vLLM's own prefetcher: done, total."""


@dataclass(frozen=True)
class Notice:
    """A line that is worth reading."""

    kind: str
    """Its stable name: async_off, ineffective, ready_deadline …"""
    said: str
    """What it means for an operator, in one sentence."""
    line: str
    """The line itself, cut at 400 characters."""
    at: float
    seq: int
    """The record's number in the log buffer."""

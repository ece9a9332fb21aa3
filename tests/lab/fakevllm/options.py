"""What a fake vLLM was asked to be: the real command line, and FAKE_… variables for what a real one does by itself."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Options:
    """One server."""

    model: str
    names: tuple[str, ...]
    host: str
    port: int
    uds: str | None
    api_key: str | None
    speculative: Mapping[str, Any] | None
    tensor_parallel: int
    max_model_len: int
    blocks: int
    """Of the KV cache, 16 tokens each."""
    eager: bool
    json_log: bool
    access_log: bool
    gpus: tuple[int, ...]
    version: tuple[int, int, int]
    """FAKE_VERSION, 0.24.0 unless said: decides the forms of the log."""
    colour: bool
    """VLLM_LOGGING_COLOR=1, as the real one has it."""
    load_s: float
    """FAKE_LOAD_S: how long a start takes (1 s)."""
    gib: float
    """FAKE_GIB: memory of each GPU when ready (100)."""
    shards: int
    """FAKE_SHARDS (8)."""
    fail: str
    """FAKE_FAIL: oom, kv or drafter: the start ends so; hang: it never ends, with the CPU idle."""
    stalls: tuple[tuple[str, str, float], ...]
    """FAKE_STALLS, JSON: rows before which the start pauses, each with its source, how (`startup.Server._stall`), seconds."""
    stubborn: bool
    """FAKE_STUBBORN=1: SIGTERM is ignored."""
    shm: int
    """FAKE_SHM: segments that engine and workers each map and leave behind, as after a kill (0)."""
    maps: str
    """FAKE_MAPS: a file that they map for reading, as weights are."""
    step_s: float
    """FAKE_STEP_MS: one engine step without speculation (5 ms)."""
    cost: float
    """FAKE_COST: how many such steps one with speculation takes, whether it drafts or not (2)."""
    coverage: float
    """FAKE_COVERAGE: chance that a step drafts (1)."""
    acceptance: float
    """FAKE_ACCEPTANCE: chance that a drafted token is accepted, given the one before was (0.8)."""
    answers: int | None
    """FAKE_ANSWERS: so many requests for several tokens are answered, later ones fail as of an engine that died (all)."""
    stats_s: float
    """VLLM_LOG_STATS_INTERVAL (10)."""
    flood: int
    """FAKE_FLOOD: numbered lines that a SIGUSR1 makes it print at once (0)."""

    @property
    def k(self) -> int:
        """Tokens drafted a step; 0 without speculation."""
        return int(self.speculative["num_speculative_tokens"]) if self.speculative else 0

    @property
    def version_text(self) -> str:
        """0.24.0."""
        return ".".join(map(str, self.version))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="vllm serve", allow_abbrev=False)
    parser.add_argument("model_tag", nargs="?")
    parser.add_argument("--model")
    parser.add_argument("--served-model-name", nargs="+")
    parser.add_argument("--host", default="0.0.0.0")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--uds")
    parser.add_argument("--api-key")
    parser.add_argument("--speculative-config", "-sc", type=json.loads)
    parser.add_argument("--tensor-parallel-size", "-tp", type=int, default=1)
    parser.add_argument("--max-model-len", type=int, default=8192)
    parser.add_argument("--num-gpu-blocks-override", type=int, default=25784)
    parser.add_argument("--enforce-eager", action="store_true")
    parser.add_argument("--disable-uvicorn-access-log", action="store_true")
    parser.add_argument("--logging-config.formatter", dest="formatter")
    for ignored in ("--gpu-memory-utilization", "--max-num-seqs", "--kv-cache-dtype", "--quantization", "--dtype"):
        parser.add_argument(ignored)
    for switch in ("--trust-remote-code", "--enable-prefix-caching", "--no-async-scheduling", "--disable-log-stats"):
        parser.add_argument(switch, action="store_true")
    return parser


def parse(words: Sequence[str], environ: Mapping[str, str] = os.environ) -> Options:
    """Read the words after `serve`; like the real one, an unknown option ends with status 2."""
    args = _parser().parse_args(list(words))
    model = args.model_tag or args.model or "Qwen/Qwen3-0.6B"
    visible = environ.get("CUDA_VISIBLE_DEVICES", "")
    gpus = tuple(int(gpu) for gpu in visible.split(",") if gpu) or tuple(range(args.tensor_parallel_size))
    major, minor, patch = (int(part) for part in environ.get("FAKE_VERSION", "0.24.0").split("."))
    return Options(
        model=model,
        names=tuple(args.served_model_name or [model]),
        host=args.host,
        port=args.port,
        uds=args.uds,
        api_key=args.api_key or environ.get("VLLM_API_KEY"),
        speculative=args.speculative_config,
        tensor_parallel=args.tensor_parallel_size,
        max_model_len=args.max_model_len,
        blocks=args.num_gpu_blocks_override,
        eager=args.enforce_eager,
        json_log=args.formatter == "json",
        access_log=not args.disable_uvicorn_access_log,
        gpus=gpus[: args.tensor_parallel_size],
        version=(major, minor, patch),
        colour=environ.get("VLLM_LOGGING_COLOR") == "1",
        load_s=float(environ.get("FAKE_LOAD_S", "1")),
        gib=float(environ.get("FAKE_GIB", "100")),
        shards=int(environ.get("FAKE_SHARDS", "8")),
        fail=environ.get("FAKE_FAIL", ""),
        stalls=tuple((row, how, float(seconds)) for row, how, seconds in json.loads(environ.get("FAKE_STALLS", "[]"))),
        stubborn=environ.get("FAKE_STUBBORN") == "1",
        shm=int(environ.get("FAKE_SHM", "0")),
        maps=environ.get("FAKE_MAPS", ""),
        step_s=float(environ.get("FAKE_STEP_MS", "5")) / 1000,
        cost=float(environ.get("FAKE_COST", "2")),
        coverage=float(environ.get("FAKE_COVERAGE", "1")),
        acceptance=float(environ.get("FAKE_ACCEPTANCE", "0.8")),
        answers=int(environ["FAKE_ANSWERS"]) if "FAKE_ANSWERS" in environ else None,
        stats_s=float(environ.get("VLLM_LOG_STATS_INTERVAL", "10")),
        flood=int(environ.get("FAKE_FLOOD", "0")),
    )

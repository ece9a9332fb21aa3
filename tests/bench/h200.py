"""The recorded H200 runs as `BenchRun` values: stamps of each chunk, and the counters' gains of each load."""

from __future__ import annotations

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

from specconsole.bench.prompt import Prompt
from specconsole.bench.run import BenchRun, Identity, ScrapeText, WarmUp, Window
from specconsole.bench.spec import BenchSpec
from specconsole.bench.stats import Result

DATA = Path(__file__).parent / "data"
METHODS = {"D5": ("ngram", 5), "M5": ("ngram", 5), "E3": ("eagle3", 3)}
LABELS = '{engine="0",model_name="m"}'


@cache
def recorded(name: str = "h200") -> dict[str, Any]:
    """A file of the data folder."""
    loaded: dict[str, Any] = json.loads(lzma.decompress((DATA / f"{name}.json.xz").read_bytes()))
    return loaded


def counters(gains: dict[str, float], per_position: dict[str, float], factor: float) -> str:
    """Counters in the text of /metrics: nothing yet (factor 0), or all that a load added (1)."""
    lines = [f"{name}{LABELS} {value * factor}" for name, value in gains.items()]
    lines += [
        f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="0",model_name="m",position="{place}"}} {value * factor}'
        for place, value in per_position.items()
    ]
    return "\n".join(lines) + "\n"


def run(name: str, load: str) -> BenchRun:
    """One load of one server."""
    server = recorded()[name]
    told = server["runs"][load]
    requests = told["requests"]
    prompts = tuple(Prompt(f"p{place}", f"text {place}") for place in sorted({one["prompt"] for one in requests}))
    results = tuple(_result(one, place, requests[0]["w0"]) for place, one in enumerate(requests))
    method, k = METHODS.get(name, (None, None))
    texts = [counters(told["metrics"], told["per_pos"], factor) for factor in (0, 1)]
    return BenchRun(
        spec=BenchSpec(
            prompts, repeat=len(requests) // len(prompts) or 1, temperature=told["T"], concurrency=told["conc"]
        ),
        identity=Identity(
            unit=f"{name}.service",
            model=name[0],
            version=server["version"],
            method=method,
            k=k,
            speculation=method is not None,
        ),
        started=requests[0]["w0"],
        cache="prefix",
        results=results,
        warmup=WarmUp((0.005, 0.005), True),
        scrapes=tuple(ScrapeText(requests[0]["w0"], text) for text in texts),
        windows=(Window(tuple(one.id for one in results), 0, 1),),
        why="finished",
    )


def _result(one: dict[str, Any], place: int, began: float) -> Result:
    sofar, chunks = 0, []
    for at_ms, tokens in one["chunks"]:
        sofar += tokens
        chunks.append((round(at_ms * 1e6), sofar))
    return Result(
        id=f"p{one['prompt']}/{place}",
        prompt=f"p{one['prompt']}",
        repeat=place,
        chunks=tuple(chunks),
        sent_at=one["w0"],
        sent_s=one["w0"] - began,
        headers_s=one["hdr"] / 1e3,
        end_s=one["end"] / 1e3,
        prompt_tokens=one["in"],
        completion_tokens=one["out"],
        finish=one["fin"],
        text=one["text"],
    )

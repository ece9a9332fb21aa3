"""Runs made by hand: streams with given tokens and step times, counters to match, windows around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from specconsole.bench.prompt import Prompt
from specconsole.bench.run import BenchRun, Identity, ScrapeText, WarmUp, Window
from specconsole.bench.spec import BenchSpec
from specconsole.bench.stats import Result

MS = 1_000_000


def stream(
    name: str, counts: Sequence[int], *, step_ms: float = 10.0, ttft_ms: float = 20.0, sent_s: float = 0.0, **more: Any
) -> Result:
    """A stream whose chunks carry these tokens, a step apart."""
    sofar, chunks = 0, []
    for place, count in enumerate(counts):
        sofar += count
        chunks.append((int((ttft_ms + place * step_ms) * MS), sofar))
    prompt, _, repeat = name.partition("/")
    fields: dict[str, Any] = {
        "id": name,
        "prompt": prompt,
        "repeat": int(repeat or 0),
        "chunks": tuple(chunks),
        "sent_s": sent_s,
        "sent_at": 1000.0 + sent_s,
        "end_s": chunks[-1][0] / 1e9 if chunks else None,
        "prompt_tokens": 50,
        "completion_tokens": sofar,
        "finish": "length",
    }
    return Result(**{**fields, **more})


def text(counted: Mapping[str, float], *, engine: str = "0", start: float = 500.0) -> str:
    """Counters in the text of /metrics."""
    positions = {name: value for name, value in counted.items() if name.startswith("pos")}
    lines = [f"process_start_time_seconds {start}"]
    for name, value in counted.items():
        if name not in positions:
            lines.append(f'vllm:{name}{{engine="{engine}",model_name="m"}} {value}')
            lines.append(f'vllm:{name.removesuffix("_total")}_created{{engine="{engine}",model_name="m"}} 1.7e+09')
    for name, value in positions.items():
        lines.append(
            f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="{engine}",model_name="m",position="{name[3:]}"}} {value}'
        )
    return "\n".join(lines) + "\n"


def counted(results: Sequence[Result], *, drafts: Sequence[int] | None = None, k: int = 3) -> dict[str, float]:
    """What a server counts for these streams; `drafts`: accepted tokens at each position over all steps."""
    steps = sum(len(one.gaps_s) for one in results)
    tokens = sum(one.tokens or 0 for one in results)
    gained: dict[str, float] = {
        "generation_tokens_total": tokens,
        "prompt_tokens_total": 50 * len(results),
        "time_to_first_token_seconds_count": len(results),
        "inter_token_latency_seconds_count": steps,
        "inter_token_latency_seconds_sum": sum(sum(one.gaps_s) for one in results),
        "request_time_per_output_token_seconds_count": len(results),
        "request_time_per_output_token_seconds_sum": sum(one.tpot_s or 0 for one in results),
        "prefix_cache_queries_total": 50 * len(results),
        "prefix_cache_hits_total": 0,
        "num_preemptions_total": 0,
        "num_requests_running": 0,
    }
    if drafts is not None:
        gained |= {
            "spec_decode_num_drafts_total": steps,
            "spec_decode_num_draft_tokens_total": steps * k,
            "spec_decode_num_accepted_tokens_total": sum(drafts),
        }
        gained |= {f"pos{place}": value for place, value in enumerate(drafts)}
    return gained


def run(results: Sequence[Result], *, drafts: Sequence[int] | None = None, **changes: Any) -> BenchRun:
    """A finished run over these streams, each in a window of its own, that nothing speaks against."""
    names = list(dict.fromkeys(one.prompt for one in results))
    speculates = drafts is not None
    totals = dict.fromkeys(counted((), drafts=[0] * len(drafts) if drafts else None), 0.0)
    scrapes, windows = [ScrapeText(999.0, text(totals))], []
    for place, one in enumerate(results):
        share = [value // len(results) for value in drafts] if drafts is not None else None
        gained = counted([one], drafts=share)
        totals = {name: totals.get(name, 0.0) + value for name, value in gained.items()}
        scrapes.append(ScrapeText(1000.0 + place, text(totals)))
        windows.append(Window((one.id,), place, place + 1))
    most = max((one.tokens or 2 for one in results), default=2)
    made = BenchRun(
        spec=BenchSpec(
            tuple(Prompt(name, f"text of {name}") for name in names) or (Prompt("p", "t"),), repeat=1, max_tokens=most
        ),
        identity=Identity(
            host="gpu-1",
            unit="vllm-spec.service" if speculates else "vllm-base.service",
            invocation="b" * 32 if speculates else "a" * 32,
            model="m",
            model_root="/m",
            version="0.24.0",
            method="ngram" if speculates else None,
            k=3 if speculates else None,
            speculation=speculates,
            runner="V1",
            async_scheduling=not speculates,
        ),
        started=1000.0,
        cache="salt",
        results=tuple(results),
        warmup=WarmUp((0.01, 0.01), True),
        scrapes=tuple(scrapes),
        windows=tuple(windows),
        why="finished",
    )
    return replace(made, **changes)

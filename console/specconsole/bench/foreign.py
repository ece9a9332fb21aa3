"""Result files of other benchmark clients as runs: recognised by content, their words turned into ours, or refused.

vllm bench serve  TPOT is (E2EL - TTFT) / (tokens - 1) of each request, then a mean over requests; ITL is between chunks
AIPerf            its ITL is that TPOT, its inter_chunk_latency the time between chunks; tokens by a tokenizer of its own
GuideLLM          its ITL is (last - first) / (tokens - 1); its TPOT holds the first token too, and is not used here
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from specconsole.bench import aiperf_file, guidellm_file, vllm_file
from specconsole.bench.run import BenchRun
from specconsole.errors import UsageError
from specconsole.text import reason

MOST_BYTES = 1 << 30
HEAD = 65536
"""Characters of the beginning by which a file is recognised."""
RUN = (r"\A\s*\{", r'"schema": ?\d', r'"spec": ?\{', r'"results": ?\[')
VLLM_JSON = (r"\A\s*[\[{]", r'"(?:output_throughput|mean_ttft_ms|median_tpot_ms)": ?[\d.]')
VLLM_TEXT = (
    r"^(?:[^\n=]{0,60}\| {0,3}|[ \t]{0,40}|\d{4}-\d\d-\d\dT\S{8,30} )=+ Serving Benchmark Result =+|^(?:Successful requests|Output token throughput \(tok/s\)|Mean TPOT \(ms\)): +[\d.]+",
)
AIPERF_JSON = (r"\A\s*\{", r'"request_latency": ?\{\s*"unit"')
AIPERF_LINES = (r'\A\s*\{"metadata": ?\{', r'"metrics": ?\{', r'"(?:x_request_id|session_num|benchmark_phase)": ?')
GUIDELLM = (r"\A\s*\{", r'"benchmarks": ?\[', r"guidellm|inter_token_latency_ms|time_per_output_token_ms|type_")
"""Patterns that a file of each form holds, all of them, line by line."""
READERS: tuple[tuple[tuple[str, ...], Callable[[str], Sequence[BenchRun]]], ...] = (
    (AIPERF_LINES, aiperf_file.records),
    (AIPERF_JSON, aiperf_file.summary),
    (GUIDELLM, guidellm_file.report),
    (VLLM_JSON, vllm_file.results),
    (VLLM_TEXT, vllm_file.results),
)
KNOWN = "Give a number of `history runs`, or a file of bench --json, `vllm bench serve`, AIPerf or GuideLLM."


def holds(patterns: Sequence[str], text: str) -> bool:
    """Tell whether a text is of a form."""
    return all(re.search(pattern, text, re.MULTILINE) for pattern in patterns)


def read(text: str, name: str) -> tuple[BenchRun, ...] | None:
    """The runs of another tool's file, each called after the file; None: it is no such file.

    Raises:
        UsageError: it is one, and holds no run that can be used; the text says why.
    """
    for patterns, reader in READERS:
        if holds(patterns, text[:HEAD]) or (patterns is GUIDELLM and holds(patterns, text[:HEAD] + text[-HEAD:])):
            try:
                found = tuple(reader(text))
            except (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError) as error:
                raise UsageError(
                    f"{name} is damaged.", "It is cut off, or not of the form that its tool writes."
                ) from error
            if not found:
                raise UsageError(f"{name} holds no request that succeeded.")
            return found
    return None


def text_of(name: str) -> str:
    """What a file holds. Raises UsageError."""
    path = Path(name)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"{name} is larger than {MOST_BYTES >> 30} GiB.")
        return path.read_text(encoding="utf-8-sig")  # editors on Windows put a mark before the first brace
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{name} cannot be read.", f"{reason(error)}.", KNOWN) from error

"""The clients that the load generator is measured against, each run as a process of its own.

    python -m benchmarks.sse_peer KIND PORT STREAMS MODEL     prints {"streams": {NAME: [[stamp_ns, tokens], ...]}, "cpu_s": s}

httpx-sse    `aiter_sse`, stamped as each event is handed over, parsed after the stream
httpx-lines  `aiter_lines`, likewise
bench-serve  what `vllm bench serve` does: aiohttp `iter_any`, split at blank lines, each event parsed and stamped as it comes
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Coroutine
from importlib import import_module
from typing import Any

Stamps = list[tuple[int, str | bytes]]
Client = Callable[[str, list[dict[str, Any]]], Coroutine[Any, Any, list[Stamps]]]


async def httpx_sse(url: str, bodies: list[dict[str, Any]]) -> list[Stamps]:
    import httpx

    aconnect_sse = import_module("httpx_sse").aconnect_sse  # no dependency of ours

    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=None), timeout=60, trust_env=False) as client:

        async def one(body: dict[str, Any]) -> Stamps:
            stamps: Stamps = []
            async with aconnect_sse(client, "POST", url, json=body) as source:
                async for event in source.aiter_sse():
                    stamps.append((time.perf_counter_ns(), event.data))
            return stamps

        return await asyncio.gather(*map(one, bodies))


async def httpx_lines(url: str, bodies: list[dict[str, Any]]) -> list[Stamps]:
    import httpx

    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=None), timeout=60, trust_env=False) as client:

        async def one(body: dict[str, Any]) -> Stamps:
            stamps: Stamps = []
            async with client.stream("POST", url, json=body) as answer:
                async for line in answer.aiter_lines():
                    if line:
                        stamps.append((time.perf_counter_ns(), line[6:]))
            return stamps

        return await asyncio.gather(*map(one, bodies))


async def bench_serve(url: str, bodies: list[dict[str, Any]]) -> list[Stamps]:
    aiohttp = import_module("aiohttp")  # no dependency of ours

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), trust_env=False) as session:

        async def one(body: dict[str, Any]) -> Stamps:
            stamps: Stamps = []
            text = ""
            async with session.post(url, json=body) as answer:
                async for data in answer.content.iter_any():
                    *events, text = (text + data.decode()).split("\n\n")
                    for event in events:
                        now = time.perf_counter_ns()
                        if event != "data: [DONE]":
                            json.loads(event[6:])
                        stamps.append((now, event[6:]))
            return stamps

        return await asyncio.gather(*map(one, bodies))


KINDS: dict[str, Client] = {"httpx-sse": httpx_sse, "httpx-lines": httpx_lines, "bench-serve": bench_serve}


def body(name: str, model: str) -> dict[str, Any]:
    """A request that names its stream and its schedule."""
    return {"model": model, "user": name, "stream": True, "messages": [{"role": "user", "content": "Count."}]}


def tokens(stamps: Stamps) -> list[tuple[int, int]]:
    """Stamp and tokens so far of each chunk."""
    return [(at, json.loads(data)["usage"]["completion_tokens"]) for at, data in stamps if data[:1] == "{"]


def main() -> None:
    kind, port, streams, model = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    url, client = f"http://127.0.0.1:{port}/v1/chat/completions", KINDS[kind]
    asyncio.run(client(url, [body(f"warm-{n}", "n=5 us=1000") for n in range(2)]))
    names = [f"s{n}" for n in range(streams)]
    cpu = time.process_time()
    found = asyncio.run(client(url, [body(name, model) for name in names]))
    cpu = time.process_time() - cpu
    told = {name: tokens(stamps) for name, stamps in zip(names, found, strict=True)}
    print(json.dumps({"streams": told, "cpu_s": cpu}))


if __name__ == "__main__":
    main()

"""The simulated server: what it answers, and that what it streams is what it counts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from itertools import pairwise
from typing import Any

import pytest

from specconsole.engine.client import EngineClient
from specconsole.host.base import Endpoint
from specconsole.host.simulated import SimulatedHost, story
from specconsole.host.simulated.fixture import unit_of
from tests.fakes import FakeClock

HERE = Endpoint(8201)


@pytest.fixture
async def host() -> AsyncGenerator[SimulatedHost, None]:
    """A host whose n-gram unit is just ready; no recorded traffic yet."""
    clock = FakeClock()
    simulated = SimulatedHost(clock=clock, begin=story.loading("moe-ngram"))
    await simulated.open()
    await clock.advance(140.5 - story.LOADING_S)
    yield simulated
    await simulated.close()


async def ask(host: SimulatedHost, body: dict[str, Any], path: str = "/v1/completions") -> bytes:
    """Send a request by hand and wait for the whole answer while the clock goes on."""
    reader, writer = await host.connect(HERE)
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(data)}\r\n\r\n"
    writer.write(head.encode() + data)
    answer = asyncio.ensure_future(reader.read())
    clock = host.clock
    assert isinstance(clock, FakeClock)
    for _ in range(4000):
        if answer.done():
            break
        await clock.advance(0.002)
        await asyncio.wait([answer], timeout=0.0005)
    writer.close()
    return answer.result()


def events(answer: bytes) -> list[dict[str, Any]]:
    lines = [line[6:] for line in answer.split(b"\r\n") for line in line.split(b"\n") if line.startswith(b"data: ")]
    assert lines[-1] == b"[DONE]"
    return [json.loads(line) for line in lines[:-1]]


STREAM = {"stream": True, "stream_options": {"include_usage": True, "continuous_usage_stats": True}}


async def test_a_stream_has_the_recorded_pace_and_is_counted(host: SimulatedHost) -> None:
    async with EngineClient(host, HERE) as client:
        before = await client.metrics()
        body = {"model": "moe-30b-a3b", "prompt": "one two three", "max_tokens": 256, "temperature": 0, **STREAM}
        told = events(await ask(host, body))
        after = await client.metrics()
    *chunks, last = told
    counts = [chunk["usage"]["completion_tokens"] for chunk in chunks]
    assert counts[-1] == 256
    assert last["choices"] == []
    prompt_tokens = last["usage"]["prompt_tokens"]
    assert last["usage"] == {
        "prompt_tokens": prompt_tokens,
        "total_tokens": prompt_tokens + 256,
        "completion_tokens": 256,
    }
    assert chunks[-1]["choices"][0]["finish_reason"] == "length"
    assert max(after - before for before, after in pairwise(counts)) == 6

    def grown(name: str) -> float:
        old, new = before.value(name), after.value(name)
        assert old is not None
        assert new is not None
        return new - old

    assert grown("vllm:generation_tokens") == 256
    assert grown("vllm:prompt_tokens") == prompt_tokens
    assert grown("vllm:inter_token_latency_seconds_count") == len(chunks) - 1
    assert grown("vllm:request_time_per_output_token_seconds_count") == 1
    accepted = grown("vllm:spec_decode_num_accepted_tokens")
    assert 256 - len(chunks) <= accepted <= 256 - len(chunks) + 5  # what was accepted past the end counts too
    assert grown("vllm:spec_decode_num_draft_tokens") == 5 * grown("vllm:spec_decode_num_drafts")
    step_s = grown("vllm:inter_token_latency_seconds_sum") / (len(chunks) - 1)
    assert step_s == pytest.approx(0.0117, abs=0.0015)


async def test_the_same_prompt_says_the_same_at_temperature_0(host: SimulatedHost) -> None:
    body = {"prompt": "again", "max_tokens": 40, "temperature": 0, **STREAM}
    texts = ["".join(event["choices"][0]["text"] for event in events(await ask(host, body))[:-1]) for _ in range(2)]
    assert texts[0] == texts[1]
    assert len(texts[0].split()) == 40


async def test_chat_streams_deltas(host: SimulatedHost) -> None:
    body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 7, **STREAM}
    told = events(await ask(host, body, "/v1/chat/completions"))
    assert told[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert told[0]["usage"]["completion_tokens"] == 0
    assert told[1]["choices"][0]["delta"]["content"]


async def test_without_a_stream_the_answer_is_one_document(host: SimulatedHost) -> None:
    answer = await ask(host, {"prompt": "hi", "max_tokens": 5, "temperature": 0})
    document = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert document["usage"]["completion_tokens"] == 5
    assert len(document["choices"][0]["text"].split()) == 5


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"temperature": 2.43}, b"400 Bad Request", "temperature must be in [0, 2], got 2.43."),
        ({"model": "other"}, b"404 Not Found", "The model `other` does not exist."),
    ],
)
async def test_refusals(host: SimulatedHost, body: dict[str, Any], status: bytes, said: str) -> None:
    answer = await ask(host, {"prompt": "hi"} | body)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["message"].startswith(said)


async def test_running_requests_are_shown_and_logged(host: SimulatedHost) -> None:
    reader, writer = await host.connect(HERE)
    data = json.dumps({"prompt": "hi", "max_tokens": 256, "temperature": 0, **STREAM}).encode()
    writer.write(f"POST /v1/completions HTTP/1.1\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
    await reader.readuntil(b"\r\n\r\n")
    async with EngineClient(host, HERE) as client:
        scrape = await client.metrics()
    assert scrape.value("vllm:num_requests_running") == 1
    log = await host.run(["journalctl", "-u", unit_of("moe-ngram"), "-o", "cat", "-n", "2"])
    assert '"POST /v1/completions HTTP/1.1" 200 OK' in log.text
    writer.close()


async def test_a_stop_breaks_the_stream_without_an_end(host: SimulatedHost) -> None:
    reader, writer = await host.connect(HERE)
    data = json.dumps({"prompt": "hi", "max_tokens": 256, "temperature": 0, **STREAM}).encode()
    writer.write(f"POST /v1/completions HTTP/1.1\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
    await reader.readuntil(b"\r\n\r\n")
    host.machine.stop(unit_of("moe-ngram"))
    clock = host.clock
    assert isinstance(clock, FakeClock)
    rest = asyncio.ensure_future(reader.read())
    for _ in range(500):
        if rest.done():
            break
        await clock.advance(0.05)
        await asyncio.wait([rest], timeout=0.001)
    assert b"[DONE]" not in rest.result()
    writer.close()

"""A hostile server on the host: redirects, compressed and endless answers, lying lengths, values of the wrong kind."""

from __future__ import annotations

import gzip
import json
import time
import zlib
from typing import Any

import pytest

from specconsole.engine.client import EngineClient, NotHttp, Rejected
from specconsole.engine.key import ApiKey
from specconsole.engine.watch import _whole
from specconsole.errors import ConfigError, DeadlineExceeded
from specconsole.remote import drive_http, drive_sse, drive_tokens
from specconsole.remote.drive import _models
from specconsole.remote.drive_context import Filler
from specconsole.remote.drive_http import Target
from specconsole.remote.swap_engine import samples
from tests.bench.driven import drive, request
from tests.bench.scripted import ScriptedServer, chunk, counts_to_events
from tests.engine.server import answer, serve, vllm
from tests.fakes import FakeHost

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
BOMB = gzip.compress(b"\0" * (1 << 22))


# -- the console's own questions --


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_is_followed(status: int) -> None:
    host = FakeHost()
    moved = answer("", status, extra="location: /elsewhere\r\n")
    routes = {**vllm(), "/v1/models": moved, "/v1/completions": moved, "/elsewhere": answer({"data": []})}
    async with serve(host, routes) as it, EngineClient(host, it.endpoint, ApiKey("sesame")) as client:
        with pytest.raises(Rejected, match=str(status)):
            await client.models()
        assert (await client.post("/v1/completions", {})).status == status
        assert [one.path for one in it.requests] == ["/v1/models", "/v1/completions"]


async def test_metrics_that_move_in_a_circle_are_asked_twice_and_no_more() -> None:
    host = FakeHost()
    moved = answer("", 307, extra="location: /metrics/\r\n")
    async with serve(host, {"/metrics": moved, "/metrics/": moved}) as it, EngineClient(host, it.endpoint) as client:
        with pytest.raises(Rejected):
            await client.metrics()
        assert len(it.requests) == 2


@pytest.mark.parametrize("packing", ["gzip", "deflate", "br", "zstd"])
async def test_a_compressed_answer_is_neither_asked_for_nor_unpacked(packing: str) -> None:
    host = FakeHost()
    body = BOMB if packing == "gzip" else zlib.compress(b"\0" * (1 << 22))
    routes = {"/metrics": answer(body, extra=f"content-encoding: {packing}\r\n")}
    async with serve(host, routes) as it, EngineClient(host, it.endpoint) as client:
        with pytest.raises(NotHttp, match="compressed"):
            await client.get("/metrics")
        assert it.requests[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    "body", [b"[" * 200_000, b'{"data":' * 50_000, b'{"data": 7}', b'"x"', b"\xff\xfe[", b"9" * 9000]
)
async def test_a_model_list_that_is_none_is_one_sentence(body: bytes) -> None:
    host = FakeHost()
    routes = {**vllm(), "/v1/models": answer(body), "/version": answer(body)}
    async with serve(host, routes) as it, EngineClient(host, it.endpoint) as client:
        with pytest.raises(Rejected):
            await client.models()
        assert await client.version() is None


async def test_a_giant_model_list_is_cut() -> None:
    host = FakeHost()
    listed = {"data": [{"id": "m" * 1500 + "\x1b[1m", "root": "r" * 1500, "max_model_len": 1e999}] * 1500}
    async with serve(host, {"/v1/models": answer(listed)}) as it, EngineClient(host, it.endpoint) as client:
        models = await client.models()
    assert len(models) == 1000
    assert max(len(one.id) + len(one.root or "") for one in models) <= 2000
    assert models[0].max_model_len is None


async def test_a_length_that_lies_is_waited_for_no_longer_than_the_deadline() -> None:
    host = FakeHost()
    lying = b"HTTP/1.1 200 X\r\ncontent-length: 999999999999\r\n\r\n{}"
    routes = {"/version": lying}
    async with serve(host, routes) as it, EngineClient(host, it.endpoint, deadline_s=0.2) as client:
        with pytest.raises(DeadlineExceeded):
            await client.get("/version")


@pytest.mark.parametrize("key", ["a\r\nX-Evil: 1", "a\nb", "a\0b", " a", "a ", "", "clé", "a\tb"])
def test_a_key_that_would_begin_another_header_is_no_key(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ApiKey(key, "the profile's command")
    assert "Evil" not in str(caught.value)
    if key.strip() not in ("", "a") and key.isascii():
        with pytest.raises(ValueError) as refused:
            Target({"port": 1}, key).request("GET", "/v1/models")
        assert "Evil" not in str(refused.value)


def test_an_address_or_a_path_that_would_begin_another_header_is_refused() -> None:
    with pytest.raises(ValueError):
        Target({"address": "a\r\nX-Evil: 1"}).request("GET", "/")
    with pytest.raises(ValueError):
        Target({}).request("GET", "/\r\nX-Evil: 1")


def test_a_counter_without_end_is_unknown() -> None:
    assert _whole(float("inf")) is None
    assert _whole(float("nan")) is None
    assert samples("a inf\na NaN\na 3\n", ("a",)) == [3.0]


# -- the load generator's and the swap's, which run on the host --


def _moment(_: object) -> None:
    """The server's thread lets a moment pass, so that what comes next is a read of its own."""
    time.sleep(0.01)


def asked(script: Any, deadline_s: float = 5.0) -> tuple[int, bytes]:
    with ScriptedServer([script]) as server:
        return drive_http.post(Target(server.endpoint), "/v1/completions", b"{}", deadline_s)


def test_a_server_that_gives_a_byte_now_and_then_is_given_up() -> None:
    """The kernel's limit is for one read; an answer of 64 such reads would take an hour."""
    script = [HEAD + b"content-length: 500\r\n\r\n", *[step for _ in range(400) for step in (b"x", _moment)]]
    with pytest.raises(OSError, match=r"within 0\.5 s"):
        asked(script, 0.5)


def test_a_head_without_end_is_no_answer() -> None:
    with pytest.raises(ValueError, match="no end"):
        asked([b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 20_000])
    with pytest.raises(ValueError):
        asked([b"HTTP/1.1 200 OK\r\n"])


def test_a_document_is_not_unpacked_and_not_read_beyond_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="compressed"):
        asked([b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(BOMB) + BOMB])
    monkeypatch.setattr(drive_http, "DOCUMENT_BYTES", 100_000)
    status, body = asked([b"HTTP/1.1 200 OK\r\n\r\n", *[b"x" * 65536] * 10])
    assert status == 200
    assert len(body) < 250_000


def stream_of(*script: Any, **arguments: Any) -> dict[str, Any]:
    with ScriptedServer([list(script)]) as server:
        driven = drive({"endpoint": server.endpoint, "warmup": 0, **arguments}, request())
    return driven.named("result")[0]


def test_a_stream_whose_head_has_no_end_is_cut() -> None:
    assert "head has no end" in stream_of(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 20_000)["error"]


def test_a_stream_without_end_is_cut_by_reads_and_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("MOST_PIECES", 20), ("LONGEST_S", 0.2)):
        with monkeypatch.context() as changed, ScriptedServer([_dripping()]) as server:
            changed.setattr(drive_http, name, value)
            capture = drive_http.Capture("a", {}, Target(server.endpoint).request("POST", "/", b"{}"))
            capture.run(Target(server.endpoint), 5.0, 1 << 20)
        assert "without end" in capture.error
        assert capture.pieces


def _dripping() -> list[Any]:
    return [HEAD + b"\r\n", *[step for _ in range(200) for step in (b": x\n\n", _moment)]]


def test_nonsense_of_every_kind_is_read_without_a_crash() -> None:
    values: tuple[Any, ...] = (None, "x", 7, -1, True, 1e999, [], [[]], {}, {"a": {}})
    for value in (*values, [{"delta": 1}], [{"delta": {"content": 5}}]):
        for key in ("choices", "usage", "error"):
            answer_ = drive_sse.Answer()
            answer_.feed(1, json.dumps({key: value}).encode())
    heard = drive_sse.Answer()
    odd = {"finish_reason": {"a": 1}, "token_ids": [[], "x", 1.5, True, 7], "delta": {"content": "a"}}
    heard.feed(
        1,
        json.dumps({"choices": [odd], "usage": {"completion_tokens": True, "x": [], "d": {"e": "f", "g": 1}}}).encode(),
    )
    heard.feed(2, json.dumps({"choices": [odd], "usage": {"completion_tokens": 10**300}}).encode())
    assert heard.finish is None
    assert heard.ids == [7, 7]
    assert heard.usage == {"d": {"g": 1}}
    heard.feed(3, b"[" * 100_000)
    assert "no JSON" in heard.error


@pytest.mark.parametrize("framing", [b"-5\r\nhello\r\n", b"z\r\n", b"7" * 70_000, b"0\r\n" + b"x: y\r\n" * 20_000])
def test_broken_chunks_are_said(framing: bytes) -> None:
    body = drive_sse.Body({"transfer-encoding": "chunked"})
    with pytest.raises(ValueError):
        body.feed(framing + b"x" * 70_000)


def test_an_event_without_end_costs_no_more_than_its_bytes() -> None:
    events = drive_sse.Events()
    for _ in range(1000):
        assert events.feed(b"data: x") == []
    assert len(events._rest) == 1000, "pieces are joined once, not at each read"
    assert events.feed(b"\n\n") == [b"x" + b"data: x" * 999]


def test_a_model_list_of_the_wrong_kinds_names_no_model() -> None:
    wrong: tuple[Any, ...] = (None, 7, [], {"data": 7}, {"data": {"a": 1}}, {"data": [7, None, "x"]})
    assert [_models(found) for found in wrong] == [[]] * len(wrong)
    (odd,) = _models({"data": [{"id": {"a": 1}, "root": [], "max_model_len": "x"}]})
    assert (odd["root"], odd["max_model_len"]) == (None, None)


def test_a_tokenizer_that_counts_wrong_fills_no_memory() -> None:
    said: list[int] = []

    def count(body: dict[str, Any]) -> int:
        said.append(len(json.dumps(body)))
        return 100 + len(said)  # hardly grows, whatever the text

    Filler(count).fill({"prompt": "x"}, 100_000, 1)
    assert max(said) < 10_000_000


@pytest.mark.parametrize("tokens", ["x", [[]], ["x"], [{}], {"a": 1}, 7])
def test_a_tokenizer_that_answers_nonsense_is_none(tokens: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    said = json.dumps({"tokens": tokens, "count": tokens}).encode()
    monkeypatch.setattr(drive_tokens, "post", lambda *_: (200, said))
    assert not drive_tokens.ends(Target({}), "m")
    if tokens != 7:
        assert drive_tokens.count(Target({}), {"prompt": "x"}) is None


def test_a_run_against_a_server_that_lies_ends_with_its_reason() -> None:
    events = [chunk(one) for one in counts_to_events((1, 3))]
    said = stream_of(HEAD + b"transfer-encoding: chunked\r\n\r\n", *events, b"zzz\r\n", b"x" * 100)
    assert said["error"]

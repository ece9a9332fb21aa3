"""The load generator as a process, against servers that misbehave in every way a stream can."""

from __future__ import annotations

import json
import signal
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.bench.driven import Driven, Event, drive, request
from tests.bench.scripted import (
    CHUNKED,
    DONE,
    END,
    HEAD,
    ScriptedServer,
    Step,
    chunk,
    counts_to_events,
    event,
    reply,
    self_made_certificate,
    usage,
)
from tests.pythons import interpreters

COUNTS = (1, 3, 6, 1, 2)
COLD: dict[str, Any] = {"warmup": 0}


def result_of(script: list[Step], **arguments: Any) -> Event:
    with ScriptedServer([script]) as server:
        driven = drive({"endpoint": server.endpoint, **COLD, **arguments}, request())
    return driven.named("result")[0]


def counts(result: Event) -> list[int | None]:
    return [tokens for _, tokens in result["chunks"]]


@pytest.mark.parametrize("python", interpreters())
def test_a_stream_of_multi_token_chunks(python: str) -> None:
    with ScriptedServer([reply(COUNTS)]) as server:
        driven = drive({"endpoint": server.endpoint, **COLD}, request(), key="sesame", python=python)
    (result,) = driven.named("result")
    assert result["error"] == ""
    assert result["status"] == 200
    assert counts(result) == [1, 4, 10, 11, 13]
    assert result["usage"] == {"prompt_tokens": 7, "completion_tokens": 13, "total_tokens": 20}
    assert result["finish"] == "length"
    assert result["text"] == " a" * 13
    stamps = [stamp for stamp, _ in result["chunks"]]
    assert stamps == sorted(stamps)
    assert 0 < result["headers_ns"] <= stamps[0] <= stamps[-1] <= result["end_ns"]
    path, headers, body = server.posts[0]
    assert path == "/v1/chat/completions"
    assert headers["authorization"] == "Bearer sesame"
    assert body["model"] == "tiny"
    assert body["return_token_ids"] is True
    assert driven.events[-1]["event"] == "end"
    assert driven.events[-1]["why"] == "finished"
    assert driven.process.returncode == 0


def test_split_at_every_byte() -> None:
    whole = b"".join(reply(COUNTS))
    one = result_of([whole[at : at + 1] for at in range(len(whole))])
    assert one["error"] == ""
    assert counts(one) == [1, 4, 10, 11, 13]


@pytest.mark.parametrize(
    "script",
    [
        [HEAD + b"content-length: %d\r\n\r\n" % len(b"".join(counts_to_events(COUNTS))), *counts_to_events(COUNTS)],
        [HEAD + b"\r\n", *counts_to_events(COUNTS)],
        [CHUNKED, *(chunk(one.replace(b"\n\n", b"\r\n\r\n")) for one in counts_to_events(COUNTS)), END],
        [CHUNKED, chunk(b": ping\n\n"), *(chunk(b"id: 0\n" + one) for one in counts_to_events(COUNTS)), END],
        [b"HTTP/1.1 100 Continue\r\n\r\n", *reply(COUNTS)],
        [CHUNKED, chunk(b"".join(counts_to_events(COUNTS))), b"0\r\nx-trailer: 1\r\n\r\n"],
        [CHUNKED, *(b"%x;ext=1\r\n%s\r\n" % (len(one), one) for one in counts_to_events(COUNTS)), END],
    ],
    ids=["content-length", "until close", "CRLF events", "comments and ids", "100 Continue", "trailers", "extensions"],
)
def test_framings(script: list[Step]) -> None:
    result = result_of(script)
    assert result["error"] == ""
    assert counts(result) == [1, 4, 10, 11, 13]


def test_the_end_is_seen_though_the_server_keeps_the_connection_open() -> None:
    done = threading.Event()
    with ScriptedServer([[*reply(COUNTS), done]]) as server:
        driven = drive({"endpoint": server.endpoint, **COLD}, request())
        done.set()
    assert driven.named("result")[0]["error"] == ""


def test_an_error_in_mid_stream() -> None:
    error = b'data: {"error": {"message": "EngineCore encountered an issue.", "code": 500}}\n\n'
    result = result_of([CHUNKED, *map(chunk, (event("", 0), event("a", 1), event("b", 2), error, DONE)), END])
    assert result["status"] == 200
    assert result["error"] == "EngineCore encountered an issue."
    assert counts(result) == [1, 2]


def test_no_done() -> None:
    result = result_of([CHUNKED, chunk(event("a", 1)), chunk(event("b", 2))])
    assert result["error"] == "the stream ended without [DONE]"
    assert counts(result) == [1, 2]


def test_a_reset_connection() -> None:
    def reset(sock: socket.socket) -> None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        sock.close()

    sent = threading.Event()
    script: list[Step] = [CHUNKED, chunk(event("a", 1)), sent, reset]
    with ScriptedServer([script]) as server, Driven({"endpoint": server.endpoint, **COLD}) as driven:
        driven.send(request(), {"go": True})
        driven.until("progress")
        sent.set()
        driven.finish()
    result = driven.named("result")[0]
    assert "reset" in result["error"]
    assert counts(result) == [1]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b'{"error": {"message": "no such model", "type": "NotFoundError"}}', "HTTP 404: no such model"),
        (b'{"error": "Unauthorized"}', "HTTP 404: Unauthorized"),
        (b'{"object": "error", "message": "old form", "code": 404}', "HTTP 404: old form"),
        (b'{"detail": "Not Found"}', "HTTP 404: Not Found"),
        (b"<html>", "HTTP 404: <html>"),
    ],
)
def test_http_errors_in_every_form(answer: bytes, message: str) -> None:
    result = result_of([b"HTTP/1.1 404 X\r\ncontent-length: %d\r\n\r\n%s" % (len(answer), answer)])
    assert (result["status"], result["error"], result["chunks"]) == (404, message, [])


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    driven = drive({"endpoint": {"port": port}}, request())
    end = driven.events[-1]
    assert end["why"] == "failed"
    assert "refused" in end["error"].lower()
    assert driven.process.returncode == 1


def test_a_silent_server_is_given_up() -> None:
    never = threading.Event()
    with ScriptedServer([[CHUNKED, chunk(event("a", 1)), never]]) as server:
        driven = drive({"endpoint": server.endpoint, "silence_s": 0.2, **COLD}, request())
        never.set()
    assert driven.named("result")[0]["error"] == "nothing arrived for 0.2 s"


def test_the_cap_is_said_and_what_came_is_kept() -> None:
    result = result_of([CHUNKED, *(chunk(event("a" * 100, n)) for n in range(1, 60))], cap_bytes=4000)
    assert "more than 4000 bytes" in result["error"]
    assert result["bytes"] < 4000 + 2 * 65536
    assert counts(result)[0] == 1


def test_without_usage_tokens_are_unknown() -> None:
    result = result_of(
        [CHUNKED, *map(chunk, (event("", None), event("a b", None), event("c", None), usage(9), DONE)), END]
    )
    assert counts(result) == [None, None]
    assert result["usage"]["completion_tokens"] == 9


@pytest.mark.parametrize(
    "first",
    [
        event(None, None, reasoning="hm"),
        event(None, None, reasoning_content="hm"),
        event(None, None, tool_calls=[{"index": 0}]),
        event("", 1),
    ],
    ids=["reasoning", "reasoning_content", "tool", "growth of usage"],
)
def test_what_counts_as_the_first_token(first: bytes) -> None:
    go = threading.Event()
    script: list[Step] = [CHUNKED, chunk(event("", 0, role="assistant") + event(None, 0)), go]
    script += [chunk(first), chunk(event("x", 2, finish="length")), chunk(usage(2) + DONE), END]
    with ScriptedServer([script]) as server, Driven({"endpoint": server.endpoint, **COLD}) as driven:
        driven.send(request(), {"go": True})
        driven.until("started")
        go.set()
        driven.finish()
    (result,) = driven.named("result")
    assert len(result["chunks"]) == 2
    assert result["chunks"][0][1] in (None, 1)


def test_token_ids_are_kept() -> None:
    ids = b'data: {"choices": [{"index": 0, "delta": {"content": "a"}, "token_ids": [5, 6]}], "usage": {"completion_tokens": 2}}\n\n'
    result = result_of([CHUNKED, chunk(ids), chunk(usage(2) + DONE), END])
    assert result["token_ids"] == [5, 6]


def test_tls_with_a_certificate_that_nobody_signed(tmp_path: Path) -> None:
    with ScriptedServer([reply(COUNTS)], tls=self_made_certificate(tmp_path)) as server:
        for python in interpreters():
            driven = drive({"endpoint": server.endpoint, **COLD}, request(), python=python)
            assert driven.named("result")[0]["error"] == ""
            assert counts(driven.named("result")[0]) == [1, 4, 10, 11, 13]


def test_a_unix_socket(tmp_path: Path) -> None:
    with ScriptedServer([reply(COUNTS)], uds=tmp_path / "s") as server:
        driven = drive({"endpoint": server.endpoint, **COLD}, request())
    assert counts(driven.named("result")[0]) == [1, 4, 10, 11, 13]
    assert driven.named("identity")[0]["models"][0]["id"] == "tiny"


@pytest.mark.parametrize("how", ["line", "end of input", "SIGTERM"])
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
def test_a_cancel_keeps_what_was_measured(how: str, tls: bool, tmp_path: Path) -> None:
    go = threading.Event()
    slow: list[Step] = [CHUNKED, chunk(event("a", 1)), chunk(event("bc", 3)), go]
    context = self_made_certificate(tmp_path) if tls else None
    with (
        ScriptedServer([reply(COUNTS), slow], tls=context) as server,
        Driven({"endpoint": server.endpoint, **COLD}) as driven,
    ):
        driven.send(request(), request(repeat=1), request(repeat=2), {"go": True})
        while driven.until("progress")["tokens"].get("p/1") != 3:
            pass
        if how == "line":
            driven.send({"cancel": True})
        elif how == "SIGTERM":
            driven.process.send_signal(signal.SIGTERM)
        else:
            assert driven.process.stdin
            driven.process.stdin.close()
        driven.finish()
        go.set()
    first, second = driven.named("result")
    assert (first["error"], counts(first)) == ("", [1, 4, 10, 11, 13])
    assert (second["error"], counts(second)) == ("cancelled", [1, 3])
    assert driven.events[-1]["why"] == "cancelled"
    assert driven.process.returncode == 0


def test_several_streams_at_once() -> None:
    together = threading.Barrier(4)

    def meet(_: socket.socket) -> None:
        together.wait(20)

    script: list[Step] = [CHUNKED, meet, *reply(COUNTS)[1:]]
    with ScriptedServer([script]) as server:
        requests = [request(repeat=n) for n in range(8)]
        driven = drive({"endpoint": server.endpoint, "concurrency": 4, **COLD}, *requests)
    results = driven.named("result")
    assert {result["id"] for result in results} == {f"p/{n}" for n in range(8)}
    assert all(counts(result) == [1, 4, 10, 11, 13] for result in results)
    assert [len(window["requests"]) for window in driven.named("window")] == [8]


def test_a_full_budget_reads_between_two_parts() -> None:
    with ScriptedServer([reply(COUNTS)]) as server:
        requests = [request(repeat=n) for n in range(6)]
        driven = drive({"endpoint": server.endpoint, "concurrency": 2, "budget_bytes": 2000, **COLD}, *requests)
    assert len(driven.named("result")) == 6
    assert len(driven.named("window")) > 1
    assert driven.named("note")


def test_its_own_bunching_is_told() -> None:
    whole = counts_to_events(COUNTS)
    with ScriptedServer([[CHUNKED, chunk(b"".join(whole)), END]]) as server:
        driven = drive({"endpoint": server.endpoint, **COLD}, request())
    health = driven.events[-1]["health"]
    assert health["chunks"] == 5
    assert health["bunched"] == 1
    assert health["cpu_s"] >= 0


def test_the_key_is_never_told() -> None:
    answer = json.dumps({"error": {"message": "bad key sesame-open"}}).encode()
    script = [b"HTTP/1.1 401 X\r\ncontent-length: %d\r\n\r\n%s" % (len(answer), answer)]
    with ScriptedServer([script]) as server:
        driven = drive({"endpoint": server.endpoint}, request(), key="sesame-open")
    assert "sesame" not in json.dumps(driven.events)
    assert driven.events[-1]["error"] == "HTTP 401: bad key ***"

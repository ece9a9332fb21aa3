"""Reading a kept stream: however it was cut, the same events with the stamps of the reads that completed them."""

from __future__ import annotations

import pytest

from specconsole.remote.drive_http import End
from specconsole.remote.drive_sse import Body, body_end, error_text, head_end, parse_head, read
from tests.bench.scripted import CHUNKED, DONE, END, HEAD, chunk, counts_to_events, event, reply, usage

COUNTS = (1, 3, 6, 1, 2)
IDENTITY = b"".join(counts_to_events(COUNTS))
STREAMS = {
    "chunked": b"".join(reply(COUNTS)),
    "one chunk": CHUNKED + chunk(IDENTITY) + END,
    "length": HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(IDENTITY), IDENTITY),
    "until close": HEAD + b"\r\n" + IDENTITY,
    "CRLF": CHUNKED + chunk(IDENTITY.replace(b"\n", b"\r\n")) + END,
}


@pytest.mark.parametrize("whole", STREAMS.values(), ids=STREAMS)
def test_every_cut_in_two(whole: bytes) -> None:
    for at in range(1, len(whole)):
        result = read([(100, whole[:at]), (200, whole[at:])], 0)
        assert result["error"] == ""
        assert [tokens for _, tokens in result["chunks"]] == [1, 4, 10, 11, 13]
        assert sorted({stamp for stamp, _ in result["chunks"]}) in ([100], [200], [100, 200])


@pytest.mark.parametrize("whole", STREAMS.values(), ids=STREAMS)
def test_byte_by_byte_an_event_has_the_stamp_of_its_last_byte(whole: bytes) -> None:
    pieces = [(at, whole[at : at + 1]) for at in range(len(whole))]
    result = read(pieces, 0)
    assert result["error"] == ""
    assert [tokens for _, tokens in result["chunks"]] == [1, 4, 10, 11, 13]
    for stamp, _ in result["chunks"]:
        assert whole[stamp : stamp + 1] == b"\n"
    assert result["headers_ns"] == whole.index(b"\r\n\r\n") + 3


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 4096])
@pytest.mark.parametrize("name", ["chunked", "length", "CRLF"])
def test_the_end_of_an_answer_is_seen_at_its_last_byte(name: str, size: int) -> None:
    whole, end = STREAMS[name], End()
    pieces: list[tuple[int, bytes]] = []
    for at in range(0, len(whole), size):
        pieces.append((at, whole[at : at + size]))
        assert end.after(pieces[-1][1], pieces) is (at + size >= len(whole))


def test_the_end_is_not_mistaken_for_an_event_that_looks_like_it() -> None:
    whole = CHUNKED + b"c\r\ndata: 0\r\n\r\n\r\n"
    assert not body_end(whole)
    assert not body_end(whole[:-2])
    assert body_end(whole + END)


@pytest.mark.parametrize("broken", [b"zz\r\n", b"5\r\nabcdefgh\r\n", b"-5\r\nabcdefgh"])
def test_broken_chunks_are_said_and_what_came_is_kept(broken: bytes) -> None:
    result = read([(1, CHUNKED + chunk(event("a", 1))), (2, broken)], 0)
    assert result["error"]
    assert result["chunks"] == [[1, 1]]


def test_no_answer_at_all() -> None:
    assert read([], 0)["error"] == "no answer"
    assert read([(1, b"HTTP/1.1 200")], 0)["error"] == "no answer"
    assert "no HTTP answer" in read([(1, b"220 smtp\r\n\r\n")], 0)["error"]


def test_a_compressed_answer_is_refused() -> None:
    assert "compressed" in read([(1, HEAD + b"content-encoding: gzip\r\n\r\nxx")], 0)["error"]


def test_heads() -> None:
    assert head_end(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n") == -1
    assert parse_head(b"HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\nA: b:c\r\n\r\n") == (200, {"a": "b:c"})
    assert Body({"content-length": "0"}).whole


def test_an_event_that_is_no_json() -> None:
    result = read([(1, HEAD + b"\r\n" + event("a", 1) + b"data: {oops\n\n" + DONE)], 0)
    assert "no JSON" in result["error"]
    assert len(result["chunks"]) == 1


def test_chunks_without_growth_carry_no_tokens() -> None:
    # A parser that holds text back sends events whose count does not move; the last usage has no choices.
    events = [event("", 0), event("a", 2), event("", 2), event("", 5, finish="stop"), usage(5), DONE]
    result = read([(n, data) for n, data in enumerate([HEAD + b"\r\n", *events])], 0)
    assert result["chunks"] == [[2, 2], [4, 5]]
    assert result["finish"] == "stop"
    assert result["events"] == 5


def test_text_of_completions_and_of_both_reasoning_names() -> None:
    both = b'data: {"choices": [{"delta": {"reasoning": "hm", "reasoning_content": "hm", "content": null}}]}\n\n'
    plain = b'data: {"choices": [{"text": "so"}]}\n\n'
    assert read([(1, HEAD + b"\r\n" + both + plain + DONE)], 0)["text"] == "hmso"


def test_long_texts_are_cut_and_that_is_said() -> None:
    result = read([(1, HEAD + b"\r\n" + event("a" * 40_000, 1) + DONE)], 0)
    assert (len(result["text"]), result["text_cut"]) == (32768, True)


def test_error_forms() -> None:
    assert error_text({"error": {"message": "m"}}) == "m"
    assert error_text({"error": "Unauthorized"}) == "Unauthorized"
    assert error_text(["x"]) == "['x']"

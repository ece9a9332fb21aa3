"""Frames come out as they went in, however the stream is cut, and nonsense is named at once."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.remote import frame
from specconsole.remote.frame import NoFrame, Splitter, pack

HEADERS = st.dictionaries(
    st.text(max_size=8).filter(lambda key: key != "n"), st.integers() | st.text(max_size=20), max_size=4
)


@given(st.lists(st.tuples(HEADERS, st.binary(max_size=300)), max_size=8), st.lists(st.integers(1, 60), max_size=40))
def test_frames_survive_any_chunking(frames: list[tuple[dict[str, object], bytes]], cuts: list[int]) -> None:
    stream = b"".join(pack(header, payload) for header, payload in frames)
    splitter, found = Splitter(), []
    for cut in [*cuts, len(stream)]:
        found += splitter.feed(stream[:cut])
        stream = stream[cut:]
    found += splitter.feed(stream)
    assert [
        ({key: value for key, value in header.items() if key != "n"}, payload) for header, payload in found
    ] == frames


def test_a_payload_may_look_like_frames() -> None:
    inner = pack({"op": "exit", "id": 1})
    assert Splitter().feed(pack({"op": "out"}, inner * 3) + inner) == [
        ({"op": "out", "n": len(inner) * 3}, inner * 3),
        ({"op": "exit", "id": 1}, b""),
    ]


@pytest.mark.parametrize("line", [b"x\n", b"[]\n", b"\n", b'{"n": -1}\n', b'{"n": "1"}\n', b"\xff\xfe\n", b"{\n"])
def test_nonsense_is_no_frame(line: bytes) -> None:
    with pytest.raises(NoFrame):
        Splitter().feed(line)


def test_a_line_without_end_is_no_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "LONGEST_HEADER", 1000)
    splitter = Splitter()
    assert splitter.feed(b"x" * 1000) == []
    with pytest.raises(NoFrame):
        splitter.feed(b"x")


def test_a_header_is_one_line() -> None:
    assert pack({"a": "line\nbreak"}).count(b"\n") == 1
    assert json.loads(pack({"a": "ü"})) == {"a": "ü"}

"""Arrival stamps by the kernel: true while our process stands still, and not believed where they cannot be."""

from __future__ import annotations

import signal
import socket
import struct
import threading
import time
from pathlib import Path

import pytest

from specconsole.remote.drive_stamp import SO_TIMESTAMPNS, STEADY_NS, Ancillary, arrival_ns, corrected
from tests.bench.driven import Driven, drive, request
from tests.bench.scripted import (
    CHUNKED,
    DONE,
    END,
    ScriptedServer,
    Step,
    chunk,
    event,
    reply,
    self_made_certificate,
    usage,
)
from tests.pythons import interpreters

WALL = 1_700_000_000_000_000_000


def told(wall_ns: int) -> Ancillary:
    return [(socket.SOL_SOCKET, SO_TIMESTAMPNS, struct.pack("@ll", *divmod(wall_ns, 1_000_000_000)))]


@pytest.mark.parametrize("python", interpreters())
def test_a_chunk_that_comes_while_we_stand_still_has_its_own_time(python: str) -> None:
    go, over, times = threading.Event(), threading.Event(), {}

    def first(sock: socket.socket) -> None:
        times["before a"] = time.perf_counter_ns()
        sock.sendall(chunk(event("a", 1)))

    def second(sock: socket.socket) -> None:
        sock.sendall(chunk(event("b", 2, finish="length")) + chunk(usage(2) + DONE) + END)
        times["after b"] = time.perf_counter_ns()
        time.sleep(0.2)  # by so much a stamp of our own would be late
        driven.process.send_signal(signal.SIGCONT)

    # The server's close has to wait: what arrives before we read is one to the kernel, with the stamp of the last.
    script: list[Step] = [CHUNKED, first, go, second, over]
    with ScriptedServer([script]) as server, Driven({"endpoint": server.endpoint, "warmup": 0}, python) as driven:
        driven.send(request(), {"go": True})
        driven.until("progress")
        driven.process.send_signal(signal.SIGSTOP)
        go.set()
        driven.finish()
        over.set()
    (result,) = driven.named("result")
    (a, _), (b, _) = result["chunks"]
    assert result["kernel"]
    assert driven.events[-1]["health"]["kernel"]
    assert b - a <= times["after b"] - times["before a"]


def test_other_sockets_go_without(tmp_path: Path) -> None:
    with ScriptedServer([reply((1, 1))], uds=tmp_path / "s") as server:
        assert drive({"endpoint": server.endpoint, "warmup": 0}, request()).named("result")[0]["kernel"] is False
    with ScriptedServer([reply((1, 1))], tls=self_made_certificate(tmp_path)) as server:
        assert drive({"endpoint": server.endpoint, "warmup": 0}, request()).named("result")[0]["kernel"] is False


def test_stamps_move_to_the_monotonic_clock() -> None:
    pieces = [(1500, b"a"), (2600, b"b")]
    made, count = corrected(pieces, [told(WALL + 1400), told(WALL + 2100)], 1000, WALL, WALL)
    assert (made, count) == ([(1400, b"a"), (2100, b"b")], 2)


@pytest.mark.parametrize(
    ("stamp", "why"),
    [(900, "before the request"), (1600, "after our own"), (None, "none")],
    ids=lambda value: str(value),
)
def test_a_stamp_that_cannot_be_is_not_believed(stamp: int | None, why: str) -> None:
    extra = told(WALL + stamp) if stamp is not None else []
    assert corrected([(1500, b"a")], [extra], 1000, WALL, WALL) == ([(1500, b"a")], 0)


def test_stamps_never_run_backwards() -> None:
    pieces = [(1500, b"a"), (2600, b"b")]
    made, count = corrected(pieces, [told(WALL + 1450), told(WALL + 1400)], 1000, WALL, WALL)
    assert (made, count) == ([(1450, b"a"), (2600, b"b")], 1)


def test_a_clock_that_was_set_meanwhile_makes_all_of_them_void() -> None:
    pieces = [(1500, b"a")]
    assert corrected(pieces, [told(WALL + 1400)], 1000, WALL, WALL + STEADY_NS + 1) == (pieces, 0)


def test_other_ancillary_data_is_passed_over() -> None:
    assert arrival_ns([(socket.SOL_SOCKET, 1, b"x" * 16), *told(WALL)]) == WALL
    assert arrival_ns([(socket.SOL_SOCKET, SO_TIMESTAMPNS, b"short")]) is None

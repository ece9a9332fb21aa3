"""A source of streams with known stamps, to measure the load generator itself; Python 3.8, standard library.

It listens on loopback alone, at a port that the system picks, and sends one-token events at an even pace: stamps right before each write,
so that its own lateness does not matter. One thread does all of it: threads would take turns between a stamp and its write. It ends with
its input, after `life_s`, or when nobody has asked for `IDLE_S`.

Out, one JSON object a line: listening (port), stream (what its prompt ended with, stamps in ns, places of doubtful ones), end.
"""

from __future__ import annotations

import heapq
import json
import os
import selectors
import socket
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

from specconsole.remote import outside

MOST_STREAMS = 512
MOST_EVENTS = 20_000
IDLE_S = 60.0
LIFE_S = 300.0
MOST_REQUEST = 1 << 20
UNSURE_NS = 200_000
"""A write to loopback takes 20 us; one that took this long waited for the CPU, before or after it."""
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
MODELS = b'{"data": [{"id": "selftest", "root": "selftest", "max_model_len": 1000000}]}'


class Stream:
    """One connection: what was asked, and when each event was written."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.data = b""
        self.name = ""
        self.events = 0
        self.began = 0.0
        self.stamps: List[int] = []
        self.unsure: List[int] = []
        """Places of events whose write took so long that it is not known when it left."""

    def event(self) -> bytes:
        """The next event, as vLLM writes it."""
        made = len(self.stamps) + 1
        body: Dict[str, Any] = {
            "id": "selftest",
            "object": "chat.completion.chunk",
            "choices": [
                {"index": 0, "delta": {"content": " a"}, "finish_reason": "length" if made == self.events else None}
            ],
            "usage": {"prompt_tokens": 8, "completion_tokens": made, "total_tokens": 8 + made},
        }
        data = b"data: " + json.dumps(body).encode() + b"\n\n"
        return b"%x\r\n%s\r\n" % (len(data), data)


class Source:
    """Serves streams until its input ends."""

    def __init__(self, arguments: Dict[str, Any], fd: int) -> None:
        self.step_s = min(max(float(arguments.get("step_s") or 0.01), 0.0005), 10.0)
        self.life_s = min(float(arguments.get("life_s") or LIFE_S), LIFE_S)
        self.fd = fd
        self.selector = selectors.DefaultSelector()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=MOST_STREAMS)
        self.listener.setblocking(False)
        self.selector.register(self.listener, selectors.EVENT_READ, None)
        self.selector.register(fd, selectors.EVENT_READ, self)
        self.due: List[Tuple[float, int, Stream]] = []
        self.open = 0
        self.number = 0

    def run(self) -> None:
        """Serve."""
        say("listening", port=self.listener.getsockname()[1])
        over = time.monotonic() + self.life_s
        asked = time.monotonic()
        while time.monotonic() < over and (self.open or time.monotonic() - asked < IDLE_S):
            left = self.due[0][0] - time.monotonic() if self.due else 0.25
            for key, _ in self.selector.select(max(min(left, 0.25), 0)):
                asked = time.monotonic()
                if key.data is self:
                    if not os.read(self.fd, 4096):
                        return
                elif key.data is None:
                    self.accept()
                else:
                    self.read(key.data)
            while self.due and self.due[0][0] <= time.monotonic():
                self.write(heapq.heappop(self.due)[2])

    def accept(self) -> None:
        """Take a connection, unless there are too many."""
        sock, _ = self.listener.accept()
        if self.open >= MOST_STREAMS:
            sock.close()
            return
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.open += 1
        self.selector.register(sock, selectors.EVENT_READ, Stream(sock))

    def read(self, stream: Stream) -> None:
        """Read more of a request; a whole one is answered."""
        try:
            data = stream.sock.recv(65536)
        except OSError:
            data = b""
        stream.data += data
        head, _, body = stream.data.partition(b"\r\n\r\n")
        wanted = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        length = int(wanted[0].split(b":")[1]) if wanted else 0
        if not data or len(stream.data) > MOST_REQUEST:
            self.close(stream)
        elif head != stream.data and len(body) >= length:
            self.selector.unregister(stream.sock)
            self.answer(stream, head.split(b" "), body)

    def answer(self, stream: Stream, head: List[bytes], body: bytes) -> None:
        """Begin a stream, or answer a question at once."""
        if head[0] != b"POST" or b"completions" not in head[1]:
            known = MODELS if head[1] == b"/v1/models" else b"{}"
            status = b"200 OK" if known is MODELS else b"404 Not Found"
            self.send(stream, b"HTTP/1.1 %s\r\ncontent-length: %d\r\n\r\n%s" % (status, len(known), known))
            self.close(stream, listed=False)
            return
        asked = outside.parse(body)
        stream.name = str(asked["messages"][-1]["content"]).split()[-1]
        stream.events = min(int(asked.get("max_tokens") or 16), MOST_EVENTS)
        stream.began = time.monotonic() + self.step_s
        if self.send(stream, HEAD):
            self.later(stream)

    def later(self, stream: Stream) -> None:
        """Note when the next event is due: by the first one, so that lateness does not add up."""
        self.number += 1
        heapq.heappush(self.due, (stream.began + len(stream.stamps) * self.step_s, self.number, stream))

    def write(self, stream: Stream) -> None:
        """Write the next event of a stream, and its end after the last one."""
        data = stream.event()
        stamp = time.perf_counter_ns()
        if not self.send(stream, data):
            return
        if time.perf_counter_ns() - stamp > UNSURE_NS:
            stream.unsure.append(len(stream.stamps))
        stream.stamps.append(stamp)
        if len(stream.stamps) < stream.events:
            self.later(stream)
        elif self.send(stream, b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"):
            say("stream", name=stream.name, stamps=stream.stamps, unsure=stream.unsure)
            self.close(stream, listed=False)

    def send(self, stream: Stream, data: bytes) -> bool:
        """Write; a peer that is gone or does not read ends its stream."""
        try:
            if stream.sock.send(data) == len(data):
                return True
        except OSError:
            pass
        self.close(stream, listed=False)
        return False

    def close(self, stream: Stream, listed: bool = True) -> None:
        """Let go of a connection."""
        if listed:
            self.selector.unregister(stream.sock)
        stream.sock.close()
        self.open -= 1


def say(event: str, **values: Any) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps({"event": event, **values}, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def main(arguments: Dict[str, Any], fd: Optional[int] = None) -> int:
    """Serve until the input ends."""
    try:
        Source(arguments, sys.stdin.fileno() if fd is None else fd).run()
        say("end")
    except BrokenPipeError:
        pass
    return 0

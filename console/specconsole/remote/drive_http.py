"""The load generator's sockets: one blocking connection a request, bytes kept with the time at which they arrived.

Nothing is parsed while a stream runs: parsing at arrival costs 6 us a chunk and moves later stamps. TLS is not verified:
the server is the host's own, reached over loopback or a unix socket.
"""

from __future__ import annotations

import re
import socket
import ssl
import struct
import time
from typing import Any, Dict, List, Optional, Tuple

from specconsole.remote import drive_stamp
from specconsole.remote.drive_sse import Body, body_end, head_end, parse_head

Piece = Tuple[int, bytes]
"""perf_counter_ns right after the read returned (in the end: the kernel's stamp, if there is one), and its bytes."""
CONNECT_S = 10.0
SEND_S = 60.0
LONGEST_S = 6 * 3600.0
"""One stream, whatever comes in it: 100,000 tokens at 5 a second."""
HEAD_BYTES = 1 << 16
DOCUMENT_BYTES = 1 << 25
MOST_PIECES = 500_000
"""Reads of one stream: each costs memory, also where it brought one byte."""
READ_BYTES = 1 << 16
AGENT = "specconsole-drive"


class Target:
    """Where the server listens, and the key that it wants."""

    def __init__(self, endpoint: Dict[str, Any], key: str = "") -> None:
        self.address = str(endpoint.get("address") or "127.0.0.1")
        self.port = int(endpoint.get("port") or 8000)
        self.uds = endpoint.get("uds")
        self.tls = bool(endpoint.get("tls"))
        self.key = key

    def dial(self, silence_s: float) -> socket.socket:
        """Connect; afterwards the socket blocks, and a read that gets nothing for `silence_s` fails with EAGAIN.

        The kernel's own time limit is used, since a socket with a Python timeout polls before each read.
        """
        if self.uds:
            plain = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            plain.settimeout(CONNECT_S)
            plain.connect(self.uds)
        else:
            plain = socket.create_connection((self.address, self.port), CONNECT_S)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock = self._wrap(plain) if self.tls else plain
        sock.settimeout(None)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _span(silence_s))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _span(SEND_S))
        return sock

    def _wrap(self, plain: socket.socket) -> socket.socket:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        try:
            return context.wrap_socket(plain, server_hostname=None if self.uds else self.address)
        except (OSError, ValueError):
            plain.close()
            raise

    def request(self, method: str, path: str, body: Optional[bytes] = None) -> bytes:
        """The bytes of a request; the server closes the connection after its answer.

        Raises ValueError where an address or a key would begin another header; the text does not hold it.
        """
        host = "localhost" if self.uds else "%s:%d" % (self.address, self.port)
        lines = ["%s %s HTTP/1.1" % (method, path), "Host: " + host, "User-Agent: " + AGENT, "Connection: close"]
        lines.append("Accept-Encoding: identity")
        if self.key:
            lines.append("Authorization: Bearer " + self.key)
        if body is not None:
            lines += ["Content-Type: application/json", "Content-Length: %d" % len(body)]
        if any(_CONTROL.search(line) for line in lines):
            raise ValueError("an address, a path or the API key holds what no header can carry")
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b"")

    def hide(self, text: str) -> str:
        """Take the key out of a text, should a server echo it."""
        return text.replace(self.key, "***") if self.key else text


_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def _span(seconds: float) -> bytes:
    """As the kernel takes it; zero would mean without end."""
    whole = int(seconds)
    return struct.pack("@ll", whole, max(int((seconds - whole) * 1e6), 0 if whole else 1000))


def get(target: Target, path: str, deadline_s: float = 10.0) -> Tuple[int, bytes]:
    """Ask for a small document; returns status and body. Raises OSError or ValueError."""
    return ask(target, target.request("GET", path), deadline_s)


def post(target: Target, path: str, body: bytes, deadline_s: float = 10.0) -> Tuple[int, bytes]:
    """Send a small document and return status and body of the answer. Raises OSError or ValueError."""
    return ask(target, target.request("POST", path, body), deadline_s)


def ask(target: Target, payload: bytes, deadline_s: float) -> Tuple[int, bytes]:
    """Send a whole request and read its whole answer. Raises OSError or ValueError.

    The deadline is for all of it: a server that gives a byte now and then is given up as one that gives none.
    """
    until = time.monotonic() + deadline_s
    sock = target.dial(deadline_s)
    try:
        sock.sendall(payload)
        data = _whole(sock, until, deadline_s)
    finally:
        sock.close()
    if head_end(data) < 0:
        raise ValueError("no whole HTTP answer: %r" % data[:60])
    head, rest = data[: head_end(data)], data[head_end(data) :]
    status, headers = parse_head(head)
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise ValueError("the answer is compressed, though identity was asked for")
    return status, Body(headers).feed(rest)


def _whole(sock: socket.socket, until: float, deadline_s: float) -> bytes:
    """All that comes until the answer is whole or the server closes; what is too long is cut."""
    pieces: List[Piece] = []
    ended, size = End(), 0
    while size <= DOCUMENT_BYTES:
        left = until - time.monotonic()
        if left <= 0:
            raise OSError("no whole answer within %g s" % deadline_s)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _span(left))
        try:
            piece = sock.recv(READ_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError):
            continue  # nothing came in what was left of the time
        if not piece:
            break
        pieces.append((0, piece))
        size += len(piece)
        if ended.after(piece, pieces):
            break
        if ended.chunked is None and size > HEAD_BYTES:
            raise ValueError("no HTTP answer: its head has no end")
    return b"".join(piece for _, piece in pieces)


class Capture:
    """One request while it runs and afterwards: what arrived, and when."""

    def __init__(self, ident: str, meta: Dict[str, Any], payload: bytes) -> None:
        self.ident = ident
        self.meta = meta
        self.payload = payload
        self.pieces: List[Piece] = []
        self.told: List[drive_stamp.Ancillary] = []
        """What the kernel said with each read."""
        self.kernel = 0
        """How many pieces have the kernel's stamp."""
        self.size = 0
        self.sent_ns = 0
        """perf_counter_ns right before the request was written; the connection stood already."""
        self.sent_at = 0.0
        """The same moment in seconds since the epoch, to compare with log lines."""
        self.end_ns = 0
        self.error = ""
        self.started = False
        self.done = False
        self.cancelled = False
        self._sock: Optional[socket.socket] = None

    def run(self, target: Target, silence_s: float, cap_bytes: int) -> None:
        """Send the request and keep what arrives, until the answer is whole, the server closes, or the cap is reached."""
        try:
            self._sock = target.dial(silence_s)
            try:
                self._exchange(self._sock, cap_bytes)
            finally:
                self._sock.close()
        except (OSError, ValueError) as error:
            if not self.cancelled:
                self.error = reason(error, silence_s)
        if not self.end_ns:
            self.end_ns = time.perf_counter_ns()
        self.done = True

    def _exchange(self, sock: socket.socket, cap_bytes: int) -> None:
        self.sent_at = time.time()
        if self.cancelled:
            return
        self.started = True
        stamped = drive_stamp.ask(sock)
        before = drive_stamp.offset_ns() if stamped else 0
        self.sent_ns = time.perf_counter_ns()
        sock.sendall(self.payload)
        try:
            self._receive(sock, cap_bytes, stamped)
        finally:
            if stamped:
                after = drive_stamp.offset_ns()
                self.pieces, self.kernel = drive_stamp.corrected(self.pieces, self.told, self.sent_ns, before, after)
                self.told = []

    def _receive(self, sock: socket.socket, cap_bytes: int, stamped: bool) -> None:
        clock, recv, recvmsg = time.perf_counter_ns, sock.recv, sock.recvmsg
        keep, note = self.pieces.append, self.told.append
        ended, size = End(), 0
        latest = self.sent_ns + int(LONGEST_S * 1e9)
        while True:
            if stamped:
                data, told, _, _ = recvmsg(READ_BYTES, drive_stamp.ANCILLARY_BYTES)
                now = clock()
                note(told)
            else:
                data = recv(READ_BYTES)
                now = clock()
            if not data:
                break
            keep((now, data))
            self.size = size = size + len(data)
            # The last chunk of a chunked answer is the only one that ends so; a short read may hold part of that.
            if (data[-4:] == b"\r\n\r\n" or not ended.chunked or len(data) < 5) and ended.after(data, self.pieces):
                break
            if size > cap_bytes:
                self.error = "more than %d bytes in one stream: cut there, what came before is kept" % cap_bytes
                break
            if ended.chunked is None and size > HEAD_BYTES:
                self.error = "no HTTP answer: its head has no end"
                break
            if len(self.pieces) >= MOST_PIECES or now > latest:
                self.error = "a stream without end: cut there, what came before is kept"
                break
        self.end_ns = now

    def cancel(self) -> None:
        """End the stream from another thread; what arrived stays."""
        self.cancelled = True
        sock = self._sock
        if sock is not None:
            try:
                # Not SSLSocket's own: it would drop the session under the reader.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
            except OSError:
                pass


class End:
    """Knows when an answer is whole without parsing it: cheap tests a read, an exact one only where they say yes."""

    def __init__(self) -> None:
        self.left: Optional[int] = None
        """Bytes still to come, where the server said how many."""
        self.chunked: Optional[bool] = None

    def after(self, data: bytes, pieces: List[Piece]) -> bool:
        """Tell whether the answer is whole after this read."""
        if self.chunked is None:
            return self._head(b"".join(piece for _, piece in pieces))
        if self.chunked:
            # The end may be cut anywhere, so a short read is looked at with what came before it. After trailers the
            # server's close is waited for.
            tail = data if len(data) >= 5 else b"".join(piece for _, piece in pieces[-5:])
            return tail.endswith(b"0\r\n\r\n") and body_end(b"".join(piece for _, piece in pieces))
        if self.left is not None:
            self.left -= len(data)
            return self.left <= 0
        return False

    def _head(self, data: bytes) -> bool:
        end = head_end(data)
        if end < 0:
            return False
        headers = parse_head(data[:end])[1]
        self.chunked = "chunked" in headers.get("transfer-encoding", "").lower()
        if self.chunked:
            return body_end(data)
        length = headers.get("content-length", "")
        if length.isdecimal():
            self.left = int(length) - (len(data) - end)
            return self.left <= 0
        return False


TOKENS = re.compile(rb'"completion_tokens"\s*:\s*(\d+)')


def tokens_so_far(capture: Capture) -> int:
    """The last token count among the latest bytes of a running stream; 0: none seen. For progress only."""
    latest = b"".join(data for _, data in capture.pieces[-3:])[-4096:]
    found = TOKENS.findall(latest)
    return int(found[-1]) if found else 0


def reason(error: BaseException, silence_s: float) -> str:
    """Why a request failed, in a few words."""
    if isinstance(error, (BlockingIOError, ssl.SSLWantReadError)):
        return "nothing arrived for %g s" % silence_s
    text = str(error) or type(error).__name__
    return "%s: %s" % (type(error).__name__, text) if not isinstance(error, OSError) else text

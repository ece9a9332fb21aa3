"""A scripted vLLM on loopback or a unix socket: canned documents, and streams that play steps exactly as written."""

from __future__ import annotations

import datetime
import json
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Step = bytes | threading.Event | Callable[[socket.socket], None]
"""Bytes to send in one write, an event to wait for, or a function of the connection."""
Script = Sequence[Step]
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
DONE = b"data: [DONE]\n\n"
WAIT_S = 20.0


def event(text: str | None, tokens: int | None, *, finish: str | None = None, **delta: Any) -> bytes:
    """One chat event as vLLM writes it; `tokens` is the count so far in its usage, None for no usage."""
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {"content": text, **delta}, "finish_reason": finish}],
    }
    if tokens is not None:
        body["usage"] = {"prompt_tokens": 7, "completion_tokens": tokens, "total_tokens": 7 + tokens}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def usage(tokens: int, prompt: int = 7, cached: int | None = None) -> bytes:
    """The last event before [DONE]."""
    whole: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": tokens, "total_tokens": prompt + tokens}
    if cached is not None:
        whole["prompt_tokens_details"] = {"cached_tokens": cached}
    return b"data: " + json.dumps({"choices": [], "usage": whole}).encode() + b"\n\n"


def chunk(data: bytes) -> bytes:
    """One HTTP chunk."""
    return b"%x\r\n%s\r\n" % (len(data), data)


END = chunk(b"")


def counts_to_events(counts: Sequence[int], word: str = " a") -> list[bytes]:
    """A whole chat stream whose chunks carry these numbers of tokens."""
    sofar, events = 0, [event("", 0, role="assistant")]
    for count in counts:
        sofar += count
        events.append(event(word * count, sofar, finish="length" if sofar == sum(counts) else None))
    return [*events, usage(sofar), DONE]


def reply(counts: Sequence[int], **kwargs: Any) -> list[bytes]:
    """The same with its HTTP framing, an event a write."""
    return [CHUNKED, *(chunk(one) for one in counts_to_events(counts, **kwargs)), END]


class ScriptedServer:
    """Answers GETs from `documents` and the POSTs with `scripts` in turn, the last one for ever."""

    def __init__(
        self, scripts: Sequence[Script], *, uds: Path | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self.scripts = list(scripts)
        self.documents: dict[str, tuple[int, str]] = {
            "/version": (200, '{"version": "0.32.0"}'),
            "/v1/models": (200, '{"data": [{"id": "tiny", "root": "/m/tiny", "max_model_len": 2048}]}'),
        }
        self.metrics: Callable[[], str | None] = lambda: None
        self.tokenize: Callable[[str], list[int]] | None = None
        self.posts: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        """Path, headers and body of each POST."""
        self.posted = threading.Semaphore(0)
        self._tls = tls
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        if uds is not None:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.bind(str(uds))
            self.endpoint: dict[str, Any] = {"uds": str(uds)}
        else:
            self._socket = socket.create_server(("127.0.0.1", 0))
            self.endpoint = {"port": self._socket.getsockname()[1], "tls": tls is not None}
        self._socket.listen(64)
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def __enter__(self) -> ScriptedServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with self._lock:
            for sock in self._open:
                sock.close()
        for thread in self._threads:
            thread.join(WAIT_S)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._socket.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(sock,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            if self._tls:
                sock = self._tls.wrap_socket(sock, server_side=True)
            with self._lock:
                self._open.add(sock)
            if self._socket.family == socket.AF_INET:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._answer(sock)
        except OSError:
            pass
        finally:
            with self._lock:
                self._open.discard(sock)
            sock.close()

    def _answer(self, sock: socket.socket) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            data += (piece := sock.recv(65536))
            if not piece:
                return
        head, _, body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        method, path, _ = first.split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        if method == "GET":
            self._get(sock, path)
            return
        while len(body) < int(headers["content-length"]):
            body += sock.recv(65536)
        if path == "/tokenize":
            found = self.tokenize(json.loads(body)["prompt"]) if self.tokenize else None
            self._send(sock, *((200, json.dumps({"tokens": found})) if found is not None else (404, "{}")))
            return
        with self._lock:
            self.posts.append((path, headers, json.loads(body)))
            script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        self.posted.release()
        for step in script:
            if isinstance(step, bytes):
                sock.sendall(step)
            elif isinstance(step, threading.Event):
                assert step.wait(WAIT_S)
            else:
                step(sock)

    def _get(self, sock: socket.socket, path: str) -> None:
        status, text = self.documents.get(path, (404, '{"detail": "Not Found"}'))
        if path == "/metrics" and (metrics := self.metrics()) is not None:
            status, text = 200, metrics
        self._send(sock, status, text)

    @staticmethod
    def _send(sock: socket.socket, status: int, text: str) -> None:
        body = text.encode()
        sock.sendall(b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body))


def self_made_certificate(folder: Path) -> ssl.SSLContext:
    """A server's TLS context with a certificate that nobody has signed."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "nobody")])
    now = datetime.datetime(2020, 1, 1)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=36500))
    certificate = builder.sign(key, hashes.SHA256())
    path = folder / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context

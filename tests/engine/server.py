"""A small HTTP server on loopback that answers as a test says, byte for byte, and counts what it was asked."""

from __future__ import annotations

import asyncio
import datetime
import json
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from specconsole.host.base import Endpoint
from tests.fakes import FakeHost


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Reply = bytes | Callable[[Request], bytes]
HANG = b"hang"
CLOSE = b"close"


def answer(body: bytes | str | dict[str, Any], status: int = 200, *, chunked: bool = False, extra: str = "") -> bytes:
    """An HTTP answer; a dict becomes JSON."""
    data = json.dumps(body).encode() if isinstance(body, dict) else body.encode() if isinstance(body, str) else body
    head = f"HTTP/1.1 {status} X\r\nserver: uvicorn\r\n{extra}"
    if chunked:
        half = len(data) // 2 or 1
        parts = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (data[:half], data[half:]) if part)
        return f"{head}transfer-encoding: chunked\r\n\r\n".encode() + parts + b"0\r\n\r\n"
    return f"{head}content-length: {len(data)}\r\n\r\n".encode() + data


def vllm(model: str = "tiny", metrics: str = "") -> dict[str, Reply]:
    """What a ready server answers."""
    listed = {"id": model, "object": "model", "owned_by": "vllm", "root": f"/models/{model}", "max_model_len": 8192}
    return {
        "/health": answer(""),
        "/v1/models": answer({"object": "list", "data": [listed]}),
        "/version": answer({"version": "0.24.0"}),
        "/metrics": answer(metrics, chunked=True),
        "/v1/completions": answer({"usage": {"completion_tokens": 1}, "choices": [{"text": "a"}]}),
    }


@dataclass
class Server:
    """Change `routes` at any time; `requests` and `connections` say what happened."""

    routes: dict[str, Reply]
    endpoint: Endpoint = field(default_factory=Endpoint)
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    port: int | None = None
    dropped: asyncio.Event = field(default_factory=asyncio.Event)
    """A connection has ended on our side."""
    _open: set[asyncio.StreamWriter] = field(default_factory=set)

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    def drop(self) -> None:
        """Close every kept connection, as uvicorn does after 5 idle seconds."""
        for writer in self._open:
            writer.close()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        try:
            while request := await self._read(reader):
                self.requests.append(request)
                reply = self.routes.get(request.path, answer({"detail": "Not Found"}, 404))
                data = reply(request) if callable(reply) else reply
                if data == HANG:
                    await asyncio.Event().wait()
                if data == CLOSE:
                    break
                writer.write(data)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()
            self.dropped.set()

    async def _read(self, reader: asyncio.StreamReader) -> Request | None:
        line = await reader.readline()
        if not line:
            return None
        method, path, _ = line.decode().split(" ", 2)
        headers = {}
        while (line := await reader.readline()).strip():
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return Request(method, path, headers, body)


@asynccontextmanager
async def serve(
    host: FakeHost,
    routes: Mapping[str, Reply],
    *,
    endpoint: Endpoint | None = None,
    tls: ssl.SSLContext | None = None,
    uds: Path | None = None,
) -> AsyncGenerator[Server, None]:
    """Run a server that `host.connect` reaches at `endpoint`."""
    server = Server(dict(routes), endpoint or Endpoint(tls=tls is not None, uds=str(uds) if uds else None))
    if uds:
        listener = await asyncio.start_unix_server(server.handle, uds)
        host.listen(server.endpoint, path=str(uds))
    else:
        listener = await asyncio.start_server(server.handle, "127.0.0.1", 0, ssl=tls)
        server.port = listener.sockets[0].getsockname()[1]
        host.listen(server.endpoint, port=server.port)
    try:
        yield server
    finally:
        host.refuse(server.endpoint)
        listener.close()
        server.drop()
        tasks = [task for task in asyncio.all_tasks() if "Server.handle" in repr(task.get_coro())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await listener.wait_closed()


def self_signed(folder: Path) -> ssl.SSLContext:
    """A server's TLS with a certificate that nobody vouches for, on another name."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "llm.example.org")])
    start = datetime.datetime(2020, 1, 1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=36500))
        .sign(key, hashes.SHA256())
    )
    pem = folder / "server.pem"
    pem.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context

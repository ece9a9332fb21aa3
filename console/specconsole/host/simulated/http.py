"""A small HTTP/1.1 server on a pair of streams, for the simulated engine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

Events = AsyncGenerator[bytes, None]


@dataclass(frozen=True)
class Request:
    """One request."""

    method: str
    path: str
    """Without the query."""
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    def json(self) -> dict[str, Any]:
        """The body as an object; {} when it is none."""
        try:
            value = json.loads(self.body or b"{}")
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


@dataclass(frozen=True)
class Answer:
    """What to send back: a body, or events as they come."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    events: Events | None = field(default=None)

    @classmethod
    def of(cls, value: object, status: int = 200) -> Answer:
        """A JSON document."""
        return cls(status, json.dumps(value, separators=(",", ":")).encode())


class Gone(Exception):
    """The server is gone: the connection breaks without an answer."""


Handler = Callable[[Request], Awaitable[Answer]]


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handle: Handler) -> None:
    """Answer requests until the client closes, asks to, or the handler raises Gone."""
    try:
        while (request := await _read(reader)) is not None:
            answer = await handle(request)
            await _send(writer, answer)
            if request.headers.get("connection", "").lower() == "close":
                break
    except (Gone, ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = [*first.split(" ", 2), "", ""][:3]
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, target.partition("?")[0], headers, body)


async def _send(writer: asyncio.StreamWriter, answer: Answer) -> None:
    head = f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}\r\nserver: uvicorn\r\n"
    if answer.events is None:
        head += f"content-length: {len(answer.body)}\r\ncontent-type: {answer.content_type}\r\n\r\n"
        writer.write(head.encode() + answer.body)
        await writer.drain()
        return
    head += "content-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
    writer.write(head.encode())
    try:
        async for data in answer.events:
            writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            await writer.drain()
    finally:
        await answer.events.aclose()
    writer.write(b"0\r\n\r\n")
    await writer.drain()

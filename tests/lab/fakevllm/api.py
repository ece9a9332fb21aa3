"""The HTTP side: health, models, version, metrics, and streamed completions as 0.24 sends them."""

from __future__ import annotations

import http.server
import itertools
import json
import socket
import socketserver
import time
import uuid
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

from .counters import Counters
from .decode import Request, count, steps
from .options import Options
from .startup import Server


class Api(http.server.BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Listener

    def do_GET(self) -> None:
        """Answer the reads."""
        options, path = self.server.options, self.path.split("?")[0]
        if path.startswith("/v1") and not self._allowed():
            return
        if path in ("/health", "/ping"):
            self._send(HTTPStatus.OK, b"")
        elif path == "/version":
            self._json(HTTPStatus.OK, {"version": options.version_text})
        elif path == "/load":
            self._json(HTTPStatus.OK, {"server_load": 0})
        elif path == "/metrics":
            text = self.server.counters.text().encode()
            self._send(HTTPStatus.OK, text, "text/plain; version=0.0.4; charset=utf-8")
        elif path == "/v1/models":
            self._json(HTTPStatus.OK, {"object": "list", "data": [self._card(name) for name in options.names]})
        else:
            self._json(HTTPStatus.NOT_FOUND, {"detail": "Not Found"})

    def do_POST(self) -> None:
        """Answer completions."""
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        chat = self.path == "/v1/chat/completions"
        if not chat and self.path != "/v1/completions":
            self._json(HTTPStatus.NOT_FOUND, {"detail": "Not Found"})
            return
        if not self._allowed():
            return
        if body.get("model", self.server.options.names[0]) not in self.server.options.names:
            text = f"The model `{body['model']}` does not exist."
            self._error(HTTPStatus.NOT_FOUND, text, "NotFoundError")
            return
        if not 0 <= float(body.get("temperature") or 0) <= 2:
            self._error(HTTPStatus.BAD_REQUEST, f"temperature must be in [0, 2], got {body['temperature']}.")
            return
        self._complete(body, chat)

    def _complete(self, body: dict[str, Any], chat: bool) -> None:
        asked = body.get("max_completion_tokens") or body.get("max_tokens") or 16
        prompt = json.dumps(body.get("messages", "")) if chat else str(body.get("prompt", ""))
        request = Request(count(prompt), int(asked), float(body.get("temperature") or 0), int(body.get("seed") or 0))
        longest = self.server.options.max_model_len
        if request.prompt_tokens + request.max_tokens > longest:
            said = f"This model's maximum context length is {longest} tokens. However, you requested {request.max_tokens} output"
            said += f" tokens and your prompt contains {request.prompt_tokens} input tokens."
            self._error(HTTPStatus.BAD_REQUEST, said)
            return
        if request.max_tokens > 1 and self.server.spent():
            said = "EngineCore encountered an issue. See stack trace (above) for the root cause."
            self._error(HTTPStatus.INTERNAL_SERVER_ERROR, said, "InternalServerError")
            return
        tokens = steps(request, self.server.options, self.server.counters)
        if body.get("stream"):
            self._stream(body, chat, request, tokens)
            return
        words = [word for step in tokens for word in step]
        choice: dict[str, Any] = {"index": 0, "logprobs": None, "finish_reason": "length", "stop_reason": None}
        text = "".join(words)
        choice |= {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
        usage = _usage(request, len(words))
        self._json(HTTPStatus.OK, {**self._frame(chat, chunk=False), "choices": [choice], "usage": usage})

    def _stream(self, body: dict[str, Any], chat: bool, request: Request, tokens: Iterator[list[str]]) -> None:
        wanted = body.get("stream_options") or {}
        frame = self._frame(chat, chunk=True)
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        done = 0
        for step in tokens:
            if chat and not done:
                self._event(frame, _choice({"role": "assistant", "content": ""}, chat), wanted, request, 0)
            done += len(step)
            finish = "length" if done == request.max_tokens else None
            choice = _choice({"content": "".join(step)}, chat, finish)
            self._event(frame, choice, wanted, request, done)
        if wanted.get("include_usage"):
            self._chunk({**frame, "choices": [], "usage": _usage(request, done)})
        self._raw(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _event(
        self, frame: dict[str, Any], choice: dict[str, Any], wanted: dict[str, Any], request: Request, done: int
    ) -> None:
        usage = {"usage": _usage(request, done)} if wanted.get("continuous_usage_stats") else {}
        self._chunk({**frame, "choices": [choice], **usage})

    def _chunk(self, value: dict[str, Any]) -> None:
        self._raw(b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n")

    def _raw(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _frame(self, chat: bool, *, chunk: bool) -> dict[str, Any]:
        kind = ("chat.completion.chunk" if chunk else "chat.completion") if chat else "text_completion"
        name = ("chatcmpl-" if chat else "cmpl-") + uuid.uuid4().hex[:16]
        return {"id": name, "object": kind, "created": int(time.time()), "model": self.server.options.names[0]}

    def _card(self, name: str) -> dict[str, Any]:
        options = self.server.options
        about = {"id": name, "object": "model", "created": int(time.time()), "owned_by": "vllm", "parent": None}
        return {**about, "root": options.model, "max_model_len": options.max_model_len, "permission": []}

    def _allowed(self) -> bool:
        key = self.server.options.api_key
        if not key or self.headers.get("Authorization") == f"Bearer {key}":
            return True
        self._json(HTTPStatus.UNAUTHORIZED, {"error": "Unauthorized"})
        return False

    def _error(self, status: HTTPStatus, message: str, kind: str = "BadRequestError") -> None:
        self._json(status, {"error": {"message": message, "type": kind, "param": None, "code": int(status)}})

    def _json(self, status: HTTPStatus, value: object) -> None:
        self._send(status, json.dumps(value, separators=(",", ":")).encode(), "application/json")

    def _send(self, status: HTTPStatus, body: bytes, kind: str = "") -> None:
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Write the access line."""
        if self.server.options.access_log:
            status = HTTPStatus(int(code))
            who = "" if self.server.options.uds else f"{self.client_address[0]}:{self.client_address[1]} - "
            self.server.log.uvicorn(f'{who}"{self.requestline}" {status.value} {status.phrase}')

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  http.server names it
        """Say nothing beyond access lines."""


def _usage(request: Request, done: int) -> dict[str, int]:
    total = request.prompt_tokens + done
    return {"prompt_tokens": request.prompt_tokens, "total_tokens": total, "completion_tokens": done}


def _choice(delta: dict[str, str], chat: bool, finish: str | None = None) -> dict[str, Any]:
    content: dict[str, Any] = {"delta": delta} if chat else {"text": delta["content"]}
    end = {"finish_reason": finish, "stop_reason": None} if finish else {"finish_reason": None}
    return {"index": 0, **content, "logprobs": None, **end}


class Listener(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """The server: on a port, or on a unix socket."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, options: Options, counters: Counters, log: Server) -> None:
        self.options, self.counters, self.log = options, counters, log
        self._asked = itertools.count(1)
        if options.uds:
            self.address_family = socket.AF_UNIX
            Path(options.uds).unlink(missing_ok=True)
        address: Any = options.uds or (options.host, options.port)
        super().__init__(address, Api, bind_and_activate=False)
        self.server_bind()  # before the load, as the real one does; it listens only when it is ready

    def spent(self) -> bool:
        """Whether this request is beyond those that are answered."""
        return self.options.answers is not None and next(self._asked) > self.options.answers

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""

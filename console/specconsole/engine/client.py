"""Questions to a vLLM server on the host: one kept connection, a deadline for each, and every failure with a name."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from specconsole.engine import metrics
from specconsole.engine.key import ApiKey
from specconsole.errors import DeadlineExceeded, HostError, NotRunning
from specconsole.host.base import Endpoint, Host
from specconsole.remote import outside
from specconsole.stream import within
from specconsole.text import one_line

if TYPE_CHECKING:
    import httpcore

_HEADERS = (
    (b"user-agent", b"specconsole"),
    (b"accept", b"application/json, text/plain"),
    (b"accept-encoding", b"identity"),  # what was not packed cannot grow
)
MAX_BODY = 8 * 2**20
"""Bytes of an answer that are read; a /metrics of 64 engines has 3 MB."""


MOST_MODELS, _NAME = 1000, 1000
"""Entries of a model list, and characters of a name, that are read."""


class Refused(NotRunning):
    """Nothing listens there: the unit is stopped, or it still loads (vLLM listens only when it is done)."""


class NoAnswer(HostError):
    """Something took the connection and closed it without an answer."""


class NotHttp(NoAnswer):
    """Something answered that is no HTTP, or no TLS where TLS was asked for."""


class Rejected(HostError):
    """The server answered with an error."""

    def __init__(self, status: int, message: str, path: str) -> None:
        super().__init__(f"The server answered {status} at {path}.", message)
        self.status = status


@dataclass(frozen=True)
class Answer:
    """One answer as it came."""

    status: int
    body: bytes

    def json(self) -> Any:
        """The body as JSON; None when it is none."""
        try:
            return outside.parse(self.body)
        except ValueError:
            return None


@dataclass(frozen=True)
class Model:
    """One entry of the model list."""

    id: str
    """The name that requests use."""
    root: str | None = None
    """The path or repository it was loaded from."""
    max_model_len: int | None = None


class EngineClient:
    """Asks one server; use it as an async context manager. Every method may raise what `get` raises."""

    def __init__(
        self, host: Host, endpoint: Endpoint, api_key: ApiKey | None = None, *, deadline_s: float = 5.0
    ) -> None:
        self.endpoint = endpoint
        self._host = host
        self._key = api_key
        self._deadline_s = deadline_s
        self._http: httpcore.AsyncConnectionPool | None = None
        self._kept = False

    @property
    def tls_unverified(self) -> bool:
        """The connection is TLS to the host's own address, and the certificate is not checked."""
        return self.endpoint.tls

    @property
    def has_key(self) -> bool:
        """Requests to /v1 carry an API key."""
        return self._key is not None

    async def __aenter__(self) -> EngineClient:
        from specconsole.engine.channel import pool  # 30 ms that start-up need not pay

        self._http = pool(self._host, self.endpoint)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    async def get(self, path: str, *, deadline_s: float | None = None) -> Answer:
        """Ask once; a kept connection that the server closed meanwhile is replaced unseen.

        Raises:
            Refused: nothing listens there.
            NoAnswer: the connection was closed without an answer, or it is no HTTP.
            DeadlineExceeded: no whole answer in time.
            LinkLost: the link is down.
        """
        kept, self._kept = self._kept, False
        try:
            return await self._send("GET", path, None, deadline_s)
        except NoAnswer:
            if not kept:
                raise
            return await self._send("GET", path, None, deadline_s)

    async def post(self, path: str, body: Mapping[str, object], *, deadline_s: float | None = None) -> Answer:
        """Send JSON, once: what was asked may have begun. Raises as `get`."""
        return await self._send("POST", path, body, deadline_s)

    async def health(self) -> Answer:
        """The answer of /health; 200 says only that the API process has seen no error."""
        return await self.get("/health")

    async def models(self) -> tuple[Model, ...]:
        """What is served; raises Rejected, with status 401 where a key is asked for."""
        found = _ok(await self.get("/v1/models"), "/v1/models")
        entries = found.get("data") if isinstance(found, dict) else None
        if not isinstance(entries, list):
            raise Rejected(200, "This is no model list.", "/v1/models")
        return tuple(_model(entry) for entry in entries[:MOST_MODELS] if isinstance(entry, dict) and "id" in entry)

    async def version(self) -> str | None:
        """vLLM's version; None where the server does not say."""
        answer = await self.get("/version")
        found = answer.json() if answer.status == 200 else None
        version = found.get("version") if isinstance(found, dict) else None
        return one_line(version, 60) if isinstance(version, str) else None

    async def metrics(self) -> metrics.Scrape:
        """The counters now; raises Rejected where there are none."""
        answer = await self.get("/metrics")
        if answer.status in (301, 307, 308):  # old versions: the one place where it is looked for elsewhere
            answer = await self.get("/metrics/")
        if answer.status != 200:
            raise Rejected(answer.status, error_message(answer), "/metrics")
        return metrics.parse(answer.body)

    async def _send(
        self, method: str, path: str, body: Mapping[str, object] | None, deadline_s: float | None
    ) -> Answer:
        deadline_s = self._deadline_s if deadline_s is None else deadline_s
        try:
            return await within(deadline_s, self._exchange(method, path, body))
        except asyncio.TimeoutError:
            raise DeadlineExceeded(f"{self.endpoint} gave no answer to {path} within {deadline_s:g} s.") from None

    async def _exchange(self, method: str, path: str, body: Mapping[str, object] | None) -> Answer:
        import httpcore

        from specconsole.engine.channel import PortClosed

        assert self._http is not None, "use it as a context manager"
        url = httpcore.URL(
            scheme="https" if self.endpoint.tls else "http", host="localhost", port=self.endpoint.port, target=path
        )
        headers: list[tuple[bytes | str, bytes | str]] = [*_HEADERS]
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            headers.append((b"content-type", b"application/json"))
        if self._key is not None and path.startswith("/v1"):
            headers.append((b"authorization", f"Bearer {self._key.reveal()}"))
        try:
            async with self._http.stream(method, url, headers=headers, content=content) as response:
                answer = Answer(response.status, await _read(response))
        except PortClosed:
            raise Refused(f"Nothing listens at {self.endpoint}.") from None
        except httpcore.ConnectError as error:
            raise NotHttp(f"{self.endpoint} does not answer in TLS.", str(error)) from None
        except (httpcore.ProtocolError, httpcore.NetworkError) as error:
            if "illegal" in str(error):  # h11's word for bytes that are no HTTP
                raise NotHttp(f"{self.endpoint} does not answer in HTTP.", str(error)) from None
            raise NoAnswer(f"{self.endpoint} closed the connection without an answer.", str(error)) from None
        self._kept = True
        return answer


async def _read(response: httpcore.Response) -> bytes:
    """The body as it came, up to a bound; never unpacked."""
    if any(name.lower() == b"content-encoding" and said.lower() != b"identity" for name, said in response.headers):
        raise NotHttp("The server answers compressed, though it was asked not to.")
    body = bytearray()
    async for part in response.aiter_stream():
        body += part
        if len(body) > MAX_BODY:
            break
    return bytes(body[:MAX_BODY])


def _ok(answer: Answer, path: str) -> Any:
    if answer.status != 200:
        raise Rejected(answer.status, error_message(answer), path)
    return answer.json()


def _model(entry: Mapping[str, Any]) -> Model:
    length = entry.get("max_model_len")
    root = entry.get("root")
    return Model(
        one_line(str(entry["id"])[:_NAME]),
        one_line(root[:_NAME]) if isinstance(root, str) else None,
        length if isinstance(length, int) and 0 <= length < 1 << 53 else None,
    )


def error_message(answer: Answer) -> str:
    """What an error answer says, in one line, for every shape that versions of vLLM have used."""
    found = answer.json()
    if isinstance(found, dict):
        error = found.get("error", found)
        if isinstance(error, dict):
            error = error.get("message") or error.get("detail") or ""
        return one_line(str(error)[:2000], 300)
    return one_line(answer.body[:2000].decode(errors="replace"), 300)

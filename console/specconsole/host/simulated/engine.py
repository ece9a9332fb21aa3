"""The simulated vLLM server: what its script says, and streams with the script's pace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

from specconsole.host.simulated.http import Answer, Gone, Request
from specconsole.host.simulated.machine import Machine
from specconsole.host.simulated.script import Facts
from specconsole.host.simulated.stream import Stream, wanted
from specconsole.host.simulated.unit import SimulatedUnit

_BLOCK_TOKENS = 16
"""Tokens in a block of the KV cache, as the recorded servers said."""


class Engine:
    """Answers for the server of one unit, as one start of it; another start is another engine."""

    def __init__(self, machine: Machine, unit: SimulatedUnit, port: int) -> None:
        assert unit.playback is not None
        self._machine = machine
        self.unit = unit
        self.playback = unit.playback
        self._client = f"127.0.0.1:{port}"

    async def answer(self, request: Request) -> Answer:
        """Answer one request; raises Gone once the server is stopped."""
        self.alive()
        routes: dict[tuple[str, str], Callable[[Request], Answer | Awaitable[Answer]]] = {
            ("GET", "/health"): lambda _: Answer(),
            ("GET", "/ping"): lambda _: Answer(),
            ("GET", "/version"): lambda _: Answer.of({"version": self._facts.version}),
            ("GET", "/load"): lambda _: Answer.of({"server_load": len(self.playback.live)}),
            ("GET", "/v1/models"): lambda _: Answer.of(self.models()),
            ("GET", "/metrics"): lambda _: self._metrics(),
            ("POST", "/tokenize"): self._tokenize,
            ("POST", "/v1/completions"): self._complete,
            ("POST", "/v1/chat/completions"): self._complete,
        }
        route = routes.get((request.method, request.path))
        if route is None:
            answer: Answer | Awaitable[Answer] = Answer.of({"detail": "Not Found"}, 404)
        else:
            answer = route(request)
        given = answer if isinstance(answer, Answer) else await answer
        phrase = {200: "OK", 400: "Bad Request", 404: "Not Found", 503: "Service Unavailable"}[given.status]
        text = f'INFO:     {self._client} - "{request.method} {request.path} HTTP/1.1" {given.status} {phrase}'
        self._machine.say(self.unit, text)
        return given

    def alive(self) -> None:
        """Return while this start of the server answers; raises Gone."""
        self._machine.advance()
        if self.unit.playback is not self.playback or not self.playback.ready(self._machine.clock.now()):
            raise Gone

    @property
    def _facts(self) -> Facts:
        return self.playback.script.facts

    def models(self) -> dict[str, Any]:
        """The answer to /v1/models."""
        models = dict(self._facts.models)
        created = int(self._machine.clock.now())
        return models | {"data": [entry | {"created": created} for entry in models["data"]]}

    @property
    def model(self) -> str:
        """The name that it serves."""
        return self._facts.model

    def page(self) -> str:
        """/metrics now; what runs and how much of the KV cache it uses follow from the requests that run."""
        now = self._machine.clock.now()
        script = self.playback.script
        page, values = script.page, list(self.playback.values(now))
        running = self.playback.requests(now)
        shift = self.playback.started - script.spawned
        for place in page.by_name["vllm:num_requests_running"]:
            values[place] = float(len(running))
        moment = self.playback.round(now)[1]
        blocks = sum(-(-request.tokens_at(moment) // _BLOCK_TOKENS) for request in running)
        for place in page.by_name["vllm:kv_cache_usage_perc"]:
            values[place] = blocks / script.facts.blocks
        return page.render(tuple(values), shift)

    def _metrics(self) -> Answer:
        kept = self.unit.file.kept
        page = kept.page(self._machine.clock.now()) if kept else self.page()
        if page is None:
            return _error(503, "ServiceUnavailable", None, "The metrics were not collected at this moment.")
        return Answer(200, page.encode(), "text/plain; version=0.0.4; charset=utf-8")

    def _tokenize(self, request: Request) -> Answer:
        words = wanted(request.json()).split()
        limit = self._facts.max_model_len
        return Answer.of({"count": len(words), "max_model_len": limit, "tokens": list(range(len(words)))})

    async def _complete(self, request: Request) -> Answer:
        if self.unit.file.kept:
            return _error(503, "ServiceUnavailable", None, "This server is only played from a bundle.")
        body = request.json()
        if (refused := self._refuse(body)) is not None:
            return refused
        stream = Stream(self._machine.clock, self.playback, body, chat="chat" in request.path, alive=self.alive)
        if body.get("stream"):
            return Answer(events=stream.events())
        return Answer.of(await stream.whole())

    def _refuse(self, body: dict[str, Any]) -> Answer | None:
        temperature = body.get("temperature", 1.0)
        if body.get("model", self.model) != self.model:
            return _error(404, "NotFoundError", "model", f"The model `{body['model']}` does not exist.")
        if not isinstance(temperature, (int, float)) or not 0 <= temperature <= 2:
            message = f"temperature must be in [0, 2], got {temperature}. (parameter=temperature, value={temperature})"
            return _error(400, "BadRequestError", "temperature", message)
        return None


def _error(status: int, kind: str, parameter: str | None, message: str) -> Answer:
    return Answer.of({"error": {"message": message, "type": kind, "param": parameter, "code": status}}, status)


PORTS = count(40000)
"""The client's port in the access log."""

"""The load generator on the simulated host: it tells what `remote/drive` would, with the script's pace of each stream.

The stamps are the script's, not measured here, so that neither the demo's speed nor this machine is in them: a stream is sent when
the one before it has ended by the script, however late the demo's clock lets us see that.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from specconsole.host.simulated import files
from specconsole.host.simulated.engine import Engine
from specconsole.host.simulated.http import Gone
from specconsole.host.simulated.joules import Joules
from specconsole.host.simulated.machine import Machine
from specconsole.host.simulated.process import Output
from specconsole.host.simulated.stream import Stream
from specconsole.remote import drive_rule as rule
from specconsole.remote import drive_scrape

Line = dict[str, Any]

HELD = "stood still meanwhile; on a real host they would be in these figures"
"""What becomes of the script's own traffic while something is measured."""
_TELL_S = 0.25
_PORT = 40000


async def drive(machine: Machine, arguments: Mapping[str, Any], stdin: asyncio.Queue[bytes], speed: float) -> Output:
    """Run once, as the program does with these arguments and this input."""
    lines: asyncio.Queue[Line | None] = asyncio.Queue()
    run = _Run(machine, arguments, lines, _TELL_S * speed)
    task = asyncio.create_task(_all(run, stdin, lines))
    try:
        while (line := await lines.get()) is not None:
            yield json.dumps(line, separators=(",", ":")).encode() + b"\n"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    yield (1 if run.failure else 0), b""


async def _all(run: _Run, stdin: asyncio.Queue[bytes], lines: asyncio.Queue[Line | None]) -> None:
    requests: list[Line] = []
    listen: asyncio.Task[None] | None = None
    try:
        async for message in _messages(stdin):
            if "request" in message:
                requests.append(message["request"])
            elif message.get("go"):
                break
            elif message.get("cancel"):
                run.cancelled = True
                break
        listen = asyncio.create_task(_listen(run, stdin))
        await run.run(requests)
    finally:
        if listen is not None:
            listen.cancel()
            await asyncio.gather(listen, return_exceptions=True)
        lines.put_nowait(None)


async def _messages(stdin: asyncio.Queue[bytes]) -> AsyncGenerator[Line, None]:
    rest = b""
    while True:
        *whole, rest = (rest + await stdin.get()).split(b"\n")
        for line in whole:
            yield json.loads(line)


async def _listen(run: _Run, stdin: asyncio.Queue[bytes]) -> None:
    async for message in _messages(stdin):
        if message.get("cancel"):
            run.cancel()


class _Run:
    """One run against one server."""

    def __init__(
        self, machine: Machine, arguments: Mapping[str, Any], lines: asyncio.Queue[Line | None], tell_s: float
    ) -> None:
        self.machine = machine
        self.clock = machine.clock
        self.port = int((arguments.get("endpoint") or {}).get("port") or 8000)
        self.path = str(arguments.get("path") or "/v1/chat/completions")
        self.concurrency = max(int(arguments.get("concurrency") or 1), 1)
        self.warmup = arguments.get("warmup", "auto")
        self.failure = ""
        self.cancelled = False
        self._lines = lines
        self._tell_s = tell_s
        self._engine: Engine | None = None
        self._scrapes = 0
        self._looks = 0
        self._seen: list[Line] = []
        self._streams: set[asyncio.Task[Line]] = set()
        self._ended: float | None = None
        """When the last batch had ended by the script; None: the next one begins a stretch of its own."""
        self._began = self.clock.now()
        self._joules = Joules(machine) if arguments.get("unit") else None

    def emit(self, event: str, **values: Any) -> None:
        """Tell one line."""
        self._lines.put_nowait({"event": event, **values})

    def cancel(self) -> None:
        """End the streams under way, and begin none."""
        self.cancelled = True
        for task in self._streams:
            task.cancel()

    async def run(self, requests: Sequence[Line]) -> None:
        """Warm up, measure, and say how it ended."""
        self._identify()
        if not self.failure and not requests:
            self.failure = "no requests were given"
        if not self.failure:
            self.emit("note", text=self.machine.site.note)
            if self._joules:
                self.emit("power", source="counter", why=None, gpus=self._joules.cards())
            await self._alone(requests)
        why = "failed" if self.failure else "cancelled" if self.cancelled else "finished"
        chunks = sum(len(one["chunks"]) for one in self._seen)
        health = {"bunched": rule.bunched(self._seen), "chunks": chunks, "kernel": False}
        self.emit("end", why=why, error=self.failure, health=health)

    async def _alone(self, requests: Sequence[Line]) -> None:
        """Warm up and measure while the script's own traffic stands still."""
        assert self._engine is not None
        playback = self._engine.playback
        if others := len(playback.requests(self.clock.now())):
            ran = "1 request of others that ran" if others == 1 else f"{others} requests of others that ran"
            self.emit("note", text=f"{ran} when this began {HELD}")
        self.machine.hold(playback)
        try:
            if not self.warmup or await self._warm(requests):
                self._began, self._ended = self.clock.now(), None
                await self._measure(requests)
        finally:
            self.machine.flow(self._engine.unit, playback)

    def _identify(self) -> None:
        self.machine.advance()
        unit = files.answering(self.machine).get(self.port)
        models: list[Line] = []
        version, error = None, ""
        if unit is None or unit.playback is None:
            error = self.failure = "Connection refused"
        else:
            self._engine = Engine(self.machine, unit, _PORT)
            version, models = unit.playback.script.facts.version, self._engine.models()["data"]
        self.emit(
            "identity",
            v=1,
            version=version,
            models=[{key: one.get(key) for key in ("id", "root", "max_model_len")} for one in models],
            cache="salt",
            token_ids=False,
            at=self.clock.now(),
            python="3.12.3",
            error=error,
        )

    def _scrape(self) -> int:
        try:
            self._alive()
            text = drive_scrape.keep(self._engine.page().encode()) if self._engine else None
            error = ""
        except Gone:
            text, error = None, "Connection refused"
        self.emit("scrape", index=self._scrapes, at=self.clock.now(), took_s=0.0, text=text, error=error)
        self._scrapes += 1
        return self._scrapes - 1

    def _alive(self) -> None:
        if self._engine is None:
            raise Gone
        self._engine.alive()

    async def _warm(self, requests: Sequence[Line]) -> bool:
        most = rule.WARMUP_MOST if self.warmup == "auto" else int(self.warmup)
        before, earlier, agreed, rounds = self._scrape(), None, False, 0
        while rounds < most and not self.cancelled:
            chosen = [
                {**requests[place % len(requests)], "id": f"warm-up {rounds + 1}/{place + 1}", "warmup": rounds + 1}
                for place in range(self.concurrency)
            ]
            results = await self._batch(chosen, before)
            before = self._scrapes - 1
            if all(result["error"] for result in results) and not self.cancelled:
                self.failure = results[0]["error"]
                return False
            rounds += 1
            later = rule.tpot_s(results)
            agreed = rule.agree(earlier, later)
            self.emit("warmup", round=rounds, tpot_s=later, agrees=agreed)
            earlier = later
            if agreed and self.warmup == "auto":
                break
        self.emit("warmed", rounds=rounds, agreed=agreed if rounds > 1 else None)
        return True

    async def _measure(self, requests: Sequence[Line]) -> None:
        before = self._scrapes - 1 if self._scrapes else self._scrape()
        size = 1 if self.concurrency == 1 else len(requests)
        for first in range(0, len(requests), size):
            if self.cancelled:
                break
            self._seen += await self._batch(requests[first : first + size], before, self._look())
            before = self._scrapes - 1
        self._look()

    def _felt(self) -> bool:
        if self._joules:
            self._joules.feel()
        return True

    def _look(self) -> int | None:
        """Tell the joules so far."""
        if self._joules is None:
            return None
        counted = self._joules
        self.emit("energy", index=self._looks, at_ns=_ns(counted.seconds), joules=list(counted.joules))
        self._looks += 1
        return self._looks - 1

    async def _batch(self, requests: Sequence[Line], before: int, energy: int | None = None) -> list[Line]:
        """Send these requests, as many at once as asked for."""
        left, results, begun = list(requests), [], []
        began = self.clock.now() if self._ended is None else self._ended
        free = [began] * self.concurrency
        if self._joules:
            self._joules.begin()
        while (left and not self.cancelled) or self._streams:
            while left and len(self._streams) < self.concurrency and not self.cancelled:
                begun.append(left.pop(0))
                self._streams.add(asyncio.create_task(self._one(begun[-1], free.pop(0))))
            done, self._streams = await asyncio.wait(self._streams, return_when=asyncio.FIRST_COMPLETED)
            ended = sorted((task.result() for task in done), key=_end)
            free += map(_end, ended)
            results += ended
        self._ended = max(map(_end, results), default=None)
        if self._joules and energy is not None:
            self._joules.count(results)
        after = self._scrape()
        idents = [str(request["id"]) for request in begun]
        self.emit("window", requests=idents, before=before, after=after, energy=energy)
        for result in results:
            self.emit("result", **result)
        return results

    async def _one(self, request: Line, sent: float) -> Line:
        """One stream from its start, at a moment of the script, to its end, however it ends."""
        ident = str(request["id"])
        self.emit("started", id=ident)
        said = _Said()
        error = ""
        try:
            self._alive()
            await self._follow(request, ident, said)
        except Gone:
            error = "the server closed the connection"
        except asyncio.CancelledError:
            error = "cancelled"
        self.emit("finished", id=ident)
        known = {key: request.get(key) for key in ("prompt", "repeat", "warmup")}
        return {
            "id": ident,
            **known,
            **said.line(),
            "error": error,
            "sent_at": sent,
            "sent_ns": _ns(sent - self._began),
        }

    async def _follow(self, request: Line, ident: str, said: _Said) -> None:
        assert self._engine is not None
        body = {"model": self._engine.model, **request["body"]}
        stream = Stream(
            self.clock,
            self._engine.playback,
            body,
            chat="chat" in self.path,
            alive=self._alive,
            prompt=int((request.get("slot") or (0, 0))[1]),
            streams=self.concurrency,
        )
        said.stream = stream
        stream.fill(int(request.get("context") or 0))
        told = self.clock.now()
        steps = stream.steps()
        try:
            async for moment, tokens, last in steps:
                said.chunk(moment, tokens, last=last)
                if self.clock.now() - told >= self._tell_s or (last and not said.felt):
                    said.felt = self._felt()
                    told = self.clock.now()
                    self.emit("progress", tokens={ident: said.tokens})
        finally:
            await steps.aclose()


class _Said:
    """What one stream has said so far."""

    def __init__(self) -> None:
        self.stream: Stream | None = None
        self.chunks: list[tuple[int, int]] = []
        self.tokens = 0
        self.finish: str | None = None
        self.felt = False
        """The power was noted while it ran."""

    def chunk(self, moment: float, tokens: int, *, last: bool) -> None:
        """Take a chunk; `moment` in milliseconds since the request was sent."""
        self.tokens += tokens
        self.chunks.append((_ns(moment / 1000), self.tokens))
        self.finish = "length" if last else None

    def line(self) -> Line:
        """As a result has it."""
        return {
            "status": 200 if self.chunks else None,
            "chunks": self.chunks,
            "usage": self.stream.usage() if self.stream and self.chunks else None,
            "finish": self.finish,
            "text": self.stream.text(0, self.tokens) if self.stream else "",
            "token_ids": [],
            "forced": None,
            "headers_ns": None,
            "end_ns": self.chunks[-1][0] if self.chunks else None,
        }


def _end(result: Line) -> float:
    """When a stream had ended by the script; one that said nothing, when it was sent."""
    return float(result["sent_at"]) + (result["end_ns"] or 0) / 1e9


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)

"""The recorded starts that come with the program: real vLLM 0.24.0 on one real NVIDIA H200, from spawn to the end.

A recording is a gzipped file of JSON lines in `host/recordings`, made by `tests/recordings/convert.py`. The first line
is the header; each later one is something at `t` seconds after the spawn:

- `log`: what one read of the server's output gave, byte for byte (undecodable bytes as lone surrogates);
- `gpu`, `holders`, `host`, `tree`: one sample of the card, its processes, the host and the server's processes;
- `page`, `values`: the page `/metrics` as it was at the end, and the value of each of its series at ready;
- `set`: series (by their place in the page) that have a new value from here on;
- `end`, `prompt_tokens`, `chunks`…: a request that a client sent then, its chunks as [ms since it was sent, tokens].

`recording.py` reads it. Moments of the header: `ready` (the API answers), `again` to `served` (traffic that may be repeated), `stop` (SIGTERM),
`exited` (the main process ended, with `status`), `gone` (no process left). A start that failed has only `exited`.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from specconsole.host.simulated.page import Page, Values
from specconsole.host.simulated.script import Ending, Facts, Request, Sample

KILLED_S = 0.4
"""A server that was stopped while it loads is gone after this: GPU memory was back at most 0.383 s after every SIGTERM."""
_MANY = 4
"""From so many requests at once on, the recorded batch of eight is the nearer one."""


@dataclass(frozen=True)
class Recording:
    """One recorded start; a `Script`."""

    header: Mapping[str, Any]
    log: tuple[tuple[float, bytes], ...]
    samples: tuple[Sample, ...]
    requests: tuple[Request, ...]
    text: str
    """The page of metrics as it was at the end."""
    ticks: tuple[tuple[float, Values], ...]
    """The values of the page from each moment on; the first is at ready."""

    @property
    def name(self) -> str:
        """Its name: moe-ngram."""
        return str(self.header["name"])

    @property
    def title(self) -> str:
        """What ran, for people."""
        return str(self.header["title"])

    @property
    def main_pid(self) -> int:
        """The process that systemd would have started."""
        return int(self.header["main_pid"])

    @property
    def command(self) -> str:
        """The main process's title."""
        return " ".join(self.header["argv"])[:200]

    @property
    def spawned(self) -> float:
        """Seconds since the epoch at which it was recorded."""
        return self.moment("spawned")

    @property
    def ready(self) -> float | None:
        """When it answered, in seconds after the spawn; None: it never did."""
        return self.header.get("ready")

    @property
    def again(self) -> float:
        """From here to `served` its traffic may be repeated."""
        return self.moment("again")

    @property
    def served(self) -> float:
        """Where the traffic begins again."""
        return self.moment("served")

    def moment(self, name: str) -> float:
        """A moment of the header, in seconds after the spawn."""
        return float(self.header[name])

    @property
    def facts(self) -> Facts:
        """What the server said of itself."""
        return self._facts

    @cached_property
    def _facts(self) -> Facts:
        return Facts(self.header["version"], self.header["models"], self.header["ring"], self._blocks)

    @property
    def _blocks(self) -> int:
        labels = self.page.series[self.page.by_name["vllm:cache_config_info"][0]].labels
        return int(labels.partition('num_gpu_blocks="')[2].partition('"')[0])

    # -- how it ends --

    @property
    def fate(self) -> Ending | None:
        """How a start that failed ended."""
        if self.ready is not None:
            return None
        exited, status = self.moment("exited"), int(self.header["status"])
        return Ending(exited, exited, status, result="exit-code" if status else "success")

    def stopped(self, at: float) -> Ending:
        """How it ended after SIGTERM; while it loads that was not recorded, so nothing is printed then."""
        if self.ready is None or at < self.ready:
            return Ending(KILLED_S, KILLED_S, 15, signal=True)
        stop = self.moment("stop")
        last = tuple((moment - stop, line) for moment, line in self.lines if moment >= stop)
        return Ending(self.moment("exited") - stop, self.moment("gone") - stop, int(self.header["status"]), lines=last)

    # -- what it printed --

    @cached_property
    def lines(self) -> tuple[tuple[float, bytes], ...]:
        """The log as journald would cut it: at each newline, stamped when the newline came, without empty lines."""
        lines: list[tuple[float, bytes]] = []
        rest = b""
        for at, data in self.log:
            *whole, rest = (rest + data).split(b"\n")
            lines += [(at, line.rstrip()) for line in whole if line.rstrip()]
        return tuple(lines) + (((self.log[-1][0], rest.rstrip()),) if rest.strip() else ())

    @property
    def said(self) -> tuple[tuple[float, bytes], ...]:
        """What it printed before SIGTERM, or until it failed."""
        return self._said

    @cached_property
    def _said(self) -> tuple[tuple[float, bytes], ...]:
        if self.ready is None:
            return self.lines
        return tuple(item for item in self.lines if item[0] < self.served)

    def dated(self, line: bytes, moment: float) -> bytes:  # noqa: ARG002
        """A line as it was printed when it was recorded."""
        return line

    # -- the machine under it --

    def sample(self, at: float) -> Sample:
        """The newest sample at that moment; before the first one, the first."""
        return self.samples[max(bisect_right(self._sampled, at) - 1, 0)]

    def stopping(self, at: float, since_s: float) -> Sample:
        """The sample so long after SIGTERM."""
        if self.ready is not None and at >= self.ready:
            return self.sample(self.moment("stop") + since_s)
        before = self.sample(at)
        alive = since_s < KILLED_S
        return replace(before, gpus=self.samples[0].gpus, tree=before.tree if alive else (), idle=(), shm=())

    def alone(self, since_s: float, streams: int) -> Sample:
        """The card as it was under the recorded main batch, or at rest after ready."""
        if not streams:
            return self.sample((self.ready or 0.0) + 0.3)
        end = max(request.end for request in self.requests if request.batch == "main-T0")
        return self.sample(self.again + since_s % (end - self.again))

    def cpu_s(self, at: float) -> float:
        """CPU seconds that all processes had used by then, also those that had ended."""
        return self._used[max(bisect_right(self._sampled, at) - 1, 0)]

    @cached_property
    def _used(self) -> list[float]:
        used: dict[int, float] = {}
        totals: list[float] = []
        for sample in self.samples:
            used.update((row.pid, row.cpu_s) for row in sample.tree)
            totals.append(sum(used.values()))
        return totals

    @cached_property
    def _sampled(self) -> list[float]:
        return [sample.at for sample in self.samples]

    # -- what it counted and answered --

    @property
    def page(self) -> Page:
        """Its page of metrics."""
        return self._page

    @cached_property
    def _page(self) -> Page:
        return Page(self.text)

    def values(self, at: float) -> Values:
        """The values of the page at that moment, which is not before ready."""
        return self.ticks[max(bisect_right(self._ticked, at) - 1, 0)][1]

    @cached_property
    def _ticked(self) -> list[float]:
        return [at for at, _ in self.ticks]

    def pattern(self, text: str, number: int | None, streams: int, heat: float, nth: int) -> Request:
        """The recorded request that is most like it: as many at once, as hot, and the same for the same prompt."""
        many = streams >= _MANY
        found = [request for request in self.requests if request.chunks and "first" not in request.batch]
        found = [request for request in found if request.batch.startswith("c8") is many]
        nearest = min(abs((request.temperature or 0) - heat) for request in found)
        found = [request for request in found if abs((request.temperature or 0) - heat) == nearest]
        prompts = sorted({request.prompt or 0 for request in found})
        place = zlib.crc32(text.encode()) if number is None else number
        found = [request for request in found if (request.prompt or 0) == prompts[place % len(prompts)]]
        return found[nth % len(found)]

    def drafts(self, pattern: Request, carry: dict[str, float]) -> RecordedDrafts | None:
        """What became of the drafts of the recorded batch."""
        known = self.header["drafts"].get(pattern.batch)
        if known is None:
            return None
        positions = len(self.page.by_name["vllm:spec_decode_num_accepted_tokens_per_pos_total"])
        undrafted, beyond = known
        return RecordedDrafts(undrafted, beyond, positions, carry)


class RecordedDrafts:
    """Drafts of one answer. Of steps with one token the recorded share had none: it is laid out evenly."""

    def __init__(self, undrafted: float, beyond: float, positions: int, carry: dict[str, float]) -> None:
        self._share = undrafted
        self._beyond = beyond
        self._positions = positions
        self._carry = carry
        self._undrafted = 0.0

    def step(self, place: int, tokens: int, *, last: bool) -> int | None:  # noqa: ARG002
        """Tokens accepted; vLLM counts what was accepted past the end as well."""
        if tokens == 1:
            self._undrafted += self._share
            if self._undrafted >= 1:
                self._undrafted -= 1
                return None
        accepted = tokens - 1
        if last:
            beyond = self._carry.get("beyond", 0.0) + self._beyond * (self._positions - accepted)
            accepted += int(beyond)
            self._carry["beyond"] = beyond % 1
        return accepted

"""The load generator: requests in on stdin, stamps out on stdout, both one JSON object a line.

In: {"key": SECRET}, {"request": {id, slot, body, ...}} for each, {"go": true}; then {"cancel": true}. The end of the
input or SIGTERM cancels too; what was measured until then is still told. Out, by their key "event": identity, scrape,
warmup, warmed, started, progress (at most 4 a second), result, window, power, energy, note, end.

Results are read from the kept bytes only while no stream runs, so that parsing never moves a stamp.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
import time
from typing import Any, Dict, List, Optional, Set, Tuple

from specconsole.remote import drive_rule as rule
from specconsole.remote import drive_stamp, outside
from specconsole.remote import drive_tokens as tokens
from specconsole.remote.drive_batch import Batch, Ticker
from specconsole.remote.drive_context import Filler
from specconsole.remote.drive_energy import Meter
from specconsole.remote.drive_http import Capture, Target, get
from specconsole.remote.drive_input import Input, Source
from specconsole.remote.drive_scrape import scrape
from specconsole.remote.drive_sse import error_text, is_count, read

VERSION = 1
SILENCE_S = 600.0
MOST_MODELS = 200
CAP_BYTES = 16 << 20
"""Kept of one stream."""
BUDGET_BYTES = 256 << 20
"""Kept of all streams before they are read; then no new request starts until that is done."""


def emit(event: str, **values: Any) -> None:
    """Write one line; a reader that is gone is no error, the input's end says it too."""
    line = json.dumps({"event": event, **values}, separators=(",", ":")) + "\n"
    try:
        sys.stdout.buffer.write(line.encode())
        sys.stdout.buffer.flush()
    except (BrokenPipeError, ValueError):
        pass


class Run:
    """One run against one server."""

    def __init__(self, arguments: Dict[str, Any], source: Source) -> None:
        self.source = source
        self.path = str(arguments.get("path") or "/v1/chat/completions")
        self.concurrency = max(int(arguments.get("concurrency") or 1), 1)
        self.warmup = arguments.get("warmup", "auto")
        self.silence_s = float(arguments.get("silence_s") or SILENCE_S)
        self.cap = int(arguments.get("cap_bytes") or CAP_BYTES)
        self.budget = int(arguments.get("budget_bytes") or BUDGET_BYTES)
        self.number = int(arguments.get("run") or 0)
        self.target = Target(dict(arguments.get("endpoint") or {}), source.key)
        unit = arguments.get("unit")
        self.meter = Meter(str(unit)) if unit else None
        """Measures the energy of the unit's GPUs; None where the unit, or this machine, is not the server's."""
        self.looks = 0
        self.filler = Filler(lambda body: tokens.count(self.target, body))
        self.nonce = "%x" % time.time_ns()
        self.model = ""
        self.salted = False
        self.ids = False
        self.ends: Optional[Set[int]] = None
        self.scrapes = 0
        self.generated: Optional[float] = None
        self.seen: List[Dict[str, Any]] = []
        """Stamps of the measured streams, for the client's own health."""
        self.ticker = Ticker()
        self.failure = ""

    def identify(self) -> None:
        """Ask the server who it is, and settle what the requests may say to this version."""
        version: Optional[str] = None
        models: List[Dict[str, Any]] = []
        error = ""
        try:
            status, body = get(self.target, "/version")
            said = outside.parse(body).get("version") if status == 200 else None
            version = said[:100] if isinstance(said, str) else None
            status, body = get(self.target, "/v1/models")
            if status == 200:
                models = _models(outside.parse(body))
            else:
                error = "HTTP %d: %s" % (status, error_text(outside.parse(body)))
        except (OSError, ValueError, AttributeError) as failure:
            error = str(failure) or type(failure).__name__
        self.model = models[0]["id"] if models else ""
        self.salted = rule.has_salt(version, self.path)
        self.ids = rule.has_token_ids(version)
        self.ends = tokens.ends(self.target, self.model) if self.ids else None
        emit(
            "identity",
            v=VERSION,
            version=version,
            models=models,
            cache="salt" if self.salted else "prefix",
            token_ids=self.ids,
            at=time.time(),
            python="%d.%d.%d" % sys.version_info[:3],
            error=self.target.hide(error),
        )

    def fill(self, requests: List[Dict[str, Any]]) -> None:
        """Bring the requests that ask for it to their context length, before anything is measured."""
        for request in requests:
            if request.get("context") and not self.source.cancelled:
                body = {"model": self.model, **request["body"]}
                place = (request.get("slot") or (0, 0))[1]
                request["body"] = self.filler.fill(body, int(request["context"]), place)
        if self.filler.guessed:
            emit("note", text="the server does not tokenize: context lengths are guesses, the answers' usage has them")

    def capture(self, request: Dict[str, Any]) -> Capture:
        """Make a request ready to send."""
        body = dict(request["body"])
        body.setdefault("model", self.model)
        slot = [self.number, *request.get("slot", (0, 0))]
        if self.salted:
            body["cache_salt"] = "-".join([rule_name(request["id"]), self.nonce] + [str(part) for part in slot])
        else:
            body = rule.with_prefix(body, rule.prefix(slot))
        if self.ids:
            body["return_token_ids"] = True
        payload = self.target.request("POST", self.path, json.dumps(body).encode())
        return Capture(str(request["id"]), request, payload)

    def take_scrape(self, at_least: Optional[float] = None) -> int:
        """Scrape the counters and tell them; returns the scrape's index."""
        found = scrape(self.target, at_least)
        self.generated = found.pop("generated")
        emit("scrape", index=self.scrapes, **found)
        self.scrapes += 1
        return self.scrapes - 1

    def find_gpus(self) -> None:
        """Find the unit's GPUs, where their energy is wanted, and tell them."""
        if self.meter is not None:
            found = self.meter.open()
            emit("power", **found)
            if not found["source"]:
                self.meter = None

    def take_energy(self, *, last: bool = False) -> Optional[int]:
        """Look at the unit's joules and tell them; returns the look's index, None where nothing is measured."""
        if self.meter is None:
            return None
        joules = self.meter.settled() if last else self.meter.look()
        emit("energy", index=self.looks, at_ns=time.perf_counter_ns() - self.ticker.began_ns, joules=joules)
        self.looks += 1
        return self.looks - 1

    def run_batch(
        self, requests: List[Dict[str, Any]], before: int, energy: Optional[int] = None
    ) -> Tuple[List[Dict[str, Any]], int]:
        """Send these requests, as many at once as asked for; returns their results and how many were begun.

        `energy` is the index of the look that was taken before; the next one ends this window.
        """
        at = self.generated
        batch = Batch(
            [self.capture(request) for request in requests],
            self.target,
            self.concurrency,
            silence_s=self.silence_s,
            cap=self.cap,
            budget=self.budget,
        )
        batch.run(self.ticker, emit, lambda: self.source.cancelled)
        results = [self.result(capture) for capture in batch.begun]
        told = [(result["usage"] or {}).get("completion_tokens") for result in results]
        counts = [count for count in told if isinstance(count, int)]
        after = self.take_scrape(at + sum(counts) if at is not None and len(counts) == len(told) else None)
        idents = [capture.ident for capture in batch.begun]
        emit("window", requests=idents, before=before, after=after, energy=energy)
        for result in results:
            emit("result", **result)
        return results, len(batch.begun)

    def result(self, capture: Capture) -> Dict[str, Any]:
        """Read a stream that ended, and let go of its bytes."""
        found = read(capture.pieces, capture.sent_ns)
        found["error"] = self.target.hide(capture.error or found["error"])
        if capture.cancelled and not found["finish"]:
            found["error"] = "cancelled"
        found["end_ns"] = capture.end_ns - capture.sent_ns if capture.sent_ns else None
        found["sent_ns"] = capture.sent_ns - self.ticker.began_ns if capture.sent_ns else None
        found["sent_at"] = capture.sent_at
        found["bytes"] = capture.size
        whole = (found["usage"] or {}).get("completion_tokens") == len(found["token_ids"])
        found["forced"] = rule.forced(found["token_ids"], self.ends) if whole else None
        found["kernel"] = capture.kernel == len(capture.pieces) > 0
        capture.pieces = []
        known = {key: capture.meta.get(key) for key in ("prompt", "repeat", "warmup")}
        return {"id": capture.ident, **known, **found}

    def warm(self, requests: List[Dict[str, Any]]) -> bool:
        """Warm up as asked; False: it failed, so that measuring makes no sense."""
        most = rule.WARMUP_MOST if self.warmup == "auto" else int(self.warmup)
        before, earlier, agreed = self.take_scrape(), None, False
        rounds = 0
        while rounds < most and not self.source.cancelled:
            slot = rule.WARMUP_SLOT - rounds
            chosen = [self.warm_request(requests, place, rounds, slot) for place in range(self.concurrency)]
            results, _ = self.run_batch(chosen, before)
            before = self.scrapes - 1
            if all(result["error"] for result in results) and not self.source.cancelled:
                if self.salted and "cache_salt" in results[0]["error"]:  # the V0 engine refuses what the version has
                    self.salted = False
                    emit("note", text="this engine refuses cache_salt; a prefix is used")
                    continue
                self.failure = results[0]["error"]
                return False
            rounds += 1
            later = rule.tpot_s(results)
            agreed = rule.agree(earlier, later)
            emit("warmup", round=rounds, tpot_s=later, agrees=agreed)
            earlier = later
            if agreed and self.warmup == "auto":
                break
        emit("warmed", rounds=rounds, agreed=agreed if rounds > 1 else None)
        return True

    @staticmethod
    def warm_request(requests: List[Dict[str, Any]], place: int, turn: int, slot: int) -> Dict[str, Any]:
        """The request of one stream in a warm-up round: every round sends the same, each with a cache mark of its own."""
        request = requests[place % len(requests)]
        # Streams above the number of prompts get marks of their own too.
        marks = [slot, (request.get("slot") or [0, 0])[1] + place // len(requests) * 256]
        return {**request, "id": "warm-up %d/%d" % (turn + 1, place + 1), "slot": marks, "warmup": turn + 1}

    def measure(self, requests: List[Dict[str, Any]]) -> None:
        """Send every request once; with one stream each is a window of its own, with several all are one."""
        left = list(requests)
        before = self.scrapes - 1 if self.scrapes else self.take_scrape()
        while left and not self.source.cancelled:
            energy = self.take_energy()
            results, begun = self.run_batch(left[:1] if self.concurrency == 1 else left, before, energy)
            before = self.scrapes - 1
            self.seen += [{"chunks": result["chunks"], "kernel": result["kernel"]} for result in results]
            left = left[begun:]
            if left and begun == 0:
                break
            if left and self.concurrency > 1 and not self.source.cancelled:
                emit("note", text="%d MiB were kept: read between two parts of the run" % (self.budget >> 20))
        self.take_energy(last=True)

    def health(self) -> Dict[str, Any]:
        """How well this program itself did."""
        return {
            "bunched": rule.bunched(self.seen),
            "chunks": sum(len(one["chunks"]) for one in self.seen),
            "kernel": bool(self.seen) and all(one["kernel"] for one in self.seen),
            **self.ticker.health(),
        }


def _models(found: Any) -> List[Dict[str, Any]]:
    """The entries of a model list that are such, each with the few values that are used, of their kinds."""
    data = found.get("data") if isinstance(found, dict) else None
    entries = [one for one in data if isinstance(one, dict)] if isinstance(data, list) else []
    return [
        {
            "id": str(one.get("id", ""))[:1000],
            "root": one["root"][:1000] if isinstance(one.get("root"), str) else None,
            "max_model_len": one["max_model_len"] if is_count(one.get("max_model_len")) else None,
        }
        for one in entries[:MOST_MODELS]
    ]


def rule_name(ident: str) -> str:
    """A request's name in the letters that every version accepts in a salt."""
    return "".join(letter if letter.isalnum() else "-" for letter in ident)[:40]


def main(arguments: Dict[str, Any]) -> int:
    """Run once as standard input says; 0: finished or cancelled, 1: the server could not be measured."""
    return drive(arguments, Input())


def drive(arguments: Dict[str, Any], source: Source) -> int:
    """Run once; 0: finished or cancelled, 1: the server could not be measured."""

    def stop(_number: int, _frame: Any) -> None:
        source.cancelled = True
        source.go.set()

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, stop)
    keeper = drive_stamp.keeper()
    try:
        while not source.go.wait(0.25):
            pass
        run = Run(arguments, source)
        run.identify()
        run.find_gpus()
        try:
            return finish(run, source)
        finally:
            if run.meter is not None:
                run.meter.close()
    finally:
        source.close()
        if keeper is not None:
            keeper.close()
        if not sys.stdout.closed:
            try:
                sys.stdout.flush()
            except BrokenPipeError:  # the interpreter's own flush at exit would complain again
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def finish(run: Run, source: Source) -> int:
    """Warm up, measure, and say how it ended."""
    requests = source.requests
    if source.bad or not requests:
        run.failure = source.bad or "no requests were given"
    if not run.failure:
        run.fill(requests)
        gc.collect()
        gc.freeze()
        gc.disable()  # a full collection is a pause of tens of milliseconds for every stream
        warm_wanted = run.warmup == "auto" or int(run.warmup) > 0
        if not warm_wanted or run.warm(requests):
            run.ticker.restart()
            run.measure(requests)
        gc.enable()
    why = "failed" if run.failure else "cancelled" if source.cancelled else "finished"
    emit("end", why=why, error=run.failure, health=run.health())
    return 1 if run.failure else 0

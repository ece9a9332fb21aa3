"""Runs the load generator as the host would: a process of its own, requests on its stdin, lines from its stdout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CODE = "import json,sys; from specconsole.remote.drive import main; sys.exit(main(json.loads(sys.argv[1])))"
Event = dict[str, Any]


class Driven:
    """One process of the load generator."""

    def __init__(self, arguments: dict[str, Any], python: str = sys.executable) -> None:
        self.process = subprocess.Popen(
            [python, "-c", CODE, json.dumps(arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT / "console"), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        self.events: list[Event] = []

    def __enter__(self) -> Driven:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait(20)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(BrokenPipeError):  # a line it no longer read
                assert pipe
                pipe.close()

    def send(self, *messages: dict[str, Any]) -> None:
        """Write lines to its input."""
        assert self.process.stdin
        self.process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        self.process.stdin.flush()

    def lines(self) -> Iterator[Event]:
        """Yield what it says, keeping it in `events`."""
        assert self.process.stdout
        for line in self.process.stdout:
            self.events.append(json.loads(line))
            yield self.events[-1]

    def until(self, name: str) -> Event:
        """Read on to the first event of that name."""
        return next(event for event in self.lines() if event["event"] == name)

    def finish(self) -> list[Event]:
        """Read to the end; what it complained of is a failure."""
        for _ in self.lines():
            pass
        assert self.process.stderr
        complaint = self.process.stderr.read().decode()
        assert not complaint, complaint
        self.process.wait(20)
        return self.events

    def named(self, name: str) -> list[Event]:
        """All events of that name so far."""
        return [event for event in self.events if event["event"] == name]


def request(name: str = "p", repeat: int = 0, **body: Any) -> dict[str, Any]:
    """A request line."""
    whole = {"messages": [{"role": "user", "content": "Say a."}], "stream": True, "max_tokens": 8, **body}
    return {"request": {"id": f"{name}/{repeat}", "prompt": name, "repeat": repeat, "slot": [repeat, 0], "body": whole}}


def drive(arguments: dict[str, Any], *requests: dict[str, Any], key: str = "", python: str = sys.executable) -> Driven:
    """Run to the end and return the process with its events."""
    with Driven(arguments, python) as driven:
        driven.send({"key": key}, *requests, {"go": True})
        driven.finish()
        return driven

"""An experiment from the console's side: handed to the host, followed over link cuts, fetched; nothing here acts itself."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from specconsole.clock import Clock
from specconsole.errors import LinkLost, NotPermitted, SpecConsoleError
from specconsole.host.base import Host, Program, why_read_only
from specconsole.host.errand import told
from specconsole.host.said import readable
from specconsole.host.telling import followed
from specconsole.remote import outside
from specconsole.text import one_line

Event = Mapping[str, Any]


@dataclass(frozen=True)
class View:
    """How an experiment stands: everything that was written down, from the first event on."""

    events: tuple[Event, ...] = ()
    now: Mapping[str, Any] = field(default_factory=dict)
    lives: bool | None = None
    linked: bool = True
    over: bool = False
    """Nothing more will come."""

    @property
    def end(self) -> Event | None:
        """The last word, where it is one."""
        return self.events[-1] if self.events and self.events[-1]["event"] == "end" else None


async def begin(
    host: Host,
    ident: str,
    *,
    plan: Mapping[str, Any] | None = None,
    requests: Iterable[bytes] = (),
    api_key: str | None = None,
) -> None:
    """Hand an experiment to the host; without a plan, let the one that lies there go on.

    Raises:
        NotPermitted: the host is open for reading only.
        SpecConsoleError: something else runs there, or it cannot; nothing was begun.
        LinkLost: the link is down; whether it was begun is not known, and `lying` tells.
    """
    if host.read_only:
        raise NotPermitted(f"{why_read_only(host)}.")
    parts = [json.dumps({"key": api_key or ""}).encode() + b"\n"]
    if plan is not None:
        parts += [json.dumps({"plan": plan}).encode() + b"\n", *requests]
    parts.append(b'{"go": true}\n')
    boot = host.facts.boot_id if host.facts else ""
    program = Program("experiment_begin", {"id": ident, "boot": boot, "resume": plan is None})
    answers = await told(host, program, b"".join(parts))
    answer = answers[-1] if answers else {"refused": "this host carries no experiments"}
    if "began" not in answer:
        hint = f"`specconsole experiment watch {host.typed}` shows it." if answer.get("kind") == "experiment" else ""
        raise SpecConsoleError("Nothing was begun.", one_line(str(answer.get("refused"))), hint)


async def follow(host: Host, ident: str, clock: Clock) -> AsyncGenerator[View, None]:
    """Yield how it stands after each change, from its first event on, until it is over; a cut link makes a pause."""
    view = View()

    def program() -> Program:
        return Program("experiment_follow", {"id": ident, "first": len(view.events)})

    async with aclosing(followed(host, program, lambda: view.over, clock, "experiments")) as batches:
        async for lines in batches:
            view = replace(view, linked=lines is not None)
            with readable(host.name):
                for line in lines or ():
                    view = take(view, outside.parse(line))
            yield view


def take(view: View, line: Mapping[str, Any]) -> View:
    """Take one line of `remote/experiment_follow`."""
    if isinstance(event := line.get("record"), dict):
        return replace(view, events=(*view.events, event))
    if isinstance(now := line.get("now"), dict):
        return replace(view, now=now)
    if "unit" in line:
        return replace(view, lives=bool(line["unit"]))
    return replace(view, over=True) if "end" in line else view


async def cancel(host: Host, ident: str) -> bool:
    """Ask it to end: the baseline serves again then. False when it runs no more. Raises LinkLost."""
    answers = await told(host, Program("experiment_follow", {"id": ident, "cancel": True}))
    return bool(answers and answers[-1].get("given"))


async def forget(host: Host, ident: str) -> bool:
    """Let the host take it away. Raises LinkLost."""
    answers = await told(host, Program("experiment_follow", {"id": ident, "fetched": True}))
    return bool(answers and answers[-1].get("given"))


async def file_of(host: Host, ident: str, name: str, offset: int = 0) -> bytes:
    """A file of an experiment from a byte on: plan, or a step's number for its stamps so far; b"" where there is none.

    Raises LinkLost.
    """
    data = bytearray()
    program = Program("experiment_follow", {"id": ident, "file": name, "offset": offset})
    async with host.process(program) as process, aclosing(process.read()) as chunks:
        async for chunk in chunks:
            data += chunk
        end = await process.wait()
    if end.status is None:
        raise LinkLost(f"The link to {host.name} broke.")
    return bytes(data)

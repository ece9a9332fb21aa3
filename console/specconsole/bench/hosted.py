"""A run that the host itself carries: begun there, followed over link cuts, picked up by any console, fetched in the end.

The load generator is a transient unit of the host's systemd (`remote/drive_unit.py`): a closed console means "go on without
me". Its lines wait in a folder of root's alone until a console has them all, or for a day.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import aclosing, suppress

from specconsole.bench.book import Book, Progress
from specconsole.bench.run import BenchRun, Identity
from specconsole.bench.spec import BenchSpec
from specconsole.errors import CommandFailed, LinkLost, LinkRefused, SpecConsoleError
from specconsole.host.base import Host, Program, Rights
from specconsole.host.carried import order
from specconsole.host.errand import told
from specconsole.host.said import readable
from specconsole.host.telling import AGAIN_S, followed
from specconsole.logs.source import Source
from specconsole.remote import outside
from specconsole.stream import LONGEST_LINE, TOO_LONG
from specconsole.text import one_line

LOST = "link lost"
NO_RIGHTS = "this login has no rights to start units of its own"
GOES_ON = "The link is down; the run goes on on the host"
REASONS = {"gone": "The run is no more on the host: it was rebooted, or another console has fetched it."}


class BenchRunning(SpecConsoleError):
    """A run, or a swap, goes on on this host: nothing was begun."""

    def __init__(self, title: str, hint: str, running: str | None) -> None:
        super().__init__(title, hint=hint)
        self.running = running
        """The id of the run that goes on; None: it is none."""


def question(spec: BenchSpec, identity: Identity) -> str:
    """A short name for what is asked of whom: equal for equal prompts, lengths and sampling of one start of a unit."""
    asked = {**spec.to_json(), "label": "", "unit": identity.unit, "invocation": identity.invocation}
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


async def begin(
    host: Host,
    ident: str,
    arguments: Mapping[str, object],
    lines: Iterable[bytes],
    book: Book,
    source: Source | None = None,
) -> str:
    """Hand a run to the host; "" when it has it, else why this host cannot carry one: then it is driven over the link.

    Raises:
        BenchRunning: a run or a swap goes on there.
        LinkLost: the link is down; whether it was begun is not known, and `look` tells.
    """
    if host.facts is not None and host.facts.rights is Rights.USER:
        return NO_RIGHTS
    run = book.run
    brief = {
        "unit": run.identity.unit,
        "label": run.spec.label,
        "arm": run.identity.arm,
        "total": run.spec.total,
        "question": question(run.spec, run.identity),
    }
    asked = {"id": ident, "boot": host.facts.boot_id if host.facts else "", "run": dict(arguments), "brief": brief}
    about = json.dumps({"about": book.about(source)}).encode() + b"\n"
    try:
        answers = await told(host, Program("drive_begin", asked), about + b"".join(lines))
    except CommandFailed as error:
        return one_line(str(error), 200)
    answer = answers[-1] if answers else {"direct": True, "refused": "this host carries no runs"}
    if "began" in answer:
        return ""
    why = one_line(str(answer.get("refused")), 200)
    if answer.get("direct"):
        return why
    if answer.get("running") is None:
        raise SpecConsoleError(f"{host.name} did not begin the run.", why)
    if answer.get("kind") == "drive":
        hint = f"`specconsole bench {host.typed} --follow` shows it, --cancel ends it."
        raise BenchRunning(f"A benchmark runs on {host.name} already.", hint, str(answer["running"]))
    hint = f"`specconsole experiment watch {host.typed}` shows it." if answer.get("kind") == "experiment" else ""
    raise BenchRunning(f"{why[:1].upper()}{why[1:]} on {host.name}: nothing is measured meanwhile.", hint, None)


async def follow(
    host: Host, ident: str, book: Book, cancel: asyncio.Event | None = None
) -> AsyncGenerator[Progress, None]:
    """Read a run of the host into an empty book until its end, whatever the link does; yields on every change.

    Raises:
        CommandFailed: the host has no Python for it any more.
    """
    reader = _Reader(host.name, ident, book)
    ordering = [asyncio.create_task(_cancel_on(host, ident, cancel))] if cancel else []
    try:
        tells = followed(host, reader.program, lambda: bool(book.run.why), host.clock, "runs")
        async with aclosing(tells) as batches:
            async for lines in batches:
                for said in reader.news(lines) if lines is not None else (GOES_ON,):
                    yield book.progress(said)
    except LinkRefused as refused:
        book.lost(f"{refused} The run goes on on the host.")
    finally:
        for task in ordering:
            task.cancel()
            with suppress(asyncio.CancelledError, LinkLost, LinkRefused):
                await task
    yield book.progress("")


class _Reader:
    """Where in the stamps a console is."""

    def __init__(self, host: str, ident: str, book: Book) -> None:
        self.host, self.ident, self.book = host, ident, book
        self.offset = 0

    def program(self) -> Program:
        """What reads on from where it stopped."""
        return Program("drive_follow", {"id": self.ident, "offset": self.offset})

    def news(self, lines: Iterable[bytes]) -> Iterator[str]:
        """Take lines, and yield what is to be told: "" for results that came."""
        counted = False
        for line in lines:
            said = self._take(line)
            counted = counted or said == ""
            if said:
                yield said
        if counted:
            yield ""

    def _take(self, line: bytes) -> str | None:
        if line.endswith(TOO_LONG):
            raise CommandFailed(f"{self.host} says a line of more than {LONGEST_LINE >> 20} MiB of this run.")
        try:
            message = outside.parse(line)
        except ValueError:  # what the end of a program tore
            self.offset += len(line) + 1
            return None
        with readable(self.host):
            if "event" in message:
                self.offset += len(line) + 1
                return self.book.take(message)
            if why := message.get("over"):
                self.book.gone(REASONS.get(why, f"The run did not end by itself: {one_line(str(why), 200)}."))
        return None


async def forget(host: Host, run: BenchRun) -> None:
    """Let the host forget a run that we have whole; one that goes on there while our link is lost stays."""
    if run.id and run.why != LOST:
        with suppress(LinkLost, CommandFailed):
            await order(host, run.id, "fetched")


async def _cancel_on(host: Host, ident: str, cancel: asyncio.Event) -> None:
    await cancel.wait()
    said = False
    while not said:
        await host.up()
        with suppress(LinkLost):
            await order(host, ident, "cancel")
            said = True
        if not said:
            await host.clock.sleep(AGAIN_S)


async def book_of(host: Host, ident: str) -> tuple[Book, Source | None]:
    """An empty book for a run that another console began, and the log that tells of its unit. Raises SpecConsoleError."""
    answers = await told(host, Program("drive_look", {"about": ident}))
    about = answers[-1].get("about") if answers else None
    if not about:
        raise SpecConsoleError("The run is no more on the host.", REASONS["gone"])
    source = about.get("source")
    identity = Identity(**about["identity"])
    book = Book(BenchSpec.from_json(about["spec"]), identity, int(about["number"]), ident=ident)
    return book, Source(**source) if source else None

"""`journalctl` on the simulated host: the questions that the console asks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from specconsole.host.simulated.journal import Entry, Journal, Match, plain, render, select
from specconsole.host.simulated.machine import Machine
from specconsole.host.simulated.options import Options, parse

_VALUED = (
    "-u", "--unit", "-o", "--output", "--output-fields", "-n", "--lines", "--after-cursor", "--cursor", "-c", "-S", "--since",
    "-U", "--until", "-g", "--grep",
)  # fmt: skip
_FLAGS = {
    "-a", "--all", "-f", "--follow", "--no-tail", "-q", "--quiet", "--no-pager", "--no-full", "--full", "-l", "--utc", "--system",
    "-m", "--merge", "--no-hostname", "-b",
}  # fmt: skip
_IMPLIED = 10
"""Lines that `-f` begins with unless told otherwise."""


@dataclass(frozen=True)
class Query:
    """What a command line asks for."""

    match: Match
    fields: tuple[str, ...]
    output: str
    everything: bool
    follow: bool
    lines: int | None
    """How many of the newest; None: all."""
    first: int
    """The number of the first entry that may be shown."""
    since: float | None
    until: float | None

    def show(self, entry: Entry) -> bytes:
        """One entry as it is asked for."""
        return render(entry, self.fields, self.everything) if self.output.startswith("json") else plain(entry)


def query(machine: Machine, words: Sequence[str]) -> Query:
    """Understand a command line. Raises ValueError for what is not known here: an option that is passed over would lie."""
    options = parse(words, _VALUED)
    if strange := sorted(options.flags - _FLAGS) + [name for name, _ in options.given if name not in _VALUED]:
        raise ValueError(f"journalctl: {strange[0]}: not recorded")
    match = Match()
    for unit in options.values("-u", "--unit"):
        match.unit(unit)
    for word in options.words:
        match.term(word)
    for pattern in options.values("-g", "--grep"):
        match.grep(pattern)
    follow = bool(options.flags & {"-f", "--follow"})
    since, until = _moment(machine, options, "-S", "--since"), _moment(machine, options, "-U", "--until")
    first = _first(machine.journal, options)
    return Query(
        match=match,
        fields=tuple(name for value in options.values("--output-fields") for name in value.split(",")),
        output=(options.values("-o", "--output") or ["short"])[-1],
        everything=bool(options.flags & {"-a", "--all"}),
        follow=follow,
        lines=_lines(options, follow and "--no-tail" not in options.flags and since is None and first == 1),
        first=first,
        since=since,
        until=until,
    )


def _first(journal: Journal, options: Options) -> int:
    for cursor in options.values("-c", "--cursor"):
        return journal.place(cursor)
    for cursor in options.values("--after-cursor"):
        return journal.place(cursor) + 1
    return 1


def _lines(options: Options, implied: bool) -> int | None:
    given = options.values("-n", "--lines")
    if given:
        return int(given[-1]) if given[-1].lstrip("+").isdecimal() else None
    return _IMPLIED if implied else None


_UNITS_OF_TIME = {
    "s": 1, "sec": 1, "second": 1, "seconds": 1, "m": 60, "min": 60, "minute": 60, "minutes": 60,
    "h": 3600, "hour": 3600, "hours": 3600, "d": 86400, "day": 86400, "days": 86400,
}  # fmt: skip


def _moment(machine: Machine, options: Options, *names: str) -> float | None:
    given = options.values(*names)
    if not given:
        return None
    text, now = given[-1].strip(), machine.clock.now()
    if text.startswith("@"):
        return float(text[1:])
    if text in ("now", "today", "yesterday"):
        midnight = now - now % 86400
        return {"now": now, "today": midnight, "yesterday": midnight - 86400}[text]
    if text.startswith("-") or text.endswith(" ago"):
        return now - _span(text.removeprefix("-").removesuffix(" ago"))
    for form in ("%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d"):
        try:
            return datetime.strptime(text.removesuffix(" UTC"), form).replace(tzinfo=timezone.utc).timestamp()
        except ValueError:  # noqa: PERF203  the next form
            continue
    raise ValueError(f"Failed to parse timestamp: {text}")


def _span(text: str) -> float:
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
    return float(number) * _UNITS_OF_TIME[text[len(number) :].strip() or "s"]


def past(machine: Machine, asked: Query) -> list[Entry]:
    """What is there now."""
    machine.advance()
    entries = machine.journal.after(asked.first - 1)
    found = list(select(entries, asked.match, asked.since, asked.until))
    return found if asked.lines is None else found[max(len(found) - asked.lines, 0) :]


async def follow(machine: Machine, asked: Query) -> AsyncGenerator[bytes, None]:
    """Print what is there, and what comes."""
    entries = past(machine, asked)
    seen = machine.journal.count
    if entries:
        yield b"".join(asked.show(entry) for entry in entries)
    watch = machine.journal.grown.watch()
    try:
        async for _ in watch:
            new = machine.journal.after(seen)
            seen = machine.journal.count
            if data := b"".join(asked.show(entry) for entry in select(new, asked.match, asked.since, asked.until)):
                yield data
    finally:
        await watch.aclose()

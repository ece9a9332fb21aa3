"""`specconsole logs HOST`: a unit's log, peeled and masked, filtered, and followed over link cuts."""

from __future__ import annotations

import argparse
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime

from specconsole.clock import Clock, SystemClock
from specconsole.errors import NotRunning, UsageError
from specconsole.host.base import Host
from specconsole.logs import journal, since
from specconsole.logs.effort import TooSlow, effort_of
from specconsole.logs.fold import poll
from specconsole.logs.journal import Begin
from specconsole.logs.printed import Printer, local
from specconsole.logs.record import Kind, Level, LogRecord
from specconsole.logs.source import Source
from specconsole.service import choose
from specconsole.service.discover import discover
from specconsole.service.unit import Unit
from specconsole.text import duration
from specconsole.verb import output
from specconsole.verb.link import say, telling_of_the_link, while_linked
from specconsole.verb.session import add_host_arguments, drive, open_host, profile_for
from specconsole.verb.watch import patient

NEWEST = 200
"""Records shown when nothing says how many or since when."""
NEWEST_FOLLOWED = 20
_LINES_A_RECORD = 50
"""A traceback has so many lines; the journal is asked for lines, people ask for records."""
_MOST_LINES = 50_000


@dataclass(frozen=True)
class Wanted:
    """Which records to show."""

    level: Level | None
    pattern: re.Pattern[str] | None

    def __call__(self, record: LogRecord) -> bool:
        """Tell whether a record is shown: gaps always, or an incomplete log would look whole.

        Raises:
            UsageError: the expression takes too long.
        """
        if record.kind is Kind.GAP:
            return True
        if self.level is not None and record.level < self.level:
            return False
        return self.pattern is None or self._holds(self.pattern, record.text)

    def _holds(self, pattern: re.Pattern[str], words: str) -> bool:
        try:
            with effort_of(pattern.pattern).attempt(len(words)):
                return pattern.search(words) is not None
        except TooSlow:
            raise _too_slow(pattern.pattern) from None


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Show a unit's log: without prefixes, a traceback as one entry, secrets masked. Times are yours, not the host's."
        " Access lines of the console's own polls are counted, not shown one by one. With --json a line a record."
    )
    add_host_arguments(parser)
    parser.add_argument(
        "-u", "--unit", action="append", default=[], metavar="UNIT",
        help="this unit, by name or label, several times for several; else the one that runs, or its whole group",
    )  # fmt: skip
    parser.add_argument("-S", "--since", metavar="WHEN", help='10m, 2h, 14:00, "2026-11-29 14:00" or "last start"')
    parser.add_argument("-g", "--grep", metavar="RE", help="only records in which this regular expression is found")
    parser.add_argument(
        "--level", metavar="LEVEL", help="only records at least so grave: debug, info, warning, error, critical"
    )
    parser.add_argument("-f", "--follow", action="store_true", help="go on until interrupted, over link cuts")
    parser.add_argument(
        "-n", "--lines", type=int, metavar="N", help=f"the newest N records ({NEWEST}; {NEWEST_FOLLOWED} with --follow)"
    )


def run(args: argparse.Namespace) -> int:
    """Show the log, to its end or for ever."""
    wanted = Wanted(_level(args.level), _pattern(args.grep))
    if args.lines is not None and args.lines < 0:
        raise UsageError(f"-n {args.lines} is out of range.", hint="It takes 0 or more.")
    if args.since and args.since.strip().lower() != since.LAST_START:
        since.parse(args.since, SystemClock().now())  # what is wrong is said before the host is asked
    return drive(_run(args, wanted))


async def _run(args: argparse.Namespace, wanted: Wanted) -> int:
    async with open_host(args) as host:
        if not args.follow:
            return await while_linked(host, _shown(args, host, wanted))
        async with telling_of_the_link(host):
            return await _shown(args, host, wanted)


async def _shown(args: argparse.Namespace, host: Host, wanted: Wanted) -> int:
    """Find the units and show what they log; a link that is cut meanwhile is waited for, wherever it was."""
    clock, profile = host.clock, profile_for(args, host)
    units = _chosen(await patient(host, clock, lambda: discover(host, profile)), args.unit, host.name)
    sources = [Source(unit.name, unit.manager, unit.serving.log_file) for unit in units]
    begin = await _begin(args, host, sources, wanted, clock)
    show = _json if args.json else _plain(named=len(units) > 1)
    if args.follow:
        await _follow(host, sources, begin, wanted, show, clock)
        return 0
    newest = args.lines if args.since or args.lines is not None else NEWEST
    if not await _read(host, sources, begin, newest, wanted, show, clock) and newest != 0:
        _nothing(units, args, begin, host.typed)
    return 0


def _nothing(units: Sequence[Unit], args: argparse.Namespace, begin: Begin, typed: str) -> None:
    """Say that nothing was shown, as journalctl does, and since when. Raises NotRunning where there is nothing at all."""
    names = ", ".join(unit.key for unit in units)
    last_start = (args.since or "").strip().lower() == since.LAST_START
    when = " since the last start" if last_start else "" if begin.since is None else f" since {local(begin.since)}"
    if args.grep or args.level or any(unit.serving.log_file for unit in units):
        say(f"no such record of {names}{when}")
        return
    if when:
        say(f"{names} has logged nothing{when}; with -f what it logs from now on is shown")
        return
    started = any(unit.state.invocation or unit.state.started_mono for unit in units)
    booted = next((unit.state.mono for unit in units if unit.state.mono is not None), None)
    boot = f" since the host booted {duration(booted)} ago" if booted is not None else " since the host booted"
    why = "though it was started" if started else f"and was never started{boot}"
    raise NotRunning(
        f"{names} has logged nothing that the journal has, {why}.",
        hint=f"specconsole units {typed} shows how it stands.",
    )


async def _follow(
    host: Host, sources: Sequence[Source], begin: Begin, wanted: Wanted, show: Callable[[LogRecord], None], clock: Clock
) -> None:
    async for record in _each(journal.follow(host, sources, begin=begin, now=clock.now)):
        if wanted(record):
            show(record)


async def _read(
    host: Host,
    sources: Sequence[Source],
    begin: Begin,
    newest: int | None,
    wanted: Wanted,
    show: Callable[[LogRecord], None],
    clock: Clock,
) -> int:
    """Show what is there, and return how many records that were."""
    records = _each(journal.read_all(host, sources, begin, now=clock.now))
    if newest is None:
        count = 0
        async for record in records:
            if wanted(record):
                show(record)
                count += 1
    else:
        last = newest_of([record async for record in records if wanted(record)], newest)
        count = len(last)
        for record in last:
            show(record)
    return count


def newest_of(records: Iterable[LogRecord], count: int) -> list[LogRecord]:
    """The newest so many records, oldest first; the counts of our own polls stand among them and do not count."""
    ordered = sorted(records, key=lambda record: record.at)  # counts of polls come last, of whenever they were
    places = [place for place, record in enumerate(ordered) if not poll(record.kind, record.text)]
    if not count or not ordered:
        return []
    return ordered[places[-count] if count <= len(places) else 0 :]


async def _each(batches: AsyncGenerator[list[LogRecord], None]) -> AsyncGenerator[LogRecord, None]:
    async with aclosing(batches):
        async for batch in batches:
            for record in batch:
                yield record


async def _begin(
    args: argparse.Namespace, host: Host, sources: Sequence[Source], wanted: Wanted, clock: Clock
) -> Begin:
    """Where to begin reading, generously: what is too much is left out afterwards."""
    files = [source for source in sources if source.log_file]
    if args.since:
        for source in files:
            say(f"{source.key} logs to {source.log_file}, which keeps no times: its newest lines are shown")
        if args.since.strip().lower() != since.LAST_START:
            skew = (host.facts.clock_skew_s if host.facts else None) or 0.0
            return Begin(since=since.parse(args.since, clock.now() + skew))
        begin = await patient(host, clock, lambda: journal.last_start(host, sources))
        if begin is None:
            say("the journal does not reach back to a start; it is shown from its oldest line on")
        return begin or Begin(since=0.0)
    if args.follow:
        return Begin(lines=NEWEST_FOLLOWED if args.lines is None else args.lines)
    if wanted.level is not None or wanted.pattern is not None:
        return Begin()  # the newest that match may lie anywhere
    count = NEWEST if args.lines is None else args.lines
    return Begin(lines=min(count * _LINES_A_RECORD, _MOST_LINES))


def _chosen(units: Sequence[Unit], names: Sequence[str], host: str) -> list[Unit]:
    """The units that are named, else the one that runs, else those of the one group that there is."""
    if names:
        return list({unit.key: unit for unit in (choose.named(units, name, host) for name in names)}.values())
    running = [unit for unit in units if unit.state.running]
    if len(running) == 1:
        return running
    groups = {unit.group for unit in running or units}
    if len(groups) == 1:
        return [unit for unit in units if unit.group in groups]
    if not units:
        raise choose.no_unit(host)
    hint = f"Say which with --unit: {', '.join(unit.key.removesuffix('.service') for unit in units)}."
    if running:
        raise UsageError(f"{len(running)} vLLM units of several groups run on {host}.", hint=hint)
    raise NotRunning(f"No vLLM unit runs on {host}.", hint=hint)


def _level(text: str | None) -> Level | None:
    if text is None:
        return None
    name = {"WARN": "WARNING", "ERR": "ERROR"}.get(text.upper(), text.upper())
    if name not in Level.__members__:
        raise UsageError(
            f"--level {text!r} is none.", hint=f"It takes {', '.join(level.name.lower() for level in Level)}."
        )
    return Level[name]


def _pattern(text: str | None) -> re.Pattern[str] | None:
    if text is None:
        return None
    try:
        with effort_of(text).attempt(len(text)):
            return re.compile(text, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"--grep {text!r} is no regular expression: {error}.") from error
    except TooSlow:
        raise _too_slow(text) from None


def _too_slow(text: str) -> UsageError:
    return UsageError(
        f"--grep {text!r}: this expression takes too long.",
        hint="Something repeated within something repeated, as in (a*)*, is tried in every way: write it without.",
    )


def _json(record: LogRecord) -> None:
    words = {"level": record.level.name.lower(), "kind": record.kind.name.lower(), "time": _iso(record.at)}
    output.write_json_line({**record._asdict(), **words})


def _plain(*, named: bool) -> Callable[[LogRecord], None]:
    printer = Printer(named=named)
    return lambda record: output.write_text("\n".join(printer.lines(record)))


def _iso(at: float) -> str | None:
    try:
        return datetime.fromtimestamp(at).astimezone().isoformat(timespec="milliseconds")
    except (OverflowError, OSError, ValueError):
        return None

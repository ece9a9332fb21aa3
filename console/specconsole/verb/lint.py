"""`specconsole lint HOST [UNIT]`: what of the units' settings and speculation ends badly, and the drop-in that mends it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from specconsole.errors import NotPermitted, UsageError
from specconsole.host.base import Host
from specconsole.remote.drafters import MOST, SECONDS
from specconsole.service.choose import FOUND_BY
from specconsole.text import bytes_binary, clean, one_line
from specconsole.verb import output
from specconsole.verb.asking import confirmed
from specconsole.verb.link import say, telling_of_the_link
from specconsole.verb.session import add_host_arguments, drive, open_host, profile_for

if TYPE_CHECKING:
    from specconsole.history.memory import Memory
    from specconsole.service.drafter import Offer, Offers
    from specconsole.service.finding import Finding
    from specconsole.service.lint import Linted, Subject
    from specconsole.service.mend import Mend
    from specconsole.service.unit import Unit

WORDS = {"refuse": "FAILS", "warn": "warns", "note": "note"}
FITS = {True: "fits", False: "DOES NOT FIT", None: "not known"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Look at vLLM's units as systemd has them, before a load of an hour shows it: settings that end a load or a stop badly,"
        " units that would fight for the GPUs, options and methods that the installed vLLM does not know, a drafter that"
        " is not there or does not fit, and what speculation changes silently. Each finding says what it was seen by and what"
        " text it stands on. Nothing is run or imported of the unit's environment."
    )
    parser.epilog = (
        "FAILS: the start fails, or loses the load. warns: it starts, and something is different or ends badly later."
    )
    add_host_arguments(parser)
    parser.add_argument("unit", nargs="?", metavar="UNIT", help="one unit, by its name or its label; without it all")
    parser.add_argument(
        "--fix",
        action="store_true",
        help="show a drop-in that mends what one can mend, and write it after a yes; it counts from the next start on",
    )
    parser.add_argument("--yes", action="store_true", help="with --fix: do not ask; for scripts")
    parser.add_argument(
        "--drafters",
        action="store_true",
        help="search beside the model and in its download cache for drafters, and compare sizes and vocabulary",
    )


def run(args: argparse.Namespace) -> int:
    """Lint; 1 when a finding says that a start fails, or when nothing could be written."""
    if args.fix and not args.unit:
        raise UsageError("Which unit?", hint="specconsole lint HOST UNIT --fix mends one at a time.")
    if args.drafters and not args.unit:
        raise UsageError("Which unit?", hint="specconsole lint HOST UNIT --drafters compares with one unit's model.")
    return drive(_run(args))


async def _run(args: argparse.Namespace) -> int:
    from specconsole.history.memory import Memory, path_for
    from specconsole.service import choose, inspection
    from specconsole.service.discover import discover
    from specconsole.service.lint import Linted, lint

    memory = Memory(path_for(args.host), on_trouble=lambda error: say(str(error)))
    try:
        async with open_host(args) as host, telling_of_the_link(host):
            units = await discover(host, profile_for(args, host))
            which = [choose.named(units, args.unit, host.name)] if args.unit else None
            subjects = await inspection.subjects(host, units, which, memory)
            linted = [Linted(subject.unit, lint(subject)) for subject in subjects]
            found = await _offers(args, host, subjects)
            if args.fix:
                return await _fix(args, host, units, subjects[0], memory)
            if args.json:
                output.write_json({"host": host.name, "units": [facts(one) for one in linted], "drafters": found})
            else:
                output.write_text(page(linted) + (f"\n\n{drafters(found)}" if found else ""))
            return 1 if any(finding.severity == "refuse" for one in linted for finding in one.findings) else 0
    finally:
        await memory.close()


async def _offers(args: argparse.Namespace, host: Host, subjects: Sequence[Subject]) -> Offers | None:
    from specconsole.service import drafter

    known = subjects[0].facts if args.drafters and subjects else None
    return await drafter.offers(host, known) if known else None


def facts(one: Linted) -> dict[str, object]:
    """A unit's findings for JSON."""
    return {"unit": one.unit.key, "label": one.unit.label, "version": one.unit.version, "findings": one.findings}


def page(linted: Sequence[Linted]) -> str:
    """All findings for people, unit by unit."""
    if not linted:
        return f"No unit of this host runs vLLM. {FOUND_BY}"
    return "\n\n".join("\n".join(_unit(one)) for one in linted)


def _unit(one: Linted) -> Iterator[str]:
    from specconsole.service.lint import counted
    from specconsole.verb.units import speculation

    unit = one.unit
    what = f"vLLM {unit.version or 'of unknown version'}, speculation {speculation(unit)}"
    yield one_line(f"{unit.key} ({what}): {counted(one.findings)}")
    for finding in one.findings:
        yield from lines(finding)


def lines(finding: Finding) -> Iterator[str]:
    """One finding for people: what, by what, on what ground, and what mends it."""
    yield f"  {WORDS[finding.severity]:<6} {finding.id:<20} {one_line(finding.sentence)}"
    yield f"{'':30}seen: {one_line(finding.evidence)}"
    yield f"{'':30}by:   {'our own check' if finding.source == 'specconsole' else one_line(finding.source)}"
    for number, line in enumerate(clean(finding.remedy).splitlines()):
        yield f"{'':30}{'mend:' if number == 0 else '':<6}{line}"


def drafters(found: Offers) -> str:
    """What a search for drafters brought."""
    target = found.target
    head = "Drafters on this host for " + (one_line(target.called) if target else "a model that could not be looked at")
    if target and target.known:
        head += f" (hidden size {target.hidden_size}, vocabulary {target.vocab_size})"
    rows = [line for offer in found.offers for line in _offer(offer)]
    where = ", ".join(map(one_line, found.searched)) or "nowhere: the model's folder is not on this host"
    limits = {
        "folders": f" Not all of it: it ended after {MOST} folders.",
        "time": f" Not all of it: it ended after {SECONDS:.0f} s.",
    }
    end = (
        f"Searched: {where}." + limits.get(found.cut, "")
        if found.cut in ("", *limits)
        else f"Not searched: {one_line(found.cut)}."
    )
    return "\n".join([f"{head}:", *(rows or ["  none"]), end])


def _offer(offer: Offer) -> Iterator[str]:
    one = offer.drafter
    what = "the model's own layers" if not offer.place else one_line(offer.place)
    sizes = f"hidden size {one.target_hidden_size or one.hidden_size or '?'}, vocabulary {one.vocab_size or '?'}"
    yield f"  {FITS[offer.fits]:<12} {offer.method:<8} {what} ({sizes}, {bytes_binary(one.bytes)})"
    for finding in offer.findings:
        yield f"{'':23}{one_line(finding.sentence)} {one_line(finding.evidence)}"
    if offer.fits is not False:
        yield f"{'':23}--speculative-config '{one_line(offer.config)}'"


async def _fix(args: argparse.Namespace, host: Host, units: Sequence[Unit], subject: Subject, memory: Memory) -> int:
    """Show the drop-in, ask, write it, and look again."""
    from specconsole.service import mending

    found = await mending.of_subject(host, subject)
    plan, one = found.mend, found.linted
    if not args.json:
        output.write_text(preview(one, plan))
    if not plan.text:
        return _nothing(args, host, one)
    if plan.blockers:
        raise NotPermitted(f"Nothing can be written: {'; '.join(plan.blockers)}.")
    if not args.yes and not await confirmed(f"Write {plan.path} on {host.name}?", "no --fix"):
        say("nothing was written")
        return 1
    done = await mending.carry_out(host, units, plan, memory)
    if args.json:
        told = {"host": host.name, "unit": subject.unit.key, "wrote": done.path, "text": plan.text, "left": done.left}
        output.write_json(told)
    else:
        say(f"wrote {done.path}; systemd has read it. It counts from the next start of {subject.unit.key} on")
        for finding in done.left:
            say(f"still so, something else sets it: {finding.evidence}")
    return 1 if done.left else 0


def _nothing(args: argparse.Namespace, host: Host, one: Linted) -> int:
    if args.json:
        output.write_json({"host": host.name, "unit": one.unit.key, "wrote": None, "text": "", "left": []})
    else:
        say("there is nothing that a drop-in of ours would mend")
    return 0


def _left(finding: Finding) -> str:
    why = "a note: its lines are yours to write or not" if finding.remedy else "no drop-in of ours mends it"
    return f"  {WORDS[finding.severity]:<6} {finding.id} ({why})"


def preview(one: Linted, plan: Mend) -> str:
    """The findings, and the drop-in as it would stand."""
    shown = [page([one])]
    if plan.text:
        shown += ["", *plan.diff]
    if plan.left:
        shown += ["", f"{'The drop-in leaves' if plan.text else 'Left'} as it is:", *map(_left, plan.left)]
    return "\n".join(shown)

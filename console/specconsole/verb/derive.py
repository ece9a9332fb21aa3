"""`specconsole derive HOST BASELINE --variant NAME`: a speculative unit made from the baseline, shown before it is written."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from specconsole.errors import NotPermitted
from specconsole.host.base import Host
from specconsole.text import one_line
from specconsole.verb import output
from specconsole.verb.asking import confirmed
from specconsole.verb.link import say, telling_of_the_link
from specconsole.verb.session import add_host_arguments, drive, open_host, profile_for

if TYPE_CHECKING:
    from specconsole.service.derive import Derivation


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Make a speculative unit from a baseline: the same unit, drop-ins included, with the options of speculation where"
        " they surely reach vLLM, a description of its own, and Conflicts= with the baseline. What would be written is shown"
        " first, as a diff with what is to be said of it, and nothing is written without a yes. Then systemd reads it and"
        " its command is compared. Nothing is started or enabled, and a unit that somebody wrote or edited by hand is"
        " never written over."
    )
    parser.epilog = (
        "A variant that the profile describes needs only its name, and --method ngram alone means k = 5 with matches of 2 to 4"
        " tokens. Deriving again shows what changes. Afterwards: specconsole"
        " swap HOST UNIT; and specconsole underive HOST UNIT takes it away."
    )
    add_host_arguments(parser)
    parser.add_argument("baseline", metavar="BASELINE", help="the unit to make it from: its name or its label")
    parser.add_argument(
        "--variant", required=True, metavar="NAME", help="what to call it: ngram gives BASELINE-ngram.service"
    )
    parser.add_argument("--method", help="ngram, eagle3, mtp, suffix …: whatever the host's vLLM knows")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a key of --speculative-config; the value as JSON where it is JSON, else as text; may be repeated",
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be written and end")
    parser.add_argument("--yes", action="store_true", help="do not ask; for scripts")


def run(args: argparse.Namespace) -> int:
    """Show it, ask, write it; 0 when it is written, or is there already as it would be."""
    return drive(_run(args))


async def _run(args: argparse.Namespace) -> int:
    from specconsole.service import derive

    async with open_host(args) as host, telling_of_the_link(host):
        profile = profile_for(args, host)
        variant = derive.variant_of(args.variant, args.method, args.set, profile)
        plan = await derive.plan(host, args.baseline, variant, profile)
        if args.json:
            return await _as_json(args, host, plan)
        output.write_text(page(plan))
        if args.dry_run or plan.refusals:
            return _refused(plan) if plan.refusals else 0
        if plan.unchanged:
            say(f"{plan.path} says so already")
            return 0
        if not args.yes and not await confirmed(f"Write {plan.path} on {host.name}?"):
            say("nothing was written")
            return 1
        await _write(host, plan)
    return 0


async def _write(host: Host, plan: Derivation) -> None:
    from specconsole.service import derive_write

    done = await derive_write.write(host, plan)
    for line in (*done.unverified, *done.complaints):
        say(f"systemd-analyze: {line}")
    say(f"wrote {done.path} (mode {done.mode}); systemd reads the command as meant. Nothing was started or enabled")
    say(f"next: specconsole swap {host.typed} {plan.name.removesuffix('.service')}")


def _refused(plan: Derivation) -> int:
    say("nothing can be written: " + "; ".join(plan.refusals))
    return NotPermitted.exit_code


async def _as_json(args: argparse.Namespace, host: Host, plan: Derivation) -> int:
    """One document: the plan, and what became of it."""
    from specconsole.service import derive_write

    wanted = args.yes and not args.dry_run and not plan.refusals and not plan.unchanged
    written = await derive_write.write(host, plan) if wanted else None
    output.write_json({**facts(plan), "written": written})
    return NotPermitted.exit_code if plan.refusals else 0


def facts(plan: Derivation) -> dict[str, object]:
    """A plan for JSON, secrets masked: the text itself is only on the host."""
    from specconsole.logs import redact

    return {
        "host": plan.host,
        "baseline": plan.baseline.key,
        "version": plan.baseline.version,
        "variant": plan.variant.name,
        "settings": plan.variant.settings,
        "unit": plan.name,
        "path": plan.path,
        "options": plan.words,
        "argv": redact.mask_argv(plan.argv),
        "against": plan.against,
        "diff": plan.diff,
        "unchanged": plan.unchanged,
        "findings": plan.findings,
        "remarks": plan.remarks,
        "blockers": plan.blockers,
        "by_hand": plan.by_hand,
    }


def page(plan: Derivation) -> str:
    """A plan for people: the diff, then what is to be said of it."""
    lines = [f"{plan.host}: {plan.name} from {plan.baseline.key}", ""]
    lines += [*plan.diff, ""] if plan.diff else []
    for kind, said in plan.said:
        lines.append(f"{kind}: {one_line(said, 600)}")
    return "\n".join(lines).rstrip("\n")

"""`specconsole underive HOST UNIT`: take a derived unit away; only one that specconsole wrote and nobody changed."""

from __future__ import annotations

import argparse

from specconsole.errors import NotPermitted
from specconsole.verb import output
from specconsole.verb.asking import confirmed
from specconsole.verb.link import say, telling_of_the_link
from specconsole.verb.session import add_host_arguments, drive, open_host, profile_for


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Remove the file of a unit that `specconsole derive` wrote. A unit that somebody else wrote, or that was edited by"
        " hand since, stays; so does one that runs or is enabled. Nothing is done without a yes."
    )
    parser.epilog = (
        "Drop-ins of the unit stay, and are named. See also: specconsole units HOST, specconsole derive HOST."
    )
    add_host_arguments(parser)
    parser.add_argument("unit", metavar="UNIT", help="the derived unit: its name or its label")
    parser.add_argument("--dry-run", action="store_true", help="say what would be removed and end")
    parser.add_argument("--yes", action="store_true", help="do not ask; for scripts")


def run(args: argparse.Namespace) -> int:
    """Say what goes, ask, remove it."""
    return drive(_run(args))


async def _run(args: argparse.Namespace) -> int:
    from specconsole.service import derive_write

    async with open_host(args) as host, telling_of_the_link(host):
        plan = await derive_write.removal(host, args.unit, profile_for(args, host))
        told = {"host": host.name, "unit": plan.unit.key, "path": plan.path, "origin": plan.mark.origin}
        if not args.json:
            output.write_text(f"{host.name}: remove {plan.path}, derived from {plan.mark.origin}")
        if args.dry_run or plan.blockers:
            if args.json:
                output.write_json({**told, "blockers": plan.blockers, "removed": False})
            elif plan.blockers:
                say("nothing can be removed: " + "; ".join(plan.blockers))
            return NotPermitted.exit_code if plan.blockers else 0
        if not args.yes and not await confirmed(f"Remove {plan.path} on {host.name}?"):
            say("nothing was removed")
            return 1
        done = await derive_write.remove(host, plan)
        left = str(done.get("left") or "")
        if args.json:
            output.write_json({**told, "blockers": (), "removed": True, "left": left.split()})
        else:
            say(f"removed {plan.path}" + (f"; its drop-ins stay: {left}" if left else ""))
    return 0

"""`specconsole experiment run|watch|report|cancel|plans`: a night of swaps and benchmarks that finds the answer by itself."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specconsole import paths, resources
from specconsole.errors import NotPermitted, NotRunning, SpecConsoleError, UsageError
from specconsole.history.memory import Memory, path_for
from specconsole.host import target
from specconsole.host.base import Host
from specconsole.host.said import readable
from specconsole.logs.printed import local
from specconsole.remote import outside
from specconsole.text import clean, one_line, reason
from specconsole.verb import output
from specconsole.verb.link import say, telling_of_the_link
from specconsole.verb.session import add_host_arguments, drive, open_host, profile_for
from specconsole.verb.witness import Witness

if TYPE_CHECKING:
    from specconsole.experiment.carry import View
    from specconsole.experiment.fetch import Experiment
    from specconsole.experiment.prepare import Prepared
    from specconsole.host.lying import Lying

INCONCLUSIVE = 5
WORDS = ("run", "watch", "report", "cancel", "plans")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "run PLAN HOST: swap to each arm of a plan in turn and measure it; the host does it by itself, so this machine may"
        " sleep. watch HOST: follow it from its first step. report HOST (or FILE): the answer, with every figure it rests"
        " on. cancel HOST: end it; the baseline serves again. plans: this-host, made of HOST's own units,"
        " those that are shipped, and your own in ~/.config/specconsole/experiments."
    )
    parser.add_argument("what", choices=WORDS, help="what to do")
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="of run: a plan's name or file; else left out")
    add_host_arguments(parser, optional=True)
    parser.add_argument("--dry-run", action="store_true", help="show the plan, and how long it will take, and end")
    parser.add_argument("--resume", action="store_true", help="let the one that was interrupted go on")
    parser.add_argument("--yes", action="store_true", help="do not ask; for scripts")
    parser.add_argument("--detach", action="store_true", help="do not wait for the end")
    parser.add_argument("--keep", action="store_true", help="of report: leave it on the host")
    parser.add_argument("--to", metavar="FOLDER", help="write report.md, experiment.json and charts there")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    if args.what == "plans":
        return _plans(as_json=args.json)
    if args.what != "run":  # one word follows: the host
        args.plan, args.host = None, args.host or args.plan
    if not args.host:
        raise UsageError("Which host?", hint="specconsole experiment run PLAN HOST")
    if args.what == "report" and Path(args.host).is_file():
        return _report_of(args, _read(args.host))
    return drive(_run(args))


async def _run(args: argparse.Namespace) -> int:
    memory = Memory(path_for(args.host), on_trouble=lambda error: say(str(error)))
    try:
        async with open_host(args) as host, telling_of_the_link(host):
            if args.what == "run":
                return await _begin(args, host, memory)
            found = await _lying(host, running=args.what == "cancel")
            if args.what == "report":
                return await _report(args, host, found, memory)
            if args.what == "cancel":
                await _cancel(host, found)
            return await _watch(args, host, found.id, memory)
    finally:
        await memory.close()


async def _begin(args: argparse.Namespace, host: Host, memory: Memory) -> int:
    """Prepare, show, ask, hand over, follow."""
    from specconsole.experiment import own_units, plan, prepare
    from specconsole.experiment.hand_over import hand_over
    from specconsole.service.discover import discover

    profile = profile_for(args, host)
    if not args.plan:
        raise UsageError("Which plan?", hint="specconsole experiment plans lists them.")
    units = await discover(host, profile)
    asked = own_units.named(args.plan, units)
    made = await prepare.fit(host, asked, units, profile, memory)
    going = await _interrupted(host, asked.name) if args.resume else None
    _show(args, made, going)
    if args.dry_run:
        return 1 if made.blockers else 0
    if made.blockers:
        other = any("has no unit" in one for one in made.blockers)
        hint = (
            f"{plan.THIS_HOST} is the plan of the units that are there; or copy the plan's file (specconsole experiment"
            " plans names it), and name them in it."
            if other
            else ""
        )
        raise NotPermitted(f"Nothing was begun: {'; '.join(made.blockers)}.", hint=hint)
    if not args.yes and not _confirmed(host):
        say("nothing was changed")
        return 1
    resumed = going.id if going else ""
    ident = await hand_over(host, made, profile, memory, os.environ, resumed=resumed, tell=say)
    say(f"experiment {ident} is the host's now: this machine may sleep")
    return 0 if args.detach else await _watch(args, host, ident, memory)


def _show(args: argparse.Namespace, made: Prepared, going: Lying | None) -> None:
    from specconsole.experiment.preview import lines

    rows = lines(made)
    if args.json:
        value = {"plan": made.to_json({}) if not made.blockers else None, "lines": rows, "blockers": made.blockers}
        (output.write_json if args.dry_run else output.write_json_line)({**value, "resumes": going and going.id})
        return
    width = max(len(topic) for topic, _ in rows)
    output.write_text(f"{made.host}: experiment {made.plan.name}")
    output.write_text("\n".join(f"  {topic:<{width}}  {one_line(text)}" for topic, text in rows))
    if going:
        output.write_text(f"  {'resumes':<{width}}  {going.id} after {going.settled} of {going.steps} steps")


def _confirmed(host: Host) -> bool:
    """Ask; the default is no. Raises UsageError where nobody can be asked."""
    if not sys.stdin.isatty():
        raise UsageError("Nobody can be asked here.", hint="Confirm with --yes, or look with --dry-run.")
    sys.stderr.write(clean(f"Units of {host.name} are stopped and started for hours. Go? [y/N] "))
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


async def _lying(host: Host, *, running: bool) -> Lying:
    from specconsole.host.lying import lying

    found = [one for one in await lying(host) if one.running or not running]
    if not found:
        raise NotRunning(f"No experiment {'runs' if running else 'lies'} on {host.name}.")
    return found[-1]


async def _interrupted(host: Host, name: str) -> Lying:
    from specconsole.host.lying import lying

    found = [one for one in await lying(host) if not one.running and one.name == name and not one.whole]
    if not found:
        raise NotRunning(f"No interrupted experiment {name} lies on {host.name}.")
    return found[-1]


async def _cancel(host: Host, found: Lying) -> None:
    from specconsole.experiment.carry import cancel

    if not await cancel(host, found.id):
        raise NotRunning(f"No experiment runs on {host.name}.")
    say("cancelled: a swap under way comes to its end, then the baseline serves again")


async def _watch(args: argparse.Namespace, host: Host, ident: str, memory: Memory) -> int:
    """Tell it until its end, then report."""
    from specconsole.experiment import carry

    teller = _Teller(as_json=args.json)
    view = carry.View()
    witness = Witness(host, profile_for(args, host), memory, trouble=say)
    async with witness, aclosing(carry.follow(host, ident, host.clock)) as views:
        async for view in views:
            with readable(host.name):
                teller(view)
            if swap := view.now.get("swap"):
                witness.see_swap(str(swap))
        await witness.end()
    teller.clear()
    if view.end is None:
        raise SpecConsoleError(
            "Nobody goes on with the experiment.", hint="specconsole experiment run PLAN HOST --resume lets it go on."
        )
    found = await _lying(host, running=False)
    return await _report(args, host, found, memory)


class _Teller:
    """Tells events as lines, and on a terminal how it stands."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.live = sys.stderr.isatty()
        self._told = self._shown = 0

    def __call__(self, view: View) -> None:
        """Tell what is new."""
        for event in view.events[self._told :]:
            self.clear()
            if self.as_json:
                output.write_json_line(event)
            elif event["event"] != "cell" or event.get("text") or _in_part(event):  # one cell alone is its step
                say(line_of(event))
        self._told = len(view.events)
        if self.live and view.now and not view.over:
            self.clear()
            line = one_line(" ".join(str(view.now.get(name) or "") for name in ("arm", "text", "detail")), 100)
            self._shown = output.width(line)
            sys.stderr.write(line)
            sys.stderr.flush()

    def clear(self) -> None:
        """Leave a clean line."""
        if self._shown:
            sys.stderr.write("\r" + " " * self._shown + "\r")
            self._shown = 0


def _in_part(event: Mapping[str, Any]) -> bool:
    """Whether a cell was measured although some of its requests failed."""
    return event.get("state") == "done" and bool(event.get("why"))


def line_of(event: Mapping[str, Any]) -> str:
    """An event in a line, with the time of day by this machine's zone."""
    number, name = event.get("number"), event.get("text") if event["event"] == "cell" else ""
    names = ("event", "arm", "outcome", "text", "why") if number is None else ("state", "outcome", "text", "why")
    words = [str(event[key]) for key in names if event.get(key) and event[key] != name]
    if number is None:
        said = " ".join(words)
    else:
        said = ": ".join([f"step {int(number) + 1} {event.get('arm')}", *([str(name)] if name else []), *words])
    return one_line(f"{local(float(event['at']))} {said}")


async def _report(args: argparse.Namespace, host: Host, lying: Lying, memory: Memory) -> int:
    """Fetch, report, and let the host forget what is over."""
    from specconsole.experiment import carry, fetch, kept

    found = await fetch.fetch(host, lying.id, memory)
    await kept.remember(host, found, memory)
    code = _report_of(args, found)
    if args.to and not args.keep and found.whole:
        await carry.forget(host, lying.id)
    elif found.whole and target.demo(args.host) is not None:
        say("a demo forgets it with this command: --to FOLDER writes the report")
    elif found.whole:
        say(f"it stays on the host until `specconsole experiment report {host.typed} --to FOLDER` has fetched it")
    elif found.end is not None:
        say(f"it stays on the host: `specconsole experiment run PLAN {host.typed} --resume` measures what is left")
    return code


def _report_of(args: argparse.Namespace, found: Experiment) -> int:
    from specconsole.bench.judge import Word
    from specconsole.experiment import report

    if args.to:
        if trouble := report.written(Path(args.to), found):
            raise UsageError(trouble)
        say(f"written to {args.to}")
    if args.json:
        output.write_json({**found.to_json(), "answer": report.answer(found)})
    elif args.to:
        output.write_text("\n".join(report.answer(found)))
    else:
        output.write(report.markdown(found))
    if found.end is not None and found.end.get("outcome") == "failed":
        return 1
    made = report.compared(found).comparisons
    told = all(one.comparable and one.judgement.word in (Word.FASTER, Word.SLOWER, Word.ALIKE) for one in made)
    silent = {step.arm for step in found.steps} - {step.arm for step in found.steps if step.runs}
    return 0 if made and told and not silent else INCONCLUSIVE


def _read(name: str) -> Experiment:
    from specconsole.experiment.fetch import Experiment

    try:
        value = outside.parse(Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{name} is no experiment.json: {reason(error)}.") from error
    return Experiment.from_json(value if isinstance(value, dict) else {})


def _plans(*, as_json: bool) -> int:
    from specconsole.experiment.own_units import WHAT
    from specconsole.experiment.plan import KIND, named, names

    files = resources.find(KIND)
    found: dict[str, dict[str, Any]] = {}
    for name in names():
        plan, file = (named(name), str(files[name])) if name in files else (None, None)
        found[name] = {"order": plan and plan.order, "what": plan.description if plan else WHAT, "file": file}
    if as_json:
        output.write_json([{"name": name, **facts} for name, facts in found.items()])
        return 0
    rows = [
        (name, " → ".join(one["order"] or ("baseline", "…", "baseline")), one["what"], one["file"] or "")
        for name, one in found.items()
    ]
    output.write_text(output.table(("PLAN", "ORDER", "WHAT", "FILE"), rows))
    output.write_text(f"For other units copy one to {paths.config_dir() / KIND}/NAME.toml and name them in its [arms].")
    return 0

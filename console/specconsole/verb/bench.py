"""`specconsole bench HOST`: measure the running unit, with everything that says how far the figures can be believed."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from pathlib import Path

from specconsole.bench import export, table
from specconsole.bench.book import Progress
from specconsole.bench.check import Level, check
from specconsole.bench.expected import differs
from specconsole.bench.grid import Axes, cells, listed, refuse_random, size
from specconsole.bench.measure import join
from specconsole.bench.prompt import draw
from specconsole.bench.run import BenchRun
from specconsole.bench.spec import BenchSpec
from specconsole.errors import NotRunning, SpecConsoleError, UsageError
from specconsole.experiment.unit_cells import run_cells
from specconsole.experiment.unit_run import run_unit
from specconsole.history.memory import Memory, path_for
from specconsole.host.base import Host
from specconsole.host.carried import Carried, look, order
from specconsole.host.lying import running as experiment
from specconsole.profile import BenchSet, Profile
from specconsole.service import choose, discover
from specconsole.service.unit import Role, Unit
from specconsole.text import clean, one_line, reason
from specconsole.verb import bench_cells, bench_self, output
from specconsole.verb.bench_ready import refuse_loading
from specconsole.verb.session import TERMINATED, add_host_arguments, drive, open_host, profile_for

FAILED, LINK, INCONCLUSIVE, INTERRUPTED = 1, 4, 5, 130


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Measure the unit that runs: TTFT, TPOT, step latency, tokens per step and acceptance, per prompt."
    )
    parser.epilog = (
        "Of prompts, temperature, concurrency and context a list may be given: each combination is a run of its own, kept as it ends, and"
        " a row of one table. The host itself carries"
        " the run: when the link breaks or this program is killed it goes on, and the same command again, or --follow, picks it up."
    )
    add_host_arguments(parser)
    parser.add_argument("--unit", metavar="U", help="the unit to measure, where several run")
    parser.add_argument(
        "--prompts",
        default=None,
        metavar="SET,…",
        help="default, random, or files: JSON lines, Spec-Bench, MT-Bench, ShareGPT",
    )
    parser.add_argument(
        "--sample", type=int, metavar="N", help="draw so many prompts of each set, spread over its categories"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="what the sample is drawn with (0)")
    parser.add_argument(
        "--allow-random", action="store_true", help="measure speculation with random words all the same"
    )
    parser.add_argument("--repeat", type=int, metavar="N", help="requests for each prompt (3)")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="tokens of each answer (256)")
    parser.add_argument("--temperature", metavar="T,…", help="0 to 2 (0)")
    parser.add_argument("--concurrency", metavar="N,…", help="streams at once (1)")
    parser.add_argument(
        "--context",
        metavar="N,…",
        help="tokens that each prompt is brought to by text before it, as 8k,32k (0: as they are)",
    )
    parser.add_argument("--warmup", default="auto", metavar="N", help="auto: until two rounds agree; or a number")
    parser.add_argument("--api", choices=("chat", "completions"), default="chat", help="how to ask (chat)")
    parser.add_argument("--model", metavar="NAME", help="the served model (the first that is listed)")
    parser.add_argument("--label", default="", metavar="TEXT", help="what to call this run in the history")
    parser.add_argument(
        "--selftest",
        action="store_true",
        help="measure the load generator itself on this host, at --concurrency and --step",
    )
    parser.add_argument("--step", type=float, metavar="MS", help="the step of a self-test (the profile's TPOT, or 10)")
    joining = parser.add_mutually_exclusive_group()
    joining.add_argument(
        "--follow", action="store_true", help="show the run that goes on, or the last that waits, from its first stamp"
    )
    joining.add_argument("--cancel", action="store_true", help="end the run that goes on; what was measured is kept")
    joining.add_argument("--detach", action="store_true", help="leave the run to the host as soon as it has begun")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="write the table as CSV")
    form.add_argument("--md", action="store_true", help="write the table as Markdown")
    parser.add_argument("--vllm-json", metavar="FILE", help="also write what `vllm bench serve --save-result` would")


def run(args: argparse.Namespace) -> int:
    """Measure, show, remember."""
    if args.json and (args.csv or args.md):
        raise UsageError("--json, --csv and --md exclude each other.")
    _refuse_unwritable(args.vllm_json)
    return drive(_run(args))


def _refuse_unwritable(name: str | None) -> None:
    """Tell before anything is measured that there is no place for the file. Raises UsageError."""
    if name in (None, "-"):
        return
    path = Path(name)
    if path.is_dir() or not os.access(path if os.access(path, os.F_OK) else path.parent, os.W_OK):
        raise UsageError(f"{name} cannot be written.", hint="Give a file in a folder of yours.")


async def _run(args: argparse.Namespace) -> int:
    memory = Memory(path_for(args.host), on_trouble=lambda trouble: _say(str(trouble)))
    stop = Stop()
    try:
        async with open_host(args) as host:
            with stopping(stop):
                if args.follow or args.cancel:
                    found = await _followed(await _picked_up(args, host, memory, stop.cancel), stop)
                    return 0 if found is None else finish(args, found)
                said = profile_for(args, host)
                if args.selftest:
                    return await bench_self.run(args, host, said, memory)
                specs = specs_of(args, said)
                unit = await chosen(host, said, args.unit)
                speculates = unit.serving.role is Role.VARIANT
                refuse_random(specs, speculates=speculates, allowed=args.allow_random)
                await refuse_loading(host, unit, args)
                first, *more = specs
                if more and args.vllm_json:
                    raise UsageError("--vllm-json holds one run: give one cell.")
                if more:
                    grid = await bench_cells.followed(
                        run_cells(
                            host, unit, specs, profile=said, environ=os.environ, memory=memory, cancel=stop.cancel
                        )
                    )
                    return bench_cells.finish(args, grid)
                stream = run_unit(
                    host, unit, first, profile=said, environ=os.environ, memory=memory, cancel=stop.cancel
                )
                found = await _followed(stream, stop, detach=args.detach)
        return 0 if found is None else finish(args, found, said)
    except asyncio.CancelledError:
        if not stop.left:
            raise
        _say("The run goes on on the host; --follow shows it.")
        return TERMINATED
    finally:
        await memory.close()


async def _picked_up(
    args: argparse.Namespace, host: Host, memory: Memory, cancel: asyncio.Event
) -> AsyncGenerator[Progress, None]:
    """The run that the host carries. Raises NotRunning."""
    found = await lying(host, running=args.cancel)
    if args.cancel:
        await order(host, found.id, "cancel")
    return join(host, found.id, memory=memory, cancel=cancel)


async def lying(host: Host, *, running: bool) -> Carried:
    """The run that goes on on the host, or else the last that waits there. Raises NotRunning."""
    standing = await look(host)
    found = standing.running
    if found is None and not running and standing.runs:
        found = standing.runs[-1]
    if found is None and (other := await experiment(host)) is not None:
        hint = f"`specconsole experiment watch {host.typed}` shows it, with the figures of each run."
        raise NotRunning(f"No benchmark of its own runs on {host.name}: the experiment {other.name} does.", hint=hint)
    if found is None:
        raise NotRunning(f"No benchmark runs on {host.name}{'' if running else ', and none waits there'}.")
    return found


def specs_of(args: argparse.Namespace, said: Profile | None = None) -> tuple[BenchSpec, ...]:
    """What is asked of the server, cell by cell: by the arguments, else by the profile. Raises UsageError."""
    if args.warmup != "auto" and not args.warmup.isdecimal():
        raise UsageError(f"--warmup {args.warmup}: give auto or a number of rounds.")
    if args.sample is not None and args.sample < 1:
        raise UsageError(f"--sample {args.sample}: give 1 or more.")
    wanted = said.bench if said else BenchSet()
    names = args.prompts.split(",") if args.prompts else [said.prompts if said else "default"]
    sample = args.sample if args.sample is not None else wanted.sample
    sets = [draw(name.strip(), sample, args.seed) for name in dict.fromkeys(names)]
    base = BenchSpec(
        prompts=sets[0].prompts,
        repeat=args.repeat if args.repeat is not None else wanted.repeat,
        max_tokens=args.max_tokens if args.max_tokens is not None else wanted.max_tokens,
        warmup=None if args.warmup == "auto" else int(args.warmup),
        api=args.api,
        model=args.model,
        label=args.label,
    )
    return cells(axes_of(args, wanted), sets, base)


def axes_of(args: argparse.Namespace, wanted: BenchSet) -> Axes:
    """What is varied: by the arguments, else by the profile. Raises UsageError."""
    return Axes(
        listed("--concurrency", args.concurrency, int) if args.concurrency else wanted.concurrency,
        listed("--context", args.context, size) if args.context else wanted.context,
        listed("--temperature", args.temperature, float) if args.temperature else wanted.temperature,
    )


async def chosen(host: Host, said: Profile | None, wanted: str | None) -> Unit:
    """The unit to measure: the one named, if it runs, or the only one that does. Raises NotRunning or UsageError."""
    units = await discover.discover(host, said)
    if wanted is None:
        return choose.running(units, host.name)
    return choose.named_running(units, wanted, host.name)


class Stop:
    """How a run is ended from the terminal."""

    def __init__(self) -> None:
        self.cancel = asyncio.Event()
        self.hosted = False
        """The host carries the run: a terminal that closes, or a machine that shuts down, does not mean its end."""
        self.left = False
        """SIGTERM came, and the run was left to the host."""


@contextmanager
def stopping(state: Stop) -> Iterator[None]:
    """The first ctrl+c or SIGTERM sets `cancel`, the next one ends the program as usual; SIGTERM leaves a hosted run alone."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def stop(number: signal.Signals) -> None:
        loop.remove_signal_handler(number)
        if number is signal.SIGTERM and state.hosted and task is not None:
            state.left = True
            task.cancel()
            return
        state.cancel.set()
        _say("Ending the run; what was measured is kept. Once more leaves at once.")

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


async def _followed(stream: AsyncGenerator[Progress, None], stop: Stop, *, detach: bool = False) -> BenchRun | None:
    """Tell progress on stderr and return the whole run; None: it was left to the host."""
    tell = Teller(sys.stderr.isatty())
    run: BenchRun | None = None
    async with aclosing(stream):
        async for progress in stream:
            run = progress.run
            stop.hosted = bool(run.id)
            tell(progress)
            if detach and run.id and not run.why:
                tell.end()
                _say("The run goes on by itself; --follow shows it.")
                return None
    tell.end()
    assert run is not None
    return run


class Teller:
    """Progress on stderr: news as lines, and on a terminal one more line that counts."""

    def __init__(self, live: bool) -> None:
        self.live = live
        self._counted = output.Overwritten()

    def say(self, line: str) -> None:
        """Write a line that stays."""
        self._counted.clear()
        _say(line)

    def __call__(self, progress: Progress) -> None:
        """Tell what is new, and count."""
        if progress.news:
            self.say(progress.news)
        if self.live and progress.phase != "ended":
            self._counted.show(counting(progress))

    def end(self) -> None:
        """Leave a clean line."""
        self._counted.clear()


def counting(progress: Progress) -> str:
    """How far it is, in one line."""
    active = ", ".join(f"{one_line(name, 24)} {tokens}" for name, tokens in list(progress.active.items())[:3])
    more = f" and {len(progress.active) - 3} more" if len(progress.active) > 3 else ""
    tokens = f": {active}{more} tokens" if active else ""
    return f"{progress.phase} {progress.done}/{progress.total}{tokens}"


def finish(args: argparse.Namespace, run: BenchRun, said: Profile | None = None) -> int:
    """Write the run as asked, tell what the profile had expected, and return the exit code."""
    if run.results or args.json:
        forms: Mapping[str, Callable[[], None]] = {
            "json": lambda: output.write_json({**run.to_json(), "summary": table.summary(run)}),
            "csv": lambda: output.write(table.to_csv(run)),
            "md": lambda: output.write(table.markdown(run)),
        }
        form = next((name for name in forms if getattr(args, name)), None)
        forms[form]() if form else show(table.table(run))
    for line in differs(run, said.expect) if said else ():
        _say(line)
    if args.vllm_json:  # last: what was measured is shown, also where that file cannot be written
        _write_file(args.vllm_json, json.dumps(export.vllm_json(run), ensure_ascii=False) + "\n")
    if run.why == "failed" and "refused" in run.error.lower():
        raise NotRunning(
            "Nothing answers at the unit's port.", run.error, "A load may still run: see `specconsole watch`."
        )
    if run.why == "failed":
        hint = "Try --api completions." if "chat template" in run.error else ""
        raise SpecConsoleError("The benchmark failed.", run.error, hint)
    return exit_code(run)


def exit_code(run: BenchRun) -> int:
    """0 for figures that can be believed; 5 where a check says they cannot."""
    ends = {"cancelled": INTERRUPTED, "link lost": LINK, "failed": FAILED}
    if run.why in ends:
        return ends[run.why]
    return INCONCLUSIVE if any(remark.level is Level.WRONG for remark in check(run)) else 0


def show(made: table.Table) -> None:
    """A table for people: what was measured, the figures, what to think of them, what they mean."""
    cells = output.table(made.header, made.rows, right=made.right)
    for block in ("\n".join(made.head), cells, "\n".join(made.notes), "\n".join(made.definitions)):
        output.write_text(block + "\n")


def _write_file(name: str, text: str) -> None:
    if name == "-":
        output.write(text)
        return
    try:
        Path(name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{name} cannot be written.", f"{reason(error)}.") from error


def _say(text: str) -> None:
    print(clean(text), file=sys.stderr, flush=True)  # noqa: T201

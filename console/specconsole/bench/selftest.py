"""What the load generator itself adds: its stamps of streams whose true stamps are known, on the host where it will measure.

step error   a gap between two of its stamps less the gap between the two writes at the source
TPOT error   its time a token / the source's, less 1
A run is within its means when the worst TPOT error is below 0.5 %, the 99th percentile of the step errors below a tenth of a step,
fewer than 2 % of the chunks are bunched, and its process takes less than 80 % of one core (one interpreter can use no more than one).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from typing import Any

from specconsole.bench.execute import execute
from specconsole.bench.hosted import forget
from specconsole.bench.prompt import Prompt
from specconsole.bench.run import BenchRun
from specconsole.bench.spec import BenchSpec
from specconsole.bench.stats import quantile, ratio
from specconsole.errors import CommandFailed, NotPermitted
from specconsole.history.entry import Run
from specconsole.host.base import Endpoint, Host, Process, Program, hostname
from specconsole.remote import outside
from specconsole.remote.drive_rule import BUNCHED_BELOW
from specconsole.stream import whole_lines, within

TPOT_ERROR, STEP_SHARE, BUNCHED, CPU_SHARE = 0.005, 0.1, 0.02, 0.8
LASTS_S = 4.0
FEWEST, MOST = 40, 1000
"""Events of a stream."""
LABEL = "selftest"
STARTS_S = 20.0


@dataclass(frozen=True)
class SelfTest:
    """The load generator at one number of streams; None: it could not be told."""

    streams: int
    step_s: float
    """The pace of the source: what a step of the server is to be."""
    tpot_error: float | None
    """The worst of any stream, as a share, without its sign."""
    step_error_p99_s: float | None
    bunched: float | None
    """Gaps of a fifth or less of what they were at the source."""
    cpu_share: float | None
    """Of one core, while streams ran."""
    kernel: bool | None
    """The kernel's stamps were used."""
    error: str = ""

    @property
    def faults(self) -> tuple[str, ...]:
        """Why a run like this is beyond its means; empty when it is within."""
        if self.error:
            return (self.error,)
        found = (
            (self.tpot_error, TPOT_ERROR, "the time per token is off by {:.2%}"),
            (ratio(self.step_error_p99_s, self.step_s), STEP_SHARE, "single steps are off by {:.0%} (p99)"),
            (self.bunched, BUNCHED, "{:.0%} of the chunks came bunched"),
            (self.cpu_share, CPU_SHARE, "its process takes {:.0%} of a core"),
        )
        if found[0][0] is None:
            return ("no stream could be compared",)
        return tuple(words.format(value) for value, most, words in found if value is not None and value > most)


async def selftest(host: Host, streams: int, step_s: float) -> SelfTest:
    """Measure the load generator on the host at so many streams of that pace.

    Raises:
        NotPermitted: the host has no Python: the load generator would run here, through the tunnel.
        CommandFailed: the source could not be started there.
        LinkLost: the link is down.
    """
    if host.facts is not None and host.facts.python is None:
        raise NotPermitted(f"{host.name} has no Python: there the load generator runs here, through the tunnel.")
    program = Program("drive_source", {"step_s": step_s, "life_s": 60.0 + 3 * LASTS_S})
    async with host.process(program) as source:
        lines = _lines(source)
        async with aclosing(lines):
            first = await within(STARTS_S, anext(lines, {}))
            if first.get("event") != "listening":
                ended = (await source.wait()).stderr.decode(errors="replace").strip().splitlines()
                raise CommandFailed("The source for the self-test did not start.", ended[-1] if ended else "")
            run = await _driven(host, int(first["port"]), streams, step_s)
            await source.close_input()
            told = {
                str(line["name"]): Sent(tuple(line["stamps"]), frozenset(line["unsure"]))
                async for line in lines
                if line.get("event") == "stream"
            }
    return judge(run, told, streams, step_s)


async def _driven(host: Host, port: int, streams: int, step_s: float) -> BenchRun:
    events = min(max(int(LASTS_S / step_s), FEWEST), MOST)
    prompts = tuple(Prompt(f"s{place}", f"selftest s{place}") for place in range(streams))
    spec = BenchSpec(prompts, repeat=1, max_tokens=events, concurrency=streams, warmup=0, label=LABEL)
    run = BenchRun(spec)
    running = execute(host, spec, Endpoint(port=port))
    async with aclosing(running) as changes:
        async for progress in changes:
            run = progress.run
    await forget(host, run)  # else the next console would take it for somebody's run that waits
    return run


async def _lines(source: Process) -> AsyncGenerator[Mapping[str, Any], None]:
    reader = source.read()
    async with aclosing(reader):
        async for lines in whole_lines(reader):
            for line in lines:
                yield outside.parse(line)


@dataclass(frozen=True)
class Sent:
    """What the source says of one stream."""

    stamps: tuple[int, ...]
    """When each event was written, in ns."""
    unsure: frozenset[int] = frozenset()
    """Places of events of which that is not known: the source itself waited for the CPU."""


def judge(run: BenchRun, told: Mapping[str, Sent], streams: int, step_s: float) -> SelfTest:
    """Compare the load generator's stamps with those of the source, by the tokens that each chunk had."""
    pairs = [(one, told[one.prompt]) for one in run.kept if one.prompt in told and one.counted]
    errors, gaps = [], []
    for one, sent in pairs:
        places = [count - 1 for _, count in one.chunks if count is not None and count <= len(sent.stamps)]
        seen, true = [at for at, _ in one.chunks][: len(places)], [sent.stamps[place] for place in places]
        if len(true) > 1 and true[-1] > true[0]:
            errors.append(abs((seen[-1] - seen[0]) / (true[-1] - true[0]) - 1))
        sure = [place not in sent.unsure for place in places]
        gaps += [
            (seen[at + 1] - seen[at], true[at + 1] - true[at])
            for at in range(len(places) - 1)
            if sure[at] and sure[at + 1]
        ]
    health = run.health
    failed = next((one.error for one in run.results if one.error), "") or run.error
    missing = f"{len(pairs)} of {streams} streams could be compared" if len(pairs) < streams else ""
    return SelfTest(
        streams,
        step_s,
        max(errors, default=None),
        quantile([abs(seen_ns - true_ns) / 1e9 for seen_ns, true_ns in gaps], 0.99),
        ratio(sum(seen_ns <= BUNCHED_BELOW * true_ns for seen_ns, true_ns in gaps), len(gaps)),
        ratio(health.cpu_s, health.wall_s),
        health.kernel,
        f"{missing}: {failed}" if missing and failed else missing,
    )


def entry(host: Host, found: SelfTest, at: float) -> Run:
    """As the history keeps it, beside the runs of that host; it belongs to no unit."""
    told = asdict(found)
    summary = {name: value for name, value in told.items() if value not in (None, "")} | {"kind": LABEL}
    return Run(hostname(host), "", at, LABEL, summary, {LABEL: told})


async def several(host: Host, streams: Sequence[int], step_s: float) -> AsyncGenerator[SelfTest, None]:
    """One after the other, the fewest streams first."""
    for count in sorted(set(streams)):
        yield await selftest(host, count, step_s)

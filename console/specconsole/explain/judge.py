"""Several files judged together, by the packages that serve the live console; this only brings them their evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import gmtime

from specconsole.bench import client_report, sweep
from specconsole.bench.acceptance import acceptance, between
from specconsole.bench.client_report import ClientReport
from specconsole.bench.sweep import Arm, Sweep
from specconsole.engine.metrics import Scrape
from specconsole.engine.scraped import scraped
from specconsole.explain import gather, of_host, of_load, of_serving
from specconsole.explain.attempt import Attempt
from specconsole.explain.headline import headline
from specconsole.explain.log import LogReading
from specconsole.explain.readings import Readings
from specconsole.explain.report import BenchSeen, Report, WindowSeen
from specconsole.gpu import kernel
from specconsole.load import gather as load_gather
from specconsole.load import judge as load_judge
from specconsole.load import stack
from specconsole.load.clue import Clues
from specconsole.load.condition import Evidence
from specconsole.load.diagnose import Around, Ending, diagnose
from specconsole.load.diagnosis import Diagnosis
from specconsole.load.evidence import HostEvidence
from specconsole.load.failure import Rank
from specconsole.load.ledger import Ledger
from specconsole.load.ledger import feed as feed_ledger
from specconsole.load.phase import Phase
from specconsole.load.verdict import Judgement
from specconsole.logs.stamp import YEAR
from specconsole.text import one_line

_FEW = 8
STOPPED = "terminated"
"""It was ended from outside, which is no failure of its own: what it did until then is judged."""


def judge(readings: Readings) -> Report:
    """Say what all files together mean."""
    main = _main(readings.logs)
    report = Report(
        tuple(readings.files),
        serving=of_serving.told(main) if main else None,
        comparison=_comparison(readings),
        engine=scraped(readings.scrapes[-1]) if readings.scrapes else None,
        window=_window(readings.scrapes),
        http=readings.http[-1] if readings.http else None,
        streams=tuple(readings.streams),
        benches=tuple(_bench(one) for one in readings.benches),
        gpus=of_host.gpus(readings),
        host=of_host.host(readings),
        units=tuple(sorted(readings.units, key=lambda unit: not unit.exact)),
        systemd=readings.calls.systemd if readings.calls and _asks_systemd(readings) else None,
        journal=of_host.journal(readings),
    )
    if main is not None:
        report = _with_load(report, readings, main)
    elif (bare := _without_log(readings)) is not None:
        report = replace(report, verdict=load_judge.judge(bare))
    elif (ending := _ending(readings)) is not None and any(unit.failing for unit in readings.units):
        report = replace(report, diagnosis=diagnose(Clues(), ending))
    report = replace(report, advice=tuple(dict.fromkeys(_advice(report))), unknown=tuple(_unknown(report, readings)))
    return replace(report, headline=headline(report))


def _main(logs: Sequence[LogReading]) -> LogReading | None:
    """The log that tells most of a start: by its phases, else the one with the most lines."""
    return max(
        logs,
        key=lambda log: (log.last_at if log.unit and log.last_at else 0.0, len(log.last.timeline.spans), log.lines),
        default=None,
    )


def _with_load(report: Report, readings: Readings, main: LogReading) -> Report:
    attempt = main.last
    collected = gather.now(readings, _year(main))
    host = gather.of_host(readings)
    diagnosis = _diagnosis(main, readings)
    served = _serves(attempt)
    evidence = _evidence(
        attempt, main, readings, host, collected, served=served or attempt.timeline.startup_at is not None
    )
    stopped = diagnosis is not None and diagnosis.name == STOPPED
    fails = diagnosis is not None and not stopped and diagnosis.name != "leftover_process"
    verdict = load_judge.judge(replace(evidence, diagnosis=diagnosis if fails else None))
    desync = verdict.signature == "desync"
    load = of_load.told(main, attempt, diagnosis, collected, serving=served or desync)
    notices, spans = attempt.notices, attempt.timeline.spans
    seen = spans or attempt.signs.last or notices or attempt.signs.heartbeats or diagnosis
    tells = bool(seen or (served and collected is not None))
    gaps = _only_gaps(main, report)
    statistics_only = served and diagnosis is None and not notices and not spans and collected is None
    return replace(
        report,
        load=load if (tells or served) and not gaps else None,
        verdict=verdict if tells and not statistics_only and not gaps else None,
        diagnosis=diagnosis,
    )


def _year(main: LogReading) -> int:
    if main.first_at is None:
        return YEAR
    return gmtime(main.first_at).tm_year


def _only_gaps(main: LogReading, report: Report) -> bool:
    """All that a log holds is journald's word of missing lines, or journalctl's that it may not show them."""
    journal, attempt = report.journal, main.last
    if journal is None or attempt.timeline.spans or _serves(attempt):
        return False
    return len(journal.gaps) >= main.lines - 1 or (bool(journal.limited) and main.lines <= _FEW)


def _evidence(
    attempt: Attempt,
    main: LogReading,
    readings: Readings,
    host: HostEvidence | None,
    now: float | None,
    *,
    served: bool,
) -> Evidence:
    timeline, signs = attempt.timeline, attempt.signs
    if readings.fleets:
        return _sampled(attempt, main, readings, served=served)
    heard = [at for at in (timeline.moved_at, signs.last_at) if at]
    stalled = now - max(heard) if now is not None and heard and now >= max(heard) else None  # else the clocks differ
    window = host.window_s if host else None
    if stalled is None and window is not None and readings.usage and signs.downloading:
        stalled = window
    layout = attempt.details.layout
    return Evidence(
        now=now,
        stalled_s=stalled,
        signs=signs,
        phase=of_load.phase_of(attempt),
        pace=of_load.pace(attempt),
        host=host,
        serving=served,
        running=signs.running,
        workers=layout.tensor_parallel,
        machine=gather.machine(readings),
        stepping=stack.moved(stack.dumps(readings.dumps)),
    )


def _sampled(attempt: Attempt, main: LogReading, readings: Readings, *, served: bool) -> Evidence:
    """The evidence of a bundle, whose samples are those that the live console takes."""
    ledger = Ledger(main.unit)
    for fleet in readings.fleets:
        ledger = feed_ledger(ledger, fleet)
    evidence = load_gather.gather(
        attempt.timeline,
        attempt.signs,
        ledger,
        readings.fleets[-1].at,
        running=attempt.signs.running,
        machine=gather.machine(readings),
    )
    return replace(evidence, observed_s=None, serving=served, stepping=stack.moved(stack.dumps(readings.dumps)))


def _without_log(readings: Readings) -> Evidence | None:
    """The evidence of a process whose log nobody has; None where no file tells of one."""
    host, stepping = gather.of_host(readings), stack.moved(stack.dumps(readings.dumps))
    if stepping is None and (host is None or not _about_load(host)):
        return None
    return Evidence(host=host, machine=gather.machine(readings), stepping=stepping)


def _about_load(host: HostEvidence) -> bool:
    return host.window_s is not None or bool(host.compilers) or bool(host.gpus and host.processes)


def _diagnosis(main: LogReading, readings: Readings) -> Diagnosis | None:
    """Why the last start failed, if it did; a start that has just begun again is told by the one before it."""
    attempt = main.last
    clues, phase = attempt.clues, of_load.phase_of(attempt)
    previous = main.attempts[-2] if len(main.attempts) > 1 else None
    if previous is not None and _failed(previous) and not attempt.hurt and (phase is None or phase is Phase.CONFIG):
        clues = Clues(previous.clues.found, {**previous.clues.support, **clues.support})
        phase = of_load.phase_of(previous) or phase
    elif not _failed(attempt):
        return None
    ending = _ending(readings, main.unit)
    restarts = max(attempt.details.numbers.get("restarts", 0), main.starts - 1)
    if ending is None and restarts >= 2:
        ending = Ending(restarts=restarts)
    minor = {one.code for log in readings.logs for one in log.xids if not one.grave}
    found = sorted(clues.found, key=lambda one: one.numbers.get("xid") in minor)
    return diagnose(replace(clues, found=tuple(found)), ending, _around(main, readings), phase)


def _ending(readings: Readings, name: str = "") -> Ending | None:
    """How the unit ended, by systemd; None where it did not, or no file tells, or tells of several units."""
    units = [unit for unit in readings.units if unit.exact] or readings.units
    if name:
        units = [unit for unit in units if unit.name == name.rpartition("/")[2]]
    elif len({unit.name for unit in units}) > 1:
        return None
    unit = next((unit for unit in units if unit.failing or unit.active == "inactive"), None)
    if unit is None:
        return None
    return Ending(None, unit.result, unit.exit_code, unit.exit_status, restarts=unit.restarts)


def _serves(attempt: Attempt) -> bool:
    """It printed statistics, which no server does before it is ready."""
    return attempt.signs.stats_at is not None


def _failed(attempt: Attempt) -> bool:
    """A clue of a failure stands where nothing got on after it; PID 1's and the kernel's words count by themselves.

    A server survives what goes wrong with one request.
    """
    found = attempt.clues.found
    if any(clue.system and clue.failure is not None for clue in found):
        return True
    if attempt.hurt <= 0 or attempt.moved > attempt.hurt:
        return False
    served = _serves(attempt) or attempt.timeline.startup_at is not None
    return not served or any(clue.fatal or clue.failure is not None or clue.rank is Rank.CONSEQUENCE for clue in found)


def _around(main: LogReading, readings: Readings) -> Around:
    details, facts = main.last.details, main.last.timeline.facts
    gpus = of_host.gpus(readings)
    return Around(
        holders=gather.holders(readings),
        stale_segments=of_host.stale_segments(readings),
        port=details.numbers.get("port"),
        toolkit=readings.toolkit,
        gpu_arch=gpus.architecture if gpus else None,
        speculative=facts.speculation,
        drafter=None,
    )


def _comparison(readings: Readings) -> Sweep | None:
    """Configurations of a table or notes, else the servers of several logs."""
    arms: list[Arm] = list(readings.arms)
    if (
        not arms and len(readings.logs) > 1 and not any(log.unit for log in readings.logs)
    ):  # a bundle's served what came
        arms = [arm for log in readings.logs if (arm := of_serving.arm(log)) is not None]
    if not arms and len(readings.benches) > 1:
        arms = [_arm(one, place) for place, one in enumerate(readings.benches)]
    return sweep.compare(arms) if len(arms) > 1 else None


def _arm(report: ClientReport, place: int) -> Arm:
    tpot = report.get("mean_tpot_ms")
    drafts, drafted, accepted = (report.get(name) for name in ("drafts", "drafted", "accepted"))
    return Arm(
        report.model or f"report {place + 1}",
        report.k if drafts else 0,
        report.get("output_tok_s"),
        None if tpot is None else tpot / 1000,
        length=report.length if drafts else None,
        rate=report.rate,
        drafts=int(drafts) if drafts else None,
        drafted=int(drafted) if drafted else None,
        accepted=int(accepted) if accepted is not None else None,
        per_position=report.per_position,
        baseline=not drafts,
    )


def _bench(report: ClientReport) -> BenchSeen:
    doubts = client_report.doubts(report)
    say = tuple(doubt.text for doubt in doubts)
    ratio = report.tokens_per_chunk
    if ratio is not None and ratio > 1.2:
        say += (f"ITL is {ratio:.2f} times TPOT: with speculation it is the time of a step; compare TPOT.",)
    return BenchSeen(report, doubts, client_report.valid(report), report.rate, report.length, report.k, ratio, say)


def _window(scrapes: Sequence[Scrape]) -> WindowSeen | None:
    """What the counters gained from the first to the last scrape; moments are not known, so there are no rates."""
    if len(scrapes) < 2:
        return None
    counters = between(scrapes[0], scrapes[-1])
    reset = counters.restarted or (counters.generation_tokens is None and scrapes[-1].has("vllm:generation_tokens"))
    return WindowSeen(counters.restarted, reset, counters, acceptance(counters), counters.server_tpot_s)


def _asks_systemd(readings: Readings) -> bool:
    return readings.calls is not None and any(
        call.program in ("systemctl", "journalctl") for call in readings.calls.calls
    )


_GPU_ADVICE = {
    "gpu_lost": "Look for Xid 79 in dmesg; drain the node, then reboot it or reseat the card. The other GPUs can be asked one by one (nvidia-smi -i).",
    "driver_library_mismatch": "What runs goes on; nothing new can start. Reboot, or reload the nvidia modules when nothing uses them, before any swap.",
    "driver_not_loaded": "Load the kernel module (modprobe nvidia), or reboot after a kernel update.",
    "gpu_driver_hung": "Ask with a deadline and one call at a time; turn persistence mode on (nvidia-smi -pm 1). A call that never returns needs a reboot.",
    "nvml_error": "Look at dmesg for what the nvidia module says.",
}


def _advice(report: Report) -> Iterator[str]:
    if report.diagnosis:
        yield from report.diagnosis.advice
    if report.verdict and report.verdict.advice and report.verdict.judgement is not Judgement.FAILED:
        yield report.verdict.advice
    if report.gpus and report.gpus.status in _GPU_ADVICE:
        yield _GPU_ADVICE[report.gpus.status]
    if report.host and report.host.stuck:
        yield "Start nothing on these GPUs: no signal ends this process. Reboot the node."
    if report.journal and report.journal.gaps:
        yield "Set LogRateLimitIntervalSec=0 in the unit: journald dropped lines, and counts may jump."
    if report.journal and report.journal.localized:
        yield "Collect with LC_ALL=C.UTF-8 and journalctl -o json: these stamps are in the words of another language."
    if report.comparison and report.comparison.word is not sweep.Word.UNKNOWN:
        yield report.comparison.sentence
    if report.systemd and report.systemd.unanswered:
        yield "Ask again without the options that this systemd does not know; an empty answer says nothing of the unit."
    if report.serving and report.serving.jit:
        yield "Warm up with the same shapes until two runs agree within 5 %; intervals in which kernels were compiled do not count."
    for mount in report.host.full if report.host else ():
        yield f"{mount} is full: make room there before the next start."
    if report.host and report.host.xids:
        yield kernel.advice(report.host.xids[0])
    if report.journal and report.journal.limited == "no permission":
        yield "Collect it again as root, or as a member of systemd-journal: this login does not see the unit's lines."
    for unit in report.units[:4]:
        yield from unit.remarks
    for unit in report.units[:1]:
        if unit.why_not:
            yield f"It cannot be started: {unit.why_not}."
    for bench in report.benches:
        yield from bench.say
    if report.engine and report.engine.ttft and not report.engine.ttft.plausible:
        yield "Take TTFT from the client: the server's lies wholly in its lowest bucket, which cannot be true."
    if report.engine and report.engine.no_data:
        yield f"Take the figures from the log's statistics: {report.engine.no_data}."


def _unknown(report: Report, readings: Readings) -> Iterator[str]:
    if report.verdict:
        yield from report.verdict.missing
    if report.journal and report.journal.limited:
        yield f"the journal: {report.journal.limited}"
    for stream in report.streams:
        if stream.result.error:
            yield f"the rest of a stream: {one_line(stream.result.error, 120)}"
    if report.load is not None and report.load.phase is None:
        yield "the phase: no line tells it"
    if readings.printed and report.gpus and not report.gpus.gpus and readings.asked_gpus:
        yield "the GPUs: nvidia-smi gave no row"
    for file in report.files:
        if file.kind == "unknown":
            yield f"{file.name}: not recognised"

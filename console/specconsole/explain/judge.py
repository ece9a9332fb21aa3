"""Several files judged together, by the packages that serve the live console; this only brings them their evidence."""

from __future__ import annotations

from dataclasses import replace
from time import gmtime

from specconsole.engine.scraped import scraped
from specconsole.explain import gather, of_bench, of_host, of_load, of_serving, several
from specconsole.explain.advise import advice, unknown
from specconsole.explain.attempt import Attempt
from specconsole.explain.headline import headline
from specconsole.explain.log import LogReading
from specconsole.explain.readings import Readings
from specconsole.explain.report import LogSeen, Report
from specconsole.load import gather as load_gather
from specconsole.load import judge as load_judge
from specconsole.load import stack
from specconsole.load.clue import Clues
from specconsole.load.condition import Evidence
from specconsole.load.diagnose import Around, Ending, diagnose, of_request
from specconsole.load.diagnosis import Diagnosis
from specconsole.load.evidence import HostEvidence
from specconsole.load.failure import Rank
from specconsole.load.ledger import Ledger
from specconsole.load.ledger import feed as feed_ledger
from specconsole.load.phase import Phase
from specconsole.logs.stamp import YEAR

_FEW = 8
STOPPED = "terminated"
"""It was ended from outside, which is no failure of its own: what it did until then is judged."""


def judge(readings: Readings) -> Report:
    """Say what all files together mean."""
    logs = readings.logs
    if len(logs) < 2:
        report = _judge(readings, logs[0] if logs else None)
        return report if not logs or not logs[0].mixed else replace(report, logs=(_alone(logs[0], told=True),))
    told = [_alone(log) for log in logs]
    place = several.main(logs, told)
    assert place is not None
    told[place] = replace(told[place], told=True)
    report = replace(_judge(readings, logs[place]), logs=tuple(told))
    bundle = any(log.unit for log in logs)
    alike = report.comparison is not None and report.headline == report.comparison.sentence
    return replace(
        report,
        headline=report.headline if alike else several.sentence(report.headline, told, bundle=bundle),
        advice=tuple(dict.fromkeys((*report.advice, *several.advice(told, report.advice)))),
        unknown=(*report.unknown, *(() if bundle else several.unsure(told))),
    )


def _alone(log: LogReading, *, told: bool = False) -> LogSeen:
    """What a log says without any other file."""
    return replace(several.seen(log, _judge(Readings(logs=[log]), log)), told=told)


def _judge(readings: Readings, main: LogReading | None) -> Report:
    report = Report(
        tuple(readings.files),
        serving=of_serving.told(main) if main else None,
        comparison=of_bench.comparison(readings),
        engine=scraped(readings.scrapes[-1]) if readings.scrapes else None,
        window=of_bench.window(readings.scrapes),
        servers=models if len(models := of_bench.servers(readings.scrapes)) > 1 else (),
        http=readings.http[-1] if readings.http else None,
        streams=tuple(readings.streams),
        benches=tuple(of_bench.told(one) for one in readings.benches),
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
    if main is not None and main.mixed:
        report = _of_a_mixture(report, main)
    report = replace(report, advice=tuple(dict.fromkeys(advice(report))), unknown=tuple(unknown(report, readings)))
    return replace(report, headline=headline(report))


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
    ended = diagnosis is None and attempt.signs.stopping
    fails = diagnosis is not None and not stopped and diagnosis.name != "leftover_process"
    verdict = load_judge.judge(replace(evidence, diagnosis=diagnosis if fails else None))
    desync = verdict.signature == "desync"
    load = of_load.told(main, attempt, diagnosis, collected, serving=served or desync)
    notices, spans = attempt.notices, attempt.timeline.spans
    seen = spans or attempt.signs.last or notices or attempt.signs.heartbeats or diagnosis
    tells = bool(seen or (served and collected is not None))
    gaps = _only_gaps(main, report)
    statistics_only = (
        (served or bool(main.intervals)) and diagnosis is None and not notices and not spans and collected is None
    )
    return replace(
        report,
        load=load if (tells or served) and not gaps else None,
        verdict=verdict if tells and not statistics_only and not gaps and not ended else None,
        diagnosis=diagnosis,
    )


def _of_a_mixture(report: Report, main: LogReading) -> Report:
    """Nothing of a start, or of a server at work, is sure where lines of several stand among each other; a failure stays one."""
    said = f"lines of two servers are mixed in {main.name} ({main.mixed})"
    hurt = next((attempt for attempt in main.attempts if attempt.hurt), None)  # another one's progress heals nothing
    found = report.diagnosis or (diagnose(hurt.clues) if hurt is not None else None)
    return replace(report, load=None, verdict=None, diagnosis=found, serving=None, comparison=None, mixed=said)


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
        # A server prints statistics while requests run: that it has not is told by what else was printed since.
        now=main.last_at if now is None and served else now,
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
    if _served(attempt) and clues is attempt.clues:
        ending, phase = replace(ending or Ending(), served=True), None
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


def _served(attempt: Attempt) -> bool:
    return _serves(attempt) or attempt.timeline.startup_at is not None


def _failed(attempt: Attempt) -> bool:
    """A clue of a failure stands where nothing got on after it; PID 1's and the kernel's words count by themselves.

    A server survives what goes wrong with one request.
    """
    found = attempt.clues.found
    if any(clue.system and clue.failure is not None for clue in found):
        return True
    if attempt.hurt <= 0 or attempt.moved > attempt.hurt:
        return False
    return not _served(attempt) or any(
        (clue.fatal or clue.failure is not None or clue.rank is Rank.CONSEQUENCE) and not of_request(clue)
        for clue in found
    )


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


def _asks_systemd(readings: Readings) -> bool:
    return readings.calls is not None and any(
        call.program in ("systemctl", "journalctl") for call in readings.calls.calls
    )

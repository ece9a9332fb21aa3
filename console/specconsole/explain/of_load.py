"""A start as its log tells it, with what other files add: the section `load` of a report; pure."""

from __future__ import annotations

from collections.abc import Iterator

from specconsole.explain.attempt import Attempt
from specconsole.explain.log import LogReading
from specconsole.explain.report import Count, LoadSeen
from specconsole.load import silence
from specconsole.load.bar import Bar
from specconsole.load.diagnosis import Diagnosis
from specconsole.load.estimate import estimate
from specconsole.load.gather import pace_of
from specconsole.load.pace import Pace
from specconsole.load.phase import Phase
from specconsole.load.timeline import LoadTimeline, Progress, Span

COUNTS = (Phase.WEIGHTS, Phase.DRAFTER)
"""Phases that count from their beginning on, though a bar may not have come yet."""
ENDED_WELL = ("terminated", "leftover_process")
"""Diagnoses of a start that somebody ended, or that left something behind: it did not fail."""
_DUMP = "Initializing a"


def phase_of(attempt: Attempt) -> Phase | None:
    """The phase that the log ends in: the engine's configuration, printed last, is the end of it and no sign of the next."""
    timeline = attempt.timeline
    begun = [span.phase for span in timeline.spans]
    if timeline.phase is Phase.INIT and timeline.last_line.startswith(_DUMP) and begun.count(Phase.INIT) == 1:
        return Phase.CONFIG
    if attempt.signs.downloading and timeline.phase in (None, Phase.CONFIG, Phase.INIT):
        return Phase.DOWNLOAD
    return timeline.phase


def pace(attempt: Attempt) -> Pace | None:
    """How the count of the present phase moves."""
    span = attempt.timeline.span
    return pace_of(span.progress) if span and span.progress and span.end is None else None


def told(
    reading: LogReading, attempt: Attempt, diagnosis: Diagnosis | None, now: float | None, *, serving: bool = False
) -> LoadSeen:
    """Say what a start is."""
    timeline, details, facts, signs = attempt.timeline, attempt.details, attempt.timeline.facts, attempt.signs
    phase = phase_of(attempt)
    failure = diagnosis if diagnosis is not None and diagnosis.name not in ENDED_WELL else None
    failed = failure is not None
    layout, numbers, words = details.layout, details.numbers, details.words
    return LoadSeen(
        phase=_named(timeline, phase, failure, serving),
        ready=(timeline.startup_at is not None or signs.stats_at is not None) and not failed and not signs.stopping,
        failed=failed,
        count=_count(timeline, phase, reading.bar, now),
        weights=_whole(timeline, Phase.WEIGHTS),
        drafter=_whole(timeline, Phase.DRAFTER),
        version=facts.version,
        engine=facts.engine or details.engine,
        runner=facts.runner,
        model=facts.model,
        platform=words.get("platform"),
        executor=details.executor,
        port=numbers.get("port"),
        engine_pid=numbers.get("engine_pid"),
        rank=reading.bar_rank,
        tensor_parallel=layout.tensor_parallel,
        pipeline_parallel=layout.pipeline_parallel,
        data_parallel=layout.data_parallel,
        nodes=layout.nodes,
        workers_seen=layout.workers,
        world_size=numbers.get("world_size") or facts.world_size,
        ranks_connected=len(details.ranks) or None,
        engines=tuple(sorted(signs.engines)),
        speculation=_speculates(attempt),
        method=facts.method or words.get("method"),
        k=facts.k if facts.k is not None else numbers.get("k"),
        proposer=words.get("proposer"),
        nccl=words.get("nccl"),
        nccl_ranks=numbers.get("nccl_ranks"),
        nccl_complete=len(details.nccl_complete) or None,
        skipped=tuple(p.value for p in (Phase.COMPILE, Phase.CAPTURE)) if facts.eager else (),
        durations_s=dict(_durations(attempt)),
        since_first_line_s=_boot(reading, timeline),
        silence_s=_silence(reading, now),
        expected_silence_s=silence.expected(phase),
        warn_after_s=silence.warn_after(phase, pace(attempt)),
        model_gib=facts.model_gib,
        kv_gib=facts.kv_gib,
        kv_tokens=facts.kv_tokens,
        concurrency=facts.concurrency,
        graph_gib=facts.graph_gib,
        compile_cached=facts.compile_cached,
        async_scheduling=facts.async_scheduling,
        waiting=timeline.waiting,
        heartbeats=signs.heartbeats,
        waiting_for=signs.waiting_for,
        notices=attempt.notices,
        notice_engines=attempt.notice_engines,
        peers=signs.peers if signs.peers and signs.peers[1] > 0 else None,
        network_error=signs.network_error,
        stopped_by=_stopped_by(attempt, diagnosis),
        starts=reading.starts,
        last_line=timeline.last_line or signs.last,
        remarks=tuple(notice.said for notice in timeline.notices),
    )


def _named(timeline: LoadTimeline, phase: Phase | None, failure: Diagnosis | None, serving: bool) -> str | None:
    """What the log ends in; a failure that has its usual phase is placed there, unless the log got further."""
    if failure is not None and failure.phase and not _later(phase, failure.phase):
        return failure.phase
    served = serving or (failure is not None and not failure.phase and timeline.startup_at is not None)
    return "serving" if served else phase.value if phase else None


def _speculates(attempt: Attempt) -> bool | None:
    """None where no line says either."""
    told = attempt.timeline.facts.speculation
    hinted = attempt.details.speculates or "method" in attempt.details.words
    return told if told is not None else True if hinted else None


def _stopped_by(attempt: Attempt, diagnosis: Diagnosis | None) -> str:
    if diagnosis is not None:
        return str(diagnosis.numbers.get("killed_by", "")) if diagnosis.name == "terminated" else ""
    return "shutdown" if attempt.signs.stopping else ""


def _later(phase: Phase | None, told: str) -> bool:
    """The log shows that it had got further than where this failure mostly happens."""
    usual = next((one for one in Phase if one.value == told), None)
    return phase is not None and usual is not None and phase.order > usual.order


def _count(timeline: LoadTimeline, phase: Phase | None, bar: Bar | None, now: float | None) -> Count | None:
    span = timeline.span
    if phase is Phase.DOWNLOAD and bar is not None and bar.phase is phase:
        return Count(bar.done, bar.total, bar.unit, bar.label, bar.elapsed_s, bar.each_s, None, bar.remaining_s)
    if phase is None or span is None or span.phase is not phase:
        return None
    progress = span.progress
    if progress is None:
        return Count(0, None, "shards") if phase in COUNTS and span.end is None else None
    moving = (
        bar
        if bar is not None and bar.label == progress.label and bar.total == progress.total - progress.before
        else None
    )
    return _of(progress, moving, None if span.end is not None else eta(timeline, now, moving))


def _of(progress: Progress, bar: Bar | None, left: tuple[float, float] | None = None) -> Count:
    """The bar that is drawn now; earlier bars of the same phase are not added to it."""
    counted = pace_of(progress)
    done, total = progress.done - progress.before, progress.total - progress.before
    if bar is not None:
        done, total = bar.done, bar.total
    return Count(
        done,
        total,
        progress.unit,
        progress.label,
        bar.elapsed_s if bar else None,
        bar.each_s if bar else None,
        counted.mean_s,
        bar.remaining_s if bar else None,
        left,
    )


def eta(timeline: LoadTimeline, now: float | None, bar: Bar | None) -> tuple[float, float] | None:
    """Seconds to the end of the present count, least and most, as the live console tells them; of one state of a bar, by its rate."""
    at = now if now is not None else timeline.heard_at
    told = estimate(timeline, (), at).phase if at is not None else None
    if told is not None:
        return told.low_s, told.high_s
    if bar is None or bar.each_s is None or bar.complete:
        return None
    left = (bar.total - bar.done) * bar.each_s
    return left * 0.8, left * 1.25


def _whole(timeline: LoadTimeline, phase: Phase) -> Count | None:
    span: Span | None = timeline.of(phase)
    return _of(span.progress, None) if span and span.progress else None


def _durations(attempt: Attempt) -> Iterator[tuple[str, float]]:
    facts, seconds = attempt.timeline.facts, attempt.details.seconds
    for name, value in (
        ("weights", facts.weights_s),
        ("model_load", facts.load_s),
        ("download", facts.download_s),
        ("compile", facts.compile_s),
        ("capture", facts.capture_s),
        ("init_engine", facts.init_s),
        *seconds.items(),
    ):
        if value is not None:
            yield name, value


def _boot(reading: LogReading, timeline: LoadTimeline) -> float | None:
    first = reading.first_at if reading.starts == 1 else None
    ready = timeline.startup_at
    return ready - first if ready is not None and first is not None and ready >= first else None  # else it has no stamp


def _silence(reading: LogReading, now: float | None) -> float | None:
    since = now - reading.last_at if now is not None and reading.last_at is not None else None
    if since is not None and since >= 0:
        return since
    return reading.longest_silence_s

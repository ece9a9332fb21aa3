"""What is seen of a start, taken into what is known of it: log records, answers, states, samples; pure.

Nothing here fails on a text that it does not know, and nothing looks at more than the first 16 KiB of one.
"""

from __future__ import annotations

from dataclasses import replace

from specconsole.gpu.sample import Fleet
from specconsole.load import advance, bar, dump
from specconsole.load.anchor import holds
from specconsole.load.bar import Bar
from specconsole.load.cause import cause
from specconsole.load.changed import changed
from specconsole.load.facts import Notice
from specconsole.load.learn import learn, merge
from specconsole.load.phase import WITHOUT_DRAFTER, Expectation, Phase
from specconsole.load.request import of_request
from specconsole.load.timeline import PREFETCHED, LoadTimeline, Progress, Reading, Span, Stage
from specconsole.load.wording import LONGEST, By, Edge, Said
from specconsole.load.wording_notice import PARAMETERS, REMARK_STARTS, REMARK_WORDS, REMARKS, SCHEDULING
from specconsole.load.wording_phase import HEARTBEATS, MILESTONES
from specconsole.load.worker import is_worker, label_of
from specconsole.logs.record import LINE, Kind, LogRecord

STOP_BEGUN = "de5b426a63be47a7b6ac3eaac82e2f6f"
"""systemd's message id for "Stopping …"; it is not written when a service ends by itself."""
EARLY_S = 8.0
"""The first import of vLLM takes longer than this, so what is noticed sooner is still in its first phase."""
STEPS = 64
"""States of a bar that are kept for its rate."""
READING_S = 5.0
"""What was read from storage is kept this often."""
_READS = (Phase.WEIGHTS, Phase.DRAFTER)


def begin(
    unit: str,
    invocation: str,
    started: float | None,
    expected: Expectation | None = None,
    *,
    number: int = 1,
    at: float | None = None,
) -> LoadTimeline:
    """A start of which no line was seen yet; noticed at `at`, early enough for nothing to have been missed, or not."""
    expected = expected or Expectation()
    workers, engines = expected.workers, expected.engines
    load = LoadTimeline(unit, invocation, started, number=number, expected=expected, workers=workers, engines=engines)
    load = advance.planned(load)
    early = at is not None and started is not None and at - started < EARLY_S
    return advance.seen(load, Phase.CONFIG, started) if early and started is not None else load


SETTLED_S = 60.0
"""So long after a server answers its log may still tell of the start."""


def feed(load: LoadTimeline, record: LogRecord) -> LoadTimeline:
    """Take in one log record of this unit; records of another invocation change nothing."""
    if record.unit != load.unit or (record.invocation and record.invocation != load.invocation):
        return load
    if record.message_id == STOP_BEGUN:
        return replace(load, stop_asked=True)
    if _serves(load, record) or record.kind is Kind.GAP or of_request(record):
        return load
    if record.kind is Kind.SYSTEMD:
        return load if load.spans or load.stage is Stage.FAILED else advance.seen(load, Phase.CONFIG, record.at)
    if load.stage is Stage.FAILED:
        return replace(load, error=cause(load.error, record)) if record.kind is Kind.LINE else load
    after = _bar(load, record) if record.kind is Kind.BAR else _line(load, record)
    return _heard(load, after, record)


def _serves(load: LoadTimeline, record: LogRecord) -> bool:
    """The start is over by this record: a server that answers writes for months, and none of it is of its start."""
    began = load.answering_at if load.stage is Stage.ANSWERING else None
    return load.stage is Stage.READY or (began is not None and record.at > began + SETTLED_S)


def answering(load: LoadTimeline, at: float, *, watched: bool = True) -> LoadTimeline:
    """Health and the model list answer; not `watched`: they already did when we came, so the log dates it, if it can."""
    if load.stage is not Stage.LOADING:
        return load
    when = at if watched else load.startup_at or at
    load = advance.seen(load, Phase.ANSWERING, when, begins=True)
    return replace(load, stage=Stage.ANSWERING, answering_at=when, late=not watched, moved_at=when)


def ready(load: LoadTimeline, at: float) -> LoadTimeline:
    """One token was generated."""
    if load.stage is not Stage.ANSWERING:
        return load
    load = advance.over(advance.seen(load, Phase.READY, at, begins=True), at)
    return replace(load, stage=Stage.READY, ready_at=at)


def failed(load: LoadTimeline, at: float, reason: str) -> LoadTimeline:
    """The unit ended before, or after, it was ready."""
    if load.stage is Stage.FAILED:
        return load
    load = advance.over(load, at) if load.stage is Stage.LOADING else load
    return replace(load, stage=Stage.FAILED, failed_at=at, reason=reason)


def sampled(load: LoadTimeline, fleet: Fleet) -> LoadTimeline:
    """Take in a sample of the host: what the unit's processes fetched from storage while weights load."""
    if load.stage is not Stage.LOADING or load.phase not in _READS or load.unit not in fleet.units:
        return load
    counts = [process.read_bytes for process in fleet.units[load.unit].processes]
    known = [count for count in counts if count is not None]
    if not known or len(known) < len(counts):
        return load
    total, before = sum(known), load.read
    if before is None:
        return replace(load, read=Reading(total, total, fleet.at, fleet.at, ((fleet.at, 0),)))
    count = max(before.count, total)  # a process that ended takes its count along; what was read stays read
    steps = before.steps
    if fleet.at - steps[-1][0] >= READING_S and count - before.base > steps[-1][1]:
        steps = (*steps, (fleet.at, count - before.base))[-STEPS:]
    return replace(load, read=replace(before, count=count, at=fleet.at, steps=steps))


def _heard(before: LoadTimeline, load: LoadTimeline, record: LogRecord) -> LoadTimeline:
    """Keep when something was last said, and whether anything moved by it."""
    if load.spans != before.spans or load.loaded_at != before.loaded_at or load.startup_at != before.startup_at:
        return changed(load, heard_at=record.at, moved_at=record.at, heartbeats=0, last_line=_first_line(record))
    if record.kind is LINE and record.text.startswith(HEARTBEATS):
        return changed(load, heard_at=record.at, heartbeats=load.heartbeats + 1)
    return changed(load, heard_at=record.at, last_line=_first_line(record))


def _first_line(record: LogRecord) -> str:
    return record.text[:300].partition("\n")[0]


# -- lines --


def _line(load: LoadTimeline, record: LogRecord) -> LoadTimeline:
    text = record.text
    load = _remarked(_named(load, record), record)
    if text.startswith("Application startup complete."):
        load = replace(load, startup_at=load.startup_at or record.at)
        return advance.seen(load, Phase.API, record.at)
    for table in (SCHEDULING, PARAMETERS):
        if said := table.find(text):
            return replace(load, facts=learn(load.facts, said))
    if said := MILESTONES.find(text):
        return _milestone(_learnt(load, said, text), said, record)
    error = cause(load.error, record)
    return load if error == load.error else replace(load, error=error)


def _named(load: LoadTimeline, record: LogRecord) -> LoadTimeline:
    """Remember the workers that speak; a process may change its name, and its pid stays."""
    if not is_worker(record) or record.pid is None:
        return load
    seen, label = dict(load.seen), label_of(record)
    if seen.get(record.pid) == label or len(seen) > 4096:
        return load
    return replace(
        load, seen=tuple(sorted({**seen, record.pid: label}.items(), key=lambda each: (len(each[1]), each[1])))
    )


def _learnt(load: LoadTimeline, said: Said, text: str) -> LoadTimeline:
    facts = learn(load.facts, said)
    if said.wording.says.startswith("Initializing a") and said.wording.phase is Phase.INIT:
        facts = merge(facts, dump.read(text[:LONGEST]))
    if facts == load.facts:
        return load
    workers = load.workers if load.expected.workers else facts.world_size or load.workers
    engines = load.engines or facts.data_parallel
    return advance.planned(replace(load, facts=facts, workers=workers, engines=engines))


def _milestone(load: LoadTimeline, said: Said, record: LogRecord) -> LoadTimeline:
    wording, at = said.wording, record.at
    phase = wording.phase
    if phase is None or load.stage is not Stage.LOADING:
        return load
    if "prefetched" in said.values:
        return _prefetched(advance.seen(load, phase, at), record)
    if phase is Phase.DRAFTER and wording.edge is not Edge.END and not _drafts(load):
        return load
    if wording.edge is not Edge.END:
        return advance.seen(load, phase, at, begins=wording.edge is Edge.BEGIN, again=phase is Phase.CAPTURE)
    took = float(said.values["took"]) if "took" in said.values else None
    if phase is Phase.WEIGHTS and _again(load, record):
        return _of_drafter(load, at, took)
    if phase is Phase.WEIGHTS and took is not None:
        load = replace(load, facts=replace(load.facts, weights_s=max(took, load.facts.weights_s or 0.0)))
    if phase is Phase.DOWNLOAD:
        load = _downloaded(load, took)
    if phase is Phase.CAPTURE and took is not None:
        load = replace(load, facts=replace(load.facts, capture_s=max(took, load.facts.capture_s or 0.0)))
    if phase is Phase.DRAFTER:
        load = replace(load, loaded_at=load.loaded_at or at)
    enters = phase not in (Phase.DRAFTER, Phase.WARMUP_AFTER)
    rank, expected = _of(load, said, record)
    return advance.ended(load, phase, at, took=took, rank=rank, expected=expected, enters=enters)


def _of(load: LoadTimeline, said: Said, record: LogRecord) -> tuple[str, int | None]:
    """Whose line it is, and of how many it is to be expected; None: one line speaks for all."""
    wording = said.wording
    if wording.by is By.ONE:
        return "", None
    total = load.engines if wording.by is By.ENGINES else load.workers
    if total is None or total < 2:
        return "", None
    rank = label_of(record)
    span = load.of(wording.phase) if wording.phase else None
    others = set(span.ranks if span else ()) - {rank}
    facts = load.facts
    repeats = wording.repeats(facts.version or load.expected.version, facts.runner) or bool(others)
    return rank, total if repeats else None


def _drafts(load: LoadTimeline) -> bool:
    """The drafter may have weights of its own; n-gram has none, whatever the log says it loads."""
    facts, expected = load.facts, load.expected
    if facts.speculation is False:
        return False
    method = facts.method or expected.method
    return method not in WITHOUT_DRAFTER if method else facts.speculation is True or not expected.speculation_known


def _again(load: LoadTimeline, record: LogRecord) -> bool:
    """The same worker says once more that weights were loaded: the drafter's."""
    span = load.of(Phase.WEIGHTS)
    if span is None or load.phase is Phase.DRAFTER:
        return load.phase is Phase.DRAFTER
    rank = label_of(record)
    return rank in span.ranks or (span.end is not None and (not span.ranks or (load.workers or 1) < 2))


def _of_drafter(load: LoadTimeline, at: float, took: float | None) -> LoadTimeline:
    if not _drafts(load):
        return load
    return advance.seen(load, Phase.DRAFTER, at, start=at - took if took is not None else None)


def _downloaded(load: LoadTimeline, took: float | None) -> LoadTimeline:
    """A download that was taken for a slow read until it said what it was."""
    load = replace(load, facts=replace(load.facts, download_s=took))
    span = load.span
    if Phase.DOWNLOAD not in load.plan:
        load = replace(load, plan=tuple(p for p in Phase if p in load.plan or p is Phase.DOWNLOAD))
    if span is not None and span.phase is Phase.WEIGHTS and span.progress is None:
        load = replace(load, spans=(*load.spans[:-1], Span(Phase.DOWNLOAD, span.start, begun=span.begun)))
    return load


def _remarked(load: LoadTimeline, record: LogRecord) -> LoadTimeline:
    text = record.text[:LONGEST]
    if not text.startswith(REMARK_STARTS) and not holds(text, REMARK_WORDS):
        return load
    for remark in REMARKS:
        found = remark.says in text if remark.inside else text.startswith(remark.says)
        if found and all(notice.kind != remark.kind for notice in load.notices):
            notice = Notice(remark.kind, remark.means, text[:400].partition("\n")[0], record.at, record.seq)
            return replace(load, notices=(*load.notices, notice))
    return load


# -- bars --


def _prefetched(load: LoadTimeline, record: LogRecord) -> LoadTimeline:
    """Files that a worker has brought into the page cache: the count of the phase until a loader's bar comes.

    Each worker counts its own share; the one that spoke first is followed, as with bars.
    """
    span, pair = load.span, load.facts.prefetched
    if span is None or span.phase is not Phase.WEIGHTS or pair is None:
        return load
    now, who = span.progress, str(record.pid) if record.pid is not None else record.process or ""
    if now is not None and (now.unit != PREFETCHED or now.who != who or pair[0] <= now.done):
        return load
    steps = (*(now.steps if now else ()), (record.at, pair[0]))[-STEPS:]
    return _counted(load, Progress(*pair, PREFETCHED, record.at, None, steps, "Prefetching checkpoint files", who))


def _bar(load: LoadTimeline, record: LogRecord) -> LoadTimeline:
    found = bar.parse(record.text, load.facts.version or load.expected.version)
    if found is None or load.stage is not Stage.LOADING:
        return load
    who = str(record.pid) if record.pid is not None else record.process or ""
    since = record.at - found.elapsed_s if found.elapsed_s is not None else record.at if not found.done else None
    if found.phase is Phase.WEIGHTS:
        return _weighed(load, found, record.at, since, who)
    after = advance.seen(load, found.phase, record.at, start=since, again=True)
    span = after.span
    if span is None or span.phase not in (found.phase, Phase.WARMUP_AFTER):
        return load
    after = _counted(after, _added(after, span.progress, found, record.at, since, who))
    if found.phase is Phase.WARMUP and found.complete and span.phase is Phase.WARMUP:
        return advance.ended(after, Phase.WARMUP, record.at)
    return after


def _weighed(load: LoadTimeline, found: Bar, at: float, since: float | None, who: str) -> LoadTimeline:
    """A bar of a loader: the target's, or the drafter's, which begins anew after the first was full."""
    target = load.of(Phase.WEIGHTS)
    drafter = load.phase is Phase.DRAFTER
    counted = target.progress if target is not None and not _is_prefetch(target) else None
    if counted is not None and counted.complete and not drafter:
        same = (counted.label, counted.total) == (found.label, found.total)
        foreign = bool(who and counted.who and who != counted.who)
        if foreign or (same and found.done > 0) or not _drafts(load):
            return load
        drafter = True
    phase = Phase.DRAFTER if drafter else Phase.WEIGHTS
    after = advance.seen(load, phase, at, start=since if drafter or not load.spans else None)
    span = after.span
    if span is None or span.phase is not phase:
        return load
    now = None if _is_prefetch(span) else span.progress
    # What is behind the present bar comes from another data-parallel engine, or late: progress never falls back.
    if now is not None and ((now.label, now.total) != (found.label, found.total) or found.done <= now.done):
        return after
    steps = (*(now.steps if now else ()), (at, found.done))[-STEPS:]
    begun = now.since if now else at if not found.done else since
    return _counted(after, Progress(found.done, found.total, found.unit, at, begun, steps, found.label, who))


def _is_prefetch(span: Span) -> bool:
    return span.progress is not None and span.progress.unit == PREFETCHED


def _added(
    load: LoadTimeline, now: Progress | None, found: Bar, at: float, since: float | None, who: str
) -> Progress | None:
    """Graphs and kernels are counted over all bars of the phase; the number of graphs may be known beforehand."""
    if now is not None and now.who and who and now.who != who:
        return now
    before = now.before if now else 0
    if now is not None and (now.label != found.label or found.done < now.done - now.before):
        before = now.done
    done, total = before + found.done, before + found.total
    if found.phase is Phase.CAPTURE:
        total = max(total, load.facts.graphs or 0)
    if now is not None and done <= now.done:
        return now
    steps = (*(now.steps if now else ()), (at, done))[-STEPS:]
    return Progress(done, total, found.unit, at, now.since if now else since, steps, found.label, who, before)


def _counted(load: LoadTimeline, progress: Progress | None) -> LoadTimeline:
    span = load.spans[-1]
    return (
        load if span.progress == progress else replace(load, spans=(*load.spans[:-1], replace(span, progress=progress)))
    )

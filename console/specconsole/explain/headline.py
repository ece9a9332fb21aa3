"""The answer in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from specconsole.bench.sweep import Word
from specconsole.engine.scraped import Scraped
from specconsole.engine.sound import SEVERAL
from specconsole.explain.report import Report, WindowSeen
from specconsole.gpu.fault import certain
from specconsole.gpu.sample import Gpu
from specconsole.text import bytes_binary, milliseconds, number, one_line, percent

_WORDS = {
    "working": "It works",
    "working_slow": "It works, slowly",
    "watch": "Worth a look",
    "waiting_for_peer": "It waits for others",
    "needs_probe": "These files do not tell whether it works",
    "stuck": "It is stuck",
    "idle": "It is up and idle",
    "failed": "It failed",
}


_HTTP = {
    401: ": it wants an API key",
    404: ": it has no such path or model",
    429: ": too many requests",
    500: ": it failed; its log says why",
    503: ": its engine is dead, or something before it finds no server that is ready",
}


def headline(report: Report) -> str:
    """What a colleague would say first."""
    if report.mixed:
        failed = f"; one of them failed: {report.diagnosis.title}" if report.diagnosis else ""
        return f"{report.mixed[:1].upper()}{report.mixed[1:]}{failed}. Whether one of them is ready is not known."
    if report.diagnosis is not None and report.verdict is not None and report.verdict.judgement.value == "failed":
        phase = report.load.phase if report.load else None
        where = " while serving" if phase == "serving" else f" in phase {phase}" if phase else ""
        return f"It failed{where}: {report.diagnosis.title}. {report.diagnosis.sentence}"
    if report.host and report.host.stuck:
        one = report.host.stuck[0]
        return f"Process {one.pid} ({one.command}) cannot be ended: it is in state {one.state} in the GPU driver."
    if report.load is not None and report.load.stopped_by == "shutdown":
        return "It was stopped: its server shut down in order."
    calm = report.verdict is None or not report.verdict.alarming
    if calm and report.comparison is not None and report.comparison.word is not Word.UNKNOWN:
        return report.comparison.sentence
    if report.load is not None and report.load.ready and report.verdict is not None and calm:
        took = report.load.since_first_line_s
        return "The log says that it is ready" + (f", {took:.0f} s after its first line." if took is not None else ".")
    if report.verdict is not None:
        said = f"{_WORDS[report.verdict.judgement.value]}: {report.verdict.sentence}"
        where = f" (phase {report.load.phase})" if report.load and report.load.phase else ""
        return f"{said}{where}."
    return _without_load(report)


def _of_gpus(gpus: Sequence[Gpu]) -> str:
    """What nvidia-smi alone tells: how many, how full, how busy."""
    some = f"{len(gpus)} GPUs" if len(gpus) > 1 else "One GPU"
    faults = certain(gpus)
    used = [(gpu.memory_used, gpu.memory_total) for gpu in gpus]
    held = sum(use or 0 for use, _ in used)
    full = (
        f", {bytes_binary(held)} of {bytes_binary(sum(whole or 0 for _, whole in used))} used"
        if all(use is not None and whole is not None for use, whole in used)
        else ""
    )
    busy = [gpu.util for gpu in gpus if gpu.util is not None]
    most = f", the busiest at {percent(max(busy))}" if busy else ""
    return f"{some}{full}{most}{f'. {faults[0]}' if faults else ''}."


def _of_metrics(report: Report, engine: Scraped) -> str:
    if len(report.servers) > 1:
        return f"Metrics of {len(report.servers)} servers: {', '.join(report.servers)}; the figures are those of {engine.model or 'the last file'} alone."
    told = f"Metrics of a server: {engine.no_data or engine.model or 'no model named'}"
    if engine.no_data.startswith(SEVERAL):
        told = f"Metrics: {engine.no_data}, so that no sum over them means anything"
    window = report.window
    return f"{told}{f'; {restart(window)}' if window and window.reset else ''}."


def restart(window: WindowSeen) -> str:
    """Why nothing can be said of what the counters gained."""
    sure = (
        "it restarted between the two, or they are of two servers"
        if window.restarted
        else "a counter fell, so it restarted between the two, or the files are not in order"
    )
    return f"{sure}: what it did in between is not known"


def _without_load(report: Report) -> str:
    if report.diagnosis is not None:
        return f"{report.diagnosis.title}. {report.diagnosis.sentence}"
    if report.gpus is not None and report.gpus.status not in ("", "ok"):
        return f"The GPUs: {report.gpus.status.replace('_', ' ')}."
    if report.gpus is not None and report.gpus.gpus:
        return _of_gpus(report.gpus.gpus)
    if report.benches:
        bench = report.benches[0]
        if bench.doubts:
            return bench.doubts[0].text
        tpot = bench.report.get("mean_tpot_ms")
        told = "; it tells no time per token" if tpot is None else f": {number(tpot, 2)} ms a token"
        return f"A benchmark report without contradictions{told}."
    if report.serving is not None and report.serving.steady_tok_s is not None:
        return f"It serves {number(report.serving.steady_tok_s, 1)} tokens a second."
    spec = (
        next((period.spec for period in reversed(report.serving.periods) if period.spec), None)
        if report.serving
        else None
    )
    if spec is not None:
        length = f", {number(spec.length, 2)} tokens a step" if spec.length is not None else ""
        return f"Speculation: {percent(spec.rate)} of the drafts accepted{length}, by its last line."
    if report.http is not None and report.http.status >= 400:
        return f"The server answered {report.http.status}{_HTTP.get(report.http.status, '')}."
    if report.engine is not None:
        return _of_metrics(report, report.engine)
    if report.journal is not None and report.journal.gaps:
        return "The log is incomplete: journald dropped lines."
    if report.host is not None and report.host.orphans:
        orphan = report.host.orphans[0]
        return f"Process {orphan.pid} ({orphan.command}) runs on without its server."
    if report.host is not None and report.host.full:
        return f"{', '.join(report.host.full)} {'is' if len(report.host.full) == 1 else 'are'} full."
    if report.units:
        unit = report.units[0]
        why = f": {unit.why_not}" if unit.why_not else ""
        if not unit.active and unit.why_not:
            return f"{unit.name or 'The unit'}: {unit.why_not}."
        return f"{unit.name or 'The unit'} is {unit.active or 'in an unknown state'} ({unit.sub}), {unit.load}{why}."
    if report.streams:
        stream = report.streams[0]
        if stream.result.error:
            return f"The stream ended with an error: {one_line(stream.result.error, 200).rstrip('.')}."
        cut = "" if stream.ended else "; its end is missing"
        return f"A stream: first token after {milliseconds(stream.result.ttft_s)}, {milliseconds(stream.tpot_s)} a token{cut}."
    if report.journal is not None and report.journal.limited:
        return f"The journal shows only a part: {report.journal.limited}."
    known = [file.title for file in report.files if file.kind not in ("unknown", "empty")]
    return f"{', '.join(dict.fromkeys(known))}." if known else "Nothing here was recognised."

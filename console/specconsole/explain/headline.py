"""The answer in one sentence."""

from __future__ import annotations

from specconsole.bench.sweep import Word
from specconsole.explain.report import Report
from specconsole.text import milliseconds, number, one_line

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


def headline(report: Report) -> str:
    """What a colleague would say first."""
    if report.diagnosis is not None and report.verdict is not None and report.verdict.judgement.value == "failed":
        where = f" in phase {report.load.phase}" if report.load and report.load.phase else ""
        return f"It failed{where}: {report.diagnosis.title}. {report.diagnosis.sentence}"
    if report.host and report.host.stuck:
        one = report.host.stuck[0]
        return f"Process {one.pid} ({one.command}) cannot be ended: it is in state {one.state} in the GPU driver."
    if report.load is not None and report.load.ready and not (report.verdict and report.verdict.alarming):
        took = report.load.since_first_line_s
        return "The log says that it is ready" + (f", {took:.0f} s after its first line." if took is not None else ".")
    if report.verdict is not None:
        said = f"{_WORDS[report.verdict.judgement.value]}: {report.verdict.sentence}"
        where = f" (phase {report.load.phase})" if report.load and report.load.phase else ""
        return f"{said}{where}."
    return _without_load(report)


def _without_load(report: Report) -> str:
    if report.comparison is not None and report.comparison.word is not Word.UNKNOWN:
        return report.comparison.sentence
    if report.diagnosis is not None:
        return f"{report.diagnosis.title}. {report.diagnosis.sentence}"
    if report.gpus is not None and report.gpus.status not in ("", "ok"):
        return f"The GPUs: {report.gpus.status.replace('_', ' ')}."
    if report.benches:
        bench = report.benches[0]
        if bench.doubts:
            return bench.doubts[0].text
        lacks = "" if bench.report.get("mean_tpot_ms") is not None else "; it tells no time per token"
        return f"A benchmark report without contradictions{lacks}."
    if report.serving is not None and report.serving.steady_tok_s is not None:
        return f"It serves {number(report.serving.steady_tok_s, 1)} tokens a second."
    if report.engine is not None:
        return f"Metrics of a server: {report.engine.no_data or report.engine.model or 'no model named'}."
    if report.journal is not None and report.journal.gaps:
        return "The log is incomplete: journald dropped lines."
    if report.host is not None and report.host.full:
        return f"{', '.join(report.host.full)} {'is' if len(report.host.full) == 1 else 'are'} full."
    if report.units:
        unit = report.units[0]
        why = f": {unit.why_not}" if unit.why_not else ""
        return f"{unit.name or 'The unit'} is {unit.active or 'in an unknown state'} ({unit.sub}), {unit.load}{why}."
    if report.streams:
        stream = report.streams[0]
        if stream.result.error:
            return f"The stream ended with an error: {one_line(stream.result.error, 200)}."
        return (
            f"A stream: first token after {milliseconds(stream.result.ttft_s)}, {milliseconds(stream.tpot_s)} a token."
        )
    if report.journal is not None and report.journal.limited:
        return f"The journal shows only a part: {report.journal.limited}."
    known = [file.title for file in report.files if file.kind not in ("unknown", "empty")]
    return f"{', '.join(dict.fromkeys(known))}." if known else "Nothing here was recognised."

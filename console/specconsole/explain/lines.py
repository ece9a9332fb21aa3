"""A report as text for people: the answer first, what it rests on, what to do, what is not known; plain lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specconsole.bench.sweep import Sweep
from specconsole.explain.headline import restart
from specconsole.explain.report import Count, GpusSeen, HostSeen, LoadSeen, LogSeen, Report, ServingSeen, WindowSeen
from specconsole.text import UNKNOWN, bytes_binary, duration, milliseconds, number, percent

_WIDTH = 14


def lines(report: Report) -> Iterator[str]:
    """Every line of the answer."""
    yield report.headline
    yield from _section("logs", tuple(_logs(report.logs)))
    yield from _section("rests on", report.verdict.evidence if report.verdict else ())
    if report.load:
        yield from _facts(_load(report.load))
    if report.diagnosis:
        yield from _section("the line", (report.diagnosis.root_line,) if report.diagnosis.root_line else ())
        yield from _section("also", report.diagnosis.notes)
    if report.serving:
        yield from _facts(_serving(report.serving))
    if report.comparison:
        yield from _section("arms", tuple(_arms(report.comparison)))
    yield from _figures(report)
    if report.gpus:
        yield from _section("GPUs", tuple(_gpus(report.gpus)))
    if report.host:
        yield from _facts(_host(report.host))
    yield from _section("do", tuple(said for said in report.advice if said != report.headline))
    if report.verdict and report.verdict.probe:
        yield from _section("look next", (report.verdict.probe,))
    yield from _section("not known", report.unknown)
    yield from _section("read", tuple(f"{f.name}: {f.title}{f' ({f.note})' if f.note else ''}" for f in report.files))


def _logs(logs: Sequence[LogSeen]) -> Iterator[str]:
    for log in logs[:16]:
        about = ", ".join(part for part in (log.state or "tells of no start", log.model, log.version) if part)
        yield f"{log.name}: {about}{' (told here)' if log.told and len(logs) > 1 else ''}"


def _section(title: str, texts: tuple[str, ...]) -> Iterator[str]:
    for place, text in enumerate(texts):
        yield f"  {title if not place else '':<{_WIDTH}}{text}"


def _facts(pairs: Iterator[tuple[str, str]]) -> Iterator[str]:
    for name, value in pairs:
        yield f"  {name:<{_WIDTH}}{value}"


def _load(load: LoadSeen) -> Iterator[tuple[str, str]]:
    engine = " ".join(
        part for part in (load.version and f"vLLM {load.version}", load.engine and f"engine {load.engine}") if part
    )
    sizes = (("TP", load.tensor_parallel), ("PP", load.pipeline_parallel), ("DP", load.data_parallel))
    spread = " ".join(f"{name}{size}" for name, size in sizes if size is not None)
    if about := ", ".join(part for part in (load.model, engine, spread) if part):
        yield "start", about
    yield "phase", (load.phase or UNKNOWN) + (f": {_count(load.count)}" if load.count else "")
    if load.speculation is not None or load.method:
        drafting = f"{load.method or 'on'}{f', k={load.k}' if load.k else ''}"
        yield "speculation", drafting if load.speculation is not False else "off"
    if load.durations_s:
        yield "took", ", ".join(f"{name} {seconds:.1f} s" for name, seconds in load.durations_s.items())
    if load.kv_tokens is not None:
        full = f", {load.concurrency}x" if load.concurrency is not None else ""
        yield "KV cache", f"{number(load.kv_tokens)} tokens{full}"
    if load.starts > 1:
        yield "starts", f"{load.starts} in this log; the last one is told"


def _count(count: Count) -> str:
    total = UNKNOWN if count.total is None else number(count.total)
    left = f", {duration(count.eta_s[0])} to {duration(count.eta_s[1])} left" if count.eta_s else ""
    return f"{count.done} of {total} {count.unit}{left}"


def _serving(serving: ServingSeen) -> Iterator[tuple[str, str]]:
    if serving.steady_tok_s is not None:
        gone = f", {serving.discard} intervals with compilations left out" if serving.discard else ""
        yield "generates", f"{number(serving.steady_tok_s, 1)} tokens/s{gone}"
    specs = [period for period in serving.periods if period.spec is not None]
    for period in specs[-3:]:
        spec = period.spec
        assert spec is not None
        length = UNKNOWN if spec.length is None else f"{spec.length:.2f}"
        yield (
            "drafts",
            f"accepted {percent(spec.rate, 1)}, AL {length}, {percent(period.accepted_share, 1)} of all tokens",
        )


def _arms(found: Sweep) -> Iterator[str]:
    base = found.baseline
    if base is not None:
        yield f"{base.name or 'baseline'}: {milliseconds(base.seconds)} a token"
    for row in found.rows:
        needed = f", needs AL {row.measured.step_cost:.2f}" if row.measured else ""
        length = f", AL {row.arm.acceptance_length:.2f}" if row.arm.acceptance_length is not None else ""
        speed = UNKNOWN if row.speedup is None else f"{row.speedup:.3f}x"
        yield f"{row.arm.name or f'k={row.arm.k}'}{f' k={row.arm.k}' if row.arm.k else ''}: {speed}{length}{needed}"


def _figures(report: Report) -> Iterator[str]:
    for stream in report.streams:
        one = stream.result
        yield f"  {'stream':<{_WIDTH}}TTFT {milliseconds(one.ttft_s)}, TPOT {milliseconds(stream.tpot_s)}, {one.tokens if one.tokens is not None else UNKNOWN} tokens"
    if (engine := report.engine) is not None and not engine.no_data:
        spec = engine.spec
        drafts = f", accepted {percent(spec.acceptance_rate, 1)} since its start" if spec else ""
        running = UNKNOWN if engine.running is None else number(engine.running)
        yield f"  {'engine':<{_WIDTH}}{engine.model or UNKNOWN}, {running} running, KV {percent(engine.kv_use, 1)}{drafts}"
    if (window := report.window) is not None:
        yield f"  {'in between':<{_WIDTH}}{_window(window)}"
    for unit in report.units:
        how = unit.sub or unit.result
        yield f"  {'unit':<{_WIDTH}}{unit.name or UNKNOWN}: {unit.load}, {unit.active}" + (f" ({how})" if how else "")


def _window(window: WindowSeen) -> str:
    if window.reset:
        return restart(window)
    gained, found = window.counters.generation_tokens, window.acceptance
    made = UNKNOWN if gained is None else number(gained)
    drafts = f", accepted {percent(found.rate, 1)}" if found.rate is not None else ""
    return f"{made} tokens generated{drafts}"


def _gpus(gpus: GpusSeen) -> Iterator[str]:
    if gpus.status not in ("", "ok"):
        yield gpus.status.replace("_", " ")
    for gpu in gpus.gpus[:16]:
        watts = UNKNOWN if gpu.power_w is None else f"{gpu.power_w:.0f} W"
        yield f"{gpu.index} {gpu.name}: {percent(gpu.util)}, {bytes_binary(gpu.memory_used)} of {bytes_binary(gpu.memory_total)}, {watts}"
    for one in gpus.holders[:8]:
        gone = " (not visible on this host)" if one.visible is False else ""
        yield f"pid {one.pid} {one.name or 'without a name'} holds {bytes_binary(one.memory)}{gone}"


def _host(host: HostSeen) -> Iterator[tuple[str, str]]:
    if host.read_bytes_s is not None:
        yield "reads", f"{bytes_binary(host.read_bytes_s)} a second"
    if host.faults_s is not None:
        yield "major faults", f"{number(host.faults_s)} a second"
    if host.shm_free is not None:
        yield (
            "/dev/shm",  # noqa: S108
            f"{bytes_binary(host.shm_free)} free of {bytes_binary(host.shm_total)}, {len(host.shm_segments)} segments",
        )
    if host.acs:
        yield "ACS", ", ".join(name for name, on in host.acs.items() if on) or "off"

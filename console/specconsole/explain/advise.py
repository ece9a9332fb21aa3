"""What to do about a report, and what is missing from it, in sentences; pure."""

from __future__ import annotations

from collections.abc import Iterator

from specconsole.bench import sweep
from specconsole.engine.sound import SEVERAL
from specconsole.explain.readings import Readings
from specconsole.explain.report import BenchSeen, Report
from specconsole.gpu import kernel
from specconsole.gpu.fault import certain
from specconsole.load.verdict import Judgement
from specconsole.text import one_line

_GPU_ADVICE = {
    "gpu_lost": "Look for Xid 79 in dmesg; drain the node, then reboot it or reseat the card. The other GPUs can be asked one by one (nvidia-smi -i).",
    "driver_library_mismatch": "What runs goes on; nothing new can start. Reboot, or reload the nvidia modules when nothing uses them, before any swap.",
    "driver_not_loaded": "Load the kernel module (modprobe nvidia), or reboot after a kernel update.",
    "gpu_driver_hung": "Ask with a deadline and one call at a time; turn persistence mode on (nvidia-smi -pm 1). A call that never returns needs a reboot.",
    "gpu_error": "Look at dmesg for an Xid of the GPU that says ERR!; a reset or a reboot brings it back, or the card is broken.",
    "no_devices": "The driver is loaded and sees no GPU: look at lspci and dmesg, and at what the container was given.",
    "tool_missing": "nvidia-smi is not in the PATH here: ask on the host itself, or install the driver.",
    "nvml_error": "Look at dmesg for what the nvidia module says; in a container, start it anew: a daemon-reload takes its GPUs away.",
}


def advice(report: Report) -> Iterator[str]:
    """What to do, a sentence each."""
    if report.mixed:
        yield "Collect one log for each server (journalctl -u of one unit, docker logs of one container), and explain each by itself."
    if report.diagnosis:
        yield from report.diagnosis.advice
    if report.verdict and report.verdict.advice and report.verdict.judgement is not Judgement.FAILED:
        yield report.verdict.advice
    if report.gpus and report.gpus.status in _GPU_ADVICE:
        yield _GPU_ADVICE[report.gpus.status]
    for fault in certain(report.gpus.gpus)[:4] if report.gpus else ():
        yield f"{fault}: look at dmesg for its Xid before the next start."
    if report.host and report.host.stuck:
        yield "Start nothing on these GPUs: no signal ends this process. Reboot the node."
    for orphan in report.host.orphans[:4] if report.host else ():
        yield f"{orphan.command} (pid {orphan.pid}) has lost its server: end it, and see its GPU memory freed, before the next start."
    if report.journal and report.journal.gaps:
        yield "Set LogRateLimitIntervalSec=0 in the unit: journald dropped lines, and counts may jump."
    if report.journal and report.journal.localized:
        yield "Collect with LC_ALL=C.UTF-8 and journalctl -o json: these stamps are in the words of another language."
    if report.comparison and (report.comparison.word is not sweep.Word.UNKNOWN or report.comparison.warnings):
        yield report.comparison.sentence
    for warning in report.comparison.warnings if report.comparison else ():
        yield f"The comparison is doubtful: {warning}."
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
        yield from _of_bench(bench)
    if report.engine and report.engine.ttft and not report.engine.ttft.plausible:
        yield "Take TTFT from the client: the server's lies wholly in its lowest bucket, which cannot be true."
    if report.engine and report.engine.no_data.startswith(SEVERAL):
        yield "Take /metrics of each server into a file of its own, and explain each server's by themselves."
    elif report.engine and report.engine.no_data:
        yield f"Take the figures from the log's statistics: {report.engine.no_data}."


def _of_bench(bench: BenchSeen) -> Iterator[str]:
    """What to do where a report cannot be believed."""
    codes = {doubt.code for doubt in bench.doubts}
    if codes & {"failures", "none_completed"}:
        yield "Look into the server's log for why requests failed, and measure again under a load that it takes."
    if codes & {"unread"}:
        yield "Take the file as its tool wrote it (vllm bench serve --save-result); what is not known here compares with nothing."
    if bad := dict.fromkeys(name for doubt in bench.doubts if doubt.code != "none_completed" for name in doubt.invalid):
        names = ", ".join(bad).replace("_", " ")
        yield f"Do not use its {names}: measure again, with specconsole bench, or with vllm bench serve --save-result --save-detailed."


def unknown(report: Report, readings: Readings) -> Iterator[str]:
    """What no file told."""
    if report.mixed:
        yield f"which line is whose: {report.mixed}"
    if report.verdict:
        yield from report.verdict.missing
    if report.journal and report.journal.limited:
        yield f"the journal: {report.journal.limited}"
    yield from readings.doubtful
    if report.servers:
        yield f"figures of {', '.join(name for name in report.servers if report.engine is None or name != report.engine.model)}: explain these files by themselves"
    for stream in report.streams:
        if not stream.ended:
            yield "the rest of a stream: it has no end"
        if stream.result.error:
            yield f"the rest of a stream: {one_line(stream.result.error, 120)}"
    if report.load is not None and report.load.phase is None:
        yield "the phase: no line tells it"
    if readings.printed and report.gpus and not report.gpus.gpus and readings.asked_gpus:
        yield "the GPUs: nvidia-smi gave no row"
    for file in report.files:
        if file.kind == "unknown":
            yield f"{file.name}: not recognised"

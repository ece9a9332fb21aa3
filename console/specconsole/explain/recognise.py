"""What a file is, by the form of its lines; names and suffixes are not looked at. What fits no form is not guessed."""

from __future__ import annotations

import re
from collections.abc import Callable

from specconsole.bench import foreign
from specconsole.explain.host import STAMP
from specconsole.explain.kind import Kind
from specconsole.text import strip_escapes

HEAD = 65536
"""Bytes of the beginning that are looked at; of a longer file its end is looked at too."""
_CELL = r"(?:\[[\w /]+\]|[^,\n]*)"


def _form(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.MULTILINE)
    return lambda text: compiled.search(text) is not None


def _all(*patterns: str) -> Callable[[str], bool]:
    forms = [_form(pattern) for pattern in patterns]
    return lambda text: all(form(text) for form in forms)


def _then(first: str, second: str) -> Callable[[str], bool]:
    """One form stands before another; as one expression it takes a minute for 64 KiB that hold the first again and again."""
    one, other = re.compile(first, re.MULTILINE), re.compile(second, re.MULTILINE)

    def fits(text: str) -> bool:
        found = one.search(text)
        return found is not None and other.search(text, found.end()) is not None

    return fits


def _alone(pattern: str) -> Callable[[str], bool]:
    """Every line that is not empty has this form."""
    compiled = re.compile(pattern)

    def fits(text: str) -> bool:
        lines = [line for line in text.splitlines() if line.strip()]
        return bool(lines) and all(compiled.fullmatch(line.rstrip()) for line in lines)

    return fits


FORMS: tuple[tuple[Kind, Callable[[str], bool]], ...] = (
    (Kind.EMPTY, lambda text: not text.strip()),
    (Kind.HTTP, _form(r"\AHTTP/\d(?:\.\d)? \d{3}\b")),
    (Kind.RECORDS, _form(r'\A\{"seq": ?\d+, ?"at": ?[\d.]+, ?"unit": ?"')),
    (Kind.FRAMES, _all(r'\A\{', r'"gpus": ?\[', r'"mono": ?[\d.]+', r'"v": ?1\b')),
    (Kind.BUNDLE, _form(r'\A\{\s*"bundle": ?\d')),
    (Kind.STREAM, _form(r'\A\s*\{"(?:t|at)": ?[\d.]+, ?"(?:raw|data)": ?"')),
    (Kind.CALLS, _all(r'\A\s*\{"argv": ?\[', r'"(?:stdout|rc|ms)": ?')),
    (Kind.RUN, _all(*foreign.RUN)),
    (Kind.AIPERF, _all(*foreign.AIPERF_LINES)),
    (Kind.AIPERF, _all(*foreign.AIPERF_JSON)),
    (Kind.GUIDELLM, _all(*foreign.GUIDELLM)),
    (Kind.LOG, _all(r'\A\s*\{', r'"(?:levelname|level|severity|timestamp|time)": ?"', r'"(?:message|msg|event|line)": ?"')),
    (Kind.BENCH_JSON, _all(*foreign.VLLM_JSON)),
    (Kind.METRICS, _form(r"^# (?:HELP|TYPE) [a-zA-Z_:][\w:]* |^vllm:\w+(?:\{[^}\n]*\})? [-+.\deENaInf]+\s*$")),
    (Kind.STATUS, _form(r"^[ \t]*Loaded: (?:loaded|masked|not-found|error|bad-setting)\b|^Unit \S+ could not be found\.|^Failed to \w+ \S+: Unit \S+ (?:not found|is masked)")),
    (Kind.STACK, _form(r"^(?:Thread|Current thread) (?:0x[0-9a-f]+|\d+)\b[^\n]*\n +(?:[\w.<>]+ \([^()\n]+:\d+\)|File \"[^\"\n]+\", line \d+ in )")),
    (Kind.LOG, _form(r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d")),
    (Kind.BENCH_TEXT, _all(*foreign.VLLM_TEXT)),
    (Kind.SMI_LIST, _form(r"^GPU \d{1,3}: [^\n]{1,120} \(UUID: GPU-[0-9a-fA-F-]{8,40}\)[ \t]*$")),
    (Kind.SMI_MESSAGE, _form(r"Unable to de\w+ the device handle for GPU|NVIDIA-SMI has failed because|Failed to initialize NVML|^No devices were found|nvidia-smi: (?:command )?not found")),
    (Kind.SMI_TABLE, _form(r"^\| NVIDIA-SMI [\d.]+ +.*Driver Version")),
    (Kind.SMI_DMON, _all(r"^# ?(?:gpu|Date) ", r"^# ?(?:Idx|YYYYMMDD) ")),
    (Kind.SMI_TOPO, _all(r"^[ \t]+(?:\x1b\[4m)?GPU0\b", r"^GPU0\s+ X ")),
    (Kind.SMI_DETAIL, _form(r"^=+NVSMI LOG=+|^ {4,8}Fabric\s*$|^ {4,12}(?:Product Name|Persistence Mode|Bus Id|FB Memory Usage)\s*(?::|$)")),
    (Kind.SMI_APPS, _form(r"^(?:gpu_uuid, )?pid, (?:process_)?name, used_(?:gpu_)?memory")),
    (Kind.SMI_CSV, _form(r"^(?=[^\n]*(?:\bname\b|index|utilization|memory\.|power\.|compute_cap|pci\.|temperature))(?:[\w.]+(?: \[[\w%]+\])?, ?)+[\w.]+(?: \[[\w%]+\])?\s*$|^(?:\d+, ?)?(?:NVIDIA|Tesla|Quadro|GeForce) [^,\n]*(?:, ?[^,\n]+)+$")),
    (Kind.SMI_APPS, _alone(r"(?:GPU-[0-9a-f-]{8,}, )?\d+, [^,]+, (?:\d+(?: MiB)?|\[\w[\w /]*\])\s*")),
    (Kind.PS, _form(r"^[ \t]*(?:USER +)?PID\b.*\b(?:CMD|COMMAND|STAT|S|ARGS)\b|^\S+ +\d+ +\d+\.\d +\d+\.\d +\d+ +\d+ +\S+ +[RSDZTtWXIN][<NLsl+]* |^error: process \d+ does not exist")),
    (Kind.PROC_IO, _all(r"^rchar: \d+", r"^read_bytes: \d+")),
    (Kind.PROC_STAT, _form(r"^\d+ \([^\n]{1,64}\) [RSDZTtWXxKPI] -?\d+ -?\d+ -?\d+ ")),
    (Kind.PROC_STACK, _form(r"^\[<[0-9a-fx]+>\] \w[\w.]*\+0x[0-9a-f]+/0x[0-9a-f]+")),
    (Kind.MEMINFO, _form(r"^MemTotal: +\d+ kB")),
    (Kind.DRIVER, _form(r"^NVRM version: ")),
    (Kind.SHOW, _all(r"^(?:Id|LoadState|ActiveState|SubState|UnitFileState|MainPID)=", r"\A(?:[A-Za-z]+=|\s)")),
    (Kind.LSPCI, _form(r"^(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f] [A-Z]|^[ \t]+ACSC(?:tl|ap):")),
    (Kind.DISK, _form(r"^Filesystem +(?:\S+ +){3,}Mounted on|/dev/shm/\S+\s*$")),
    (Kind.TOOLKIT, _form(r"Cuda compilation tools, release \d+\.\d+")),
    (Kind.MOMENT, _alone(r"(?:\d{4}-)?\d\d-\d\d[ T]\d\d:\d\d:\d\d\S*|" + STAMP)),
    (Kind.USAGE, _alone(r"#.*|[\d.]+[KMGTPB]?(?:\t\S| +[./~]).*|" + STAMP)),
    (Kind.SWEEP, _form(r"(?i)\A(?:(?:[^|,;\t\n]*\n){0,4}\s*\|? ?|(?:[^|\n]*\n){0,4}\s*\| ?)(?=[^\n]*(?:tok|tps|tpot|throughput|speed))(?=[^\n]*[,;|\t])(?=[^\n]*\b(?:k|num_speculative_tokens|num_spec_tokens|spec_tokens|draft_tokens|depth|concurrency|batch\w*|streams|config\w*|method|variant)\b)[^\n:]*\n")),
    (Kind.LOG, _form(
        r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d|\d{1,3}%(?: Completed)? ?\||NCCL (?:INFO|WARN)|Traceback \(most recent call last\)"
        r"|(?:^|[ \x22])(?:[a-z_][\w]*\.)*[A-Z]\w*(?:Error|Exception|Interrupt): |(?:INFO|WARNING|ERROR): {4,}\S|__REALTIME_TIMESTAMP|ray workers to be active"
        r"|systemd(?:-journald?)?\[\d+\]: |(?:SpecDecoding|Speculative) metrics: |NVRM: |\[[DIWEF]\d{4} \d\d:\d\d:\d\d\.\d|error: (?:unrecognized arguments|argument |invalid |the following arguments)|Killed process \d+|\[Errno -?\d+\] |: command not found$|\(core dumped\)|Reason: +OOMKilled|Error response from daemon|nvidia-container-cli: |: version [`']GLIBC|not seeing messages from other users|^-- (?:No entries|Logs begin|Journal begins)|Journal file .{1,200} is truncated|^\[ *\d+\.\d{6}\] "
    )),
    (Kind.NOTES, _then(
        r"(?:speedup|speed-up|baseline|vanilla|no[ _-]spec|speculative|draft|n-?gram|eagle|\bmtp\b|k=\d|spec\b|acceptance len)",
        r"(?:tok(?:en)?s?/s|\btps\b|ms ?(?:/|per) ?(?:output )?tok|decode time|acceptance|accpt len|\b\d+(?:\.\d+)? s$)",
    )),
)  # fmt: skip
"""Tried in this order; the first that fits decides."""


def recognise(head: bytes) -> Kind:
    """Tell what a file is from its beginning (and perhaps its end)."""
    text = strip_escapes(head.decode(errors="replace")).replace("\r\n", "\n")
    return next((kind for kind, fits in FORMS if fits(text)), Kind.UNKNOWN)

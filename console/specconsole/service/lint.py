"""What of a unit's settings ends badly, why, and the drop-in that mends it; pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from specconsole.remote import systemctl
from specconsole.remote.systemctl import Block
from specconsole.service import method, timespan
from specconsole.service.finding import Finding, Severity
from specconsole.service.method import Facts
from specconsole.service.release import has, told
from specconsole.service.unit import Role, Unit
from specconsole.text import bytes_binary, duration, whole_number

SETTINGS = (
    *("Type", "NotifyAccess", "TimeoutStartUSec", "TimeoutStopUSec", "KillMode", "Restart", "RestartUSec"),
    *("StartLimitIntervalUSec", "StartLimitBurst", "LimitMEMLOCK", "WatchdogUSec", "ExecStartPre", "ExecStartPost"),
    *("Conflicts", "After"),
)
"""What `lint` reads, beside `systemctl.STATE` and `systemctl.FILES`."""
READY_S = 600.0
"""VLLM_ENGINE_READY_TIMEOUT_S where it is not given (0.14.0 and later)."""
READY = "VLLM_ENGINE_READY_TIMEOUT_S"
READY_USUAL = 7200
STOP_LEAST_S = 20.0
"""Workers get 4 s, SIGTERM, 4 s, SIGKILL; then the engine ends, and the server."""
STOP_USUAL = 120
RESTART_LEAST_S = 5.0
"""GPU memory of 90 GB is given back some seconds after the processes have ended."""
LIMIT_S = 6 * 3600
SOURCE = "systemd.service(5)"


@dataclass(frozen=True)
class Rival:
    """Another unit for the same model or port."""

    unit: Unit
    mine: bool
    """This unit's Conflicts= names it."""
    theirs: bool
    """Its Conflicts= names this unit."""
    ordered: bool
    """One of the two comes After= the other."""


@dataclass(frozen=True)
class Subject:
    """A unit and all that lint looks at."""

    unit: Unit
    settings: Block
    """As `systemctl show` prints them; what is not printed is not known, and not judged."""
    facts: Facts | None = None
    rivals: tuple[Rival, ...] = ()
    lingers: bool | None = None
    """The owner of a user's manager lingers; None: the system's manager, or not known."""
    longest_load_s: float | None = None
    """The longest load that is remembered."""


@dataclass(frozen=True)
class Linted:
    """A unit and what there is to say of it, the gravest first."""

    unit: Unit
    findings: tuple[Finding, ...]


def lint(subject: Subject) -> tuple[Finding, ...]:
    """Judge a unit's settings, its command and its speculation."""
    order = {"refuse": 0, "warn": 1, "note": 2}
    found = [finding for rule in RULES for finding in rule(subject)]
    more = method.check(subject.facts) if subject.facts else ()
    return tuple(sorted([*found, *more], key=lambda finding: order[finding.severity]))


def _value(subject: Subject, key: str) -> str:
    return systemctl.last(subject.settings, key)


def _span(subject: Subject, key: str) -> float | None:
    return timespan.seconds(_value(subject, key))


def _wrapped(subject: Subject) -> bool:
    """A script stands before vLLM, which may do what vLLM does not: notify, ping a watchdog."""
    return subject.unit.serving.launcher == "shell" or subject.facts is None


def _kind(subject: Subject) -> Iterator[Finding]:
    kind = _value(subject, "Type")
    if kind not in ("notify", "notify-reload"):
        return
    limit = _span(subject, "TimeoutStartUSec")
    ends = "systemd waits for ever" if limit == math.inf else f"systemd ends the load after {duration(limit)}"
    severe: Severity = "warn" if _wrapped(subject) or limit == math.inf else "refuse"
    source = "no vLLM calls sd_notify; " + SOURCE
    sentence = f"vLLM never says that it is up, so {ends}."
    yield Finding("type-notify", severe, sentence, f"Type={kind}", source, "[Service]\nType=exec\n")


def _watchdog(subject: Subject) -> Iterator[Finding]:
    span = _span(subject, "WatchdogUSec")
    if span is None or span in (0.0, math.inf):
        return
    sentence = f"vLLM never pings a watchdog, so systemd kills it {duration(span)} after its start."
    severe: Severity = "warn" if _wrapped(subject) else "refuse"
    evidence = f"WatchdogSec={_value(subject, 'WatchdogUSec')}"
    yield Finding(
        "watchdog", severe, sentence, evidence, "no vLLM calls sd_notify; " + SOURCE, "[Service]\nWatchdogSec=0\n"
    )


def _start_timeout(subject: Subject) -> Iterator[Finding]:
    """The limit counts while a command before or after the main one runs: a loop that waits for /health is one."""
    limit = _span(subject, "TimeoutStartUSec")
    helpers = [key for key in ("ExecStartPre", "ExecStartPost") if subject.settings.get(key)]
    kind = _value(subject, "Type")
    waits = [*helpers, *([f"Type={kind}"] if kind in ("forking", "oneshot", "dbus") else [])]
    if limit is None or limit == math.inf or not waits:
        return
    longest = subject.longest_load_s
    sure = "ExecStartPost" in helpers and longest is not None and longest > limit
    evidence = f"TimeoutStartSec={_value(subject, 'TimeoutStartUSec')}, {', '.join(waits)}"
    evidence += f"; a load took {duration(longest)}" if sure else ""
    sentence = f"A start is ended after {duration(limit)} where what runs beside it waits for the load."
    remedy = "[Service]\nTimeoutStartSec=infinity\n"
    yield Finding("timeout-start", "refuse" if sure else "warn", sentence, evidence, SOURCE, remedy)


def _kill_mode(subject: Subject) -> Iterator[Finding]:
    mode = _value(subject, "KillMode")
    if mode in ("process", "none"):
        sentence = "A stop leaves engine and workers behind, with the GPUs' memory."
        yield Finding(
            "kill-mode", "warn", sentence, f"KillMode={mode}", "systemd.kill(5)", "[Service]\nKillMode=mixed\n"
        )


def _stop_timeout(subject: Subject) -> Iterator[Finding]:
    limit = _span(subject, "TimeoutStopUSec")
    if limit is None:
        return
    shown = f"TimeoutStopSec={_value(subject, 'TimeoutStopUSec')}"
    drain = subject.facts.given.number("shutdown-timeout") if subject.facts else None
    if limit == math.inf:
        sentence = "A stop that hangs is never ended, so no swap can go on."
        yield Finding("timeout-stop", "warn", sentence, shown, SOURCE, f"[Service]\nTimeoutStopSec={STOP_USUAL}\n")
    elif drain and limit <= drain + STOP_LEAST_S:
        sentence = f"vLLM drains requests for up to {drain} s, and systemd kills it after {duration(limit)}."
        source = "vLLM 0.18.0 and later: --shutdown-timeout; " + SOURCE
        remedy = f"[Service]\nTimeoutStopSec={drain + 60}\n"
        yield Finding("timeout-stop", "warn", sentence, f"{shown}, --shutdown-timeout {drain}", source, remedy)
    elif limit < STOP_LEAST_S:
        sentence = f"vLLM needs about {STOP_LEAST_S:.0f} s to end; it is killed after {duration(limit)}, which leaves shared memory behind."
        yield Finding("timeout-stop", "warn", sentence, shown, SOURCE, f"[Service]\nTimeoutStopSec={STOP_USUAL}\n")


def _restart(subject: Subject) -> Iterator[Finding]:
    how = _value(subject, "Restart")
    if how in ("on-failure", "on-abnormal", "on-abort", "on-watchdog"):
        sentence = "When the engine dies while serving vLLM exits with 0, so this unit stays down."
        source = "vLLM after a dead engine ends with exit code 0: Result=success; " + SOURCE
        yield _unless_it_fails(
            subject, Finding("restart-blind", "warn", sentence, f"Restart={how}", source, "[Service]\nRestart=always\n")
        )
    elif how == "no":
        sentence = "A server that dies is not started again."
        remedy = "[Service]\nRestart=always\nRestartSec=30\n"
        yield _unless_it_fails(subject, Finding("restart-none", "note", sentence, "Restart=no", SOURCE, remedy))


def _unless_it_fails(subject: Subject, finding: Finding) -> Finding:
    """Without the remedy where starts fail: a unit begun again without end takes the GPUs each time, and helps nobody."""
    state = subject.unit.state
    often = (state.restarts or 0) >= 2 and (state.since_s is None or state.since_s < LIMIT_S)
    if not often and state.active != "failed" and state.sub != "auto-restart":
        return finding
    seen = [f"Result={state.result}"] if state.result not in ("", "success") else []
    seen += [f"{state.restarts} restarts"] if state.restarts else []
    return replace(
        finding,
        sentence=f"{finding.sentence} It fails now: mend that first, or it is begun again without end.",
        evidence="; ".join((finding.evidence, *seen)),
        remedy="",
    )


def _restart_loop(subject: Subject) -> Iterator[Finding]:
    how, interval = _value(subject, "Restart"), _span(subject, "StartLimitIntervalUSec")
    burst = systemctl.number(subject.settings, "StartLimitBurst")
    if how in ("", "no"):
        return
    soon = _span(subject, "RestartUSec")
    if soon is not None and soon < RESTART_LEAST_S:
        sentence = "It is started again before the GPUs' memory of the dead one is free, and fails on that."
        evidence = f"RestartSec={_value(subject, 'RestartUSec')}"
        source = "every vLLM: `Free memory on device … on startup is less than desired GPU memory utilization`"
        yield Finding("restart-soon", "warn", sentence, evidence, source, "[Service]\nRestartSec=30\n")
    if interval is None or burst is None:
        return
    longest = subject.longest_load_s
    if burst == 0 or interval < (burst * longest if longest else READY_S):
        sentence = "A start that fails each time is repeated without end: no load fails fast enough to reach the limit."
        evidence = f"Restart={how}, {burst} starts within {duration(interval)}"
        enough = max(LIMIT_S, int(4 * (longest or 0)))
        remedy = f"[Unit]\nStartLimitIntervalSec={enough}\nStartLimitBurst=3\n"
        yield Finding("restart-loop", "warn", sentence, evidence, "systemd.unit(5), StartLimitIntervalSec=", remedy)


def _conflicts(subject: Subject) -> Iterator[Finding]:
    """Units that cannot run side by side; one that has GPUs of its own by CUDA_VISIBLE_DEVICES may."""
    own_gpus = subject.facts is not None and bool(subject.facts.environment.get("CUDA_VISIBLE_DEVICES"))
    for rival in subject.rivals if not own_gpus else ():
        yield from _conflict(subject.unit, rival)


def _conflict(unit: Unit, rival: Rival) -> Iterator[Finding]:
    other = rival.unit
    if other.manager != unit.manager:
        if unit.key < other.key:
            sentence = f"{other.key} is for the same GPUs in another manager, so nothing keeps the two apart."
            yield Finding(
                "conflicts-apart", "warn", sentence, f"{unit.manager}, {other.manager}", "systemd.unit(5), Conflicts="
            )
        return
    shown = f"{unit.name} and {other.name}"
    remedy = f"[Unit]\nConflicts={other.name}\nAfter={other.name}\n"
    if rival.mine and rival.theirs:
        sentence = f"{other.name} and this unit conflict both ways, so `systemctl restart` of both stops both: name it in one file only."
        yield Finding(
            "conflicts-both", "warn", sentence, f"Conflicts= in both of {shown}", "systemd.unit(5), Conflicts="
        )
    elif not (rival.mine or rival.theirs):
        if _writes(unit, other):
            sentence = f"Nothing keeps this unit and {other.name} apart: both can be started, and fight for the GPUs."
            yield Finding(
                "conflicts-none", "warn", sentence, f"no Conflicts= in {shown}", "systemd.unit(5), Conflicts=", remedy
            )
    elif not rival.ordered and rival.mine:
        sentence = f"A start does not wait until {other.name} has stopped, so the GPUs' memory is still held."
        source = "systemd.unit(5): Conflicts= orders nothing"
        yield Finding(
            "conflicts-order",
            "warn",
            sentence,
            f"Conflicts={other.name} without After=",
            source,
            f"[Unit]\nAfter={other.name}\n",
        )
    if all(one.state.enabled == "enabled" for one in (unit, other)) and _writes(unit, other):
        sentence = f"A reboot starts this unit and {other.name}, and one of them loses: `systemctl disable` one."
        yield Finding("enabled-both", "warn", sentence, f"{shown} are enabled", "systemd.unit(5), [Install]")


def _writes(unit: Unit, other: Unit) -> bool:
    """Of two units the one whose file should name the other: the variant, else the later by name."""
    ranks = {Role.BASELINE: 0, Role.UNKNOWN: 1, Role.VARIANT: 2}
    return (ranks[unit.role], unit.name) > (ranks[other.role], other.name)


def _memlock(subject: Subject) -> Iterator[Finding]:
    text = _value(subject, "LimitMEMLOCK")
    if text in ("", "infinity", "18446744073709551615") or subject.unit.serving.image is not None:
        return
    several = subject.unit.serving.tensor_parallel * subject.unit.serving.pipeline_parallel > 1
    amount = text if (count := whole_number(text)) is None else bytes_binary(count)
    sentence = f"Only {amount} of memory may be locked: buffers that GPUs or the network reach directly need more."
    remedy = "[Service]\nLimitMEMLOCK=infinity\n"
    source = "systemd.exec(5); NCCL and RDMA pin host memory"
    yield Finding("memlock", "warn" if several else "note", sentence, f"LimitMEMLOCK={text}", source, remedy)


def _linger(subject: Subject) -> Iterator[Finding]:
    if subject.lingers is False:
        user = subject.unit.manager.removeprefix("user:")
        sentence = f"This unit ends when {user} logs out, and does not start at boot: `loginctl enable-linger {user}` mends it."
        yield Finding("linger", "warn", sentence, f"no /var/lib/systemd/linger/{user}", "loginctl(1), enable-linger")


def _ready_timeout(subject: Subject) -> Iterator[Finding]:
    """Several API servers start their clock at once, and end a long load."""
    known = subject.facts
    if known is None or has(known.version, "0.14.0") is False:
        return
    engines = known.given.number("data-parallel-size") or 1
    asked = known.given.number("api-server-count")
    follows = has(known.version, "0.16.0") is not False
    servers = asked if asked is not None else engines if follows else 1
    text = known.environment.get(READY, "")
    given = float(text) if len(text) < 19 and text.replace(".", "", 1).isdecimal() else READY_S
    longest = subject.longest_load_s
    if servers < 2 or (text and (longest is None or given > longest)):
        return
    sure = longest is not None and longest > given and told(known.version) is not None
    evidence = f"{servers} API servers ({'--api-server-count' if asked else '--data-parallel-size'}), {READY}={text or 'not set (600)'}"
    evidence += f"; a load took {duration(longest)}" if sure else ""
    source = "vLLM 0.14.0 and later: `Timed out waiting for engine core processes to start … Waited 600s`"
    sentence = f"With several API servers a load that takes longer than {duration(given)} is ended."
    enough = max(READY_USUAL, int((longest or 0) * 2))
    remedy = "" if known.launch.container else f"[Service]\nEnvironment={READY}={enough}\n"
    sentence += f" Give -e {READY}={enough} to the container." if known.launch.container else ""
    yield Finding("ready-timeout", "refuse" if sure else "warn", sentence, evidence, source, remedy)


def _reload(subject: Subject) -> Iterator[Finding]:
    if subject.unit.state.need_reload:
        sentence = "Its files have changed since systemd read them: the old ones count until `systemctl daemon-reload`."
        yield Finding("need-reload", "warn", sentence, "NeedDaemonReload=yes", "systemctl(1), daemon-reload")


RULES: tuple[Callable[[Subject], Iterator[Finding]], ...] = (
    _kind,
    _watchdog,
    _start_timeout,
    _kill_mode,
    _stop_timeout,
    _restart,
    _restart_loop,
    _conflicts,
    _memlock,
    _linger,
    _ready_timeout,
    _reload,
)


def counted(findings: Sequence[Finding]) -> str:
    """How many there are of each severity, in words: 1 fails, 3 warnings."""
    counts = Counter(finding.severity for finding in findings)
    words = (("refuse", "fails", "fail"), ("warn", "warning", "warnings"), ("note", "note", "notes"))
    said = [f"{n} {one if n == 1 else many}" for key, one, many in words if (n := counts[key])]  # type: ignore[index]
    return ", ".join(said) or "nothing to say"

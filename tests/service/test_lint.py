"""Settings that end badly: for each, a unit that has it and one that just has not, and the drop-in that mends it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from specconsole.host.base import Endpoint
from specconsole.service import method, timespan
from specconsole.service.finding import Finding
from specconsole.service.launch import Files
from specconsole.service.lint import Rival, Subject, counted, lint
from specconsole.service.unit import Serving, Speculation, Unit, UnitState

GOOD = {
    "Type": "exec",
    "NotifyAccess": "none",
    "TimeoutStartUSec": "infinity",
    "TimeoutStopUSec": "2min",
    "KillMode": "mixed",
    "Restart": "always",
    "RestartUSec": "30s",
    "StartLimitIntervalUSec": "6h",
    "StartLimitBurst": "3",
    "LimitMEMLOCK": "infinity",
    "WatchdogUSec": "0",
}
NGRAM = Speculation("ngram", 5, None, "{}")


def made(name: str = "vllm-ngram.service", *, spec: bool = True, enabled: str = "disabled", manager: str = "system", **state: Any) -> Unit:  # fmt: skip
    serving = Serving(
        ("vllm",), "serve", "/models/m", ("m",), Endpoint(), tensor_parallel=8, speculation=NGRAM if spec else None
    )
    known = UnitState("loaded", "inactive", "dead", "success", None, 0, None, None, None, None, "", enabled, **state)
    return Unit(name, manager, "", "", (), serving, known)


BASE = made("vllm.service", spec=False)


@dataclass(frozen=True)
class Case:
    """A unit: what differs from a good one."""

    settings: dict[str, str] = field(default_factory=dict)
    words: str = ""
    env: dict[str, str] = field(default_factory=dict)
    version: str | None = "0.18.0"
    rivals: tuple[Rival, ...] = ()
    unit: Unit = field(default_factory=made)
    lingers: bool | None = None
    longest: float | None = None
    wrapped: bool = False

    def found(self) -> tuple[Finding, ...]:
        argv = ["/opt/vllm/bin/vllm", "serve", "/models/m", *self.words.split()]
        facts = None if self.wrapped else method.facts(argv, self.env, Files(), version=self.version)
        block = {key: [value] for key, value in (GOOD | self.settings).items() if value}
        return lint(Subject(self.unit, block, facts, self.rivals, self.lingers, self.longest))


def rival(unit: Unit = BASE, mine: bool = False, theirs: bool = False, ordered: bool = False) -> tuple[Rival, ...]:
    return (Rival(unit, mine, theirs, ordered),)


C = Case
MIB8 = "8388608"
CASES: Sequence[tuple[str, str, Case, Case, str]] = [
    ("type-notify", "refuse", C({"Type": "notify", "TimeoutStartUSec": "1min 30s"}), C({"Type": "exec", "TimeoutStartUSec": "1min 30s"}), "Type=exec"),
    ("type-notify", "warn", C({"Type": "notify"}), C({"Type": "simple"}), "Type=exec"),
    ("type-notify", "warn", C({"Type": "notify", "TimeoutStartUSec": "90s"}, wrapped=True), C(wrapped=True), "Type=exec"),
    ("watchdog", "refuse", C({"WatchdogUSec": "30s"}), C({"WatchdogUSec": "infinity"}), "WatchdogSec=0"),
    ("timeout-start", "warn", C({"TimeoutStartUSec": "5min", "ExecStartPost": "{ path=/w ; }"}), C({"TimeoutStartUSec": "5min"}), "TimeoutStartSec=infinity"),
    ("timeout-start", "refuse", C({"TimeoutStartUSec": "5min", "ExecStartPost": "{ path=/w ; }"}, longest=5400), C({"ExecStartPost": "{ path=/w ; }"}, longest=5400), "TimeoutStartSec=infinity"),
    ("timeout-start", "warn", C({"TimeoutStartUSec": "5min", "Type": "forking"}), C({"TimeoutStartUSec": "5min", "Type": "simple"}), "TimeoutStartSec=infinity"),
    ("kill-mode", "warn", C({"KillMode": "process"}), C({"KillMode": "control-group"}), "KillMode=mixed"),
    ("timeout-stop", "warn", C({"TimeoutStopUSec": "infinity"}), C({"TimeoutStopUSec": "1min 30s"}), "TimeoutStopSec=120"),
    ("timeout-stop", "warn", C({"TimeoutStopUSec": "10s"}), C({"TimeoutStopUSec": "20s"}), "TimeoutStopSec=120"),
    ("timeout-stop", "warn", C({"TimeoutStopUSec": "1min"}, "--shutdown-timeout 60"), C({"TimeoutStopUSec": "2min"}, "--shutdown-timeout 60"), "TimeoutStopSec=120"),
    ("restart-blind", "warn", C({"Restart": "on-failure"}), C({"Restart": "always"}), "Restart=always"),
    ("restart-none", "note", C({"Restart": "no"}), C({"Restart": "always"}), "Restart=always"),
    ("restart-soon", "warn", C({"RestartUSec": "100ms"}), C({"Restart": "no", "RestartUSec": "100ms"}), "RestartSec=30"),
    ("restart-loop", "warn", C({"StartLimitIntervalUSec": "10s", "StartLimitBurst": "5"}), C({"StartLimitIntervalUSec": "10s", "StartLimitBurst": "5", "Restart": "no"}), "StartLimitIntervalSec=21600"),
    ("restart-loop", "warn", C(longest=9000), C(longest=7000), "StartLimitIntervalSec=36000"),
    ("conflicts-none", "warn", C(rivals=rival()), C(rivals=rival(mine=True, ordered=True)), "Conflicts=vllm.service\nAfter=vllm.service"),
    ("conflicts-none", "warn", C(rivals=rival()), C(rivals=rival(theirs=True)), "Conflicts=vllm.service"),
    ("conflicts-none", "warn", C(rivals=rival()), C(unit=BASE, rivals=rival(made())), "Conflicts=vllm.service"),
    ("conflicts-both", "warn", C(rivals=rival(mine=True, theirs=True)), C(rivals=rival(mine=True, ordered=True)), ""),
    ("conflicts-order", "warn", C(rivals=rival(mine=True)), C(rivals=rival(mine=True, ordered=True)), "After=vllm.service"),
    ("conflicts-apart", "warn", C(unit=made(manager="user:al"), rivals=rival()), C(unit=made(), rivals=rival(mine=True)), ""),
    ("enabled-both", "warn", C(unit=made(enabled="enabled"), rivals=rival(made("vllm.service", spec=False, enabled="enabled"), mine=True)), C(unit=made(enabled="enabled"), rivals=rival()), ""),
    ("memlock", "warn", C({"LimitMEMLOCK": MIB8}), C({"LimitMEMLOCK": "infinity"}), "LimitMEMLOCK=infinity"),
    ("memlock", "warn", C({"LimitMEMLOCK": MIB8}), C({"LimitMEMLOCK": MIB8}, unit=replace(made(), serving=replace(made().serving, image="vllm/vllm-openai"))), "LimitMEMLOCK=infinity"),
    ("linger", "warn", C(lingers=False, unit=made(manager="user:al")), C(lingers=True, unit=made(manager="user:al")), ""),
    ("ready-timeout", "warn", C(words="-dp 4"), C(words="-dp 4 --api-server-count 1"), "VLLM_ENGINE_READY_TIMEOUT_S=7200"),
    ("ready-timeout", "warn", C(words="-dp 4"), C(words="-dp 4", version="0.14.1"), "VLLM_ENGINE_READY_TIMEOUT_S=7200"),
    ("ready-timeout", "warn", C(words="-dp 4 -asc 4", version="0.14.0"), C(words="-dp 4 -asc 4", version="0.13.0"), "VLLM_ENGINE_READY_TIMEOUT_S=7200"),
    ("ready-timeout", "refuse", C(words="-dp 4", longest=5400), C(words="-dp 4", longest=5400, env={"VLLM_ENGINE_READY_TIMEOUT_S": "7200"}), "VLLM_ENGINE_READY_TIMEOUT_S=10800"),
    ("need-reload", "warn", C(unit=made(need_reload=True)), C(), ""),
    ("flag-gone", "refuse", C(words="--use-v2-block-manager", version="0.32.0"), C(words="--use-v2-block-manager", version="0.9.2"), ""),
]  # fmt: skip


@pytest.mark.parametrize(("ident", "severity", "has_it", "has_not", "remedy"), CASES)
def test_one_that_has_it_and_one_that_just_has_not(
    ident: str, severity: str, has_it: Case, has_not: Case, remedy: str
) -> None:
    (found,) = [finding for finding in has_it.found() if finding.id == ident]
    assert found.severity == severity
    assert remedy in found.remedy
    assert bool(remedy) == bool(found.remedy)
    assert found.sentence.endswith((".", "?"))
    assert found.evidence
    assert found.source
    assert ident not in {finding.id for finding in has_not.found()}


LOOPS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"active": "failed", "sub": "failed", "result": "exit-code"}, "Result=exit-code"),
    ({"active": "activating", "sub": "auto-restart", "result": "oom-kill", "restarts": 7}, "Result=oom-kill; 7 restarts"),
    ({"active": "active", "sub": "running", "restarts": 2, "since_s": 90.0}, "2 restarts"),
)  # fmt: skip


@pytest.mark.parametrize(("state", "seen"), LOOPS)
@pytest.mark.parametrize("how", ["no", "on-failure"])
def test_a_unit_that_fails_is_not_offered_to_be_begun_again_without_end(
    how: str, state: dict[str, Any], seen: str
) -> None:
    unit = made()
    (found,) = Case({"Restart": how}, unit=replace(unit, state=replace(unit.state, **state))).found()
    assert found.remedy == ""
    assert found.evidence == f"Restart={how}; {seen}"
    assert "mend that first" in found.sentence


@pytest.mark.parametrize("state", [{"restarts": 1, "since_s": 90.0}, {"restarts": 9, "since_s": 86400.0 * 20}])
def test_a_unit_that_was_begun_again_and_serves_is(state: dict[str, Any]) -> None:
    unit = made()
    serving = replace(unit, state=replace(unit.state, active="active", sub="running", **state))
    (found,) = Case({"Restart": "on-failure"}, unit=serving).found()
    assert found.remedy == "[Service]\nRestart=always\n"


def test_a_good_unit_has_nothing() -> None:
    assert Case().found() == ()
    assert counted(Case().found()) == "nothing to say"


def test_what_is_not_printed_is_not_judged() -> None:
    assert Case(dict.fromkeys(GOOD, "")).found() == ()


def test_the_gravest_come_first_and_are_counted() -> None:
    found = Case({"Restart": "no", "KillMode": "none", "WatchdogUSec": "10s"}).found()
    assert [finding.severity for finding in found] == ["refuse", "warn", "note"]
    assert counted(found) == "1 fails, 1 warning, 1 note"


def test_spans_as_systemctl_prints_them() -> None:
    assert timespan.seconds("1min 30s") == 90
    assert timespan.seconds("100ms") == 0.1
    assert timespan.seconds("1d 2h 3min 4.500s") == 93784.5
    assert timespan.seconds("infinity") == float("inf")
    assert timespan.seconds("0") == 0
    assert timespan.seconds("[not set]") is None
    assert timespan.seconds("") is None

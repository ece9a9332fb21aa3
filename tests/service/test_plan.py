"""What a plan is about, what it says, and what the host is told."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from specconsole.errors import NotRunning
from specconsole.host.base import Endpoint
from specconsole.host.carried import Carried
from specconsole.remote import systemctl
from specconsole.service import prepare
from specconsole.service.finding import Finding
from specconsole.service.plan import Choices, Holder, Plan, Sides, lines, reboot, sides, utilization
from specconsole.service.prepare import Look
from specconsole.service.unit import Unit
from tests.fakes import FakeHost
from tests.service.test_label import unit as bare


def unit(
    name: str, *, up: bool = False, method: str = "", port: int = 8000, group: str = "kimi", enabled: str = ""
) -> Unit:
    made = bare(name, method=method)
    state = replace(
        made.state, active="active" if up else "inactive", invocation="i" * 32 if up else "", enabled=enabled
    )
    serving = replace(made.serving, endpoint=Endpoint(port=port), served_names=("kimi-k2.5",))
    return replace(made, state=state, serving=serving, group=group)


BASE, NGRAM = unit("base", up=True), unit("ngram", method="ngram")
OTHER = unit("embed", up=True, port=9000, group="embedder")


def plan(
    action: str = "swap", target: Unit = NGRAM, units: tuple[Unit, ...] = (BASE, NGRAM, OTHER), **changes: object
) -> Plan:
    made = Plan("id", "gpu-1", action, target, sides(units, target, action), holders=())
    return replace(made, **changes)  # type: ignore[arg-type]


def keys(units: tuple[Unit, ...]) -> list[str]:
    return [one.key for one in units]


def test_a_swap_stops_what_serves_the_same_model_and_nothing_else() -> None:
    found = sides((BASE, NGRAM, OTHER), NGRAM, "swap")
    assert keys(found.stops) == ["base.service"]
    assert found.back_to == BASE
    assert not found.question


def test_another_model_at_the_same_port_is_a_rival_too() -> None:
    taken = unit("llama", up=True, group="llama")
    assert keys(sides((taken, NGRAM), NGRAM, "swap").stops) == ["llama.service"]


@pytest.mark.parametrize(
    ("one", "other", "rivals"),
    [
        (Endpoint(address="10.0.0.1"), Endpoint(), False),
        (Endpoint(address="10.0.0.1"), Endpoint(everywhere=True), True),
        (Endpoint(uds="/run/a"), Endpoint(), False),
        (Endpoint(uds="/run/a"), Endpoint(uds="/run/a"), True),
        (Endpoint(uds="/run/a"), Endpoint(uds="/run/b"), False),
    ],
)
def test_another_model_beside_it_is_left_where_both_can_listen(one: Endpoint, other: Endpoint, rivals: bool) -> None:
    sides_ = [
        replace(unit(name, up=name == "llama", group=name), serving=replace(BASE.serving, endpoint=where))
        for name, where in (("llama", one), ("qwen", other))
    ]
    assert bool(sides((sides_[0], sides_[1]), sides_[1], "swap").stops) is rivals


def test_none_or_two_to_return_to_is_asked_for() -> None:
    nothing = sides((replace(BASE, state=replace(BASE.state, active="inactive")), NGRAM), NGRAM, "swap")
    assert "no unit runs" in nothing.question
    two = sides((BASE, unit("eagle", up=True, method="eagle3"), NGRAM), NGRAM, "swap")
    assert two.back_to is None
    assert "2 units run" in two.question
    assert keys(two.stops) == ["base.service", "eagle.service"]
    said = sides((BASE, NGRAM), NGRAM, "swap", "base")
    assert said.back_to == BASE
    assert not sides((NGRAM,), NGRAM, "swap", "none").question
    with pytest.raises(NotRunning):
        sides((BASE, NGRAM), NGRAM, "swap", "nonsense")


def test_the_other_actions() -> None:
    assert keys(sides((BASE, NGRAM), BASE, "stop").stops) == ["base.service"]
    assert sides((BASE, NGRAM), NGRAM, "start").stops == ()
    restart = sides((BASE, NGRAM), BASE, "restart")
    assert (keys(restart.stops), restart.back_to) == (["base.service"], BASE)


def test_what_a_plan_says() -> None:
    made = plan(
        requests=3,
        loads_s=(5280.0, 5640.0),
        holders=(Holder((0, 1), 77, "VLLM::EngineCore", 90 << 30, None, orphan=True),),
        remarks=("Type=notify",),
    )
    said = dict(lines(made))
    assert "serving 3 requests" in said["stop"]
    assert "nothing is served for about 1 h 34 (1 h 28 to 1 h 34 by 2 earlier loads)" in said["watch"]
    assert "gives up after 4 h 42" in said["watch"]
    assert "return to base.service (no earlier load is known)" in said["on failure"]
    assert "its server is dead" in said["GPU"]
    assert "speculation on" in said["prove"]
    assert "/var/lib/specconsole/swaps.jsonl" in said["commit"]
    assert "not known" in dict(lines(plan()))["stop"]


def test_a_plan_says_for_how_long_nothing_is_served_and_never_like_a_clock() -> None:
    quick = dict(lines(plan(loads_s=(883.0, 885.0))))["watch"]
    assert "nothing is served for about 15 min (14 min 43 s to 14 min 45 s by 2 earlier loads)" in quick
    assert "for about 43 s (43 s by 1 earlier load)" in dict(lines(plan(loads_s=(43.0,))))["watch"]
    unknown = dict(lines(plan()))["watch"]
    assert "nothing is served until it answers; how long that takes is not known (no earlier load is known)" in unknown
    assert not re.search(r"\d:\d\d", quick + unknown)


def test_a_plan_to_stop_says_what_serves_then() -> None:
    alone = plan(target=BASE, action="stop", units=(BASE, NGRAM))
    assert dict(lines(alone))["then"] == "nothing serves in place of base.service until a unit is started"
    beside = plan(target=BASE, action="stop", units=(BASE, replace(NGRAM, state=BASE.state)))
    assert dict(lines(beside))["then"] == "ngram.service goes on"


def test_what_a_reboot_would_start() -> None:
    assert "none of these" in reboot(plan())
    enabled = (replace(BASE, state=replace(BASE.state, enabled="enabled")), NGRAM)
    assert "would start base.service (enabled)" in reboot(plan(units=enabled))
    both = (enabled[0], unit("eagle", enabled="enabled"), NGRAM)
    assert "fight for the GPUs" in reboot(plan(units=both))


def test_what_the_host_is_told_is_json_without_the_command_line() -> None:
    told = json.loads(json.dumps(plan().to_json()))
    assert told["target"]["speculates"] is True
    assert told["back_to"]["seen"] == {"up": True, "invocation": "i" * 32, "restarts": BASE.state.restarts}
    assert told["target"]["seen"] == {"up": False, "invocation": "", "restarts": NGRAM.state.restarts}
    assert "argv" not in json.dumps(told)
    assert plan(choices=Choices(rollback=False)).to_json()["back_to"] is None


def test_the_share_of_memory_that_a_command_asks_for() -> None:
    assert utilization(["vllm", "serve", "m"]) == 0.9
    assert utilization(["--gpu-memory-utilization", "0.95"]) == 0.95
    assert utilization(["--gpu_memory_utilization=0.5"]) == 0.5
    assert utilization(["--kv-cache-memory-bytes", "9"]) is None


def test_why_it_cannot_be_done_now() -> None:
    host = FakeHost()
    good = systemctl.blocks("LoadState=loaded\nType=exec\nKillMode=control-group")[0]

    def why(action: str = "swap", target: Unit = NGRAM, seen: Look | None = None, load: str = "loaded") -> str:
        block = {**good, "LoadState": [load]}
        return "; ".join(
            prepare.blockers(host, target, block, seen or Look(boot="b"), action, sides((BASE, NGRAM), target, action))
        )

    assert why() == ""
    assert "it runs none" in why(seen=Look())
    assert "masked" in why(load="masked")
    assert "runs already" in why(target=BASE, action="start")
    assert "does not run" in why(target=NGRAM, action="stop")
    assert "swap instead" in why(action="start")
    assert "runs on this host already (abc)" in why(seen=Look(running="abc"))
    assert "no room for the record" in why(seen=Look(record_free=100))
    host.read_only = True
    assert "reading only" in why()


def test_a_benchmark_of_a_unit_that_would_be_stopped_stands_in_the_way() -> None:
    chosen, host = sides((BASE, NGRAM), NGRAM, "swap"), FakeHost()
    run = Carried("b1", BASE.key, total=30, running=True)
    (said,) = prepare.measured(host, run, chosen)
    assert f"a benchmark runs of {BASE.key}, 30 requests (b1)" in said
    assert f"specconsole bench {host.name} --cancel" in said
    assert prepare.beside(run, chosen) == ()
    assert prepare.measured(host, replace(run, unit=""), chosen), "of which unit is not told: it may be this one"
    other = replace(run, unit="vllm-other.service")
    assert (prepare.measured(host, other, chosen), len(prepare.beside(other, chosen))) == ((), 1)
    assert prepare.measured(host, None, chosen) == prepare.beside(None, chosen) == ()
    start = sides((replace(BASE, state=NGRAM.state), NGRAM), NGRAM, "start")
    assert prepare.measured(host, run, start) == (), "a start stops nothing"


def test_settings_that_end_badly_are_said() -> None:
    findings = [
        Finding("type-notify", "refuse", "systemd ends the load.", "Type=notify", "s"),
        Finding("kill-mode", "warn", "A stop leaves workers behind.", "KillMode=process", "s"),
        Finding("restart-none", "note", "A matter of taste.", "Restart=no", "s"),
    ]
    assert prepare.remarks(findings, Look(shm_free=1 << 20), "swap") == (
        "it will FAIL: systemd ends the load. (Type=notify)",
        "A stop leaves workers behind. (KillMode=process)",
        "/dev/shm has only 1.0 MiB free",
    )
    assert prepare.remarks(findings, Look(), "stop") == ()


def test_holders_are_added_up_over_their_gpus() -> None:
    def row(index: int, *holders: tuple[int, int | None, str | None]) -> dict[str, object]:
        processes = [{"pid": pid, "name": "python", "memory": memory, "unit": name} for pid, memory, name in holders]
        return {"index": index, "processes": processes}

    seen = Look(
        gpus=[row(0, (7, 5, None), (8, 9, "base.service")), row(1, (7, 6, None), (9, None, "base.service"))],
        strays=[{"pid": 9, "start": 4, "unit": "base.service"}],
    )
    found = {one.pid: one for one in prepare.holders(seen, {"base.service"})}
    assert (found[7].gpus, found[7].memory, found[7].orphan) == ((0, 1), 11, False)
    assert 8 not in found, "it is of the unit that is stopped"
    assert (found[9].memory, found[9].orphan) == (None, True)
    assert 7 not in {one.pid for one in prepare.holders(replace(seen, own=[7]), set())}, "of the unit's container"


def test_sides_are_a_value() -> None:
    assert Sides((), None, ()) == Sides((), None, ())


def test_the_commands_of_a_profile_are_shown_where_they_are_run() -> None:
    choices = Choices(before=("/bin/lb", "drain"), after=("/bin/lb", "serve"))

    def shown(action: str, target: Unit) -> dict[str, str]:
        found = dict(lines(plan(action, target, choices=choices)))
        return {name: found[name].partition(" the host runs")[0] for name in ("before", "after") if name in found}

    assert shown("swap", NGRAM) == {"before": "before the drain", "after": "when it serves"}
    assert shown("start", NGRAM) == {"after": "when it serves"}
    assert shown("stop", BASE) == {"before": "before the drain", "after": "where it is given up and goes on serving"}

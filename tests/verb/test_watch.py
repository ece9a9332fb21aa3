"""What `watch` tells of a start: its phases, its counts, when it will be ready; each thing once."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from tests.load.eta import recorded
from tests.load.log import UNIT, expected_of, records

from specconsole.host.base import Host
from specconsole.host.simulated import make, recording
from specconsole.host.target import Demo
from specconsole.load import advance
from specconsole.load import feed as load
from specconsole.load.announce import Ended
from specconsole.load.phase import Phase
from specconsole.load.verdict import Judgement, Verdict
from specconsole.service.start import Standing
from specconsole.verb import session, watch
from specconsole.verb.watch import Story


class Clock:
    """The host's clock, where the start is."""

    at, speed = 0.0, 1.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        raise AssertionError(seconds)


class Machine:
    name, facts, read_only = "gpu", None, False


def told(name: str, *, as_json: bool = False, history: tuple[str, ...] = ()) -> Story:
    """Watch a recorded start to its first token."""
    clock = Clock()
    earlier = [recorded(each).remembered(place) for place, each in enumerate(history)]
    story = Story(cast(Host, Machine()), as_json, past=earlier, clock=clock)
    played = recording.load(name)
    timeline = load.begin(UNIT, "inv", 0.0, expected_of(name), at=0.0)
    for record in records((at, line) for at, line in played.lines if at <= played.moment("ready")):
        timeline, clock.at = load.feed(timeline, record), record.at
        story.tell(Standing(timeline))
    story.tell(Standing(timeline := load.answering(timeline, played.moment("ready"))))
    story.tell(Standing(load.ready(timeline, played.moment("ready") + 0.5)))
    return story


def test_every_phase_is_told_once_with_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    told("moe-eagle3")
    lines = capsys.readouterr().out.splitlines()
    phases = [line.split("phase ")[1].split(";")[0] for line in lines if "  phase " in line]
    assert phases == ["config", "init", "weights", "post-process", "drafter", "compile", "profile", "kv cache", "capture",
                      "warm-up after capture", "api"]  # fmt: skip
    assert any("1:11  phase init; config took 1:11" in line for line in lines)
    assert any("weights 16/16 shards" in line for line in lines)
    assert any("drafter 1/1 shards" in line for line in lines)
    assert any("phase capture" in line and "writes nothing to the journal until it is done" in line for line in lines)
    assert lines[-1].strip() == "3:01  ready: one token generated"
    assert all("no history yet" in line for line in lines if "phase" in line)


def test_a_step_back_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    story, begun = Story(cast(Host, Machine()), False, clock=Clock()), load.begin(UNIT, "one", 0.0, at=0.0)
    ahead = advance.seen(advance.seen(begun, Phase.PROFILE, 8.0), Phase.KV_CACHE, 10.0)
    for timeline in (replace(ahead, spans=ahead.spans[:-1]), ahead) * 2:
        story.tell(Standing(timeline))
    story.tell(Standing(replace(ahead, invocation="two")))
    said = [
        line.split()[-1] if "started" in line else line.split("phase ")[1].split(";")[0]
        for line in capsys.readouterr().out.splitlines()
    ]
    assert said == ["started", "profile", "kv cache", "started", "kv cache"]


def test_earlier_loads_say_when_it_will_be_ready(capsys: pytest.CaptureFixture[str]) -> None:
    told("moe-baseline", history=("moe-ngram", "moe-eagle3"))
    lines = capsys.readouterr().out.splitlines()
    halfway = next(line for line in lines if "weights 8/16 shards" in line)
    assert "; ready in " in halfway
    assert "(2 earlier loads)" in halfway


def test_of_a_start_that_began_long_ago_only_the_present_has_an_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    clock, played = Clock(), recording.load("moe-baseline")
    earlier = [recorded("moe-ngram").remembered(0)]
    for as_json in (False, True):
        clock.at = came = 4000.0
        story = Story(cast(Host, Machine()), as_json, past=earlier, clock=clock)
        timeline = load.begin(UNIT, "inv", 0.0, expected_of("moe-baseline"))
        for record in records((at, line) for at, line in played.lines if at <= 60.0):
            timeline = load.feed(timeline, record)
            story.tell(Standing(timeline))
        verdict = Verdict(Judgement.WORKING, "files are being read", signature="reading", at=came)
        story.tell(Standing(timeline, verdict))
        clock.at += 2.0
        assert not story.tell(Standing(timeline, replace(verdict, at=clock.at)))
        assert not story.tell(Standing(timeline, replace(verdict, at=clock.at)))
        lines = capsys.readouterr().out.splitlines()
        if as_json:
            events = [json.loads(line) for line in lines]
            assert [event["event"] for event in events][-2:] == ["verdict", "present"]
            past = [event["estimate"] for event in events if event["event"] in ("phase", "weights")]
            assert {(estimate["ready"], estimate["why"]) for estimate in past} == {(None, "told from its past")}
            assert events[-1]["estimate"]["ready"]
        else:
            assert lines[-1].startswith(" 1:06:42  now: phase ")
            assert ["ready" in line for line in lines] == [False] * (len(lines) - 1) + [True]


async def test_a_unit_that_has_failed_tells_that_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    host = make(Demo("held-gpu", speed=600.0))
    monkeypatch.setattr(session, "make_host", lambda *_: host)
    parser = argparse.ArgumentParser()
    watch.configure(parser)
    told_here = tmp_path / "told"
    await host.open()
    while not any(unit.active == "failed" for unit in host.machine.units.values()):
        await host.clock.sleep(1.0)
    argv = ["demo", "--json", "--on-fail", f"sh -c 'echo $SPECCONSOLE_DIAGNOSIS > {told_here}'"]
    assert await watch._run(parser.parse_args(argv)) == 1
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    last = events[-1]
    assert (last["event"], last["stage"], last["unit"]) == ("failed", "failed", "vllm-kimi-k25-int4.service")
    assert "exited with an error" in last["reason"]
    assert last["diagnosis"]["name"] == "gpu_memory_held"
    assert last["started"] + 60 < last["failed"]
    assert told_here.read_text().strip() == "gpu_memory_held"


def test_a_hang_is_told_once_a_start() -> None:
    alarms: list[Ended] = []
    story = Story(cast(Host, Machine()), False, clock=Clock(), alarm=alarms.append)
    begun = load.begin(UNIT, "one", 0.0, at=0.0)
    works = Verdict(Judgement.WORKING, "files are being read", signature="reading", at=50.0)
    hangs = Verdict(Judgement.STUCK, "a collective spins", ("8 GPUs 100 % busy at 140 W",), signature="ghost", at=300.0)
    for verdict in (works, hangs, replace(hangs, at=305.0), works, hangs):
        story.tell(Standing(begun, verdict))
    story.tell(Standing(replace(begun, invocation="two"), hangs))
    assert [(one.outcome, one.seconds) for one in alarms] == [("stuck", 300.0)] * 2
    assert alarms[0].headline == f"{UNIT} on gpu is stuck after 5:00: a collective spins"
    assert alarms[0].environment()["SPECCONSOLE_EVIDENCE"] == "8 GPUs 100 % busy at 140 W"


def test_json_holds_phases_counts_and_the_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    told("dense-ngram", as_json=True, history=("dense-baseline",))
    events: list[dict[str, Any]] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["event"] for event in events][:2] == ["started", "phase"]
    capture = next(event for event in events if event["phase"] == "capture")
    assert capture["estimate"]["ready"]["low_s"] < capture["estimate"]["ready"]["high_s"]
    assert capture["estimate"]["loads"] == 1
    assert capture["ahead"] == ["warmup_after", "api", "answering", "ready"]
    last = events[-1]
    assert last["weights"] == {
        "label": "Loading safetensors checkpoint shards",
        "done": 8,
        "total": 8,
        "unit": "shards",
    }
    assert [span["phase"] for span in last["phases"]][-2:] == ["answering", "ready"]
    assert last["facts"]["async_scheduling"] is False
    assert [notice["kind"] for notice in last["notices"]] == ["async_off", "runner_fallback", "ineffective"]


def test_nothing_is_told_twice(capsys: pytest.CaptureFixture[str]) -> None:
    story = told("dense-baseline")
    capsys.readouterr()
    assert story.last
    assert not story.tell(Standing(replace(story.last, heard_at=999.0)))
    assert capsys.readouterr().out == ""


def test_a_demo_that_passes_fast_tells_its_log_before_what_is_thought_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    clock.speed = 600.0
    story = Story(cast(Host, Machine()), False, clock=clock)
    begun = load.begin(UNIT, "one", 1000.0, at=1000.0)
    works = Verdict(Judgement.WORKING, "the GPUs compute", signature="computing", at=4588.0)
    story.tell(Standing(begun, works))
    clock.at += 100.0  # a sixth of a second of the viewer's
    story.tell(Standing(advance.seen(begun, Phase.INIT, 1040.0), works))
    later = advance.ended(advance.seen(begun, Phase.PROFILE, 4300.0), Phase.PROFILE, 4400.0)
    story.tell(Standing(replace(later, loaded_at=4350.0), replace(works, at=4650.0)))
    clock.at += 400.0
    story.tell(Standing(replace(later, loaded_at=4350.0), replace(works, at=4700.0)))
    said = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[-1].split(";")[0] for line in said[:-1]] == [
        f"{UNIT} started", "phase config", "phase init", "the model is loaded", "phase kv cache",
    ]  # fmt: skip
    assert said[-1].endswith("WORKING  the GPUs compute")
    assert [line.split()[0] for line in said] == ["0:00", "0:00", "0:40", "55:50", "56:40", "1:01:40"], "time goes on"
    story.tell(Standing(begun, replace(works, judgement=Judgement.WORKING_SLOW)))
    clock.at += 400.0
    story.tell(
        Standing(
            load.failed(begun, 4701.0, "it exited with an error"), replace(works, judgement=Judgement.WORKING_SLOW)
        )
    )
    assert "SLOW" not in capsys.readouterr().out, "what was thought of a start that has failed meanwhile is no news"

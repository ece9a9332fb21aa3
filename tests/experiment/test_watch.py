"""An experiment as it goes: the figures of its steps as they come, and when it will be over."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import pytest

from specconsole.bench.run import Identity
from specconsole.experiment import carry, watch
from specconsole.experiment.asked import to_json
from specconsole.experiment.carry import View
from specconsole.experiment.outlook import Outlook
from specconsole.experiment.watch import Standing, standing
from specconsole.logs.source import Source
from tests.bench.made import run, stream
from tests.fakes import FakeClock, FakeHost

SPEC = run([]).spec
ABOUT: Mapping[str, Any] = {
    "asked": to_json([SPEC]),
    "arms": {
        name: {
            "identity": asdict(Identity(unit=f"{name}.service")),
            "source": asdict(Source(f"{name}.service", "system")),
        }
        for name in ("baseline", "ngram")
    },
    "loads_s": {"baseline": [1500.0, 1700.0], "ngram": []},
    "bench_s": [100.0 / 1.4, 140.0],
}
PLAN: Mapping[str, Any] = {
    "name": "night",
    "end": "baseline",
    "soak_s": 60,
    "steps": [{"arm": arm, "runs": [{}]} for arm in ("baseline", "ngram", "baseline")],
    "about": ABOUT,
}


def cell(at: float, number: int, state: str, place: int = 0) -> dict[str, Any]:
    arm = PLAN["steps"][number]["arm"]
    return {"event": "cell", "at": at, "number": number, "arm": arm, "cell": place, "state": state, "invocation": "a"}


def step(at: float, number: int, state: str, **more: Any) -> dict[str, Any]:
    arm = PLAN["steps"][number]["arm"]
    return {"event": "step", "at": at, "number": number, "arm": arm, "state": state, **more}


FIRST = (
    {"event": "begin", "at": 1000.0, "resumed": False},
    step(1000.0, 0, "begin"),
    step(1001.0, 0, "swapped", text="baseline.service serves already", invocation="a"),
    step(1061.0, 0, "soaked", heat=[[0, 40.0, 280.0, 2400.0]]),
    cell(1061.0, 0, "begin"),
    cell(1181.0, 0, "done"),
    step(1181.0, 0, "done", heat=[[0, 55.0, 280.0, 2400.0]]),
)
SECOND = (*FIRST, step(1182.0, 1, "begin"))


def at(moment: float, *events: dict[str, Any], plan: Mapping[str, Any] = PLAN) -> Standing:
    return standing("e1", plan, View(events, {"at": moment, "text": "…"}), {})


def known(ngram: list[float], **more: Any) -> dict[str, Any]:
    return {**PLAN, **more, "about": {**ABOUT, "loads_s": {"baseline": [1500.0, 1700.0], "ngram": ngram}}}


def test_without_a_load_of_an_arm_nothing_is_foretold() -> None:
    found = at(1182.0, *SECOND).outlook
    assert found == Outlook(None, None, unknown=("ngram",))


def test_what_is_left_is_summed_from_what_is_known_and_what_was_measured() -> None:
    found = at(1282.0, *SECOND, plan=known([2400.0, 3000.0])).outlook
    assert found.phase == (2300.0, 2900.0), "100 s of the load are over"
    # ngram's rest and run (its pace is not known: the baseline's 120 s, or 1.4 times), then all of the last step
    low = 2300.0 + 60.0 + 120.0 / 1.4 + 1500.0 + 60.0 + 120.0
    high = 2900.0 + 60.0 + 120.0 * 1.4 + 1700.0 + 60.0 + 120.0
    assert found.rest == pytest.approx((low, high))
    winner = at(1282.0, *SECOND, plan=known([2400.0, 3000.0], end="winner")).outlook
    assert winner.rest == pytest.approx((low, high + 3000.0)), "the winner may have to be loaded again"


def test_a_phase_that_takes_longer_than_ever_has_no_end_that_is_known() -> None:
    found = at(1182.0 + 3001.0, *SECOND, plan=known([2400.0, 3000.0])).outlook
    assert (found.phase, found.rest, found.late) == (None, None, True)


def test_its_own_loads_count_too_but_not_one_that_was_there_already() -> None:
    served = (
        *SECOND,
        step(3182.0, 1, "swapped", text="ngram.service serves", invocation="b"),
        step(3242.0, 1, "soaked"),
        cell(3242.0, 1, "begin"),
        cell(3442.0, 1, "done"),
        step(3442.0, 1, "done"),
        step(3443.0, 2, "begin"),
    )
    found = at(3443.0, *served).outlook
    assert found.rest == pytest.approx((1500.0 + 60.0 + 120.0, 1700.0 + 60.0 + 120.0))
    longer = {**PLAN, "steps": [*PLAN["steps"], PLAN["steps"][1]]}
    again = at(3443.0, *served, plan=longer).outlook.rest
    assert again is not None
    # 2000 s to swap and load, 200 s to run, as it was measured; then the baseline is loaded once more
    assert again[0] == pytest.approx(1500.0 + 60.0 + 120.0 + 2000.0 + 60.0 + 200.0 + 1500.0)


def test_what_is_over_foretells_nothing() -> None:
    end = {"event": "end", "at": 2000.0, "outcome": "finished", "why": ""}
    assert at(2000.0, *FIRST, end).outlook == Outlook()
    assert at(2000.0, *FIRST, end).current is None
    assert standing("e1", PLAN, View(SECOND, over=True), {}).interrupted


class Stamps:
    """The host's files of an experiment; `asked`: from which byte which one was read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.files: dict[str, bytes] = {"plan": json.dumps(PLAN).encode()}
        self.asked: list[tuple[str, int]] = []
        monkeypatch.setattr(carry, "file_of", self.file_of)

    async def file_of(self, host: object, ident: str, name: str, offset: int = 0) -> bytes:
        self.asked.append((name, offset))
        return self.files.get(name, b"")[offset:]

    def told(self, name: str, *lines: dict[str, Any]) -> None:
        self.files[name] = self.files.get(name, b"") + b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def result(number: int, step_ms: float) -> dict[str, Any]:
    made = stream(f"code/{number}", [1] * 11, step_ms=step_ms)
    return {
        "event": "result",
        "id": made.id,
        "prompt": made.prompt,
        "repeat": made.repeat,
        "chunks": made.chunks,
        "status": 200,
        "usage": {"completion_tokens": made.completion_tokens, "prompt_tokens": made.prompt_tokens},
    }


async def test_figures_come_while_a_run_goes_on_and_once_more_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    stamps, clock = Stamps(monkeypatch), FakeClock()
    reader = watch._Reader(FakeHost(), "e1", PLAN, clock)
    stamps.told("0-0", result(0, 10.0))
    running = at(1100.0, *FIRST[:5])
    assert await reader.read(running)
    first = len(stamps.files["0-0"])
    assert reader.figures[0, 0].done == 1
    assert reader.figures[0, 0].tpot_p50_s == pytest.approx(0.010)
    assert reader.figures[0, 0].rate is None, "what no counter tells is not known"
    stamps.told("0-0", result(1, 20.0))
    stamps.files["0-0"] += b'{"event":"resu'
    assert not await reader.read(running), "asked again only after a while: each time is a program on the host"
    await clock.advance(watch.LIVE_S)
    assert await reader.read(running)
    assert stamps.asked == [("0-0", 0), ("0-0", first)]
    assert reader.figures[0, 0].tpot_p50_s == pytest.approx(0.015)
    whole = len(stamps.files["0-0"]) - len(b'{"event":"resu')
    stamps.files["0-0"] = stamps.files["0-0"][:whole]
    stamps.told("0-0", {"event": "end", "why": "finished"})
    done = at(1181.0, *FIRST)
    assert await reader.read(done)
    assert reader.figures[0, 0].why == "finished"
    assert stamps.asked[-1] == ("0-0", whole), "from the last whole line on"
    asked = len(stamps.asked)
    assert not await reader.read(done)
    assert len(stamps.asked) == asked, "what is whole is read no more"


async def test_a_step_that_is_begun_again_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    stamps, clock = Stamps(monkeypatch), FakeClock()
    reader = watch._Reader(FakeHost(), "e1", PLAN, clock)
    stamps.told("0-0", result(0, 10.0), result(1, 10.0))
    await reader.read(at(1100.0, *FIRST[:5]))
    assert reader.figures[0, 0].done == 2
    stamps.files["0-0"] = b""
    stamps.told("0-0", result(0, 30.0))
    again = [replace_at(event, 2000.0) for event in FIRST]
    await reader.read(at(3181.0, *FIRST[:5], *again))
    assert reader.figures[0, 0].done == 1
    assert reader.figures[0, 0].tpot_p50_s == pytest.approx(0.030)


def replace_at(event: dict[str, Any], later: float) -> dict[str, Any]:
    return {**event, "at": event["at"] + later}


async def test_nothing_is_asked_while_the_link_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    stamps = Stamps(monkeypatch)
    reader = watch._Reader(FakeHost(), "e1", PLAN, FakeClock())
    now = at(1181.0, *FIRST)
    cut = replace(now, view=replace(now.view, linked=False))
    assert not await reader.read(cut)
    assert stamps.asked == []


async def test_each_cell_has_its_figures_and_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    specs = [replace(SPEC, concurrency=streams) for streams in (1, 8)]
    plan = {
        **PLAN,
        "steps": [{**one, "runs": [{}, {}]} for one in PLAN["steps"]],
        "about": {**ABOUT, "asked": to_json(specs)},
    }
    stamps, clock = Stamps(monkeypatch), FakeClock()
    reader = watch._Reader(FakeHost(), "e1", plan, clock)
    stamps.told("0-0", result(0, 10.0), {"event": "end", "why": "finished"})
    stamps.told("0-1", result(0, 30.0))
    events = (*FIRST[:5], cell(1100.0, 0, "done"), cell(1100.0, 0, "begin", 1))
    now = at(1110.0, *events, plan=plan)
    assert now.names == ("1 at once", "8 at once")
    assert await reader.read(now)
    assert {place: one.tpot_p50_s for place, one in reader.figures.items()} == {
        (0, 0): pytest.approx(0.010),
        (0, 1): pytest.approx(0.030),
    }
    await clock.advance(watch.LIVE_S)
    await reader.read(now)
    assert [name for name, _ in stamps.asked] == ["0-0", "0-1", "0-1"]

"""Experiments on the scenarios: the host's real runner over the simulated world, in virtual time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from specconsole.bench.execute import execute
from specconsole.bench.hosted import BenchRunning
from specconsole.bench.prompt import default
from specconsole.bench.selftest import selftest
from specconsole.bench.spec import BenchSpec
from specconsole.errors import CommandFailed, NotRunning
from specconsole.experiment import prepare
from specconsole.experiment.hand_over import hand_over
from specconsole.experiment.plan import named
from specconsole.host.base import Endpoint
from specconsole.host.simulated import SimulatedHost
from specconsole.host.simulated.scenario import kimi
from specconsole.remote.experiment_folder import HOMES
from specconsole.remote.swap_record import RUN, events
from specconsole.service.discover import discover
from specconsole.verb.bench import lying
from tests.fakes import FakeClock
from tests.host.scenario.acting import moved, simulated, verb

BASELINE, NGRAM = kimi.NAMES[kimi.BASELINE], kimi.NAMES[kimi.NGRAM]


class Done(NamedTuple):
    """A verb that is over."""

    code: int
    host: SimulatedHost
    told: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """What the host has written down of the experiment."""
        disk = self.host.machine.disk
        records = [disk.read(f"{HOMES}/{name}/record").split(b"\n") for name in disk.names(HOMES)]
        return [event for record in records for event in events(record)]

    @property
    def serving(self) -> str:
        """The unit that runs."""
        unit = self.host.machine.serving
        return unit.name if unit else ""


@pytest.fixture
def act(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    def acted(*words: str, limit_s: float = 90.0) -> Done:
        code, host = verb(monkeypatch, "experiment", *words, limit_s=limit_s)
        return Done(code, host, capsys.readouterr().err)

    return acted


def test_the_shipped_plan_comes_to_its_verdict_and_nothing_of_it_stays(
    act: Callable[..., Done], tmp_path: Path
) -> None:
    done = act("run", "does-it-pay", "demo:ngram-loses@600", "--yes", "--to", str(tmp_path))
    assert done.code == 0, done.told
    kept = json.loads((tmp_path / "experiment.json").read_text())
    steps = [(event["arm"], event["state"]) for event in kept["events"] if event["event"] == "step"]
    states = ("begin", "swapped", "soaked", "done")
    assert steps == [(arm, state) for arm in ("baseline", "ngram", "baseline") for state in states]
    assert kept["events"][-1]["outcome"] == "finished"
    assert done.serving == BASELINE
    machine = done.host.machine
    assert machine.transients == {}, "the units of the experiment, its swaps and its runs are gone"
    assert machine.disk.within(RUN) == [], "so are their folders"
    assert machine.disk.names(HOMES) == [], "and what was fetched"
    text = (tmp_path / "report.md").read_text()
    assert f"{NGRAM} (ngram k=5): Speculation does not pay" in text
    assert "EAGLE-3 for this model needs vLLM 0.18 or newer; this host has 0.16.0" in text
    for step in kept["steps"]:
        before, after = step["heat"]
        assert [len(row) for row in before] == [len(row) for row in after] == [4] * 8, "index, degrees, watts, MHz"
        assert None not in before[0]
        assert step["cells"][0]["run"]["meter"]["source"] == "counter", "the energy of the unit's cards is in it"
    assert len({step["cells"][0]["invocation"] for step in kept["steps"]}) == 3, "each step is a start of its own"


def test_an_arm_that_cannot_serve_is_passed_over(act: Callable[..., Done], tmp_path: Path) -> None:
    plan = tmp_path / "short.toml"
    plan.write_text(
        f'order = ["baseline", "ngram", "baseline"]\n[arms.baseline]\nunit = "{BASELINE}"\n'
        f'[arms.ngram]\nunit = "{NGRAM}"\n[bench]\nrepeat = 1\nmax_tokens = 64\nwarmup = 1\n'
    )
    done = act("run", str(plan), "demo:oom:baseline@600", "--yes", "--to", str(tmp_path), "--keep")
    failed = next(event for event in done.events if event.get("state") == "failed")
    assert failed["arm"] == "ngram"
    assert "torch.OutOfMemoryError: CUDA out of memory" in failed["why"]
    assert [event["arm"] for event in done.events if event["event"] == "step" and event["state"] == "done"] == [
        "baseline",
        "baseline",
    ]
    assert done.serving == BASELINE
    assert done.code == 5
    assert "ngram (step 2) was passed over" in (tmp_path / "report.md").read_text()


async def test_the_load_generator_of_a_simulated_host_has_no_error_to_measure() -> None:
    clock = FakeClock()
    host = simulated("demo:ngram-loses@600", clock)
    await host.open()
    try:
        with pytest.raises(CommandFailed, match="The source for the self-test did not start") as raised:
            await moved(selftest(host, 1, 0.01), clock, 5.0)
        assert raised.value.detail.endswith("its stamps are the script's. Ask a real host.")
    finally:
        await host.close()


async def test_a_benchmark_is_told_that_an_experiment_runs() -> None:
    clock = FakeClock()
    host = simulated("demo:ngram-loses@600", clock)

    async def begun() -> None:
        await host.open()
        made = await prepare.fit(host, named("does-it-pay"), await discover(host, None), None, None)
        await hand_over(host, made, None, None, {})
        with pytest.raises(NotRunning, match="the experiment does-it-pay does") as raised:
            await lying(host, running=True)
        assert "specconsole experiment watch" in raised.value.hint
        with pytest.raises(BenchRunning, match="An experiment runs"):
            async for _ in execute(host, BenchSpec(default(), repeat=1, max_tokens=8), Endpoint(8000)):
                pass

    try:
        await moved(begun(), clock, 60.0)
    finally:
        await host.close()

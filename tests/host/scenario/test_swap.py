"""Swaps on the scenarios: the host's real runner, in virtual time, on a machine that changes under it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import NamedTuple

import pytest

from specconsole.host.simulated import SimulatedHost
from specconsole.host.simulated.scenario import kimi
from specconsole.host.simulated.world import SimulatedWorld
from specconsole.remote.swap_ground import Ground
from specconsole.remote.swap_record import PATH, RUN, Story, events, stories
from specconsole.remote.swap_world import World
from tests.host.scenario.acting import verb

BASELINE, NGRAM = kimi.NAMES[kimi.BASELINE], kimi.NAMES[kimi.NGRAM]
GIB = 2**30


class Done(NamedTuple):
    """A verb that is over."""

    code: int
    host: SimulatedHost
    said: str

    @property
    def story(self) -> Story:
        """What the host's record tells."""
        return stories(events(self.host.machine.disk.files[PATH].splitlines()))[-1]

    @property
    def serving(self) -> str:
        """The unit that runs."""
        unit = self.host.machine.serving
        return unit.name if unit else ""


@pytest.fixture
def act(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run a verb of a scenario at 600 times the speed."""

    def acted(*words: str) -> Done:
        code, host = verb(monkeypatch, *words, limit_s=60.0)
        return Done(code, host, capsys.readouterr().out)

    return acted


def test_nothing_of_this_machine_is_left_in_the_simulated_one() -> None:
    touching = {name for kind in (Ground, World) for name, value in vars(kind).items() if not name.startswith("__")}
    own = {name for name in vars(SimulatedWorld) if not name.startswith("__")}
    assert not touching - own
    for name in sorted(touching):
        theirs, ours = inspect.getattr_static(World, name), inspect.getattr_static(SimulatedWorld, name)
        if callable(theirs):
            assert list(inspect.signature(theirs).parameters) == list(inspect.signature(ours).parameters), name


def test_to_the_variant_and_what_the_world_shows_after_it(act: Callable[..., Done]) -> None:
    done = act("swap", "demo:ngram-pays@600", "ngram", "--yes")
    assert done.code == 0
    assert done.story.outcome == "committed"
    assert (
        "its 10 entries of /dev/shm: 1 removed (80 MiB), 9 went with its processes; 0 of others left alone" in done.said
    )
    assert "speculation by the log on, by /metrics on" in done.said
    assert done.serving == NGRAM
    machine = done.host.machine
    assert machine.left == []
    assert machine.units[BASELINE].active == "inactive"
    assert machine.sample().gpus[0].memory_used > 80 * GIB
    assert machine.transients == {}, "the unit of the swap is gone"
    assert machine.disk.within(RUN) == [], "so is its folder"


def test_nothing_of_the_loop_is_touched_by_another_thread(
    act: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONASYNCIODEBUG", "1")  # asyncio refuses it then; else it works until it does not
    done = act("swap", "demo:ngram-pays@600", "ngram", "--yes")
    assert (done.code, done.serving) == (0, NGRAM)


def test_what_is_there_already_is_not_started(act: Callable[..., Done]) -> None:
    done = act("swap", "demo:normal@600", "ngram", "--dry-run")
    assert done.code == 1
    assert f"BLOCKED     {NGRAM} runs already" in done.said
    assert PATH not in done.host.machine.disk.files


@pytest.mark.parametrize("scenario", ["normal", "oom", "stuck-nccl", "crash-loop"])
def test_away_from_a_load(scenario: str, act: Callable[..., Done]) -> None:
    done = act("swap", f"demo:{scenario}@600", "baseline", "--yes")
    assert (done.code, done.story.outcome, done.serving) == (0, "committed", BASELINE)
    assert "speculation by the log off, by /metrics off" in done.said


@pytest.mark.parametrize(
    ("scenario", "why"),
    [
        ("oom", "torch.OutOfMemoryError: CUDA out of memory"),
        ("crash-loop", "failed again in the same way: it would go on for ever"),
        ("stuck-nccl", "does not answer after"),
    ],
)
def test_a_variant_that_cannot_serve_leads_back(scenario: str, why: str, act: Callable[..., Done]) -> None:
    done = act("swap", f"demo:{scenario}:baseline@600", "ngram", "--yes", "--within", "5000")
    assert done.code == 1
    story = done.story
    assert story.outcome == "rolled_back"
    assert why in story.why
    assert next(step.name for step in story.steps if step.state == "failed") == "watch"
    assert [step.name for step in story.steps if step.back][-1] == "prove"
    assert done.serving == BASELINE


def test_an_orphan_that_may_not_be_ended_bars_the_next_unit(act: Callable[..., Done]) -> None:
    done = act("swap", "demo:held-gpu@20", "ngram", "--yes", "--orphans", "leave")
    assert (done.code, done.story.outcome) == (1, "unchanged")
    assert "GPU 3: held by VLLM::Worker_TP3 pid 31877 61.3 GiB" in done.story.why
    assert "pid 31877 (VLLM::Worker_TP3) stays: its server is dead" in done.said
    assert done.host.machine.strangers


def test_the_verbs_beside_it(act: Callable[..., Done]) -> None:
    done = act("stop", "demo:ngram-loses@600", "--yes")
    assert (done.code, done.serving, done.story.outcome) == (0, "", "committed")
    assert done.host.machine.sample().gpus[0].memory_used == 0
    done = act("restart", "demo:ngram-loses@600", "--yes")
    assert (done.code, done.serving, done.story.outcome) == (0, BASELINE, "committed")
    assert done.host.machine.units[BASELINE].starts == 2

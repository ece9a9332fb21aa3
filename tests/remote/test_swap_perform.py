"""The runner's way through the steps and back, with steps that a test scripts; hosts are in tests/lab."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from specconsole.remote import swap, swap_post
from specconsole.remote.swap_record import Record, Story, fold, read
from specconsole.remote.swap_rule import BACK, FORWARD
from specconsole.remote.swap_run import Cancelled, Foreign, Run, Stale, StepFailed
from specconsole.remote.swap_unit import Systemd, parse, span_us
from tests.remote.test_swap_rule import plan

DOWN = "LoadState=loaded\nActiveState=inactive\nSubState=dead\n"
Broken = dict[tuple[str, bool], Exception]


class Host:
    """Answers systemctl and keeps what was asked."""

    def __init__(self, fails: Sequence[str] = ()) -> None:
        self.calls: list[list[str]] = []
        self.fails = fails

    def __call__(self, argv: Sequence[str], deadline_s: float, ref: object) -> tuple[int, str, str]:
        self.calls.append(list(argv))
        if argv[0] in self.fails:
            return 3, "", "it does not like that"
        return (0, DOWN, "") if "show" in argv else (0, "", "")

    def did(self, *words: str) -> bool:
        return any(list(words) == [word for word in call if word in words] for call in self.calls)


@pytest.fixture
def played(tmp_path: Path) -> Callable[..., Story]:
    """Perform a plan whose steps do nothing, but for those that fail; the record's story."""

    def play(
        action: str = "swap",
        broken: Broken | None = None,
        host: Host | None = None,
        acts: dict[str, Callable[[Run], None]] | None = None,
        **changes: Any,
    ) -> Story:
        said = {key: {**value, "name": value["name"]} for key, value in plan(action).items() if isinstance(value, dict)}
        whole = {**plan(action), **said, "stops": [], "others": [], **changes}
        run = Run(whole, Record("abc", str(tmp_path / "swaps.jsonl")), str(tmp_path), systemd=Systemd(host or Host()))

        def step(name: str) -> Callable[[Run], None]:
            def act(run: Run) -> None:
                if name == "drain":
                    run.hook("before")
                if name in (acts or {}):
                    (acts or {})[name](run)
                if error := (broken or {}).get((name, run.story.back)):
                    raise error

            return act

        outcome = swap.perform(run, {name: step(name) for name in {*FORWARD["swap"], *BACK}})
        story = Story()
        for event in read(str(tmp_path / "swaps.jsonl")):
            story = fold(story, event)
        assert story.outcome == outcome
        (tmp_path / "swaps.jsonl").unlink()
        return story

    return play


def names(story: Story, back: bool = False) -> list[str]:
    return [step.name for step in story.steps if step.back == back]


@pytest.mark.parametrize("action", FORWARD)
def test_the_whole_way(played: Callable[..., Story], action: str) -> None:
    story = played(action)
    assert story.outcome == "committed"
    assert tuple(names(story)) == FORWARD[action]
    assert names(story, back=True) == []


def test_a_failure_before_the_stop_changes_nothing(played: Callable[..., Story]) -> None:
    for name in ("preflight", "drain"):
        story = played(broken={(name, False): StepFailed("no", ["try this"])})
        assert (story.outcome, story.why, story.advice) == ("unchanged", "no", ("try this",))
        assert names(story, back=True) == []
    assert played(broken={("preflight", False): Stale("other now")}).why == "other now (stale)"


@pytest.mark.parametrize("name", ["stop", "verify", "clean", "start", "watch", "prove"])
def test_a_failure_after_the_stop_leads_back(played: Callable[..., Story], name: str) -> None:
    for error in (StepFailed("no"), Foreign("somebody"), Cancelled("cancelled"), KeyError("a fault of ours")):
        story = played(broken={(name, False): error})
        assert story.outcome == "rolled_back"
        assert tuple(names(story, back=True)) == BACK
        assert story.foreign is isinstance(error, Foreign)


@pytest.mark.parametrize("name", BACK)
def test_a_way_back_that_fails_says_both_and_what_to_type(played: Callable[..., Story], name: str) -> None:
    story = played(broken={("watch", False): StepFailed("first"), (name, True): StepFailed("second")})
    if name in ("verify", "clean"):  # starting the previous unit is the better chance all the same
        assert story.outcome == "rolled_back"
        return
    assert story.outcome == "failed"
    assert story.why == "first; and the way back failed: second"
    assert "systemctl start base.service" in story.advice


def test_without_a_unit_to_return_to_the_target_is_only_stopped(played: Callable[..., Story]) -> None:
    story = played(broken={("watch", False): StepFailed("no")}, back_to=None)
    assert story.outcome == "rolled_back"
    assert "nothing serves" in story.why
    assert names(story, back=True) == ["stop"]


def test_no_rollback_leaves_it(played: Callable[..., Story]) -> None:
    story = played(broken={("watch", False): StepFailed("no")}, rollback=False, back_to=None)
    assert story.outcome == "failed"
    assert names(story, back=True) == []


def test_a_restart_s_failed_start_is_left(played: Callable[..., Story]) -> None:
    assert played("restart", {("watch", False): StepFailed("no")}).outcome == "failed"
    story = played("restart", {("verify", False): StepFailed("no")})
    assert (story.outcome, names(story, back=True)[-1]) == ("rolled_back", "prove")
    assert "stop" not in names(story, back=True)


def test_the_commands_of_a_profile_are_run_in_pairs(played: Callable[..., Story]) -> None:
    hooks = {"before": ["/bin/lb", "drain"], "after": ["/bin/lb", "serve"]}
    for broken in ({}, {("watch", False): StepFailed("no")}, {("drain", False): StepFailed("busy")}):
        host = Host()
        played(broken=broken, host=host, hooks=hooks)
        assert [call for call in host.calls if call[0] == "/bin/lb"] == [hooks["before"], hooks["after"]]
    story = played(host=Host(fails=["/bin/lb"]), hooks=hooks)
    assert story.outcome == "unchanged"
    assert "ended with status 3: it does not like that" in story.why


def test_the_command_for_a_unit_that_serves_is_run_where_one_does(played: Callable[..., Story]) -> None:
    hooks = {"before": ["/bin/lb", "drain"], "after": ["/bin/lb", "serve"]}

    def ran(action: str, **broken: Exception) -> list[str]:
        host = Host()
        played(action, broken={(name, False): error for name, error in broken.items()}, host=host, hooks=hooks)
        return [call[1] for call in host.calls if call[0] == "/bin/lb"]

    assert ran("stop") == ["drain"], "nothing serves after a stop"
    assert ran("stop", drain=StepFailed("busy")) == ["drain", "serve"]
    assert ran("start") == ["serve"], "what a stop has drained serves again"
    assert ran("start", watch=StepFailed("no")) == []


def test_a_unit_that_nobody_saw_generate_is_never_said_to_serve(played: Callable[..., Story]) -> None:
    def doubts(run: Run) -> None:
        run.note("generation is not proven: the server asks for a key that was not given", proven=False)

    story = played(acts={"prove": doubts})
    assert (story.outcome, story.unproven) == ("committed", doubts_said := story.steps[-2].notes[0]["text"])
    assert story.why == f"ngram.service answers, but {doubts_said}"
    assert any("[api_key] in the profile" in line for line in story.advice)
    assert played().unproven == ""
    back = played(acts={"prove": doubts}, broken={("watch", False): StepFailed("no")})
    assert (back.outcome, back.unproven) == ("rolled_back", doubts_said)
    assert back.why == f"no; and back there {doubts_said}"


def test_a_cancel_before_a_step_is_heeded(played: Callable[..., Story], tmp_path: Path) -> None:
    (tmp_path / "orders").write_text(json.dumps({"order": "cancel"}) + "\n")
    assert played().outcome == "unchanged"


# -- ExecStopPost --


def posted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: Host, *events: tuple[str, dict[str, Any]]) -> Story:
    """Let a runner die after these events, and ExecStopPost follow; the record's story."""
    path, run = tmp_path / "lib" / "swaps.jsonl", tmp_path / "run"
    (run / "abc").mkdir(parents=True)
    record = Record("abc", str(path), str(run / "abc" / "record"))
    for event, values in events:
        record.write(event, **values)
    monkeypatch.setattr(swap_post, "PATH", str(path))
    monkeypatch.setattr(swap_post, "RUN", str(run))
    monkeypatch.setattr(swap_post, "Systemd", lambda _: Systemd(host))
    assert swap_post.main({"id": "abc"}) == 0
    assert not (run / "abc").exists()
    story = Story()
    for told in read(str(path)):
        story = fold(story, told)
    return story


BEGIN = ("begin", {"plan": plan("swap")})
STOPPED = ("step", {"step": "stop", "state": "begin", "back": False})


def test_a_dead_runner_s_host_gets_its_unit_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host()
    story = posted(tmp_path, monkeypatch, host, BEGIN, STOPPED)
    assert story.outcome == "handed_over"
    assert ["systemctl", "start", "--no-block", "--", "base.service"] in host.calls


def test_a_start_that_systemd_refuses_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story = posted(tmp_path, monkeypatch, Host(fails=["systemctl"]), BEGIN, STOPPED)
    assert story.outcome == "failed"
    assert "it does not like that" in story.why
    assert story.advice == ("systemctl start base.service",)


def test_after_an_end_nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host()
    end = ("end", {"outcome": "committed", "why": ""})
    assert posted(tmp_path, monkeypatch, host, BEGIN, STOPPED, end).outcome == "committed"
    assert not any("start" in call for call in host.calls)


HOOKS = {"before": ["/bin/lb", "drain"], "after": ["/bin/lb", "serve", "it all"]}


def steps(*names: str, back: bool = False) -> list[tuple[str, dict[str, Any]]]:
    states = ("begin", "done")
    return [("step", {"step": name, "state": state, "back": back}) for name in names for state in states]


RAN = ("note", {"text": "/bin/lb (after) was run", "hook": "after"})
TURN = ("turn", {"why": "no"})


@pytest.mark.parametrize(
    ("events", "outcome", "runs"),
    [
        (steps("preflight"), "unchanged", False),
        (steps("preflight", "drain"), "unchanged", True),
        (steps("preflight", "drain", "stop"), "handed_over", False),
        (steps("preflight", "drain", "stop", "start", "prove"), "committed", True),
        ([*steps("preflight", "drain", "stop", "start", "prove"), RAN], "committed", False),
        ([*steps("drain", "stop"), TURN, *steps("stop", "start", "prove", back=True)], "rolled_back", True),
    ],
    ids=["before the drain", "drained", "unproven", "proven", "run already", "back and proven"],
)
def test_a_dead_runner_still_owes_the_command_for_a_unit_that_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, events: list[Any], outcome: str, runs: bool
) -> None:
    host = Host()
    story = posted(tmp_path, monkeypatch, host, ("begin", {"plan": {**plan("swap"), "hooks": HOOKS}}), *events)
    assert story.outcome == outcome
    assert (HOOKS["after"] in host.calls) is runs
    assert ("/bin/lb (after) was run" in story.why) is runs
    assert ("once it serves: /bin/lb serve 'it all'" in story.advice) is (outcome == "handed_over")


def test_a_command_that_fails_after_a_death_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = ("begin", {"plan": {**plan("swap"), "hooks": HOOKS}})
    story = posted(tmp_path, monkeypatch, Host(fails=["/bin/lb"]), begin, *steps("preflight", "drain"))
    assert story.outcome == "unchanged"
    assert "/bin/lb (after) ended with status 3: it does not like that" in story.why


# -- systemctl --


def test_a_state_is_read_from_what_systemctl_prints() -> None:
    text = (
        "LoadState=loaded\nActiveState=activating\nSubState=auto-restart\nResult=exit-code\nMainPID=0\nNRestarts=3\n"
        "InvocationID=abc\nExecMainCode=1\nExecMainStatus=1\nTimeoutStopUSec=1min 30s\nNeedDaemonReload=yes\n"
    )
    (state,) = parse(text)
    assert (state.up, state.sub, state.restarts, state.status, state.stop_us) == (
        True,
        "auto-restart",
        3,
        1,
        90_000_000,
    )
    assert state.reload_due


@pytest.mark.parametrize(
    ("text", "span"), [("1min 30s", 90e6), ("2s", 2e6), ("500ms", 5e5), ("infinity", None), ("", None), ("1h", 3.6e9)]
)
def test_time_spans_as_systemd_prints_them(text: str, span: float | None) -> None:
    assert span_us(text) == span

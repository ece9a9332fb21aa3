"""The record of swaps: whole lines or none, private, read back into stories."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from specconsole.remote import swap_record
from specconsole.remote.swap_record import Record, Story, fold, read, stories


def story_of(*events: dict[str, Any]) -> Story:
    """A story from events that are numbered here."""
    story = Story()
    for number, event in enumerate(events):
        story = fold(story, {"v": 1, "id": "a", "n": number, "at": 100.0 + number, "boot": "b", **event})
    return story


def step(name: str, state: str, *, back: bool = False, why: str = "") -> dict[str, Any]:
    return {"event": "step", "step": name, "state": state, "back": back, "why": why}


def test_what_is_written_is_read_back_and_is_the_owner_s_alone(tmp_path: Path) -> None:
    path = tmp_path / "lib" / "swaps.jsonl"
    record = Record("abc", str(path), str(tmp_path / "mirror"))
    record.write("begin", plan={"action": "swap"})
    record.write("step", step="preflight", state="begin")
    assert [event["n"] for event in read(str(path))] == [0, 1]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert (tmp_path / "mirror").read_bytes() == path.read_bytes()


def test_a_torn_line_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "swaps.jsonl"
    Record("one", str(path)).write("begin", plan={})
    with path.open("ab") as file:
        file.write(b'{"v":1,"id":"one","n":1,"ev')
    Record("two", str(path)).write("begin", plan={})
    assert [(event["id"], event["event"]) for event in read(str(path))] == [("one", "begin"), ("two", "begin")]


def test_a_full_disk_leaves_no_half_line_and_the_mirror_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "swaps.jsonl"
    record = Record("abc", str(path), str(tmp_path / "mirror"))
    record.write("begin", plan={})
    before, real = path.read_bytes(), os.write

    def part(fd: int, data: bytes) -> int:
        full = Path(f"/proc/self/fd/{fd}").readlink() == path
        return real(fd, data[:10] if full else data)

    monkeypatch.setattr(os, "write", part)
    record.write("step", step="stop", state="begin")
    assert path.read_bytes() == before
    assert "No space left" in record.trouble
    assert len(read(str(tmp_path / "mirror"))) == 2
    monkeypatch.undo()
    record.write("end", outcome="committed")
    assert record.trouble == ""


def test_only_the_end_of_a_long_record_is_read(tmp_path: Path) -> None:
    path = tmp_path / "swaps.jsonl"
    record = Record("abc", str(path))
    for _ in range(50):
        record.write("note", text="x" * 100)
    found = read(str(path), 2000)
    assert 0 < len(found) < 50
    assert found[-1]["n"] == 49


def test_a_link_in_place_of_the_record_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.touch()
    path = tmp_path / "swaps.jsonl"
    path.symlink_to(target)
    record = Record("abc", str(path))
    record.write("begin", plan={})
    assert record.trouble
    assert target.read_bytes() == b""


def test_a_story_is_told_step_by_step() -> None:
    story = story_of(
        {"event": "begin", "plan": {"action": "swap"}},
        step("preflight", "begin"),
        {"event": "note", "text": "floor not known"},
        step("preflight", "done"),
        step("drain", "begin"),
        step("drain", "failed", why="busy"),
        {"event": "end", "outcome": "unchanged", "why": "busy"},
    )
    assert [(one.name, one.state, one.why) for one in story.steps] == [
        ("preflight", "done", ""),
        ("drain", "failed", "busy"),
    ]
    assert story.steps[0].notes[0]["text"] == "floor not known"
    assert (story.steps[0].began, story.steps[0].ended) == (101.0, 103.0)
    assert story.outcome == "unchanged"


def test_an_event_told_twice_counts_once() -> None:
    events = [{"event": "begin", "plan": {}}, step("stop", "begin")]
    once = story_of(*events)
    again = fold(once, {"v": 1, "id": "a", "n": 1, "at": 9.0, **step("stop", "begin")})
    assert again == once


def test_a_question_waits_until_it_is_answered() -> None:
    asked = story_of({"event": "begin", "plan": {}}, step("verify", "begin"), {"event": "ask", "what": "orphans"})
    assert asked.ask
    assert fold(asked, {"v": 1, "id": "a", "n": 3, "at": 1.0, "event": "answer", "text": "end"}).ask is None


def test_stories_are_kept_apart_and_one_without_a_beginning_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "swaps.jsonl"
    Record("lost", str(path), count=7).write("end", outcome="committed")
    for ident in ("one", "two"):
        Record(ident, str(path)).write("begin", plan={"action": ident})
    assert [(story.id, story.plan["action"]) for story in stories(read(str(path)))] == [("one", "one"), ("two", "two")]


def test_secrets_do_not_reach_the_record() -> None:
    value = swap_record.masked(
        {"argv": ["vllm serve --api-key sk-secret-0123456789"], "n": 3, "deep": {"x": "HF_TOKEN=abc"}}
    )
    text = json.dumps(value)
    assert "sk-secret" not in text
    assert "abc" not in text
    assert value["n"] == 3


def test_the_latest_floor_of_each_gpu_counts(tmp_path: Path) -> None:
    path = tmp_path / "swaps.jsonl"
    record = Record("abc", str(path))
    record.write("floor", gpus={"GPU-a": 100, "GPU-b": 7})
    record.write("floor", gpus={"GPU-a": 50})
    assert swap_record.floors(str(path)) == {"GPU-a": 50, "GPU-b": 7}
    assert swap_record.floors(str(tmp_path / "none")) == {}


@pytest.mark.parametrize(
    ("outcome", "state"), [("committed", "done"), ("rolled_back", "failed"), ("handed_over", "failed")]
)
def test_no_step_of_a_swap_that_is_over_goes_on(outcome: str, state: str) -> None:
    told: list[dict[str, Any]] = [
        {"event": "begin", "plan": {}},
        {"event": "step", "step": "prove", "state": "done"},
        {"event": "step", "step": "commit", "state": "begin"},
        {"event": "end", "outcome": outcome},
    ]
    story = Story()
    for number, one in enumerate(told):
        story = fold(story, {"id": "s", "n": number, "at": 10.0 + number, **one})
    assert story.step is not None
    assert (story.step.state, story.step.ended) == (state, 13.0)

"""What `specconsole watch` says of each scenario, and how it ends."""

from __future__ import annotations

import re

import pytest

from specconsole import cli
from specconsole.host.simulated.scenario import SCENARIOS
from tests.host.scenario.acting import verb

NGRAM = "vllm-kimi-k25-int4-ngram.service"


def moment(text: str, said: str) -> float:
    """Seconds after the start at which a line was told."""
    line = next(line for line in text.splitlines() if said in line)
    parts = [int(part) for part in line.split()[0].split(":")]
    return float(sum(part * 60**place for place, part in enumerate(reversed(parts))))


def test_a_load_of_90_minutes_ends_ready(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, _ = verb(monkeypatch, "watch", "demo:normal@300")
    said = capsys.readouterr().out
    assert code == 0
    assert f"{NGRAM} started" in said
    assert said.count("weights 64/64 shards") == 1
    assert moment(said, "weights 64/64 shards") == pytest.approx(26 * 60, abs=40)
    assert moment(said, "the model is loaded") == pytest.approx(37 * 60, abs=60)
    assert moment(said, "answering: health and model list") == pytest.approx(90 * 60, abs=70)
    assert "ready: one token generated" in said


def test_a_slow_disk_is_slow_and_ends_ready(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _ = verb(monkeypatch, "watch", "demo:slow-disk@300")
    said = capsys.readouterr().out
    assert code == 0
    assert moment(said, "weights 64/64 shards") == pytest.approx(64 * 82 + 90, abs=60)
    assert "ready: one token generated" in said


def test_no_line_is_lost_over_a_link_that_drops(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, host = verb(monkeypatch, "watch", "demo:link-drop@60")
    told = capsys.readouterr()
    assert code == 0
    assert re.findall(r"weights (\d+)/64", told.out) == [str(number) for number in range(65)]
    assert told.err.count("is lost (The link was cut.); trying again") == len(SCENARIOS["link-drop"].cuts) == 3
    assert told.err.count("is back") == 3
    assert host.machine.units["vllm-kimi-k25-int4.service"].starts == 1


@pytest.mark.parametrize(
    ("scenario", "after_s", "error", "why"),
    [
        (
            "held-gpu@10",
            80,
            "ValueError: Free memory on device cuda:3 (33.06/94.97 GiB) on startup is less than desired",
            "Something else holds the GPU's memory: 33.06 of 94.97 GiB are free",
        ),
        (
            "oom@60",
            2023,
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU ",
            "The GPU's memory is full: 1.96 GiB more",
        ),
        (
            "crash-loop@10",
            22,
            "pydantic_core._pydantic_core.ValidationError: 1 validation error for SpeculativeConfig",
            "The n-gram range is the wrong way round",
        ),
    ],
)
def test_a_start_that_fails_is_told_with_its_cause_which_a_history_of_its_own_keeps(
    scenario: str,
    after_s: float,
    error: str,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _ = verb(monkeypatch, "watch", f"demo:{scenario}")
    said = capsys.readouterr().out
    assert code == 1
    assert re.search(r"failed: .*it exited with an error \(exited 1\)", said)
    assert error in said
    assert moment(said, "failed: ") == pytest.approx(after_s, abs=30)
    assert cli.main(["history", "loads"]) == 0
    assert capsys.readouterr().out == "No loads are remembered yet.\n", "a demo is no host of yours"
    for asked in ("--demo", f"--host=demo:{scenario}"):
        assert cli.main(["history", "loads", asked]) == 0
        (row,) = capsys.readouterr().out.splitlines()[1:]
        assert f"demo:{scenario.partition('@')[0]}" in row.split()
        assert "failed" in row
        assert why in row, "as it was diagnosed then, not only what systemd says"


def test_a_stuck_start_never_ends_by_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(TimeoutError):
        verb(monkeypatch, "watch", "demo:stuck-nccl@60", limit_s=30.0)
    said = capsys.readouterr().out
    assert f"{NGRAM} started" in said
    assert "weights" not in said
    assert "answering" not in said

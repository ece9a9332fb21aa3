"""Experiments on real hosts: swaps and runs in turn by the host alone, with arms whose cost and acceptance are known."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.lab.cards import cards
from tests.lab.conftest import MakeHost, on_trixie
from tests.lab.host import LabHost
from tests.lab.reach import eventually
from tests.lab.test_lab_itself import get, wait
from tests.lab.test_verbs import Desk
from tests.lab.units import NGRAM, SYSTEM, serve, unit

pytestmark = on_trixie
BASELINE = "vllm-base.service"
PACE = "FAKE_LOAD_S=0.3 FAKE_STEP_MS=20"
"""Steps so long that a busy machine moves their mean by little: the verdict rests on two starts of the baseline."""
HOME = "/var/lib/specconsole/experiments"


SHORT = ("--max-model-len", "4096")
"""So that a cell with a longer context is refused by the server."""


def arm(name: str, acceptance: float, more: str = "") -> dict[str, str]:
    """A variant: its steps take twice as long as the baseline's, so at no acceptance it must lose, at 0.9 win."""
    environment = f"{PACE} FAKE_ACCEPTANCE={acceptance} {more}"
    relation = f"Conflicts={BASELINE}\nAfter={BASELINE}"
    text = unit(serve(*SHORT, speculative=NGRAM), description=name, environment=environment, unit=relation)
    return {f"{SYSTEM}/vllm-{name}.service": text}


@pytest.fixture
async def host(make_host: MakeHost) -> LabHost:
    base = {f"{SYSTEM}/{BASELINE}": unit(serve(*SHORT), description="base", environment=PACE)}
    made = make_host(
        files={**cards(1), **base, **arm("good", 0.9), **arm("bad", 0.05), **arm("broken", 0.9, "FAKE_FAIL=oom")}
    )
    made.run(f"systemctl start {BASELINE}")
    await eventually(lambda: made.run(get("/health"), check=False).returncode == 0, 60)
    return made


def plan(folder: Path, order: list[str], end: str = "winner", more: str = "") -> str:
    arms = "".join(
        f'[arms.{name}]\nunit = "vllm-{name}.service"\n' for name in dict.fromkeys(order) if name != "baseline"
    )
    path = folder / "night.toml"
    path.write_text(
        f'order = {json.dumps(order)}\nend = "{end}"\n[arms.baseline]\nunit = "{BASELINE}"\n{arms}'
        f"[bench]\nrepeat = 1\nmax_tokens = 40\nwarmup = 1\n{more}[swap]\ndrain_s = 1\nload_deadline_s = 60\n"
    )
    return str(path)


def serving(host: LabHost) -> str:
    host.run(get("/health"))
    return host.run("systemctl list-units --state=active --no-legend --plain 'vllm*'").stdout.split()[0]


def report(desk: Desk, folder: Path) -> dict[str, Any]:
    """What was found; whether the verdict is a clear one is no matter here."""
    argv = desk.argv("experiment", "report", "gpu-1", "--to", str(folder))
    done = subprocess.run(argv, env=desk.environment, capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 5), done.stderr
    value: dict[str, Any] = json.loads((folder / "experiment.json").read_text())
    return value


def begun(desk: Desk, path: str, *words: str) -> subprocess.Popen[str]:
    argv = desk.argv("experiment", "run", path, "gpu-1", "--yes", *words)
    return subprocess.Popen(argv, env=desk.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def steps(host: LabHost, state: str) -> list[int]:
    """The numbers of the steps of which the host's record says this, in its order."""
    lines = host.run(f"cat {HOME}/*/record", check=False).stdout.splitlines()
    events = [json.loads(line) for line in lines]
    return [event["number"] for event in events if event.get("event") == "step" and event.get("state") == state]


def cells(host: LabHost, state: str) -> list[tuple[int, int]]:
    """The cells of which the host's record says this, by step and cell, in its order."""
    lines = host.run(f"cat {HOME}/*/record", check=False).stdout.splitlines()
    events = [json.loads(line) for line in lines]
    return [(one["number"], one["cell"]) for one in events if one.get("event") == "cell" and one["state"] == state]


def step_is(host: LabHost, number: int, state: str) -> bool:
    return number in steps(host, state)


async def test_it_goes_on_alone_passes_over_what_fails_and_ends_on_the_winner(host: LabHost, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path)
    with begun(desk, plan(tmp_path, ["baseline", "good", "broken", "bad", "baseline"])) as console:
        await eventually(lambda: step_is(host, 0, "done"), 120)
        host.cut_ssh()
        await eventually(lambda: step_is(host, 1, "swapped"), 180)
        console.kill()
    await eventually(lambda: ended(host), 400)
    assert serving(host) == "vllm-good.service"
    found = await asyncio.to_thread(report, desk, tmp_path / "out")
    assert [(step["arm"], step["state"]) for step in found["steps"]] == [
        ("baseline", "done"),
        ("good", "done"),
        ("broken", "failed"),
        ("bad", "done"),
        ("baseline", "done"),
    ]
    runs = [cell["run"] for step in found["steps"] for cell in step["cells"] if cell["run"]]
    assert [sum(one["completion_tokens"] for one in run["results"]) for run in runs] == [200] * 4
    assert len({run["identity"]["invocation"] for run in runs}) == 4
    text = (tmp_path / "out" / "report.md").read_text()
    assert "vllm-good.service (ngram k=5): Speculation pays" in text
    assert "vllm-bad.service (ngram k=5): Speculation does not pay" in text
    assert "passed over" in text
    assert (tmp_path / "out" / "tpot.svg").read_text().startswith("<svg")
    wait(host, f'test -z "$(ls -A {HOME}; ls -A /run/specconsole)"')  # nothing of it stays on the host


async def test_a_reboot_ends_it_and_a_console_lets_it_go_on(host: LabHost, tmp_path: Path) -> None:
    host.run(f"systemctl enable {BASELINE}")
    desk, path = Desk(host, tmp_path), plan(tmp_path, ["baseline", "bad", "baseline"], "baseline")
    desk("experiment", "run", path, "gpu-1", "--yes", "--detach")
    await eventually(lambda: step_is(host, 1, "swapped"), 180)
    refused = desk("swap", "gpu-1", BASELINE, "--yes", status=1)
    assert "an experiment runs" in refused.stderr
    await asyncio.to_thread(host.reboot)
    await eventually(lambda: host.run(get("/health"), check=False).returncode == 0, 60)
    desk("experiment", "watch", "gpu-1", status=1)
    begun_before, done_before = steps(host, "begin"), steps(host, "done")
    assert len(done_before) < 3
    desk("experiment", "run", path, "gpu-1", "--yes", "--resume", "--detach")
    await eventually(lambda: ended(host), 400)
    found = await asyncio.to_thread(report, desk, tmp_path / "out")
    assert [step["state"] for step in found["steps"]] == ["done"] * 3
    begins = [event for event in found["events"] if event["event"] == "step" and event["state"] == "begin"]
    again = [number for number in range(3) if number not in done_before]
    assert [event["number"] for event in begins] == [*begun_before, *again], "what was measured is not measured again"
    assert serving(host) == BASELINE


CELLS = 'concurrency = [1, 4]\ncontext = [0, "1k", "16k"]\n'
"""The longest context is beyond what the server takes: its cells fail on every arm, and are passed over."""
ASKED = [(0, 1), (0, 4), (1000, 1), (1000, 4)]
"""Context and streams of the cells that can be measured."""


async def test_a_night_outlives_link_cuts_a_dead_console_a_failing_arm_and_a_reboot(
    host: LabHost, tmp_path: Path
) -> None:
    host.run(f"systemctl enable {BASELINE}")
    order = ["baseline", "good", "broken", "good", "baseline"]
    desk, path = Desk(host, tmp_path), plan(tmp_path, order, "winner", CELLS)
    with begun(desk, path) as console:
        for place in ((0, 0), (0, 2)):
            await eventually(lambda place=place: place in cells(host, "done"), 180)  # type: ignore[misc]
            host.cut_ssh()  # between two cells of one start
        await eventually(lambda: (1, 1) in cells(host, "done"), 300)
        console.kill()
    before = cells(host, "done")
    await asyncio.to_thread(host.reboot)
    await eventually(lambda: host.run(get("/health"), check=False).returncode == 0, 60)
    desk("experiment", "run", path, "gpu-1", "--yes", "--resume", "--detach")
    await eventually(lambda: ended(host), 400)
    done = cells(host, "done")
    assert sorted(done) == [(step, cell) for step in (0, 1, 3, 4) for cell in range(4)]
    assert done[: len(before)] == before, "each once: what was measured is not measured again"
    assert set(cells(host, "failed")) == {(step, cell) for step in (0, 1, 3, 4) for cell in (4, 5)}
    found = await asyncio.to_thread(report, desk, tmp_path / "out")
    assert [(step["arm"], step["state"]) for step in found["steps"]] == [
        (arm, "failed" if arm == "broken" else "done") for arm in order
    ]
    starts = [{cell["invocation"] for cell in step["cells"] if cell["state"] == "done"} for step in found["steps"]]
    assert [len(one) for one in starts] == [1, 2, 0, 1, 1], "the step that was cut goes on in a start of its own"
    for step in found["steps"]:
        runs = [cell["run"] for cell in step["cells"] if cell["state"] == "done"]
        if step["arm"] != "broken":
            assert [(run["spec"]["context"], run["spec"]["concurrency"]) for run in runs] == ASKED
        assert all(one["completion_tokens"] == 40 for run in runs for one in run["results"])
    text = (tmp_path / "out" / "report.md").read_text()
    assert "vllm-good.service (ngram k=5): each of its 4 cells says: pays." in text
    assert "context 1,000, 4 at once: Speculation pays" in text
    assert "broken (step 3) was passed over: " in text
    refused = "baseline (step 1) was not measured with context 16,000, 1 at once: the run ended as failed: HTTP 400"
    assert refused in text
    assert_ends_on_its_choice(host, found)


def assert_ends_on_its_choice(host: LabHost, found: dict[str, Any]) -> None:
    """The faster arm serves, or, where a busy machine made starts scatter, the baseline, with that for a reason."""
    (choice,) = [event for event in found["events"] if event["event"] == "choice"]
    if choice["arm"] == "baseline":
        assert choice["why"].startswith("good came out faster in every cell, but starts of one unit differ")
    else:
        assert choice["arm"] == "good"
        assert choice["why"].startswith("good takes ")
    assert serving(host) == (BASELINE if choice["arm"] == "baseline" else "vllm-good.service")


async def test_requests_that_fail_are_told_and_an_arm_that_answers_none_is_tried_again(
    make_host: MakeHost, tmp_path: Path
) -> None:
    base = {f"{SYSTEM}/{BASELINE}": unit(serve(*SHORT), description="base", environment=PACE)}
    # One request warms up, and a run has five: the one arm answers none of them, the other three.
    arms = {**arm("sick", 0.9, "FAKE_ANSWERS=1"), **arm("partly", 0.9, "FAKE_ANSWERS=4")}
    host = make_host(files={**cards(1), **base, **arms})
    host.run(f"systemctl start {BASELINE}")
    await eventually(lambda: host.run(get("/health"), check=False).returncode == 0, 60)
    desk, path = Desk(host, tmp_path), plan(tmp_path, ["baseline", "sick", "partly", "baseline"])
    told = desk("experiment", "run", path, "gpu-1", "--yes", "--to", str(tmp_path / "out"), status=5)
    dead = "EngineCore encountered an issue"
    assert f"step 2 sick: failed: all 5 requests failed: HTTP 500: {dead}" in told.stderr
    assert f"step 3 partly: done: 2 of 5 requests failed: HTTP 500: {dead}" in told.stderr
    assert "--resume` measures what is left" in told.stderr
    assert steps(host, "failed") == [1]
    assert serving(host) == BASELINE, "neither is a winner"
    text = (tmp_path / "out" / "report.md").read_text()
    assert "sick (step 2) was passed over: all 5 requests failed: HTTP 500" in text
    assert "partly (step 3): 2 of 5 requests failed: HTTP 500" in text
    assert "pays" not in text.partition("## Steps")[0]
    host.run(f"sed -i s/FAKE_ANSWERS=1// {SYSTEM}/vllm-sick.service; systemctl daemon-reload")
    desk("experiment", "run", path, "gpu-1", "--yes", "--resume", "--to", str(tmp_path / "again"), status=5)
    text = (tmp_path / "again" / "report.md").read_text()
    assert "vllm-sick.service (ngram k=5): Speculation pays" in text
    found = json.loads((tmp_path / "again" / "experiment.json").read_text())
    begins = [event for event in found["events"] if event["event"] == "step" and event["state"] == "begin"]
    assert [event["number"] for event in begins] == [0, 1, 2, 3, 1]
    wait(host, f'test -z "$(ls -A {HOME}; ls -A /run/specconsole)"')


async def test_a_cancel_returns_to_the_baseline(host: LabHost, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path)
    desk("experiment", "run", plan(tmp_path, ["baseline", "bad", "baseline"]), "gpu-1", "--yes", "--detach")
    await eventually(lambda: step_is(host, 1, "swapped"), 180)
    desk("experiment", "cancel", "gpu-1", status=5)
    assert serving(host) == BASELINE
    assert ended(host)


def ended(host: LabHost) -> bool:
    return '"event":"end"' in host.run(f"cat {HOME}/*/record", check=False).stdout

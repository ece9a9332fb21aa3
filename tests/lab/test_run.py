"""A benchmark that the host carries: it outlives the link and its console, tells how it was ended, and leaves nothing."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from specconsole.bench.run import BenchRun
from specconsole.history.memory import Memory, path_for
from specconsole.host.base import Program
from specconsole.host.carried import look
from specconsole.host.errand import told
from tests.lab.conftest import MakeHost, on_trixie
from tests.lab.host import LabHost
from tests.lab.reach import eventually, reach
from tests.lab.test_lab_itself import get
from tests.lab.test_verbs import Desk
from tests.lab.units import deployment

UNIT = "vllm-kimi-k25-int4"
ASKED = ("--repeat", "2", "--max-tokens", "60", "--warmup", "1")
"""Ten requests of about 0.3 s."""


@pytest.fixture
async def host(make_host: MakeHost) -> AsyncIterator[LabHost]:
    made = make_host(files=deployment(0.2))
    made.run(f"systemctl start {UNIT}")
    await eventually(lambda: made.run(get("/health"), check=False).returncode == 0, 30)
    yield made
    await eventually(lambda: left(made) == [], 40)


def left(host: LabHost) -> list[str]:
    """Folders, units and timers of ours on the host."""
    units = host.run("systemctl list-units --all --no-legend --plain 'specconsole*'").stdout.split("\n")
    return [*host.run("ls /run/specconsole 2>/dev/null", check=False).stdout.split(), *filter(None, units)]


def begun(desk: Desk, *words: str) -> subprocess.Popen[str]:
    """A console that has handed its run to the host and has seen the first result."""
    argv = desk.argv("bench", "gpu-1", "--json", *ASKED, *words)
    console = subprocess.Popen(argv, env=desk.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert console.stderr
    for line in console.stderr:
        if "ms per token" in line and "/0:" in line:
            return console
    raise AssertionError("the run never began")


def whole(run: dict[str, Any]) -> None:
    """Check that a run is complete: every request, every token, here and at the server."""
    assert run["why"] == "finished"
    assert run["id"]
    assert not run["direct"]
    assert [one["completion_tokens"] for one in run["results"]] == [60] * 10
    assert len({one["id"] for one in run["results"]}) == 10
    read = BenchRun.from_json(run)
    counters = read.counters()
    assert counters is not None
    assert counters.generation_tokens == 600


async def test_a_run_outlives_the_link(host: LabHost, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path)
    with begun(desk) as console:
        host.cut_ssh()
        out, err = await asyncio.to_thread(console.communicate, timeout=90)
    assert console.returncode == 0, err
    whole(json.loads(out))


@on_trixie
async def test_a_killed_console_is_followed_by_the_same_command_and_by_another_console(
    host: LabHost, tmp_path: Path
) -> None:
    desk = Desk(host, tmp_path)
    with begun(desk, "--label", "long") as console:
        console.kill()
    other = desk.argv("bench", "gpu-1", "--json", "--follow")
    with subprocess.Popen(other, env=desk.environment, stdout=subprocess.PIPE, text=True) as second:
        again = await asyncio.to_thread(desk.json, "bench", "gpu-1", *ASKED)
        out, _ = await asyncio.to_thread(second.communicate, timeout=90)
    whole(again)
    seen = json.loads(out)
    assert seen["id"] == again["id"]
    assert seen["results"] == again["results"]
    refused = await asyncio.to_thread(desk, "bench", "gpu-1", "--follow", status=3)
    assert "none waits there" in refused.stderr


@on_trixie
async def test_a_run_that_ended_alone_waits_and_goes_into_the_history(host: LabHost, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path)
    desk("bench", "gpu-1", *ASKED, "--detach", "--label", "alone")
    await eventually(lambda: '"event":"end"' in stamps(host), 60)
    assert "looked on (alone)" in desk("doctor", "gpu-1", status=1).stdout
    assert secret_free(host)
    run = desk.json("bench", "gpu-1", "--repeat", "1", "--max-tokens", "4", "--warmup", "0")
    assert len(run["results"]) == 5, "another question is another run"
    kept = await Memory(path_for()).runs()
    assert [one.label for one in kept] == ["", "alone"]
    assert kept[1].summary["requests"] == 10


@on_trixie
async def test_the_death_of_the_load_generator_is_told(host: LabHost, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path)
    with begun(desk) as console:
        host.run("kill -9 $(systemctl show --value -p MainPID specconsole-drive)")
        out, err = await asyncio.to_thread(console.communicate, timeout=60)
    run = json.loads(out)
    assert console.returncode == 1
    assert run["error"] == "the load generator was ended on the host (killed KILL)"
    assert 0 < len(run["results"]) < 10
    assert "Traceback" not in err


@on_trixie
async def test_a_cancel_ends_it_and_one_run_at_a_time_goes_on(host: LabHost, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path)
    with begun(desk, "--repeat", "40") as console:
        busy = await asyncio.to_thread(desk, "bench", "gpu-1", *ASKED, status=1)
        assert "A benchmark runs on gpu-1 already" in busy.stderr
        await asyncio.to_thread(desk, "bench", "gpu-1", "--cancel", status=130)
        out, _ = await asyncio.to_thread(console.communicate, timeout=60)
    run = json.loads(out)
    assert run["why"] == "cancelled"
    assert 0 < len(run["results"]) < 200


@on_trixie
async def test_a_reboot_ends_it_and_says_so(host: LabHost, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path)
    with begun(desk) as console:
        await asyncio.to_thread(host.reboot)
        out, err = await asyncio.to_thread(console.communicate, timeout=90)
    run = json.loads(out)
    assert console.returncode == 1, err
    assert "it was rebooted" in run["error"]
    assert run["results"]


@on_trixie
async def test_what_nobody_fetches_is_taken_away_in_time(host: LabHost) -> None:
    brief = {"unit": UNIT, "total": 1}
    body = {"messages": [{"role": "user", "content": "a"}], "stream": True, "max_tokens": 4}
    request = {"request": {"id": "a/0", "prompt": "a", "repeat": 0, "slot": [0, 0], "body": body}}
    lines = b"".join(json.dumps(one).encode() + b"\n" for one in ({"key": "sesame"}, request, {"go": True}))
    asked = {"id": "abc", "brief": brief, "run": {"endpoint": {"port": 8000}, "warmup": 0}, "keep_s": 3}
    async with reach(host) as console:
        assert await told(console, Program("drive_begin", asked), lines) == [{"began": "abc"}]
        await eventually(lambda: '"why":"finished"' in stamps(host), 30)
        assert [one.why for one in (await look(console)).waiting] == ["finished"]
        await eventually(lambda: left(host) == [], 90)


@on_trixie
async def test_a_login_without_rights_measures_over_the_link_and_says_so(host: LabHost, tmp_path: Path) -> None:
    run = Desk(host, tmp_path).json("bench", "guest", *ASKED)
    assert run["direct"] == "this login has no rights to start units of its own"
    assert [one["completion_tokens"] for one in run["results"]] == [60] * 10


def stamps(host: LabHost) -> str:
    """What runs have told so far."""
    return host.run("cat /run/specconsole/*/stamps", check=False).stdout


def secret_free(host: LabHost) -> bool:
    """Whether neither key nor requests lie on the host any more."""
    return host.run("ls /run/specconsole/*").stdout.split() == ["about", "brief", "stamps"]

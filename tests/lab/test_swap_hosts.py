"""Swaps on hosts that are not as they should be: what fails, what is waited for, what is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from specconsole.clock import SystemClock
from specconsole.engine.key import ApiKey
from specconsole.service import swap
from specconsole.stream import within
from tests.lab import faults
from tests.lab.conftest import MakeHost, on_trixie
from tests.lab.faults import BASELINE, NGRAM, WEIGHTS
from tests.lab.host import LabHost
from tests.lab.reach import eventually, reach, way
from tests.lab.swapping import cleared, deployed, swapped, up
from tests.lab.test_lab_itself import get
from tests.lab.test_link import wired
from tests.lab.test_verbs import Desk
from tests.lab.units import SYSTEM, serve, unit
from tests.lab.wire import Wire

pytestmark = on_trixie
GIB = 2**30


@pytest.fixture
def desk(tmp_path: Path) -> Callable[[LabHost], Desk]:
    return lambda host: Desk(host, tmp_path)


# -- what fails afterwards --


def test_a_crash_loop_ends_at_the_first_repeat(make_host: MakeHost, desk: Callable[[LabHost], Desk]) -> None:
    host = up(make_host(files=deployed(ngram="Environment=FAKE_FAIL=kv\nRestart=always\nRestartSec=0.1")))
    said = swapped(desk(host), status=1)
    assert "failed again in the same way" in said
    assert "To serve at least one request" in said
    assert "rolled back" in said
    assert "The KV cache does not fit" in said
    assert "--max-model-len" in said
    assert faults.serving(host) == BASELINE
    starts = host.run(f"journalctl -o cat -u {NGRAM} | grep -c 'Resolved architecture'").stdout
    assert 2 <= int(starts) <= 3


def test_a_variant_that_fails_once_leads_back(make_host: MakeHost, desk: Callable[[LabHost], Desk]) -> None:
    host = up(make_host(files=deployed(ngram="Environment=FAKE_FAIL=drafter")))
    said = swapped(desk(host), status=1)
    assert "state_dict for EagleLlamaForCausalLM" in said
    assert faults.record(host).outcome == "rolled_back"
    assert faults.serving(host) == BASELINE


def test_no_rollback_leaves_it_and_says_what_to_type(make_host: MakeHost, desk: Callable[[LabHost], Desk]) -> None:
    host = up(make_host(files=deployed(ngram="Environment=FAKE_FAIL=drafter")))
    said = swapped(desk(host), "--no-rollback", status=1)
    assert f"try: systemctl start {NGRAM}" in said
    assert faults.serving(host) is None


def test_a_unit_that_ignores_sigterm_is_told_step_by_step(make_host: MakeHost, desk: Callable[[LabHost], Desk]) -> None:
    host = up(make_host(files=deployed(baseline="Environment=FAKE_STUBBORN=1")))
    said = swapped(desk(host))
    assert "SIGTERM was sent, SIGKILL after 2 s" in said
    assert "SIGKILL: it did not heed SIGTERM" in said
    assert faults.serving(host) == NGRAM


def test_a_unit_that_speculates_against_its_command_is_not_proven(
    make_host: MakeHost, desk: Callable[[LabHost], Desk]
) -> None:
    """A wrapper that loses the option: the port answers, the model is right, and yet it is not what was asked for."""
    files = deployed()
    words = serve("--tensor-parallel-size", "2").split()
    files["/opt/wrapper"] = f"#!/usr/bin/python3\nimport os\nos.execv({words[0]!r}, {words!r})\n"
    files[f"{SYSTEM}/{NGRAM}"] = unit("/opt/wrapper", environment="FAKE_LOAD_S=0.3", unit=f"Conflicts={BASELINE}")
    host = up(make_host(files=files))
    here = desk(host)
    profile = here.config.with_name("wrapped.toml")
    profile.write_text(f"[units.ngram]\nname = '{NGRAM}'\nrole = 'variant'\nport = 8000\n")
    said = swapped(here, "--profile", str(profile), status=1)
    assert "should run with speculation: speculation by the log off, by /metrics off" in said
    assert faults.serving(host) == BASELINE


# -- what a stop leaves behind --


def orphaned(make_host: MakeHost) -> LabHost:
    """A host whose baseline leaves engine and workers behind, as a killed API server does."""
    return up(make_host(files=deployed(baseline="KillMode=process\nKillSignal=SIGKILL")))


def test_orphans_are_ended_when_told_so(make_host: MakeHost, desk: Callable[[LabHost], Desk]) -> None:
    host = orphaned(make_host)
    said = swapped(desk(host), "--orphans", "end")
    assert "3 processes were left behind" in said
    assert "VLLM::Worker_TP1" in said
    assert faults.serving(host) == NGRAM


def test_orphans_stay_when_told_so_and_the_baseline_comes_back(
    make_host: MakeHost, desk: Callable[[LabHost], Desk]
) -> None:
    host = orphaned(make_host)
    said = swapped(desk(host), "--orphans", "leave", status=1)
    assert "try: kill -9" in said
    assert "VLLM::EngineCore" in host.run("ps -eo args").stdout


async def test_a_console_answers_for_orphans(make_host: MakeHost) -> None:
    host = orphaned(make_host)
    async with reach(host) as console:
        ident = await swap.begin(console, await faults.planned(console))
        async for view in swap.follow(console, ident, SystemClock()):
            if view.story.ask:
                shown = view.story.ask["processes"]
                assert {one["argv"] for one in shown} == {"VLLM::EngineCore", "VLLM::Worker_TP0", "VLLM::Worker_TP1"}
                assert all(one["parent"] == 1 and one["unit"] == BASELINE for one in shown)
                assert [one["memory"] for one in shown if "Worker" in one["argv"]] == [100 * GIB, 100 * GIB]
                await swap.answer(console, ident, "orphans", "end")
    assert view.story.outcome == "committed"


def test_shared_memory_is_cleaned_of_what_is_proven_and_of_nothing_else(
    make_host: MakeHost, desk: Callable[[LabHost], Desk]
) -> None:
    host = make_host(files=faults.host_files())
    faults.ready(host)
    host.run("python3 -c \"open('/dev/shm/psm_late','wb').write(b'x' * 9)\"")
    before = set(host.run("ls /dev/shm").stdout.split())
    ours = {name for name in before if name.startswith(("psm_", "sem.mp-"))} - {
        "psm_weights",
        "psm_detached",
        "psm_late",
        "sem.mp-other",
    }
    assert len(ours) == 6
    swapped(desk(host))
    after = set(host.run("ls /dev/shm").stdout.split())
    assert ours & after == set()
    assert before - ours <= after
    clean = next(step for step in faults.record(host).steps if step.name == "clean")
    left = {one["name"]: one for one in clean.notes[0]["left"]}
    assert {"psm_weights", "psm_detached", "psm_late", "sem.mp-other"} <= set(left)
    assert left["psm_weights"]["size"] == 100_000
    assert host.run(f"stat -c %s {WEIGHTS}").stdout.strip() == "100000"


# -- several at work, and bad links --


async def test_two_consoles_at_once(make_host: MakeHost) -> None:
    host = up(make_host(files=deployed()))
    async with reach(host) as one, reach(host) as two:
        plans = [await faults.planned(one), await faults.planned(two)]
        tries: list[Awaitable[Any]] = [swap.begin(one, plans[0]), swap.begin(two, plans[1])]
        found = await asyncio.gather(*tries, return_exceptions=True)
        begun = [ident for ident in found if isinstance(ident, str)]
        refused = [error for error in found if isinstance(error, swap.SwapRefused)]
        assert len(begun) == len(refused) == 1
        assert refused[0].running in (begun[0], None)
        views = await asyncio.gather(faults.told(one, begun[0]), faults.told(two, begun[0]))
        assert views[0].story == views[1].story
    assert faults.serving(host) == NGRAM
    cleared(host)


async def test_cancel_rolls_back_and_drain_gives_up(make_host: MakeHost) -> None:
    host = up(make_host(files=deployed()))
    async with reach(host) as console:
        ident = await swap.begin(console, await faults.planned(console, hold={"step": "watch"}))
        await faults.held(host, ident)
        assert await swap.cancel(console, ident)
        faults.let_go(host, ident)
        view = await within(60, faults.told(console, ident))
        assert (view.story.outcome, view.story.turned) == ("rolled_back", "cancelled by the operator")
        assert not await swap.cancel(console, ident)
    assert faults.serving(host) == BASELINE


ASKER = """#!/usr/bin/python3
import json, urllib.request
body = json.dumps({"model": "kimi-k2.5", "prompt": "x", "max_tokens": 400}).encode()
headers = {"content-type": "application/json"}
urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:8000/v1/completions", body, headers)).read()
"""


def test_requests_in_flight_are_waited_for_and_counted(make_host: MakeHost, desk: Callable[[LabHost], Desk]) -> None:
    host = up(make_host(files={**deployed(baseline="Environment=FAKE_STEP_MS=200"), "/opt/ask.py": ASKER}))
    host.run("systemd-run -q --unit=asker /opt/ask.py")
    count = f"{get('/metrics')} | grep -q '^vllm:num_requests_running.* 1'"
    host.run(f"for i in $(seq 100); do {count} && exit; sleep 0.1; done; {get('/metrics')} | head -50 >&2; exit 1")
    said = swapped(desk(host), "--at-deadline", "give-up", status=1)
    assert "serving 1 request now" in said
    assert "1 in flight at the deadline, and the plan says to give up" in said
    assert faults.serving(host) == BASELINE


async def test_a_link_of_200_ms(make_host: MakeHost, tmp_path: Path) -> None:
    host = up(make_host(files=deployed()))
    async with Wire(host, delay_s=0.1) as wire:
        to, folder = await wired(host, wire, tmp_path)
        async with reach(host, to=to, by=way(folder, host.key)) as console:
            ident = await swap.begin(console, await faults.planned(console))
            view = await within(60, faults.told(console, ident))
    assert view.story.outcome == "committed"
    assert view.story == faults.record(host)


KEYS = ("sk-baseline-0123456789abcdef", "sk-variant-0123456789abcdef")


def test_keys_are_used_and_leave_no_trace(make_host: MakeHost, desk: Callable[[LabHost], Desk]) -> None:
    """Each unit has a key of its own: the variant is proven with its own, and on the way back the baseline with its own."""
    files = deployed(ngram=f"Environment=VLLM_API_KEY={KEYS[1]}")
    files[f"{SYSTEM}/{BASELINE}"] = files[f"{SYSTEM}/{BASELINE}"].replace(
        "--port 8000", f"--port 8000 --api-key {KEYS[0]}"
    )
    host = up(make_host(files=files))
    here = desk(host)

    async def seen_while_held() -> str:
        async with reach(host) as console:
            plan = await faults.planned(console, hold={"step": "prove", "fail": "injected"})
            ident = await swap.begin(console, plan, ApiKey(KEYS[1]))
            await faults.held(host, ident)
            shown = host.run("ps -eo args | grep -v vllm").stdout + host.run("systemctl cat specconsole-swap").stdout
            faults.let_go(host, ident)
            assert (await within(60, faults.told(console, ident))).story.outcome == "rolled_back"
            return shown

    shown = asyncio.run(seen_while_held())
    back = faults.record(host)
    assert next(note["text"] for note in back.steps[-1].notes) == "one token was generated"
    said = swapped(here)
    assert "one token was generated" in said
    traces = shown + said + host.run(f"cat {faults.RECORD}; journalctl --no-pager -b -u specconsole-swap").stdout
    assert not any(key in traces for key in KEYS)
    cleared(host)


# -- the plain verbs --


async def test_stop_start_and_restart(make_host: MakeHost, desk: Callable[[LabHost], Desk]) -> None:
    host = up(make_host(files=deployed()))
    here = desk(host)
    before = host.run(f"systemctl show -p InvocationID --value {BASELINE}").stdout
    assert "serves" in here("restart", "gpu-1", "--yes", "--drain", "0").stdout
    assert host.run(f"systemctl show -p InvocationID --value {BASELINE}").stdout != before
    assert "is stopped" in here("stop", "gpu-1", "--yes", "--drain", "0").stdout
    assert faults.serving(host) is None
    assert "serves" in here("start", "gpu-1", NGRAM, "--yes").stdout
    assert faults.serving(host) == NGRAM
    assert "swap instead" in here("start", "gpu-1", BASELINE, "--yes", status=1).stderr
    await eventually(lambda: not host.run("ls /run/specconsole").stdout)


async def test_a_swap_where_nothing_runs_asks_what_to_return_to(
    make_host: MakeHost, desk: Callable[[LabHost], Desk]
) -> None:
    host = make_host(files=deployed(ngram="Environment=FAKE_FAIL=drafter"))
    here = desk(host)
    assert "say what to return to" in here("swap", "gpu-1", NGRAM, "--yes", status=1).stderr
    said = here("swap", "gpu-1", NGRAM, "--yes", "--return-to", BASELINE, status=1)
    assert "rolled back" in said.stdout
    assert faults.serving(host) == BASELINE

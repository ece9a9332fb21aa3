"""What a swap refuses before anything is changed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from specconsole.service import swap
from specconsole.stream import within
from tests.lab import faults
from tests.lab.cards import hold_memory
from tests.lab.conftest import MakeHost, on_trixie
from tests.lab.faults import BASELINE, NGRAM
from tests.lab.host import LabHost
from tests.lab.reach import reach
from tests.lab.swapping import deployed, swapped, up
from tests.lab.test_verbs import Desk
from tests.lab.units import SYSTEM, serve, unit

pytestmark = on_trixie
GIB = 2**30


@pytest.fixture
def desk(tmp_path: Path) -> Callable[[LabHost], Desk]:
    return lambda host: Desk(host, tmp_path)


@pytest.fixture(scope="module")
def plain(make_shared: MakeHost) -> LabHost:
    return make_shared(files=deployed())


def test_a_masked_unit_is_not_swapped_to(make_host: MakeHost, desk: Callable[[LabHost], Desk]) -> None:
    host = up(make_host(files=deployed()))
    host.run(f"rm {SYSTEM}/{NGRAM}; systemctl daemon-reload; systemctl mask -q {NGRAM}")
    desk(host)("swap", "gpu-1", NGRAM, "--yes", status=3)  # it runs nothing any more: no unit of vLLM's
    assert faults.serving(host) == BASELINE


def test_a_wrong_program_is_found_before_the_stop(make_host: MakeHost, desk: Callable[[LabHost], Desk]) -> None:
    files = deployed()
    files[f"{SYSTEM}/{NGRAM}"] = files[f"{SYSTEM}/{NGRAM}"].replace("/opt/vllm/bin/vllm", "/opt/nowhere/bin/vllm")
    host = up(make_host(files=files))
    said = swapped(desk(host), status=1)
    assert "its program /opt/nowhere/bin/vllm is not there" in said
    assert "nothing changed" in said
    assert faults.serving(host) == BASELINE


def test_memory_held_by_another_user_is_named_and_refused(make_host: MakeHost, desk: Callable[[LabHost], Desk]) -> None:
    host = up(make_host(files=deployed()))
    host.run("systemd-run -q --uid=1000 --unit=notebook sleep 1000")
    pid = int(host.run("systemctl show -p MainPID --value notebook").stdout)
    hold_memory(host, 1, pid, 30 * GIB)
    said = swapped(desk(host), status=1)
    assert "sleep 1000 of notebook.service holds 30.0 GiB: stays" in said  # in the plan
    assert f"sleep 1000 pid {pid} of notebook.service 30.0 GiB; the next unit asks for 126.4 GiB" in said
    assert "nothing changed" in said
    assert faults.serving(host) == BASELINE


def test_a_login_without_rights_changes_nothing(plain: LabHost, desk: Callable[[LabHost], Desk]) -> None:
    up(plain)
    said = desk(plain)("swap", "reader", NGRAM, "--yes", status=1)
    assert "reading only" in said.stdout + said.stderr
    said = desk(plain)("swap", "gpu-1", NGRAM, "--yes", "--read-only", status=1)
    assert "reading only" in said.stderr
    assert faults.serving(plain) == BASELINE
    assert not faults.record(plain).id


def test_a_benchmark_of_the_unit_is_not_cut_off(make_host: MakeHost, desk: Callable[[LabHost], Desk]) -> None:
    host = up(make_host(files=deployed()))
    here = desk(host)
    here("bench", "gpu-1", "--detach", "--repeat", "200", "--warmup", "0")
    plan = here("swap", "gpu-1", NGRAM, "--dry-run", status=1).stdout
    assert f"BLOCKED     a benchmark runs of {BASELINE}" in plan
    assert f"specconsole bench -F {here.config} gpu-1 --cancel" in plan
    assert "a benchmark runs" in swapped(here, status=1)
    assert faults.serving(host) == BASELINE
    assert not faults.record(host).id, "nothing was begun"
    here("bench", "gpu-1", "--cancel", status=130)
    assert "BLOCKED" not in here("swap", "gpu-1", NGRAM, "--dry-run").stdout


def test_a_server_whose_key_nobody_knows_is_not_said_to_serve(
    make_host: MakeHost, desk: Callable[[LabHost], Desk]
) -> None:
    files = deployed(ngram="Environment=PYTHONPATH=/opt/site")  # neither its argv nor its environment shows the key
    files["/opt/site/sitecustomize.py"] = (
        "import os\nreal = os.environ.get\n"
        "os.environ.get = lambda name, other=None: 'sk-hidden' if name == 'VLLM_API_KEY' else real(name, other)\n"
    )
    host = up(make_host(files=files))
    here = desk(host)
    said = swapped(here, status=1)
    assert "done, NOT PROVEN" in said
    assert "generation is not proven: the server asks for a key that was not given" in said
    assert "try: give the console the key that the server asks for: [api_key] in the profile" in said
    assert faults.serving(host) == NGRAM
    record = faults.record(host)
    assert (record.outcome, bool(record.unproven)) == ("committed", True)
    assert "NOT PROVEN" in here("doctor", "gpu-1").stdout


def test_without_a_yes_nothing_is_begun(plain: LabHost, desk: Callable[[LabHost], Desk]) -> None:
    up(plain)
    assert "--yes" in desk(plain)("swap", "gpu-1", NGRAM, status=2).stderr
    plan = desk(plain).json("swap", "gpu-1", NGRAM, "--dry-run")
    assert plan["plan"]["back_to"]["name"] == BASELINE
    assert faults.serving(plain) == BASELINE


def test_a_full_var_is_refused_and_a_var_that_fills_up_does_not_stop_a_swap(
    make_host: MakeHost, desk: Callable[[LabHost], Desk]
) -> None:
    host = up(make_host(files=deployed()))
    host.run("mkdir -p /var/lib/specconsole && mount -t tmpfs -o size=8k,mode=700 none /var/lib/specconsole")
    assert "no room for the record" in swapped(desk(host), status=1)
    host.run("mount -o remount,size=8m /var/lib/specconsole")

    async def fill() -> None:
        async with reach(host) as console:
            plan = await faults.planned(console, hold={"step": "start"})
            ident = await swap.begin(console, plan)
            await faults.held(host, ident)
            host.run("cat /dev/zero >/var/lib/specconsole/full", check=False)
            faults.let_go(host, ident)
            view = await within(60, faults.told(console, ident))
            assert view.story.outcome == "committed"
            kept = host.run(f"tail -1 /run/specconsole/{ident}/record").stdout
            assert json.loads(kept)["outcome"] == "committed", "its copy stays where the record could not be written"

    asyncio.run(fill())
    assert faults.serving(host) == NGRAM


PROXY = """#!/usr/bin/python3
import socket, time
with socket.socket() as server:
    server.bind(("127.0.0.9", 8000))
    server.listen()
    time.sleep(10**6)
"""


def test_a_proxy_on_the_same_port_of_another_address_is_no_rival(
    make_host: MakeHost, desk: Callable[[LabHost], Desk]
) -> None:
    """It stays, and so it does not stand in the way; of a unit that listens everywhere it does, and is named."""
    files = {**deployed(), "/opt/proxy": PROXY}
    files[f"{SYSTEM}/vllm-all.service"] = unit(serve().replace("--host 127.0.0.1", "--host 0.0.0.0"))
    host = up(make_host(files=files))
    host.run("systemd-run -q --unit=proxy /opt/proxy")
    swapped(desk(host))
    assert faults.serving(host) == NGRAM
    done = desk(host)("swap", "gpu-1", "vllm-all", "--yes", "--drain", "0", status=1)
    assert "port 8000 of vllm-all.service is taken by pid" in done.stdout
    assert "/opt/proxy" in done.stdout
    assert faults.serving(host) == NGRAM
    assert host.run("systemctl is-active proxy").stdout.strip() == "active"


def test_a_full_shm_is_refused(make_host: MakeHost, desk: Callable[[LabHost], Desk]) -> None:
    host = up(make_host(files=deployed()))
    host.run("mount -o remount,size=100m /dev/shm && head -c 90M /dev/zero >/dev/shm/weights")
    assert "is full" in swapped(desk(host), status=1)
    assert faults.serving(host) == BASELINE

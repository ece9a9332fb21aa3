"""What a profile and a login say of a swap, and a process that no signal ends for a while."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from specconsole.clock import SystemClock
from specconsole.service import swap
from tests.lab import faults
from tests.lab.conftest import MakeHost, on_trixie
from tests.lab.faults import BASELINE, NGRAM
from tests.lab.host import LabHost
from tests.lab.reach import reach
from tests.lab.swapping import cleared, deployed, up
from tests.lab.test_verbs import Desk

pytestmark = on_trixie

LB = """#!/bin/sh
echo "$1 $(id -un) $(systemctl is-active vllm-kimi-k25-int4)" >>/run/lb
[ "$1" != refuse ] || { echo "no other server is left" >&2; exit 7; }
"""


@pytest.fixture
def desk(tmp_path: Path) -> Callable[[LabHost], Desk]:
    return lambda host: Desk(host, tmp_path)


def by_profile(desk: Desk, *lines: str) -> tuple[str, str]:
    """A profile beside the operator's other files, as the words that name it."""
    path = desk.config.with_name("deployment.toml")
    path.write_text("\n".join(("[swap]", *lines)) + "\n")
    return "--profile", str(path)


def test_a_profile_s_commands_are_run_around_a_swap(make_host: MakeHost, desk: Callable[[LabHost], Desk]) -> None:
    host = up(make_host(files={**deployed(), "/opt/lb": LB}))
    here = desk(host)
    words = by_profile(here, 'before = ["/opt/lb", "drain"]', 'after = ["/opt/lb", "serve"]', "drain_s = 1")
    done = here("swap", "gpu-1", NGRAM, "--yes", *words)
    assert "before the drain the host runs, as root: /opt/lb drain" in done.stdout
    assert "wait up to 1 s" in done.stdout
    assert "/opt/lb (before) was run" in done.stdout
    assert host.run("cat /run/lb").stdout == "drain root active\nserve root inactive\n"
    assert faults.serving(host) == NGRAM


def test_a_command_that_fails_before_the_drain_changes_nothing(
    make_host: MakeHost, desk: Callable[[LabHost], Desk]
) -> None:
    host = up(make_host(files={**deployed(), "/opt/lb": LB}))
    here = desk(host)
    words = by_profile(here, 'before = ["/opt/lb", "refuse"]', 'after = ["/opt/lb", "serve"]')
    done = here("swap", "gpu-1", NGRAM, "--yes", *words, status=1)
    assert "ended with status 7: no other server is left" in done.stdout
    assert "nothing changed" in done.stdout
    assert host.run("cut -d' ' -f1 /run/lb").stdout.split() == ["refuse", "serve"], "what it did half is taken back"
    assert faults.serving(host) == BASELINE


def test_a_profile_without_a_way_back(make_host: MakeHost, desk: Callable[[LabHost], Desk]) -> None:
    host = up(make_host(files=deployed(ngram="Environment=FAKE_FAIL=drafter")))
    here = desk(host)
    words = by_profile(here, "rollback = false", "drain_s = 1")
    done = here("swap", "gpu-1", NGRAM, "--yes", *words, status=1)
    assert "everything is left as it is" in done.stdout
    assert faults.serving(host) is None


def test_a_login_with_sudo_does_all_of_it(make_host: MakeHost, desk: Callable[[LabHost], Desk]) -> None:
    """Each verb as `ops`, who is not root and may use sudo without a password; what it leaves is root's alone."""
    host = up(make_host(files=deployed()))
    here = desk(host)
    assert "done" in here("swap", "ops", NGRAM, "--yes", "--drain", "0").stdout
    assert faults.serving(host) == NGRAM
    assert "serves" in here("restart", "ops", "--yes", "--drain", "0").stdout
    assert "is stopped" in here("stop", "ops", "--yes", "--drain", "0").stdout
    assert faults.serving(host) is None
    assert "serves" in here("start", "ops", BASELINE, "--yes").stdout
    assert faults.serving(host) == BASELINE
    assert host.run(f"stat -c '%U %a' {faults.RECORD}").stdout == "root 600\n"
    cleared(host)
    assert "swap to" in here("swap", "ops", "--follow", status=0).stdout or faults.record(host).outcome == "committed"


STUCK = """#!/usr/bin/python3
# The parent of a child that has not come to its exec is in state D: here until somebody writes into the pipe.
import os
os.mkfifo("/run/driver")
os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, "/run/driver", os.O_RDONLY, 0)])
"""


async def test_a_process_in_the_driver_is_waited_for_and_not_ended(make_host: MakeHost) -> None:
    """Longer than others may take to go: nobody is asked, nothing is ended, and the swap goes on once it is gone."""
    lines = "KillMode=process\nExecStartPost=/bin/sh -c '/opt/stuck & :'"
    host = up(make_host(files={**deployed(baseline=lines), "/opt/stuck": STUCK}))
    host.run("for i in $(seq 50); do ps -eo stat,args | grep '^D.*/opt/stuck' && exit; sleep 0.1; done; exit 1")
    async with reach(host) as console:
        ident = await swap.begin(console, await faults.planned(console))
        said, held = set(), True
        async for view in swap.follow(console, ident, SystemClock()):
            if found := re.search(r"left \(in the driver\) for (\d+) s", view.now):
                said.add(int(found[1]))
                if held and int(found[1]) > 22:
                    host.run(
                        ": >/run/driver"
                    )  # opened, not written into: its reader may be gone by then. Once: who opens it a second time waits for a reader for ever
                    held = False
    assert max(said) > 20
    assert view.story.ask is None
    assert view.story.outcome == "committed"
    assert not any("ended" in str(note.get("text")) for step in view.story.steps for note in step.notes)
    assert faults.serving(host) == NGRAM

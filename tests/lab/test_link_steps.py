"""A link that falls silent or is cut at each step of a connect: one sentence says where and at what, and never that it is up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from specconsole.clock import SystemClock
from specconsole.errors import LinkLost
from specconsole.host import survey
from specconsole.host.base import LinkKind
from specconsole.host.lease import Lease
from specconsole.host.ssh import SshHost
from specconsole.host.ssh.client import Client
from specconsole.host.ssh.machine import SshMachine
from specconsole.host.target import parse
from tests.lab.conftest import MakeHost, on_trixie
from tests.lab.host import LabHost
from tests.lab.reach import User, gone, host_key, known, reach, until, way
from tests.lab.wire import Wire

pytestmark = on_trixie
NO_ANSWER = "broke: no answer any more. Look at the network in between, and try again."
LOST = "broke: "


@pytest.fixture(scope="module")
def host(make_shared: MakeHost) -> LabHost:
    return make_shared(gpu=False, vllm=False, sshd="MaxStartups 100\nPerSourcePenalties no\n")


@dataclass(frozen=True)
class Step:
    """Where a connect is caught: as this method is called, of whose callers the step is the next thing to come."""

    owner: object
    method: str
    silent: str
    """Said when the link falls silent there."""
    cut: str
    wanted: Callable[[dict[str, Any]], bool] = lambda _: True
    """Whether a call, by its named arguments, is the one that is meant."""


STEPS = {
    "greeting": Step(Client, "connection_made", "took the connection and said nothing for 1 s.", ""),
    "keys": Step(
        asyncssh.SSHClientConnection,
        "set_extra_info",
        "fell silent for 1 s while keys were exchanged.",
        "closed the connection while keys were exchanged.",
        lambda named: "server_version" in named,
    ),
    "login": Step(
        Client, "begin_auth", "fell silent for 1 s during the login.", "closed the connection during the login."
    ),
    "session": Step(SshMachine, "add", NO_ANSWER, LOST),
    "survey": Step(survey, "parse", NO_ANSWER, LOST),
    "programs": Step(Lease, "begin", NO_ANSWER, LOST),
}


def catch(monkeypatch: pytest.MonkeyPatch, step: Step, deed: Callable[[], None]) -> None:
    """Do something to the link as a connect comes to a step, the first time."""
    original = getattr(step.owner, step.method)
    caught: list[bool] = []

    def meet(*args: Any, **named: Any) -> Any:
        if step.wanted(named) and not caught:
            caught.append(True)
            deed()
        return original(*args, **named)

    monkeypatch.setattr(step.owner, step.method, meet)


def through(wire: Wire, host: LabHost, folder: Path, config: str) -> SshHost:
    where = known(folder, more=host_key(host, f"[127.0.0.1]:{wire.port}"))
    by = way(where, host.key, config=config)
    return SshHost(parse(f"root@127.0.0.1:{wire.port}"), by, clock=SystemClock(), prompter=User())


# A connection that is closed before its greeting needs no relay: tests/host/test_ssh.py.
@pytest.mark.parametrize(("name", "how"), [("greeting", "silent"), *product(list(STEPS)[1:], ("silent", "cut"))])
async def test_a_link_that_ends_on_the_way_is_told_by_its_step(
    host: LabHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, how: str
) -> None:
    step = STEPS[name]
    async with Wire(host) as wire:
        console = through(wire, host, tmp_path, "ConnectTimeout 1\n")
        catch(monkeypatch, step, wire.stall if how == "silent" else wire.reset)
        try:
            with pytest.raises(LinkLost) as told:
                await console.open()
            said = str(told.value)
            assert f"127.0.0.1:{wire.port}" in said
            assert (step.silent if how == "silent" else step.cut) in said
            assert "try again" in said
            assert console.link.kind is LinkKind.LOST
            assert console.facts is None, "nothing is claimed of a host that was not reached"
        finally:
            await console.close()


@pytest.mark.parametrize("name", ["survey", "programs"])
async def test_a_reconnect_that_is_cut_is_tried_again(
    host: LabHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Until it works: the console must not settle for a host without Python."""
    async with Wire(host) as wire:
        name_there = f"[127.0.0.1]:{wire.port}"
        by = way(known(tmp_path, more=host_key(host, name_there)), host.key)
        async with reach(host, to=f"root@127.0.0.1:{wire.port}", by=by) as console:
            catch(monkeypatch, STEPS[name], wire.reset)
            wire.reset()
            again = await until(console, lambda link: link.kind is LinkKind.CONNECTING and link.attempt > 1)
            assert LOST in again.reason
            await until(console, lambda link: link.kind is LinkKind.UP)
            assert console.facts
            assert console.facts.python
            assert not [note for note in console.notes if note.topic == "python"]
    await gone(host, 5)


async def test_a_slow_connect_has_its_time_for_each_step(host: LabHost, tmp_path: Path) -> None:
    """At a round trip of 0.6 s the whole takes 4 s and more, and no step as long as 3 s."""
    async with Wire(host, delay_s=0.3) as wire:
        console = through(wire, host, tmp_path, "ConnectTimeout 3\n")
        try:
            await console.open()
            assert console.facts
            assert console.facts.python
        finally:
            await console.close()

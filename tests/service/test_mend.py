"""The drop-in that mends: composed out of several, marked, and never over one that is not ours."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from specconsole.errors import NotPermitted
from specconsole.remote.systemctl import Manager, user_manager
from specconsole.service import mend
from specconsole.service.finding import Finding
from specconsole.service.lint import Subject
from tests.fakes import FACTS, FakeHost, failed
from tests.service.test_lint import made

PATH = "/etc/systemd/system/vllm-ngram.service.d/90-specconsole.conf"
KILL = Finding("kill-mode", "warn", "s.", "e", "s", "[Service]\nKillMode=mixed\n")
LIMIT = Finding("restart-loop", "warn", "s.", "e", "s", "[Unit]\nStartLimitIntervalSec=21600\nStartLimitBurst=3\n")
TASTE = Finding("restart-none", "note", "s.", "e", "s", "[Service]\nRestart=always\n")


async def planned(host: FakeHost, *findings: Finding, there: str | None = None) -> mend.Mend:
    host.answer(f"cat -- {PATH}", failed(1, "no") if there is None else there)
    return await mend.plan(host, Subject(made(), {}), findings, Manager())


async def test_remedies_become_one_drop_in_of_ours() -> None:
    plan = await planned(FakeHost(), KILL, LIMIT, TASTE)
    assert (plan.path, plan.blockers, plan.left) == (PATH, (), (TASTE,))
    assert plan.text.splitlines()[2:] == [
        "[Unit]",
        "StartLimitIntervalSec=21600",
        "StartLimitBurst=3",
        "",
        "[Service]",
        "KillMode=mixed",
    ]
    assert mend.body(plan.text) is not None
    assert plan.mended == (KILL, LIMIT)
    assert plan.diff[1] == f"+++ {PATH}"


async def test_an_earlier_one_of_ours_is_added_to() -> None:
    before = mend.marked("[Service]\nTimeoutStopSec=120\nKillMode=process\n")
    plan = await planned(FakeHost(), KILL, there=before)
    assert plan.blockers == ()
    assert mend.body(plan.text) == "[Service]\nTimeoutStopSec=120\nKillMode=mixed\n"
    assert plan.before == before


@pytest.mark.parametrize("there", ["[Service]\nKillMode=none\n", mend.marked("[Service]\nA=1\n") + "B=2\n", ""])
async def test_one_that_is_not_ours_or_was_edited_is_left_alone(there: str) -> None:
    host = FakeHost()
    plan = await planned(host, KILL, there=there)
    assert "did not write it" in plan.blockers[0]
    with pytest.raises(NotPermitted):
        await mend.write(host, plan)
    assert not host.processes


async def test_nothing_to_mend_writes_nothing() -> None:
    assert (await planned(FakeHost(), TASTE)).text == ""


async def test_settings_that_may_stand_several_times_do() -> None:
    both = mend.merged(
        ["[Unit]\nConflicts=a.service\nAfter=a.service\n", "[Unit]\nConflicts=b.service\nAfter=a.service\n"]
    )
    assert both == "[Unit]\nConflicts=a.service\nConflicts=b.service\nAfter=a.service\n"
    one = mend.merged(["[Service]\nEnvironment=A=1\n", "[Service]\nEnvironment=B=2\n", "[Service]\nEnvironment=A=3\n"])
    assert one == "[Service]\nEnvironment=A=3\nEnvironment=B=2\n"


async def test_rights_and_python_are_needed() -> None:
    assert "reading only" in (await planned(FakeHost(read_only=True), KILL)).blockers[0]
    assert "no Python" in (await planned(FakeHost(facts=replace(FACTS, python=None)), KILL)).blockers[0]


async def written(host: FakeHost, plan: mend.Mend, answer: dict[str, Any]) -> str:
    host.script("dropin", [json.dumps(answer).encode() + b"\n"])
    return await mend.write(host, plan)


async def test_the_host_is_told_what_was_shown() -> None:
    host = FakeHost()
    before = mend.marked("[Service]\nTimeoutStopSec=120\n")
    plan = await planned(host, KILL, there=before)
    assert await written(host, plan, {"wrote": PATH}) == PATH
    (process,) = host.processes
    assert process.what.arguments == {  # type: ignore[union-attr]
        "path": PATH,
        "name": "vllm-ngram.service",
        "expect": hashlib.sha256(before.encode()).hexdigest(),
    }
    assert bytes(process.written).decode() == plan.text
    with pytest.raises(NotPermitted, match="has changed since"):
        await written(FakeHost(), await planned(FakeHost(), KILL), {"refused": "it has changed since it was shown"})


async def test_a_user_s_manager_has_its_drop_in_at_home() -> None:
    host = FakeHost()
    host.answer("cat -- *", failed(1, "no"))
    host.answer("getent passwd *", "al:x:1000:1001::/home/al:/bin/sh\n")
    manager = user_manager("al", 1000, 1001, "/home/al", as_root=True)
    plan = await mend.plan(host, Subject(made(manager="user:al"), {}), [KILL], manager)
    assert plan.path == "/home/al/.config/systemd/user/vllm-ngram.service.d/90-specconsole.conf"
    await written(host, plan, {"wrote": plan.path})
    arguments = host.processes[0].what.arguments  # type: ignore[union-attr]
    assert (arguments["user"], arguments["uid"], arguments["gid"]) == ("al", 1000, 1001)

"""Plans of derived units: what is read, what stands in the way, what is said, and that what systemd reads is compared."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from specconsole.errors import CommandFailed, DeadlineExceeded, NotPermitted, NotRunning, SpecConsoleError, UsageError
from specconsole.host.base import Program
from specconsole.profile import Profile, UnitProfile
from specconsole.service import derive, derive_write, derived, unitfile
from specconsole.service.derive import Derivation, Variant
from tests.fakes import FACTS, FakeProcess
from tests.service.machine import Machine

PYTHON = "/usr/bin/python3"
BASE, NEW = "vllm-kimi.service", "vllm-kimi-k3.service"
PATH = f"/etc/systemd/system/{NEW}"
K3 = {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4}
PROFILE = Profile(
    "p", units=(UnitProfile("eagle3", "vllm-kimi-e.service", speculative={"method": "eagle3", "model": "/e", "k": 1}),)
)


def answer(machine: Machine, *lines: dict[str, Any]) -> None:
    machine.host.script("derive", *[[json.dumps(line).encode() + b"\n"] for line in lines])


def order(process: FakeProcess) -> object:
    assert isinstance(process.what, Program)
    return process.what.arguments["do"]


async def planned(machine: Machine, settings: dict[str, Any] | None = None, name: str = "k3") -> Derivation:
    answer(machine, {"ready": True})
    return await derive.plan(machine.host, BASE, Variant(name, settings or K3))


def lay(machine: Machine, text: str) -> None:
    """Let the derived unit be there."""
    shown = "/opt/vllm/bin/vllm serve /models/Kimi-K2.5"
    machine.add(NEW, text, shown)


async def test_what_would_be_written() -> None:
    machine = Machine()
    plan = await planned(machine)
    assert (plan.name, plan.path, plan.blockers) == (NEW, PATH, ())
    assert plan.words == ("--speculative-config", json.dumps(K3))
    assert plan.argv[-2:] == plan.words
    assert plan.argv[1:3] == ("serve", "/models/Kimi-K2.5")
    assert "+Conflicts=vllm-kimi.service vllm-kimi-ngram.service vllm-wrapped.service" not in plan.diff
    conflicts = next(line for line in plan.diff if line.startswith("+Conflicts="))
    assert conflicts.split("=")[1].split()[0] == BASE
    assert plan.against == f"/etc/systemd/system/{BASE}"
    assert not machine.asked("*daemon-reload*")
    assert [order(process) for process in machine.host.processes] == ["look"]
    assert any(finding.id == "async-off" for finding in plan.findings) or plan.baseline.version is None


async def test_a_hand_made_unit_stands_in_the_way() -> None:
    plan = await planned(Machine(), name="ngram")
    (blocker,) = plan.blockers
    assert "vllm-kimi-ngram.service is there already, and specconsole did not write it" in blocker
    assert plan.remarks == ("/etc/systemd/system/vllm-kimi-ngram.service.d/10-limits.conf is there for it, and stays",)
    with pytest.raises(NotPermitted):
        await derive_write.write(Machine().host, plan)


async def test_what_an_earlier_derive_wrote_is_a_diff_too() -> None:
    machine = Machine()
    first = await planned(machine)
    lay(machine, first.text)
    again = await planned(machine)
    assert (again.unchanged, again.diff, again.blockers) == (True, (), ())
    other = await planned(machine, {**K3, "num_speculative_tokens": 4})
    assert not other.unchanged
    assert other.against == PATH
    assert any(line.startswith("+") and '"num_speculative_tokens": 4' in line for line in other.diff)


async def test_two_variants_written_together_stay_as_they_were_planned() -> None:
    """The later one names the earlier, and not the other way too: both planned before either is there, and again after."""

    async def both(machine: Machine) -> list[Derivation]:
        answer(machine, {"ready": True})
        answer(machine, {"ready": True})
        k3 = await derive.plan(machine.host, BASE, Variant("k3", K3))
        k5 = Variant("k5", {**K3, "num_speculative_tokens": 5})
        return [k3, await derive.plan(machine.host, BASE, k5, earlier=[k3])]

    machine = Machine()
    made = await both(machine)
    named = [unitfile.parse(one.text).words("Conflicts", "Unit") for one in made]
    assert (NEW in named[1], "vllm-kimi-k5.service" in named[0]) == (True, False)
    for one, conflicts in zip(made, named, strict=True):
        machine.add(one.name, one.text, "/opt/vllm/bin/vllm serve /models/Kimi-K2.5")
        machine.change(one.name, Conflicts=" ".join(conflicts))
    assert [one.unchanged for one in await both(machine)] == [True, True]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: text + "# mine\n", "edited by hand"),
        (lambda _: derived.marked("[Service]\n", derived.Mark("other.service", "k3", {}, "")), "derived from other"),
    ],
)
async def test_what_is_not_ours_any_more(change: Any, why: str) -> None:
    machine = Machine()
    lay(machine, change((await planned(machine)).text))
    assert why in (await planned(machine)).blockers[0]


async def test_a_drop_in_that_waits_for_the_new_unit() -> None:
    machine = Machine()
    lay(machine, (await planned(machine)).text)
    path = f"{PATH}.d/x.conf"
    machine.change(NEW, DropInPaths=path)
    machine.files[path] = "[Service]\nLimitMEMLOCK=infinity\n"
    plan = await planned(machine)
    assert (plan.blockers, plan.remarks) == ((), (f"{path} is there for it, and stays",))
    machine.files[path] = "[Service]\nExecStart=\nExecStart=/bin/true\n"
    assert "replaces its command" in (await planned(machine)).blockers[0]


async def test_a_host_without_rights_or_python_is_told() -> None:
    machine = Machine()
    machine.host.read_only = True
    assert "reading only" in (await planned(machine)).blockers[0]
    assert not machine.host.processes


@pytest.mark.parametrize(
    ("said", "why"),
    [([], "this host writes no units"), ([{"refused": "nothing can be written into /etc"}], "into /etc")],
)
async def test_a_host_that_cannot_write_is_told_in_the_plan(said: list[dict[str, Any]], why: str) -> None:
    machine = Machine()
    machine.host.script("derive", [json.dumps(line).encode() + b"\n" for line in said])
    plan = await derive.plan(machine.host, BASE, Variant("k3", K3))
    assert why in plan.blockers[0]
    assert plan.diff


@pytest.mark.parametrize(
    ("typed", "python", "error", "why"),
    [
        (
            "root@gpu-1",
            PYTHON,
            None,
            "our program ended there without an answer; specconsole doctor looks at its Python",
        ),
        ("root@gpu-1", PYTHON, DeadlineExceeded("It took too long."), "it did not answer in time; try again"),
        ("root@gpu-1", PYTHON, asyncio.TimeoutError(), "it did not answer in time; try again"),
        ("root@gpu-1", PYTHON, CommandFailed("gpu-1 says more than 64 MiB."), "gpu-1 says more than 64 MiB"),
        ("root@gpu-1", None, None, "it has no Python of 3.8 or newer; install one there"),
        ("demo:oom@60", PYTHON, None, "a demo is no real host; give one"),
        ("demo", None, None, "a demo is no real host; give one"),
    ],
)
async def test_a_host_that_runs_no_program_is_told_one_cause(
    typed: str, python: str | None, error: Exception | None, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object) -> list[dict[str, Any]]:
        assert error is not None
        raise error

    machine = Machine()
    if error is not None:
        monkeypatch.setattr(derive, "told", fails)
    machine.host.typed, machine.host.facts = typed, replace(FACTS, python=python)
    machine.host.script("derive", [])
    plan = await derive.plan(machine.host, BASE, Variant("k3", K3))
    assert plan.blockers == (f"this host writes no units: {why}",)


async def test_a_file_that_cannot_be_read_is_named() -> None:
    machine = Machine()
    machine.files["/etc/systemd/system/vllm-kimi.service.d/x.conf"] = ""
    machine.change(BASE, DropInPaths="/etc/systemd/system/vllm-kimi.service.d/y.conf")
    with pytest.raises(NotPermitted, match=r"y\.conf"):
        await planned(machine)
    with pytest.raises(NotRunning):
        await derive.plan(machine.host, "nothing", Variant("x", K3))


@pytest.mark.parametrize("name", ["a b", "../x", "x/y", "é", "x" * 250])
async def test_names_that_are_none(name: str) -> None:
    with pytest.raises(UsageError, match="no unit's name"):
        await planned(Machine(), name=name)


async def test_secrets_are_in_the_text_alone() -> None:
    machine = Machine()
    path = f"/etc/systemd/system/{BASE}"
    machine.files[path] = machine.files[path].replace("Restart=", "Environment=HF_TOKEN=hf_secret123\nRestart=")
    plan = await planned(machine)
    assert "hf_secret123" in plan.text
    assert "hf_secret123" not in "\n".join(plan.diff) + repr(plan)


async def test_what_systemd_reads_is_compared_and_taken_back() -> None:
    machine = Machine()
    plan = await planned(machine)
    answer(machine, {"wrote": PATH, "mode": "0644"}, {"removed": PATH})
    lay(machine, plan.text.replace("/models/Kimi-K2.5", "/models/other"))
    with pytest.raises(SpecConsoleError, match="taken back"):
        await derive_write.write(machine.host, plan)
    assert [order(process) for process in machine.host.processes] == ["look", "write", "remove"]


async def test_a_refusal_of_the_host_is_told() -> None:
    machine = Machine()
    plan = await planned(machine)
    answer(machine, {"refused": "x has changed since it was shown (stale)"})
    with pytest.raises(NotPermitted, match="stale"):
        await derive_write.write(machine.host, plan)


async def test_only_what_derive_wrote_is_removed() -> None:
    machine = Machine()
    with pytest.raises(NotPermitted, match="did not write"):
        await derive_write.removal(machine.host, "vllm-kimi-ngram")
    text = (await planned(machine)).text
    lay(machine, text + "#\n")
    with pytest.raises(NotPermitted, match="edited by hand"):
        await derive_write.removal(machine.host, NEW)
    machine.files[PATH] = text
    plan = await derive_write.removal(machine.host, NEW)
    assert (plan.path, plan.mark.origin, plan.blockers) == (PATH, BASE, ())
    assert plan.diff[:2] == (f"--- {PATH}", "+++ (none)")
    assert [line[1:] for line in plan.diff[3:]] == text.splitlines()
    machine.change(NEW, ActiveState="active", UnitFileState="enabled")
    assert len((await derive_write.removal(machine.host, NEW)).blockers) == 2
    answer(machine, {"removed": PATH})
    assert (await derive_write.remove(machine.host, plan))["removed"] == PATH


def test_what_a_variant_is() -> None:
    assert derive.variant_of("eagle3", None, [], PROFILE) == Variant(
        "eagle3", {"method": "eagle3", "model": "/e", "k": 1}, "vllm-kimi-e.service"
    )
    assert derive.variant_of("eagle3", "eagle3", ["k=2"], PROFILE).settings == {
        "method": "eagle3",
        "model": "/e",
        "k": 2,
    }
    assert derive.variant_of("eagle3", "mtp", [], PROFILE).settings == {"method": "mtp"}
    assert derive.variant_of("x", "ngram", ["num_speculative_tokens=5"], None).unit == ""
    assert derive.variant_of("x", "ngram", ["num_speculative_tokens=3"], None).settings == {
        "method": "ngram",
        "num_speculative_tokens": 3,
    }
    assert derive.variant_of("x", "ngram", [], None).settings == derive.USUAL["ngram-k5"]
    with pytest.raises(UsageError, match="describes eagle3"):
        derive.variant_of("x", None, [], PROFILE)

"""vLLM's units found on a real systemd without being told, and every change of them seen within a second."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from specconsole.host.base import Completed
from specconsole.host.ssh import SshHost
from specconsole.service import prefetch
from specconsole.service.discover import Finding, discover, findings
from specconsole.service.source import Source
from specconsole.service.unit import Role, Unit
from specconsole.service.watch import watch
from tests.lab.cards import cards
from tests.lab.conftest import MakeHost
from tests.lab.host import LabHost
from tests.lab.reach import eventually, reach
from tests.lab.units import MODEL, NGRAM, SYSTEM, VLLM, deployment, serve, unit

BASELINE, VARIANT = "vllm-kimi-k25-int4.service", "vllm-kimi-k25-int4-ngram.service"
SEEN_WITHIN_S = 1.0
NOISE = 0.5
"""Seconds that a busy machine with two cores may take beyond what is promised."""

OTHERS = {
    f"{SYSTEM}/module.service": unit(
        f"/usr/bin/python3 -m vllm.entrypoints.openai.api_server --model {MODEL} --port 8001 -tp 4 --api-key sk-secret-1"
    ),
    f"{SYSTEM}/boxed.service": unit(
        f"/usr/bin/docker run --rm --gpus all -p 9000:8000 vllm/vllm-openai:v0.24.0 --model {MODEL} --max-model-len 4096"
    ),
    f"{SYSTEM}/socket.service": unit(serve("--uds", "/run/vllm.sock")),
    f"{SYSTEM}/web.service": "[Service]\nExecStart=/usr/bin/python3 -m http.server --directory /srv/vllm\n",
}


class Units:
    """The units as they come."""

    def __init__(self, console: SshHost) -> None:
        self._stream = watch(console, None)

    async def until(self, good: Callable[[dict[str, Unit]], bool], timeout_s: float = 15) -> dict[str, Unit]:
        """Take readings until one is so."""

        named: dict[str, Unit] = {}

        async def look() -> dict[str, Unit]:
            nonlocal named
            async for units in self._stream:
                named = {unit.key: unit for unit in units}
                if good(named):
                    return named
            raise AssertionError("the units ended")

        try:
            return await asyncio.wait_for(look(), timeout_s)
        except asyncio.TimeoutError:
            states = {name: unit.state for name, unit in named.items()}
            raise AssertionError(f"no such units within {timeout_s} s; the last: {states}") from None

    async def aclose(self) -> None:
        """End them."""
        await self._stream.aclose()


@asynccontextmanager
async def watched(host: LabHost, user: str = "root") -> AsyncIterator[Units]:
    async with reach(host, user) as console, aclosing(Units(console)) as units:
        yield units


def state(name: str, active: str, sub: str = "") -> Callable[[dict[str, Unit]], bool]:
    """Whether a unit is so."""

    def is_so(units: dict[str, Unit]) -> bool:
        found = units[name].state
        return found.active == active and sub in ("", found.sub)

    return is_so


@pytest.mark.parametrize("user", ["root", "guest"])
async def test_they_are_found_by_what_they_run(make_host: MakeHost, user: str) -> None:
    host = make_host(files={**cards(), **deployment(0.3), **OTHERS})
    async with reach(host, user) as console:
        found = {unit.key: unit for unit in await discover(console, None)}
    assert found.keys() == {BASELINE, VARIANT, "module.service", "boxed.service", "socket.service"}
    baseline, variant = found[BASELINE].serving, found[VARIANT].serving
    assert (baseline.launcher, baseline.model, baseline.served_names) == ("serve", MODEL, ("kimi-k2.5",))
    assert (baseline.endpoint.address, baseline.endpoint.port, baseline.role) == ("127.0.0.1", 8000, Role.BASELINE)
    assert variant.role is Role.VARIANT
    assert variant.speculation
    assert (variant.speculation.method, variant.speculation.tokens) == (NGRAM["method"], 5)
    assert found[BASELINE].group == found[VARIANT].group != ""
    module = found["module.service"].serving
    assert (module.launcher, module.endpoint.port, module.tensor_parallel, module.has_api_key) == (
        "module",
        8001,
        4,
        True,
    )
    assert not any("sk-secret" in word for word in module.argv)
    boxed = found["boxed.service"].serving
    assert (boxed.launcher, boxed.image, boxed.endpoint.port) == ("docker", "vllm/vllm-openai:v0.24.0", 9000)
    assert found["socket.service"].serving.endpoint.uds == "/run/vllm.sock"


@pytest.mark.parametrize("user", ["root", "ops", "guest"])
async def test_a_host_that_is_asked_at_once_says_what_it_says_one_by_one(
    make_host: MakeHost, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        **cards(), **deployment(0.3), **OTHERS,
        f"{SYSTEM}/{VARIANT}.d/50-größer.conf": "[Service]\nEnvironment=A=1 \"B=2 3\"\nEnvironmentFile=-/etc/vllm.env\nUser=ops\n",
        "/etc/vllm.env": "PORT=8020\nNAME=\"größer\"\n",
        f"{SYSTEM}/wrapped.service": "[Service]\nExecStart=/opt/start.sh 8003\nEnvironmentFile=-/etc/none.env\n",
        "/opt/start.sh": "#!/bin/sh\nexec vllm serve /models/x --port $1\n",
        f"{SYSTEM}/broken.service": "[Service]\nExecStart=relative vllm serve x\n",
        "/var/lib/systemd/linger/ops": "",
        "/home/ops/.config/systemd/user/vllm-mine.service": unit(serve(port=8010)),
    }  # fmt: skip
    host = make_host(files=files)
    as_ops = "runuser -u ops -- env XDG_RUNTIME_DIR=/run/user/$(id -u ops) systemctl --user"
    await eventually(lambda: host.run(f"{as_ops} is-system-running", check=False).stdout == "running\n")
    async with reach(host, user) as console:
        monkeypatch.setattr(prefetch, "SHORT_S", 0)  # a lab host is near
        alone = await findings(console)
        known, asked, run = await prefetch.prefetch(console), [], console.run

        async def note(argv: Sequence[str], **more: Any) -> Completed:
            asked.append(argv)
            return await run(argv, **more)

        monkeypatch.setattr(console, "run", note)
        at_once = await findings(known)
    assert not asked
    assert list(map(timeless, at_once)) == list(map(timeless, alone))
    assert {finding.unit.key for finding in alone} >= {BASELINE, VARIANT, "wrapped.service", "broken.service"}
    assert ("ops/vllm-mine.service" in {finding.unit.key for finding in alone}) is (user != "guest")


def timeless(finding: Finding) -> tuple[Unit, Source]:
    """What was found, without when it was read."""
    state = replace(finding.unit.state, mono=None, since_s=None, read=None, cpu_s=None)
    return replace(finding.unit, state=state), finding.raw


async def test_what_systemd_says_of_one(make_host: MakeHost) -> None:
    host = make_host(files={**cards(), **deployment(0.3)})
    host.run(f"systemctl enable -q {BASELINE}; systemctl start {BASELINE}")
    async with reach(host) as console:
        found = {unit.key: unit for unit in await discover(console, None)}[BASELINE]
    said = dict(
        line.split("=", 1) for line in host.run(f"systemctl show {BASELINE}").stdout.splitlines() if "=" in line
    )
    assert (found.manager, found.description, found.fragment) == ("system", "Kimi-K2.5 INT4", f"{SYSTEM}/{BASELINE}")
    state = found.state
    assert (state.load, state.active, state.sub, state.result) == ("loaded", "active", "running", "success")
    assert (state.main_pid, state.restarts, state.enabled) == (int(said["MainPID"]), 0, "enabled")
    assert (state.invocation, state.cgroup) == (said["InvocationID"], said["ControlGroup"])
    assert state.since_s is not None
    assert 0 <= state.since_s < 60


async def test_changes_are_seen_within_a_second(make_host: MakeHost) -> None:
    host = make_host(files={**cards(), **deployment(0.3)})
    loop = asyncio.get_running_loop()
    async with watched(host) as units:
        await units.until(state(BASELINE, "inactive"))
        for command, seen in (
            (f"systemctl start {BASELINE}", state(BASELINE, "active", "running")),
            (
                f"systemctl start {VARIANT}",
                lambda now: state(BASELINE, "inactive")(now) and state(VARIANT, "active")(now),
            ),
            (f"systemctl kill -s KILL {VARIANT}", state(VARIANT, "failed")),
            (f"systemctl reset-failed {VARIANT}", state(VARIANT, "inactive")),
        ):
            await asyncio.to_thread(host.run, command)
            began = loop.time()
            now = await units.until(seen)
            assert loop.time() - began < SEEN_WITHIN_S + NOISE, command
        assert now[VARIANT].state.main_pid is None


async def test_a_crash_loop_is_counted(make_host: MakeHost) -> None:
    text = unit(serve(), environment="FAKE_LOAD_S=0.1 FAKE_FAIL=oom", service="Restart=on-failure\nRestartSec=0.2")
    host = make_host(files={**cards(), f"{SYSTEM}/vllm.service": text})
    async with watched(host) as units:
        await units.until(lambda now: "vllm.service" in now)
        host.run("systemctl start vllm", check=False)
        now = await units.until(lambda now: (now["vllm.service"].state.restarts or 0) >= 2, 30)
        host.run("systemctl stop vllm")
    assert now["vllm.service"].state.running


async def test_a_new_unit_and_a_stale_file_are_seen(make_host: MakeHost) -> None:
    host = make_host(files={**cards(), **deployment(0.3)})
    host.run(f"systemctl start {BASELINE}")  # systemd forgets a unit that does not run, and would read its file anew
    async with watched(host) as units:
        now = await units.until(lambda now: BASELINE in now)
        assert "late.service" not in now
        host.path(f"{SYSTEM}/late.service").write_text(unit(serve(port=8007)))
        host.run("systemctl daemon-reload")
        now = await units.until(lambda now: "late.service" in now)
        assert now["late.service"].serving.endpoint.port == 8007
        host.path(f"{SYSTEM}/{BASELINE}").write_text(unit(serve(port=8008)))
        host.run(f"touch -d '+2 seconds' {SYSTEM}/{BASELINE}")
        await units.until(lambda now: now[BASELINE].state.need_reload)


async def test_a_unit_of_a_user_s_manager(make_host: MakeHost) -> None:
    files = {
        **cards(),
        "/var/lib/systemd/linger/ops": "",
        "/home/ops/.config/systemd/user/vllm-mine.service": unit(serve(port=8010)).replace("multi-user", "default"),
    }
    host = make_host(files=files)
    as_ops = "runuser -u ops -- env XDG_RUNTIME_DIR=/run/user/$(id -u ops) systemctl --user"
    await eventually(lambda: host.run(f"{as_ops} is-system-running", check=False).stdout == "running\n")
    async with watched(host) as units:
        now = await units.until(lambda now: "ops/vllm-mine.service" in now)
        assert now["ops/vllm-mine.service"].manager == "user:ops"
        host.run(f"{as_ops} start vllm-mine")
        await units.until(state("ops/vllm-mine.service", "active", "running"))


async def test_masked_and_broken_units_are_told_apart(make_host: MakeHost) -> None:
    files = {
        f"{SYSTEM}/vllm-broken.service": f"[Service]\nExecStart={VLLM} serve {MODEL}\nType=nonsense\nExecStart=relative serve\n",
        "/usr/lib/systemd/system/vllm-masked.service": unit(serve()),
    }
    host = make_host(files=files)
    host.run("systemctl mask -q vllm-masked")
    async with reach(host) as console:
        found = {unit.key: unit for unit in await discover(console, None)}
    broken = found.get("vllm-broken.service")
    assert broken is None or broken.state.load in ("loaded", "bad-setting", "error")
    masked = found.get("vllm-masked.service")
    assert masked is None or masked.state.load == "masked"


async def test_units_are_watched_over_a_cut_and_a_reboot(make_host: MakeHost) -> None:
    host = make_host(files={**cards(), **deployment(0.3)})
    host.run(f"systemctl enable -q {VARIANT}")
    async with watched(host) as units:
        await units.until(state(VARIANT, "inactive"))
        await asyncio.to_thread(host.cut_ssh)
        host.run(f"systemctl start {BASELINE}")
        await units.until(state(BASELINE, "active"))
        await asyncio.to_thread(host.reboot)
        now = await units.until(state(VARIANT, "active"), 40)
        assert now[BASELINE].state.active == "inactive"

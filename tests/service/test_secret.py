"""The API key: found in order, never in an argv, never in a text."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from specconsole.engine.key import ApiKey
from specconsole.errors import ConfigError
from specconsole.profile import KeySource, Profile
from specconsole.service.discover import discover
from specconsole.service.secret import api_key, of_profile
from specconsole.service.unit import Unit
from tests.service.machine import Machine

KEY = "sk-super-secret"


async def keyed(machine: Machine, command: str, name: str = "keyed.service", file: str = "") -> Unit:
    machine.add(name, file or f"[Service]\nEnvironment=VLLM_API_KEY={KEY}\nExecStart={command}\n", command)
    return next(unit for unit in await discover(machine.host) if unit.name == name)


def revealed(key: ApiKey | None) -> str | None:
    return key.reveal() if key else None


async def test_from_the_units_environment_its_argv_and_its_script() -> None:
    machine = Machine(user=False)
    unit = await keyed(machine, "/v/vllm serve /m")
    assert unit.serving.has_api_key
    assert revealed(await api_key(machine.host, unit)) == KEY
    unit = await keyed(
        machine,
        "/v/vllm serve /m --api-key sk-argv",
        "a.service",
        "[Service]\nExecStart=/v/vllm serve /m --api-key sk-argv\n",
    )
    assert revealed(await api_key(machine.host, unit)) == "sk-argv"
    machine.files["/opt/k.sh"] = "#!/bin/sh\nexport VLLM_API_KEY=sk-script\nexec vllm serve /m\n"
    unit = await keyed(machine, "/opt/k.sh", "b.service", "[Service]\nExecStart=/opt/k.sh\n")
    assert revealed(await api_key(machine.host, unit)) == "sk-script"
    machine.files["/etc/vllm/kimi.env"] += "VLLM_API_KEY=sk-file\n"
    unit = next(unit for unit in await discover(machine.host) if unit.name == "vllm-kimi.service")
    assert revealed(await api_key(machine.host, replace(unit, state=replace(unit.state, main_pid=None)))) == "sk-file"


async def test_the_running_process_has_the_last_word() -> None:
    machine = Machine(user=False)
    unit = await keyed(machine, "/v/vllm serve /m")
    unit = replace(unit, state=replace(unit.state, main_pid=77))
    machine.files["/proc/77/cmdline"] = "/v/python\0/v/vllm\0serve\0/m\0"
    machine.files["/proc/77/environ"] = "A=b\0VLLM_API_KEY=sk-running\0"
    key = await api_key(machine.host, unit)
    assert revealed(key) == "sk-running"
    assert key is not None
    assert key.source == "the running process"
    del machine.files["/proc/77/environ"]
    assert revealed(await api_key(machine.host, unit)) == KEY


async def test_the_profile_and_the_console_s_environment_come_first() -> None:
    machine = Machine(user=False)
    unit = await keyed(machine, "/v/vllm serve /m")
    assert revealed(await api_key(machine.host, unit, None, {"VLLM_API_KEY": "sk-env"})) == "sk-env"
    profile = Profile("p", api_key=KeySource(env="MINE"))
    assert (
        revealed(await api_key(machine.host, unit, profile, {"MINE": "sk-mine", "VLLM_API_KEY": "sk-env"})) == "sk-mine"
    )
    with pytest.raises(ConfigError, match="MINE, which is not set"):
        await api_key(machine.host, unit, profile, {})


async def test_a_server_without_a_key_needs_none() -> None:
    machine = Machine(user=False)
    unit = next(unit for unit in await discover(machine.host) if unit.name == "vllm-kimi.service")
    assert await api_key(machine.host, unit, None, {"VLLM_API_KEY": "other server's"}) is None


async def test_a_key_that_cannot_be_read_is_none() -> None:
    machine = Machine(user=False)
    script = "vllm serve /m --api-key $(cat /k)"
    unit = await keyed(machine, f"/bin/sh -c {script}", "a.service", f"[Service]\nExecStart=/bin/sh -c '{script}'\n")
    assert unit.serving.has_api_key
    assert await api_key(machine.host, unit) is None


async def test_the_profile_s_command_runs_here_without_a_shell() -> None:
    script = "import sys; print(sys.argv[1]); print('more')"
    key = await of_profile(KeySource(command=(sys.executable, "-c", script, "sk $(x) y")), {})
    assert key.reveal() == "sk $(x) y"
    for script, said in (("import sys; sys.exit(3)", "status 3"), ("print()", "gave no key")):
        with pytest.raises(ConfigError, match=said):
            await of_profile(KeySource(command=(sys.executable, "-c", script)), {})
    with pytest.raises(ConfigError, match="cannot be run: No such file"):
        await of_profile(KeySource(command=("/no/such/program",)), {})


async def test_a_command_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specconsole.service.secret.COMMAND_S", 0.2)
    with pytest.raises(ConfigError, match="did not end within"):
        await of_profile(KeySource(command=(sys.executable, "-c", "import time; time.sleep(60)")), {})


async def test_it_stands_nowhere() -> None:
    machine = Machine(user=False)
    unit = await keyed(machine, "/v/vllm serve /m")
    key = await api_key(machine.host, unit)
    assert KEY not in repr(machine.host.calls) + repr(unit) + repr(key)

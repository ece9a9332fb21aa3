"""Units found on recorded hosts: by what they run, with groups, labels, versions, and what a profile adds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from specconsole.errors import CommandFailed, DeadlineExceeded
from specconsole.host.base import Completed, Endpoint, Rights
from specconsole.profile import Profile, UnitProfile
from specconsole.remote.unit_search import CAT
from specconsole.service.discover import booted_at, discover
from specconsole.service.prefetch import Prefetched
from specconsole.service.unit import Role, Unit
from tests.fakes import FakeHost, Reply, failed
from tests.service.machine import VERSIONS, Machine

ROUNDS = {"one by one": 8, "at once": 1}
"""Waits for the host until all units are known; beside the one for all at once, one for a file that a script sources."""


@pytest.fixture(autouse=True, params=["one by one", "at once"])
def asked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the host is asked: the same is found either way."""
    monkeypatch.setattr(Machine, "prefetches", request.param == "at once")
    return str(request.param)


async def found(machine: Machine, profile: Profile | None = None) -> dict[str, Unit]:
    return {unit.key: unit for unit in await discover(machine.host, profile)}


@pytest.mark.parametrize("version", VERSIONS)
async def test_all_that_run_vllm_and_no_other(version: str) -> None:
    units = await found(Machine(version))
    assert list(units) == [
        *("vllm-kimi.service", "vllm-kimi-ngram.service", "vllm-wrapped.service"),
        *("vllm@tiny.service", "ops/vllm-mine.service", "broken.service"),
    ]
    assert [unit.label for unit in units.values()] == ["baseline", "ngram", "wrapped", "vllm@tiny", "mine", "broken"]
    base, ngram, wrapped = (units[f"vllm-{name}.service"] for name in ("kimi", "kimi-ngram", "wrapped"))
    assert (base.serving.model, base.serving.served_names) == ("/models/Kimi-K2.5", ("kimi-k2.5",))
    assert (base.serving.endpoint, base.serving.tensor_parallel, base.serving.eager) == (Endpoint(8011), 8, True)
    assert (base.role, base.group, base.description) == (Role.BASELINE, "Kimi-K2.5", 'Kimi "K2.5" – baseline')
    assert (base.state.active, base.state.enabled) == ("active", "disabled")
    assert base.state.since_s is not None
    assert ngram.serving.speculation is not None
    assert json.loads(ngram.serving.speculation.config) == {"method": "ngram", "num_speculative_tokens": 5}
    assert (ngram.role, ngram.group, ngram.state.active) == (Role.VARIANT, "Kimi-K2.5", "inactive")
    assert ngram.drop_ins == ("/etc/systemd/system/vllm-kimi-ngram.service.d/10-limits.conf",)
    assert (wrapped.serving.endpoint.port, wrapped.serving.log_file) == (8003, "/var/log/vllm.log")
    assert wrapped.serving.speculation is not None
    assert (wrapped.serving.speculation.method, wrapped.serving.speculation.tokens) == ("eagle3", 3)
    tiny, mine = units["vllm@tiny.service"], units["ops/vllm-mine.service"]
    assert (tiny.serving.model, tiny.serving.endpoint.port) == ("/models/tiny", 8002)
    assert (mine.manager, mine.serving.endpoint.port, mine.state.load) == ("user:ops", 8010, "loaded")


@pytest.mark.parametrize(
    ("path", "key", "what"),
    [
        ("/etc/vllm/kimi.env", "vllm-kimi.service", "port"),
        ("/etc/vllm/common.sh", "vllm-wrapped.service", "model"),
        ("/etc/systemd/system/vllm-kimi.service", "vllm-kimi.service", None),
    ],
)
async def test_a_file_that_gives_no_answer_is_named_and_what_it_sets_is_unknown(
    path: str, key: str, what: str | None, asked: str
) -> None:
    machine = Machine(user=False)
    machine.late = {path}
    units = await found(machine)
    assert len(units) == 5, "the other units are there all the same"
    assert units[key].unread == (path,)
    assert what is None or what in units[key].serving.unknown, "it may set that to something else"
    assert not units["vllm-kimi-ngram.service"].unread
    if asked == "at once" and path != "/etc/vllm/common.sh":  # what a script sources is asked for later
        assert (*CAT, path) not in machine.host.calls, "nobody waits for it twice"


async def test_a_state_is_as_old_as_the_question() -> None:
    machine = Machine(user=False)
    clock = machine.host.clock
    before = clock.monotonic()

    def grep(argv: tuple[str, ...], stdin: bytes) -> Reply:
        clock.time += 15.0  # a host that takes its time
        return machine.grep(argv, stdin)

    machine.host.answer("grep -lsIF --devices=skip -e vllm -- *", grep)
    state = (await found(machine))["vllm-kimi.service"].state
    assert clock.monotonic() >= before + 15.0
    assert state.read == before


async def test_the_boot_is_told_by_when_the_boot_clock_was_read() -> None:
    host = FakeHost()
    uptime = (*CAT, "/proc/uptime")
    known = Prefetched(host, {uptime: Completed(uptime, 0, b"40.0 80.0\n", b"")}, 90.0, 100.0)
    host.clock.time = 115.0
    assert await booted_at(known, host.clock) == 60.0


async def test_a_script_that_gives_no_answer_hides_no_other() -> None:
    machine = Machine(user=False)
    slow = "/usr/bin/python3"

    def grep(argv: tuple[str, ...], _: bytes) -> Reply:
        if slow in argv:
            raise DeadlineExceeded("grep on gpu-1 did not end within 10 s.")
        return machine.grep(argv, b"")

    machine.host.answer("grep -lsIF --devices=skip -e vllm -- *", grep)
    assert "vllm-wrapped.service" in await found(machine)


@pytest.mark.parametrize("folders", ["UnitPath=/nowhere\n", "", "UnitPath=\n"])
async def test_unit_files_are_listed_by_systemd_where_the_folders_do_not_tell(folders: str) -> None:
    machine = Machine(user=False)
    machine.folders = folders
    machine.host.answer("find * -maxdepth 1 *", failed(1, "find: no such file"))
    units = await found(machine)
    assert "vllm-kimi-ngram.service" in units
    assert machine.asked("systemctl list-unit-files *")


async def test_an_optional_file_that_is_missing_and_one_that_is_not_readable() -> None:
    machine = Machine()
    del machine.files["/etc/vllm/kimi.env"]
    assert (await found(machine))["vllm-kimi.service"].serving.endpoint.port == 8001
    del machine.files["/etc/vllm/common.sh"]
    wrapped = (await found(machine))["vllm-wrapped.service"]
    assert (wrapped.serving.model, wrapped.role, wrapped.serving.unknown) == (
        None,
        Role.UNKNOWN,
        ("model", "parallelism", "speculation"),
    )
    machine.files["/opt/start.sh"] = "\0"
    assert "vllm-wrapped.service" not in await found(machine)


async def test_a_variable_is_empty_only_where_the_environment_is_known_in_full() -> None:
    machine = Machine(user=False)
    path = "/etc/systemd/system/vllm-kimi.service"
    machine.files[path] = machine.files[path].replace("$OPTS", "$OPTS $EXTRA")
    machine.blocks["vllm-kimi.service"] = machine.blocks["vllm-kimi.service"].replace("$OPTS", "$OPTS $EXTRA")
    del machine.files["/etc/vllm/kimi.env"]
    assert (await found(machine))["vllm-kimi.service"].serving.unknown == ()
    machine.files[path] = machine.files[path].replace("=-/etc", "=/etc")
    unit = (await found(machine))["vllm-kimi.service"]
    assert (unit.serving.unknown, unit.role) == (("port", "parallelism", "speculation"), Role.UNKNOWN)


async def test_what_is_loaded_counts_and_not_a_file_that_changed_since() -> None:
    machine = Machine()
    path = "/etc/systemd/system/vllm-kimi-ngram.service"
    machine.files[path] = machine.files[path].replace("ngram", "eagle3")
    loaded = ["/opt/vllm/bin/vllm", "serve", "/m", "--speculative-config", '{"method": "ngram", "x": "a b"}']
    machine.host.answer("busctl *vllm_2dkimi_2dngram_2eservice*", json.dumps({"data": [[loaded[0], loaded, False]]}))
    unit = (await found(machine))["vllm-kimi-ngram.service"]
    assert (unit.serving.model, unit.role) == ("/m", Role.VARIANT)
    assert unit.serving.speculation is not None
    assert unit.serving.speculation.method == "ngram"


async def test_without_files_and_without_a_bus_a_json_stays_whole() -> None:
    machine = Machine()
    del machine.files["/etc/systemd/system/vllm-kimi-ngram.service"]
    unit = (await found(machine))["vllm-kimi-ngram.service"]
    assert unit.serving.speculation is not None
    assert (unit.serving.speculation.method, unit.serving.speculation.tokens) == ("ngram", 5)
    assert unit.serving.tensor_parallel == 8


async def test_environment_from_the_properties_where_the_file_is_not_readable() -> None:
    machine = Machine()
    del machine.files["/etc/systemd/system/vllm-kimi.service"]
    unit = (await found(machine))["vllm-kimi.service"]
    assert (unit.serving.endpoint.port, unit.serving.eager) == (8011, True)


async def test_a_unit_whose_file_systemd_refuses_is_there_and_says_so() -> None:
    machine = Machine(user=False)
    machine.add("bad.service", "[Service]\nExecStart=/v/vllm serve /m --port 8099\nType=nonsense\n", "/x")
    machine.blocks["bad.service"] = (
        "Id=bad.service\nLoadState=bad-setting\nActiveState=inactive\nSubState=dead\nFragmentPath=/etc/systemd/system/bad.service\n"
    )
    unit = (await found(machine))["bad.service"]
    assert (unit.state.load, unit.serving.model, unit.serving.endpoint.port) == ("bad-setting", "/m", 8099)


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (
            '{"com.nvidia.vllm.version": "0.10.1.1+nv25.9", "org.opencontainers.image.version": "22.04"}',
            "0.10.1.1+nv25.9",
        ),
        ('{"vllm_version": "v0.16.0"}', "0.16.0"),
        ('{"org.opencontainers.image.version": "22.04", "version": "3.2"}', None),
        ('{"vllm.version": "0.16.0", "a.vllm.version": "0.15.0"}', None),
        ("null", None),
        ("no such image", None),
    ],
)
async def test_a_version_may_stand_on_an_image(labels: str, told: str | None) -> None:
    machine = Machine()
    command = "/home/x/podman run --network host reg/team/serving:7 vllm serve /m"
    machine.add("boxed.service", f"[Service]\nExecStart={command}\n", command)
    machine.host.answer("podman image inspect --format {{json .Config.Labels}} reg/team/serving:7", labels)
    assert (await found(machine))["boxed.service"].version == told
    assert not machine.asked("/home/*") + machine.asked("*podman run*")


async def test_versions_come_from_the_package_beside_the_program_or_the_tag() -> None:
    machine = Machine()
    paths = ["/opt/vllm/lib/python3.12/site-packages/vllm-0.24.0+cu129.dist-info"]
    machine.host.answer("find /opt/vllm/lib /opt/vllm/lib64 *", "\n".join(paths))
    command = "/usr/bin/docker run --network host vllm/vllm-openai:v0.11.2 --model /m"
    machine.add("boxed.service", f"[Service]\nExecStart={command}\n", command)
    units = await found(machine)
    assert units["vllm-kimi.service"].version == "0.24.0+cu129"
    assert units["boxed.service"].version == "0.11.2"
    assert units["vllm-wrapped.service"].version is None
    machine.host.answer("find *", "\n".join([*paths, paths[0].replace("24", "25")]))
    assert (await found(machine))["vllm-kimi.service"].version is None


async def test_a_profile_names_orders_and_adds() -> None:
    profile = Profile(
        "p",
        units=(
            UnitProfile("fast", "vllm-kimi-ngram.service", port=9999),
            UnitProfile("plain", "vllm-kimi.service"),
            UnitProfile("web", "web.service", role="variant"),
            UnitProfile("eagle3", "vllm-kimi-eagle3.service", speculative={"method": "eagle3"}),
            UnitProfile("own", "vllm-mine.service", manager="user:ops"),
        ),
    )
    units = await found(Machine(), profile)
    assert [(unit.label, unit.name) for unit in list(units.values())[:5]] == [
        ("fast", "vllm-kimi-ngram.service"),
        ("plain", "vllm-kimi.service"),
        ("web", "web.service"),
        ("eagle3", "vllm-kimi-eagle3.service"),
        ("own", "vllm-mine.service"),
    ]
    assert units["vllm-kimi-ngram.service"].serving.endpoint.port == 9999
    assert (units["web.service"].serving.launcher, units["web.service"].role) == ("shell", Role.VARIANT)
    missing = units["vllm-kimi-eagle3.service"]
    assert (missing.state.load, missing.state.running, missing.role) == ("not-found", False, Role.UNKNOWN)
    assert [unit.label for unit in units.values() if unit.underived] == ["eagle3"], "the profile says what it would be"
    assert "vllm-wrapped.service" in units


async def test_a_login_without_rights_asks_its_own_manager_only() -> None:
    machine = Machine()
    assert machine.host.facts is not None
    machine.host.facts = replace(machine.host.facts, user="ops", uid=1000, rights=Rights.USER)
    machine.host.answer(
        "env XDG_RUNTIME_DIR=/run/user/1000 systemctl --user list-unit-files *", "vllm-mine.service disabled enabled\n"
    )
    machine.host.answer("env XDG_RUNTIME_DIR=/run/user/1000 systemctl --user list-units *", "")
    machine.host.answer("env XDG_RUNTIME_DIR=/run/user/1000 systemctl --user show *", machine._show)
    machine.host.answer("env XDG_RUNTIME_DIR=/run/user/1000 systemctl --user show *UnitPath", "")
    assert "ops/vllm-mine.service" in await found(machine)
    machine.host.facts = replace(machine.host.facts, user="eve", uid=1001)
    assert "ops/vllm-mine.service" not in await found(machine)
    assert not machine.asked("setpriv *")


async def test_a_user_manager_that_does_not_answer_hides_nothing() -> None:
    machine = Machine()
    machine.host.answer("setpriv *", failed(1, "Failed to connect to bus"))
    units = await found(machine)
    assert "vllm-kimi.service" in units
    assert "ops/vllm-mine.service" not in units


async def test_a_host_without_systemd_says_so() -> None:
    machine = Machine()
    machine.host.answer("systemctl *", failed(1, "System has not been booted with systemd as init system"))
    with pytest.raises(CommandFailed, match="not been booted with systemd"):
        await discover(machine.host)


async def test_a_job_is_named() -> None:
    machine = Machine()
    machine.change("vllm-kimi.service", Job="31", ActiveState="deactivating", SubState="stop-sigterm")
    machine.host.answer("systemctl list-jobs *", "31 vllm-kimi.service stop running\n")
    assert (await found(machine))["vllm-kimi.service"].state.job == "stop"


async def test_discovery_changes_nothing_and_asks_little() -> None:
    machine = Machine(user=False)
    await discover(machine.host)
    assert not machine.asked("*list-unit-files*"), "PID 1 takes a second for it on a big host"
    assert {argv[0] for argv in machine.host.calls} <= {"systemctl", "cat", "head", "grep", "find", "getent"}
    assert not machine.asked("systemctl start*")
    assert len(machine.host.calls) < 25


async def test_little_waits_for_an_earlier_answer(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine, count, answer = Machine(user=False), 0, asyncio.Event()
    run = machine.host.run

    async def late(argv: Sequence[str], *, stdin: bytes = b"", deadline_s: float = 10.0) -> Completed:
        nonlocal count
        count += 1
        await answer.wait()
        return await run(argv, stdin=stdin, deadline_s=deadline_s)

    monkeypatch.setattr(machine.host, "run", late)
    work = asyncio.create_task(discover(machine.host))
    rounds = 0
    while not work.done():
        before = -1
        while before != count:  # until all that can be asked now has been asked
            before = count
            for _ in range(50):
                await asyncio.sleep(0)
        rounds, open_, answer = rounds + 1, answer, asyncio.Event()
        open_.set()
        for _ in range(50):
            await asyncio.sleep(0)
    assert len(work.result()) == 5
    assert rounds <= ROUNDS[asked], "over a slow link each costs a round trip"

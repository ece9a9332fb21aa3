"""systemctl's output of real hosts, old and new, and the words it is asked with."""

from __future__ import annotations

import pytest

from specconsole.remote import systemctl
from specconsole.remote.systemctl import Manager
from specconsole.service import systemd
from tests.service.machine import VERSIONS, recorded

OPS = systemctl.user_manager("ops", 1000, 1000, "/home/ops", as_root=True)


@pytest.mark.parametrize("version", VERSIONS)
def test_lists_of_real_hosts(version: str) -> None:
    files, units = (systemctl.names(recorded(version, f"list-{kind}")) for kind in ("unit-files", "units"))
    assert {"vllm-kimi.service", "vllm-kimi-ngram.service", "ssh.service"} <= set(files)
    assert "vllm@.service" not in files
    assert {"vllm@tiny.service", "user@1000.service"} <= set(units)
    assert all(" " not in name for name in files + units)


@pytest.mark.parametrize("version", VERSIONS)
def test_states_of_real_units(version: str) -> None:
    blocks = {systemctl.last(b, "Id"): b for b in systemctl.blocks(recorded(version, "show-vllm"))}
    mono = systemd.uptime(recorded(version, "uptime"))
    assert mono is not None
    running = systemd.state(blocks["vllm-kimi.service"], mono)
    assert (running.load, running.active, running.sub, running.result) == ("loaded", "active", "running", "success")
    assert running.main_pid is not None
    assert running.since_s is not None
    assert 0 < running.since_s < 30
    assert running.started_mono is not None
    assert mono - running.started_mono == pytest.approx(running.since_s, abs=0.5)
    assert (running.restarts, running.exit_code, running.exit_status) == (0, None, None)
    assert len(running.invocation) == 32
    assert running.cgroup == "/system.slice/vllm-kimi.service"
    assert running.cpu_s is not None
    assert running.running
    never = systemd.state(blocks["vllm-kimi-ngram.service"], mono)
    assert (never.active, never.main_pid, never.since_s, never.cpu_s, never.job) == ("inactive", None, None, None, "")
    missing = systemd.state(blocks["nothere.service"], mono)
    assert (missing.load, missing.enabled) == ("not-found", "")


def test_a_masked_unit_that_still_runs() -> None:
    text = "Id=v.service\nLoadState=masked\nActiveState=active\nSubState=running\nUnitFileState=masked\nMainPID=4177\n"
    (block,) = systemctl.blocks(text)
    state = systemd.state(block, None)
    assert (state.load, state.active, state.main_pid, state.since_s, state.mono) == (
        "masked",
        "active",
        4177,
        None,
        None,
    )
    assert (state.restarts, state.invocation) == (None, "")


@pytest.mark.parametrize("unset", ["[not set]", "18446744073709551615", "infinity", "", "[n/a]"])
def test_every_way_to_say_unset(unset: str) -> None:
    (block,) = systemctl.blocks(
        f"Id=a\nCPUUsageNSec={unset}\nNRestarts={unset}\nInactiveEnterTimestampMonotonic={unset}\n"
    )
    state = systemd.state(block, 5.0)
    assert (state.cpu_s, state.restarts, state.since_s) == (None, None, None)


def test_ends_and_ages() -> None:
    text = (
        "Id=a\nActiveState=failed\nSubState=failed\nResult=oom-kill\nMainPID=0\nExecMainCode=2\nExecMainStatus=9\n"
        "InactiveEnterTimestampMonotonic=90000000\nStateChangeTimestampMonotonic=95000000\nNeedDaemonReload=yes\nJob=12\n"
    )
    (block,) = systemctl.blocks(text)
    state = systemd.state(block, 100.0, "restart")
    assert (state.exit_code, state.exit_status, state.since_s, state.need_reload) == ("killed", 9, 10.0, True)
    assert (state.job, state.result, state.main_pid) == ("restart", "oom-kill", None)
    activating = systemd.state({**block, "ActiveState": ["activating"]}, 100.0)
    assert activating.since_s == 5.0
    assert systemd.state(block, 50.0).since_s == 0.0


def test_blocks_with_several_values_and_lines() -> None:
    text = "Id=a\nExecStart={ path=/a ; argv[]=/a b\nc ; ignore_errors=no ; start_time=[n/a] }\nExecStart={ path=/d ; argv[]=/d ; ignore_errors=yes ; start_time=[n/a] }\n\nId=b\n\n"
    first, second = systemctl.blocks(text)
    assert systemctl.last(second, "Id") == "b"
    assert len(first["ExecStart"]) == 2
    assert systemctl.shown_path(first) == ["/d"] or systemctl.shown_path(first) == ["/a", "/d"]
    assert systemctl.shown_argv(first)[-1] == "/d"


def test_a_semicolon_within_a_command_does_not_end_it() -> None:
    text = "ExecStart={ path=/bin/sh ; argv[]=/bin/sh -c a ; b ; ignore_errors=no x ; ignore_errors=no ; start_time=[n/a] ; pid=0 }\n"
    (block,) = systemctl.blocks(text)
    assert systemctl.shown_argv(block) == ["/bin/sh -c a ; b ; ignore_errors=no x"]


def test_jobs_and_uptime() -> None:
    assert systemd.jobs("12 vllm.service start running\n\nNo jobs running.\n") == {"vllm.service": "start"}
    assert systemd.uptime("266400.25 1.0\n") == 266400.25
    assert systemd.uptime("") is None


def test_how_managers_are_asked() -> None:
    assert systemctl.show(Manager(), ["a.service"], ["Id"]) == [
        "systemctl",
        "show",
        "--no-pager",
        "--property=Id",
        "--",
        "a.service",
    ]
    become = ["setpriv", "--reuid=1000", "--regid=1000", "--init-groups", "env", "XDG_RUNTIME_DIR=/run/user/1000"]
    assert systemctl.list_jobs(OPS)[:8] == [*become, "systemctl", "--user"]
    own = systemctl.user_manager("ops", 1000, 1000, "/home/ops", as_root=False)
    assert systemctl.list_jobs(own)[:4] == ["env", "XDG_RUNTIME_DIR=/run/user/1000", "systemctl", "--user"]
    root = systemctl.user_manager("root", 0, 0, "/root", as_root=True)
    assert systemctl.list_jobs(root)[0] == "env"
    assert systemctl.exact_argv(OPS, "1a-b@c.service")[6:11] == [
        "busctl",
        "--user",
        "--json=short",
        "get-property",
        "org.freedesktop.systemd1",
    ]
    assert systemctl.bus_label("1a-b@ü.service") == "_31a_2db_40_c3_bc_2eservice"
    assert (Manager().runtime, OPS.runtime) == ("/run", "/run/user/1000")

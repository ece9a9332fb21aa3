"""Commands of the simulated host: answered as a real one prints them, and never an exception for what is not known."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from specconsole.errors import CommandFailed, DeadlineExceeded
from specconsole.host.base import Program
from specconsole.host.simulated import ScaledClock, SimulatedHost, story
from specconsole.host.simulated.command import unwrapped
from specconsole.host.simulated.fixture import site, unit_of
from tests.fakes import FakeClock

UNIT = unit_of("moe-ngram")
BASE = unit_of("moe-baseline")


@pytest.fixture
async def host() -> AsyncGenerator[SimulatedHost, None]:
    """A host whose n-gram unit serves, after the baseline did."""
    simulated = SimulatedHost(clock=FakeClock())
    await simulated.open()
    yield simulated
    await simulated.close()


@pytest.mark.parametrize("argv", [["rm", "-rf", "/"], [""], ["systemctl", "edit", UNIT], ["nvidia-smi", "-q"]])
async def test_what_is_not_known_says_so(host: SimulatedHost, argv: list[str]) -> None:
    done = await host.run(argv)
    assert done.status == 127
    assert b"not recorded" in done.stderr
    with pytest.raises(CommandFailed):
        done.check()


async def test_an_unknown_program_ends_and_says_so(host: SimulatedHost) -> None:
    async with host.process(Program("nothing")) as process, aclosing(process.read()) as read:
        assert [chunk async for chunk in read] == []
        end = await process.wait()
    assert (end.status, end.stderr) == (127, b"nothing: not recorded\n")


@pytest.mark.parametrize(
    "argv",
    [
        ["sudo", "-n", "id", "-u"],
        ["sudo", "-n", "-u", "kim", "id", "-u"],
        ["env", "LC_ALL=C", "/usr/bin/id", "-u"],
        ["timeout", "-k", "1", "45", "id", "-u"],
        ["sudo", "-n", "env", "A=b", "timeout", "45", "id", "-u"],
    ],
)
async def test_wrappers_are_seen_through(host: SimulatedHost, argv: list[str]) -> None:
    assert unwrapped(argv)[-2:] == argv[-2:]
    assert (await host.run(argv)).text == "0\n"


async def test_show_prints_blocks_in_the_order_asked(host: SimulatedHost) -> None:
    shown = (
        await host.run(["systemctl", "show", UNIT, BASE, "nothing", "-p", "Id,ActiveState,LoadState,Nonsense"])
    ).text
    first, second, third = shown.split("\n\n")
    assert first.splitlines() == [f"Id={UNIT}", "LoadState=loaded", "ActiveState=active"]
    assert second.splitlines() == [f"Id={BASE}", "LoadState=loaded", "ActiveState=inactive"]
    assert third.splitlines() == ["Id=nothing.service", "LoadState=not-found", "ActiveState=inactive"]
    values = await host.run(["systemctl", "show", "--value", "--property=MainPID", UNIT])
    assert values.text == "3208\n"


async def test_stamps_are_of_the_host_s_clock(host: SimulatedHost) -> None:
    asked = "ActiveEnterTimestampMonotonic,ExecMainExitTimestampMonotonic,ActiveEnterTimestamp"
    shown = await host.run(["systemctl", "show", UNIT, "-p", asked, "--timestamp=unix"])
    values = dict(line.split("=") for line in shown.text.splitlines())
    uptime = float((await host.run(["cat", "/proc/uptime"])).text.split()[0])
    since = uptime - int(values["ActiveEnterTimestampMonotonic"]) / 1e6
    assert since == pytest.approx(140.3 + story.SERVING_S, abs=0.1)
    assert values["ExecMainExitTimestampMonotonic"] == "0"
    assert values["ActiveEnterTimestamp"].startswith("@16")


async def test_units_are_listed_and_their_files_shown(host: SimulatedHost) -> None:
    running = await host.run(["systemctl", "list-units", "--type=service", "--plain", "--no-legend"])
    assert running.text.split()[:4] == [UNIT, "loaded", "active", "running"]
    files = await host.run(["systemctl", "list-unit-files", "vllm-moe*", "--no-legend"])
    assert f"{BASE} enabled enabled" in files.text.splitlines()
    assert len(files.text.splitlines()) == 4
    text = (await host.run(["systemctl", "cat", UNIT])).text
    assert text.startswith(f"# /etc/systemd/system/{UNIT}\n[Unit]\n")
    assert f"Conflicts={BASE}" in text
    (line,) = [line for line in text.splitlines() if line.startswith("ExecStart=")]
    assert '--speculative-config \'{"method": "ngram"' in line


async def test_a_user_s_manager_is_not_there(host: SimulatedHost) -> None:
    assert (await host.run(["systemctl", "--user", "list-units"])).status == 1


async def entries(host: SimulatedHost, *words: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (await host.run(["journalctl", "-o", "json", *words])).stdout.splitlines()]


async def test_bars_are_byte_arrays_and_long_fields_null_without_all(host: SimulatedHost) -> None:
    said = await entries(host, "-u", UNIT)
    bars = [bytes(entry["MESSAGE"]) for entry in said if isinstance(entry["MESSAGE"], list)]
    assert any(b"\rLoading safetensors" in bar for bar in bars)
    assert None in [entry["MESSAGE"] for entry in said]
    whole = await entries(host, "-u", UNIT, "--all")
    assert None not in [entry["MESSAGE"] for entry in whole]
    assert any(len(entry["MESSAGE"]) > 4096 for entry in whole)  # type: ignore[arg-type]


async def test_pid_1_says_with_its_message_ids(host: SimulatedHost) -> None:
    said = await entries(host, f"UNIT={BASE}", "_PID=1")
    assert [str(entry["MESSAGE_ID"])[:8] for entry in said] == [
        "7d4958e8", "39f53479", "de5b426a", "7ad2d189", "9d1aaa27", "ae8f7b86",
    ]  # fmt: skip


async def test_positions_in_the_journal(host: SimulatedHost) -> None:
    everything = await entries(host)
    cursors = [str(entry["__CURSOR"]) for entry in everything]
    assert [str(entry["__CURSOR"]) for entry in await entries(host, "-n", "3")] == cursors[-3:]
    at = cursors[100]
    assert [str(entry["__CURSOR"]) for entry in await entries(host, f"--cursor={at}")] == cursors[100:]
    assert [str(entry["__CURSOR"]) for entry in await entries(host, "--after-cursor", at)] == cursors[101:]
    stamps = [int(str(entry["__REALTIME_TIMESTAMP"])) for entry in everything]
    assert stamps == sorted(stamps)
    recent = await entries(host, "--since=-20s")
    assert len(recent) == sum(stamp >= 1_700_000_000_000_000 - 20_000_000 for stamp in stamps)
    since = f"--since=@{stamps[50] / 1e6:.6f}"
    assert len(await entries(host, since)) == sum(stamp >= stamps[50] for stamp in stamps)
    assert (await host.run(["journalctl", "--since", "half past"])).status == 1


async def test_messages_are_searched(host: SimulatedHost) -> None:
    found = await entries(host, f"_SYSTEMD_UNIT={UNIT}", "--grep", "scheduling|JIT compilation during")
    assert [str(entry["MESSAGE"]).partition("] ")[2][:40] for entry in found] == [
        "Async scheduling not supported with ngra",
        "Asynchronous scheduling is disabled.",
        "Asynchronous scheduling is disabled.",
        "Triton kernel JIT compilation during inf",
        "Triton kernel JIT compilation during inf",
    ]
    assert len(await entries(host, "-u", UNIT, "--grep", "ASYNC SCHEDULING")) == 0
    assert len(await entries(host, "-u", UNIT, "--grep", "async scheduling")) == 1


async def test_an_option_that_is_not_known_is_not_passed_over(host: SimulatedHost) -> None:
    for words in (["--priority=3"], ["-r"], ["--user-unit=x"], ["-k"]):
        assert (await host.run(["journalctl", *words])).status == 127
        async with host.process(["journalctl", "-f", *words]) as process:
            assert (await process.wait()).status == 127
    assert (await host.run(["systemctl", "list-units", "--failed"])).status == 127


async def test_fields_are_left_out_unless_asked_for(host: SimulatedHost) -> None:
    (newest,) = await entries(host, "--output-fields=MESSAGE,_PID", "-n", "1", "-u", UNIT)
    assert set(newest) == {
        "__CURSOR", "__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP", "_BOOT_ID", "MESSAGE", "_PID",
    }  # fmt: skip


async def test_the_kernel_s_table_shows_the_port(host: SimulatedHost) -> None:
    table = ["/proc/net/tcp", "/proc/net/tcp6"]
    assert (await host.run(["grep", "-qsE", "^ *[0-9]+: [0-9A-F]+:2009 [0-9A-F]+:0000 0A ", *table])).status == 0
    assert (await host.run(["grep", "-qsE", "^ *[0-9]+: [0-9A-F]+:2008 [0-9A-F]+:0000 0A ", *table])).status == 1
    assert (await host.run(["cat", "/etc/shadow"])).status == 1


async def test_nvidia_smi_agrees_with_the_probe(host: SimulatedHost) -> None:
    asked = "--query-gpu=index,name,memory.used,memory.total,fan.speed"
    done = await host.run(["nvidia-smi", asked, "--format=csv,noheader,nounits"])
    assert done.text == "0, NVIDIA H200, 132553, 143771, [N/A]\n"


async def test_a_command_that_takes_too_long_is_ended() -> None:
    clock = FakeClock()
    host = SimulatedHost(clock=clock)
    await host.open()
    stop = asyncio.ensure_future(host.run(["systemctl", "stop", UNIT], deadline_s=0.5))
    await clock.advance(1.0)
    with pytest.raises(DeadlineExceeded):
        await stop
    await host.close()


async def test_a_deadline_counts_the_viewers_seconds() -> None:
    viewer = FakeClock()
    host = SimulatedHost(clock=ScaledClock(viewer, 60.0))
    await host.open()
    stop = asyncio.ensure_future(host.run(["systemctl", "stop", UNIT], deadline_s=1.0))
    await viewer.advance(0.5)
    assert (await stop).status == 0
    assert host.machine.units[UNIT].active == "inactive"
    await host.close()


async def test_copies_of_the_gpu_say_so() -> None:
    host = SimulatedHost(clock=FakeClock(), site=site(3))
    await host.open()
    async with host.process(Program("probe", {"ticks": 1})) as process, aclosing(process.read()) as read:
        gpus = json.loads(b"".join([chunk async for chunk in read]))["gpus"]
    assert [gpu["name"] for gpu in gpus] == ["NVIDIA H200", *["NVIDIA H200 (copy of GPU 0)"] * 2]
    assert len({gpu["uuid"] for gpu in gpus}) == 3
    await host.close()


async def test_a_journal_that_grew_too_long_is_vacuumed_and_followed_all_the_same(host: SimulatedHost) -> None:
    journal = host.machine.journal
    first = str((await entries(host, "-n", "1"))[0]["__CURSOR"])
    async with host.process(["journalctl", "-f", "-n", "0", "-o", "cat"]) as process, aclosing(process.read()) as read:
        reading = asyncio.ensure_future(anext(read))
        await asyncio.sleep(0)
        for number in range(20_010):
            journal.add(host.clock.now(), {"MESSAGE": f"line {number}"})
        journal.announce()
        assert len(journal.entries) <= 20_000
        assert (await reading).endswith(b"line 20009\n")
    after = await entries(host, f"--cursor={first}", "-n", "1")
    assert after[0]["MESSAGE"] == "line 20009"
    assert (await entries(host, f"--cursor={first}"))[0]["__CURSOR"] != first

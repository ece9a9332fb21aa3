"""What a host that somebody took over may say in our programs' place: one sentence, bounded memory, no traceback."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from specconsole import stream
from specconsole.errors import CommandFailed
from specconsole.gpu.control import ProbeControl
from specconsole.gpu.follow import ProbeEnded, _probe
from specconsole.gpu.sample import parse
from specconsole.host import errand
from specconsole.host.base import Exit, Program
from specconsole.host.errand import told
from specconsole.host.said import readable
from specconsole.logs.entry import read
from specconsole.logs.record import Kind
from specconsole.remote.swap_unit import parse as parse_states
from specconsole.remote.systemctl import blocks, number
from specconsole.service.systemd import jobs, state, uptime
from tests.fakes import FakeHost

FRAME: dict[str, Any] = {
    "v": 1, "t": 1.0, "mono": 2.0, "source": "nvml", "why": None, "host": {"load1": 0.5},
    "gpus": [{"index": 0, "uuid": "u", "name": "n", "memory_used": 1, "util": 0.5, "processes": [{"pid": 1, "name": "p", "memory": None, "unit": None}]}],
    "units": {"u": {"processes": [{"pid": 1, "ppid": 0, "command": "c", "state": "R"}]}},
    "shm": [{"name": "s", "size": 1, "age_s": 1.0, "uid": 0}],
}  # fmt: skip
WRONG: tuple[Any, ...] = ("x", [], {}, True, 1e999, -(10**400), [[]])


async def test_a_line_without_end_is_kept_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "LONGEST_LINE", 1000)

    async def chunks() -> AsyncGenerator[bytes, None]:
        yield b"first\nbeg"
        for _ in range(100):
            yield b"x" * 100
        yield b"end\nlast\n"

    found = [line for lines in [part async for part in stream.whole_lines(chunks())] for line in lines]
    assert found[0] == b"first"
    assert found[1] == b"beg" + b"x" * 397 + stream.TOO_LONG, "its beginning, and that it was longer"
    assert found[2] == b"last"


async def test_a_line_that_comes_at_once_is_bounded_too() -> None:
    async def chunks() -> AsyncGenerator[bytes, None]:
        yield b"[" + b"1," * 1000 + b"1]\n" + b"x" * 20 + b"\n"

    async with aclosing(stream.whole_lines(chunks(), 20)) as parts:
        found = [line async for part in parts for line in part]
    assert found == [(b"[" + b"1," * 200)[:400] + stream.TOO_LONG, b"x" * 20]


def test_an_entry_that_is_too_long_is_told_and_not_read() -> None:
    entry = read(b'{"MESSAGE": "x' + stream.TOO_LONG, {})
    assert entry
    assert entry.kind is Kind.GAP
    assert entry.message == 'An entry of the journal is longer than 1 MiB and not shown: {"MESSAGE": "x'


async def test_a_probe_that_says_too_much_is_ended_and_told() -> None:
    host = FakeHost()
    host.script("probe", [b"[" + b"1," * (1 << 19) + b"1]\n"])
    with pytest.raises(ProbeEnded, match="a line of more than 1 MiB"):
        async with aclosing(_probe(host, ProbeControl(1.0))) as fleets:
            await anext(fleets)


@pytest.mark.parametrize("line", [b"[" * 100_000, b"no json", b"7", b"[]", b"\xff"])
async def test_a_program_that_answers_nonsense_is_one_sentence(line: bytes) -> None:
    host = FakeHost()
    host.script("swap_order", [line + b"\n", Exit(0)])
    with pytest.raises(CommandFailed, match="cannot read"):
        await told(host, Program("swap_order", {}))


async def test_a_program_that_does_not_stop_answering_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errand, "MOST_LINES", 10)
    host = FakeHost()
    host.script("swap_order", [b'{"a": 1}\n' * 5] * 5 + [Exit(0)])
    with pytest.raises(CommandFailed, match="more than 10 lines"):
        await told(host, Program("swap_order", {}))


async def test_a_program_whose_few_lines_are_endless_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errand, "MOST_BYTES", 1 << 20)
    host = FakeHost()
    host.script("swap_order", [b'{"a": "%s"}\n' % (b"x" * 300_000)] * 5 + [Exit(0)])
    with pytest.raises(CommandFailed, match="more than 1 MiB"):
        await told(host, Program("swap_order", {}))


def test_a_value_of_the_wrong_kind_is_one_sentence_without_escapes() -> None:
    with pytest.raises(CommandFailed) as caught, readable("gpu-1"):
        dict[str, str]()["\x1b]0;owned\x07"]
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
@pytest.mark.parametrize(
    "path",
    [
        "t",
        "mono",
        "source",
        "gpus.index",
        "gpus.name",
        "gpus.memory_used",
        "gpus.processes.pid",
        "units.u.processes.pid",
        "shm.size",
        "host.load1",
        "interval_s",
    ],
)
def test_a_sample_of_the_wrong_kind_is_no_sample(path: str, wrong: Any) -> None:
    frame = json.loads(json.dumps(FRAME))
    assert parse(json.dumps(frame)).gpus[0].util == 0.5
    *parents, last = path.split(".")
    at = frame
    for name in parents:
        at = at[name][0] if isinstance(at[name], list) else at[name]
    at[last] = wrong
    if wrong == "x" and last in ("source", "name"):
        return
    with pytest.raises(ValueError):
        parse(json.dumps(frame).replace("Infinity", "1e999"))


def test_more_gpus_than_a_host_has_are_no_sample() -> None:
    with pytest.raises(ValueError):
        parse(json.dumps({**FRAME, "gpus": FRAME["gpus"] * 300}))


@pytest.mark.parametrize("value", ["²", "9" * 5000, "-", "--1", "1e9", "\x1b[1m", "nan", "٣"])
def test_no_number_of_systemd_ends_the_reader(value: str) -> None:
    names = ("MainPID", "NRestarts", "ExecMainStatus", "CPUUsageNSec", "ActiveEnterTimestampMonotonic")
    text = "Id=u.service\nActiveState=active\nExecMainCode=1\n" + "".join(f"{name}={value}\n" for name in names)
    (block,) = blocks(text)
    assert number(block, "MainPID") is None
    assert state(block, 1.0).main_pid is None
    assert parse_states(text)[0].pid == 0
    assert uptime(f"{value} 1") is None
    assert all(kind for kind in jobs(f"{value} u.service start waiting").values())

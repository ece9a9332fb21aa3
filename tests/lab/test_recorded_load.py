"""The recorded starts once more, their bytes printed by a unit of a real host: the journal changes nothing of what is told."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterable, Iterator
from contextlib import aclosing

import pytest

from specconsole.host.simulated import recording
from specconsole.load import feed as load
from specconsole.load.timeline import LoadTimeline
from specconsole.logs import journal
from specconsole.logs.record import Kind, LogRecord
from specconsole.logs.source import Source
from tests.lab.conftest import MakeHost, on_trixie
from tests.lab.host import LabHost
from tests.lab.reach import reach
from tests.lab.test_lab_itself import wait
from tests.lab.units import writer
from tests.load.log import UNIT, expected_of, records, replayed

pytestmark = on_trixie
PRINTER = """
import base64, json, os, sys, time
begin = time.monotonic()
for line in open("/opt/bytes.jsonl"):
    at, data = json.loads(line)
    time.sleep(max(begin + at / SPEED - time.monotonic(), 0))
    os.write(1, base64.b64decode(data))
time.sleep(3600)
"""
FIELDS = ("kind", "process", "rank", "source")


def printing(name: str, speed: float) -> dict[str, str]:
    """The files of a unit that prints a recorded start, read by read, up to when it answered."""
    played = recording.load(name)
    end = played.moment("ready") if "ready" in played.header else float("inf")
    reads = [[at, base64.b64encode(data).decode()] for at, data in played.log if at <= end]
    unit = UNIT.removesuffix(".service")
    return {
        **writer(unit, PRINTER.replace("SPEED", str(speed))),
        "/opt/bytes.jsonl": "".join(json.dumps(read) + "\n" for read in reads),
        "/opt/lines": str(sum(data.count(b"\n") for at, data in played.log if at <= end)),
    }


async def printed(host: LabHost, seconds: float) -> tuple[float, list[LogRecord]]:
    """Start the unit, wait until its last line is in the journal, and read that: (when it was started, what it printed)."""
    host.run(f"systemctl start {UNIT}")
    began = int(host.run(f"systemctl show --value -p ExecMainStartTimestampMonotonic {UNIT}").stdout) / 1e6
    began += time.time() - float(host.run("cat /proc/uptime").stdout.split()[0])
    count = f"journalctl -q -o cat -u {UNIT} _TRANSPORT=stdout | wc -l"
    wait(host, f'test "$({count})" -ge "$(cat /opt/lines)"', seconds + 60)
    found: list[LogRecord] = []
    async with reach(host) as console, aclosing(journal.read_all(console, [Source(UNIT)], now=time.time)) as batches:
        async for batch in batches:
            found += [one for one in batch if one.kind is not Kind.SYSTEMD]
    return began, found


def told(name: str, began: float, found: list[LogRecord]) -> LoadTimeline:
    """The timeline of those records, its times since the start."""
    timeline = load.begin(UNIT, found[0].invocation, began, expected_of(name), at=began)
    for record in found:
        timeline = load.feed(timeline, record)
    return timeline


def lines(found: Iterable[LogRecord]) -> Iterator[list[object]]:
    """Line by line, as how many lines are one record depends on how they come, and so the level of a bare one does."""
    for one in found:
        for line in filter(str.strip, one.text.split("\n")):
            yield [line, one.level if one.source else None, *(getattr(one, field) for field in FIELDS)]


@pytest.mark.parametrize("name", ["dense-dies", "moe-baseline", "moe-eagle3"])
async def test_the_journal_gives_back_every_record(make_host: MakeHost, name: str) -> None:
    host = make_host(gpu=False, vllm=False, files=printing(name, 40.0))
    began, found = await printed(host, 10.0)
    played = recording.load(name)
    end = played.moment("ready") if "ready" in played.header else float("inf")
    expected = records((at, line) for at, line in played.lines if at <= end)
    assert list(lines(found)) == list(lines(expected))
    spans, known = told(name, began, found).spans, replayed(name).spans
    assert [span.phase for span in spans] == [span.phase for span in known][: len(spans)]


async def test_with_real_timing_every_phase_lasts_as_long(make_host: MakeHost) -> None:
    host = make_host(gpu=False, vllm=False, files=printing("dense-ngram", 1.0))
    began, found = await printed(host, 110.0)
    ours = {span.phase: span.seconds for span in told("dense-ngram", began, found).spans if span.seconds is not None}
    theirs = {span.phase: span.seconds for span in replayed("dense-ngram").spans}
    assert len(ours) >= 8
    for phase, seconds in ours.items():
        assert seconds == pytest.approx(theirs[phase], abs=1.0), phase

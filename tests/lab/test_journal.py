"""The log against a real journald: whole, in order, once; over cuts, reboots and rotations; gaps and rights are said."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager

import pytest

from specconsole.errors import NotPermitted
from specconsole.host.ssh import SshHost
from specconsole.logs import journal
from specconsole.logs.record import Kind, Level, LogRecord
from specconsole.logs.source import Source
from tests.lab.cards import cards
from tests.lab.conftest import MakeHost, on_bookworm, on_trixie
from tests.lab.host import LabHost
from tests.lab.reach import reach, until
from tests.lab.test_link import is_lost, is_up
from tests.lab.units import SYSTEM, serve, unit, writer

BURST = 200_000
FLOOD = f"""
import sys
for i in range({BURST}):
    sys.stdout.write(f"INFO 11-29 13:00:00 [loggers.py:116] Engine 000: Avg prompt throughput: {{i}} tokens/s, Running: 3 reqs\\n")
"""
TICKER = """
import time
for i in range(400):
    print(f"tick {i}", flush=True)
    time.sleep(0.01)
"""


class Log:
    """What came so far of a log that is followed."""

    def __init__(self, console: SshHost, *sources: Source, since: float | None = None) -> None:
        self.records: list[LogRecord] = []
        self._stream = journal.follow(console, sources, since=since, now=time.time)

    @property
    def texts(self) -> list[str]:
        """The lines that units printed."""
        return [record.text for record in self.records if record.kind is Kind.LINE]

    async def until(self, good: Callable[[LogRecord], bool], timeout_s: float = 20) -> LogRecord:
        """Read on until a record is so."""

        async def look() -> LogRecord:
            async for batch in self._stream:
                self.records += batch
                if found := next((record for record in batch if good(record)), None):
                    return found
            raise AssertionError("the log ended")

        try:
            return await asyncio.wait_for(look(), timeout_s)
        except asyncio.TimeoutError:
            tail = [record.text for record in self.records[-5:]]
            raise AssertionError(f"{len(self.records)} records, the last: {tail}") from None

    async def until_text(self, text: str, timeout_s: float = 20) -> LogRecord:
        """Read on until a record holds a text."""
        return await self.until(lambda record: text in record.text, timeout_s)

    async def aclose(self) -> None:
        """End it."""
        await self._stream.aclose()


@asynccontextmanager
async def followed(
    host: LabHost, *sources: Source, user: str = "root", since: float | None = None
) -> AsyncIterator[tuple[SshHost, Log]]:
    async with reach(host, user) as console, aclosing(Log(console, *sources, since=since)) as log:
        yield console, log


def in_order(records: list[LogRecord]) -> None:
    """The numbers count up by one, and time does not go back."""
    assert [record.seq for record in records] == list(range(1, len(records) + 1))


async def test_a_burst_comes_whole_in_order_and_once(make_host: MakeHost) -> None:
    host = make_host(gpu=False, vllm=False, files=writer("flood", FLOOD))
    async with followed(host, Source("flood.service"), since=0) as (_, log):
        host.run("systemctl start --no-block flood")
        await log.until_text(
            f"throughput: {BURST - 1} tokens/s", timeout_s=400
        )  # 8 s by itself; a busy machine takes what it takes
        numbers = [int(text.split("throughput: ")[1].split()[0]) for text in log.texts]
        assert numbers == list(range(BURST))
        in_order(log.records)
        assert not [record for record in log.records if record.kind is Kind.GAP]


async def test_cuts_lose_nothing_and_double_nothing(make_host: MakeHost) -> None:
    host = make_host(gpu=False, vllm=False, files=writer("ticker", TICKER))
    async with followed(host, Source("ticker.service"), since=0) as (console, log):
        host.run("systemctl start ticker")
        await log.until_text("tick 50")
        await asyncio.to_thread(host.cut_ssh)
        await log.until_text("tick 150")
        host.plug(up=False)
        await until(console, is_lost)
        host.plug(up=True)
        await log.until_text("tick 399", timeout_s=40)
        assert log.texts == [f"tick {i}" for i in range(400)]
        in_order(log.records)
        assert not [record for record in log.records if record.kind is Kind.GAP]


async def test_a_reboot_is_between_the_lines(make_host: MakeHost) -> None:
    files = writer("teller", "print('boot', open('/proc/sys/kernel/random/boot_id').read())")
    host = make_host(gpu=False, vllm=False, files=files)
    host.run("systemctl add-wants -q multi-user.target teller; systemctl start teller")
    async with followed(host, Source("teller.service"), since=0) as (_, log):
        await log.until_text("boot ")
        await asyncio.to_thread(host.reboot)
        again = await log.until(lambda record: record.text.startswith("boot ") and record.text not in log.texts[:1], 40)
        assert again.text == "boot " + host.run("cat /proc/sys/kernel/random/boot_id").stdout.strip()
        assert len(log.texts) == 2
        assert any("started anew" in record.text for record in log.records)


async def test_a_vacuumed_journal_is_a_gap_and_says_so(make_host: MakeHost) -> None:
    host = make_host(
        gpu=False, vllm=False, files={f"{SYSTEM}/say@.service": "[Service]\nExecStart=/bin/echo line %i\n"}
    )
    sources = [Source(f"say@{i}.service") for i in (1, 2, 3)]
    async with followed(host, *sources, since=0) as (console, log):
        host.run("systemctl start --wait say@1")
        await log.until_text("line 1")
        host.plug(up=False)
        await until(console, is_lost)
        host.run("systemctl start --wait say@2; journalctl --sync; journalctl --rotate; journalctl --vacuum-files=1")
        host.run("systemctl start --wait say@3; journalctl --sync")
        assert "line 2" not in host.run("journalctl -o cat").stdout, "the journal has lost it"
        host.plug(up=True)
        await log.until_text("line 3", timeout_s=40)
    gap = next(record for record in log.records if record.kind is Kind.GAP)
    last, next_ = (next(record for record in log.records if record.text == f"line {i}") for i in (1, 3))
    assert last.seq < gap.seq < next_.seq
    assert gap.level is Level.WARNING


async def test_a_rotated_journal_is_no_gap(make_host: MakeHost) -> None:
    host = make_host(gpu=False, vllm=False, files=writer("ticker", TICKER))
    async with followed(host, Source("ticker.service"), since=0) as (_, log):
        host.run("systemctl start ticker")
        for i in (100, 200):
            await log.until_text(f"tick {i}")
            host.run("journalctl --rotate")
            await asyncio.to_thread(host.cut_ssh)
        await log.until_text("tick 399", timeout_s=40)
        assert log.texts == [f"tick {i}" for i in range(400)]


@on_trixie
async def test_suppressed_lines_are_a_gap(make_host: MakeHost) -> None:
    script = "import time\nfor i in range(1000): print(i, flush=True)\ntime.sleep(1.5)\nprint('last', flush=True)\n"
    limits = "LogRateLimitIntervalSec=1s\nLogRateLimitBurst=10\n"
    host = make_host(gpu=False, vllm=False, files=writer("chatty", script, limits))
    async with followed(host, Source("chatty.service"), since=0) as (_, log):
        host.run("systemctl start chatty")
        await log.until_text("last")
    gap = next(record for record in log.records if record.kind is Kind.GAP)
    assert str(1000 - (len(log.texts) - 1)) in gap.text.replace(",", "").replace("\u202f", "")


@pytest.mark.parametrize("user", ["ops", "reader"])
async def test_with_the_right_the_log_is_there(make_host: MakeHost, user: str) -> None:
    host = make_host(gpu=False, vllm=False, files=writer("ticker", TICKER))
    async with followed(host, Source("ticker.service"), user=user, since=0) as (_, log):
        host.run("systemctl start ticker")
        await log.until_text("tick 3")


async def test_without_the_right_it_is_not_permitted_rather_than_empty(make_host: MakeHost) -> None:
    host = make_host(gpu=False, vllm=False, files=writer("ticker", TICKER))
    host.run("systemctl start ticker")
    with pytest.raises(NotPermitted, match="may not read the journal"):
        async with followed(host, Source("ticker.service"), user="guest", since=0) as (_, log):
            await log.until_text("tick")


@on_bookworm
async def test_without_python_the_log_is_followed_all_the_same(make_host: MakeHost) -> None:
    script = "for i in $(seq 0 60); do echo tick $i; sleep 0.05; done"
    files = {f"{SYSTEM}/ticker.service": f"[Service]\nExecStart=/bin/sh -c '{script.replace('$', '$$')}'\n"}
    host = make_host(gpu=False, vllm=False, files=files, python=False)
    async with followed(host, Source("ticker.service"), since=0) as (_, log):
        host.run("systemctl start ticker")
        await log.until_text("tick 10")
        await asyncio.to_thread(host.cut_ssh)
        await log.until_text("tick 60", timeout_s=40)
        assert log.texts == [f"tick {i}" for i in range(61)]


@on_trixie
async def test_a_unit_that_logs_to_a_file(make_host: MakeHost) -> None:
    to_file = "StandardOutput=append:/var/log/ticker.log\nStandardError=inherit\n"
    host = make_host(gpu=False, vllm=False, files=writer("ticker", TICKER, to_file))
    async with followed(host, Source("ticker.service", log_file="/var/log/ticker.log"), since=0) as (_, log):
        host.run("systemctl start ticker")
        await log.until_text("tick 50")
        await asyncio.to_thread(host.cut_ssh)
        await log.until_text("tick 399", timeout_s=40)
        assert log.texts == [f"tick {i}" for i in range(400)]
        assert any(record.kind is Kind.SYSTEMD for record in log.records), "PID 1 still speaks in the journal"


FORMS = {
    "0.24.0": "",
    "0.32.0": "",
    "0.12.0": "",
    "coloured": "FAKE_VERSION=0.24.0 VLLM_LOGGING_COLOR=1",
    "json": "FAKE_VERSION=0.32.0",
}


@on_bookworm
@pytest.mark.parametrize("form", FORMS)
async def test_every_form_of_the_engine_s_log_reads_alike(make_host: MakeHost, form: str) -> None:
    key = "sk-secret-0123456789"
    words = ["--api-key", key, *(["--logging-config.formatter", "json"] if form == "json" else [])]
    environment = f"FAKE_LOAD_S=0.3 FAKE_FAIL=oom {FORMS[form] or f'FAKE_VERSION={form}'}"
    host = make_host(files={**cards(), f"{SYSTEM}/vllm.service": unit(serve(*words), environment=environment)})
    async with followed(host, Source("vllm.service"), since=0) as (_, log):
        host.run("systemctl start vllm", check=False)
        await log.until(lambda record: record.kind is Kind.SYSTEMD and "Failed with result" in record.text, 30)
    texts = "\n".join(record.text for record in log.records)
    assert "\x1b" not in texts
    assert "\r" not in texts
    assert key not in texts
    assert "api_key" in texts
    config = next(record for record in log.records if "Initializing a V1 LLM engine" in record.text)
    assert len(config.text) > 4096
    bars = [record for record in log.records if record.kind is Kind.BAR]
    assert "8/8" in bars[-1].text
    cause = next(record for record in log.records if record.level is Level.ERROR)
    assert "Traceback" in cause.text
    assert "Free memory on device cuda:0" in cause.text, "a traceback is one entry"
    if form in ("0.24.0", "0.32.0"):
        assert config.process == "EngineCore"


async def test_the_log_goes_on_while_the_link_is_slow_to_mend(make_host: MakeHost) -> None:
    host = make_host(gpu=False, vllm=False, files=writer("ticker", TICKER))
    async with followed(host, Source("ticker.service"), since=0) as (console, log):
        host.run("systemctl start ticker")
        await log.until_text("tick 20")
        await asyncio.to_thread(host.power, on=False)
        await until(console, is_lost)
        await asyncio.to_thread(host.power, on=True)
        await until(console, is_up, 40)
        host.run("systemctl start ticker")
        await log.until_text("tick 399", timeout_s=40)
        second = log.texts[len(log.texts) - 400 :]
        assert second == [f"tick {i}" for i in range(400)]
        first = log.texts[: len(log.texts) - 400]
        assert first == [f"tick {i}" for i in range(len(first))]

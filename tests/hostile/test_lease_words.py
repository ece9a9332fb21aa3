"""A lease that says what no lease says: the link ends with a sentence and is dialled again; it never stands there as up."""

from __future__ import annotations

import asyncio

import pytest

from specconsole.errors import LinkLost
from specconsole.host.base import LinkKind
from specconsole.host.kept import KeptHost
from specconsole.host.lease import Lease, NotStarted
from specconsole.remote.frame import MAGIC
from tests.fakes import FakeClock, settle
from tests.host.test_kept import FakeDialer, FakeLine

HELLO = b'\n%s\n{"op":"hello","v":1,"pid":7,"python":"3.11.2"}\n' % MAGIC
STRANGE = (
    b'{"op":"pong"}\n',
    b'{"op":"pong","stamp":"now","time":1}\n',
    b'{"op":"pong","stamp":[],"time":1}\n',
    b'{"op":"exit","id":[1]}\n',
    b'{"op":"exit","id":1}\n',
    b'{"op":"took","id":1,"by":"all"}\n',
    b'{"id":1}\n',
)


class Saying:
    """A channel that says this and then nothing more."""

    stderr = b""

    def __init__(self, *chunks: bytes) -> None:
        self.ended = asyncio.Event()
        self.queue: asyncio.Queue[bytes] = asyncio.Queue()
        for chunk in chunks:
            self.queue.put_nowait(chunk)

    async def read(self) -> bytes:
        return await self.queue.get()

    def write(self, data: bytes) -> None:
        pass

    async def drain(self) -> None:
        pass

    def close_input(self) -> None:
        self.ended.set()
        self.queue.put_nowait(b"")

    async def wait(self) -> int | None:
        await self.ended.wait()
        return None

    async def close(self) -> None:
        self.ended.set()


@pytest.mark.parametrize("line", STRANGE)
async def test_a_strange_frame_ends_the_lease_with_a_sentence(line: bytes) -> None:
    channel = Saying(HELLO)
    lease = Lease(channel, FakeClock(), "gpu-1")
    await lease.begin()
    asking = asyncio.create_task(lease.run(["true"], b"", 60.0))
    await settle()
    channel.queue.put_nowait(line)
    assert "The link to gpu-1 carries something strange" in await lease.broken()
    with pytest.raises(LinkLost, match="something strange"):
        await asking
    await lease.close()
    assert lease.is_broken


@pytest.mark.parametrize("hello", [b'{"op":"hello"}', b'{"op":"hello","v":1,"pid":7}'])
async def test_a_lease_that_does_not_say_what_it_is_is_none(hello: bytes) -> None:
    lease = Lease(Saying(HELLO.partition(b"{")[0] + hello + b"\n"), FakeClock(), "gpu-1")
    with pytest.raises(NotStarted):
        await lease.begin()
    await lease.close()


async def test_a_line_that_ends_by_an_error_of_ours_is_dialled_again() -> None:
    """Nobody looks at the task that keeps a link: if it ended, the last state would stand there for ever."""
    clock = FakeClock()

    class Wrong(FakeLine):
        async def broken(self) -> str:
            await super().broken()
            raise RuntimeError("a fault")

        async def close(self) -> None:
            raise KeyError("another")

    first, second = Wrong(clock), FakeLine(clock)
    host = KeptHost("gpu", FakeDialer(first, second), clock=clock)
    await host.open()
    await settle()
    first.break_it.set_result("cut")
    states = []
    for _ in range(2):
        await clock.advance(0.3)
        states.append((host.link.kind, "a fault" in host.link.reason))
    assert states == [(LinkKind.LOST, True), (LinkKind.UP, False)]
    await host.close()

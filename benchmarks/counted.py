"""The console as the measurements run it: `z` changes the header, and a log pours at a given rate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, ClassVar

from tests.ui.scene import record
from textual.binding import Binding

from benchmarks.terminal import mark
from specconsole.logs.journal import SLICE
from specconsole.ui.app import SpecConsole


class Counted(SpecConsole):
    """How late a key is drawn is the time until its mark stands on the terminal."""

    BINDINGS: ClassVar = [Binding("z", "count", "", show=False)]
    pressed = 0

    def action_count(self) -> None:
        self.pressed += 1
        self.clock_text = mark(self.pressed)

    def tick(self) -> None:
        text = self.clock_text
        super().tick()
        self.clock_text = text or self.clock_text


async def pouring(rate: int, line: str) -> AsyncGenerator[list[Any], None]:
    """Records at so many a second, twenty batches a second, in slices as a journal hands them on; 0: none, for ever."""
    number = 0
    while True:
        await asyncio.sleep(0.05)
        end = number + rate // 20
        while number < end:
            stop = min(number + SLICE, end)
            yield [record(i, f"{i} {line}") for i in range(number, stop)]
            number = stop
            await asyncio.sleep(0)

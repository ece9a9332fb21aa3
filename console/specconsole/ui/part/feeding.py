"""One source of data as a worker of the app: followed for as long as the app runs, its faults told and never silent."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Generic, TypeVar

from specconsole.clock import Clock
from specconsole.errors import ConfigError, LinkRefused, SpecConsoleError
from specconsole.text import one_line
from specconsole.ui.fault import FaultLog

T = TypeVar("T")

RETRY_S = 15.0
"""A source that failed is opened again after this long."""


@dataclass(frozen=True)
class Source(Generic[T]):
    """A source of data and what becomes of it."""

    name: str
    open: Callable[[], AsyncGenerator[T, None]]
    take: Callable[[T], None]
    """Called with each item, in the app's loop."""
    failed: Callable[[str], None]
    """Called with a sentence when the source ended by a fault; "" when it goes on again."""
    again: bool = True
    """Open it again after a fault; not what was asked for once."""


async def follow(source: Source[T], clock: Clock, faults: FaultLog, tell: Callable[[str], None]) -> None:
    """Follow a source to its end, which for most is the end of the app.

    A refused link ends it for good, as does a wrong configuration; what the domain calls by name is shown in the pane; anything else is a fault of
    ours: written down with its traceback, told once, and tried again.
    """
    told = False
    while True:
        try:
            async with aclosing(source.open()) as items:
                async for item in items:
                    source.take(item)
            return
        except (LinkRefused, ConfigError) as error:  # a key command asked again would ask its user for ever
            source.failed(one_line(str(error)))
            return
        except SpecConsoleError as error:
            source.failed(one_line(str(error)))
        except Exception as error:
            said = one_line(faults.write(f"The source of {source.name} failed", error))
            source.failed(one_line(f"{type(error).__name__}: {error}"))
            if not told:
                tell(said)
                told = True
        if not source.again:
            return
        await clock.sleep(RETRY_S)

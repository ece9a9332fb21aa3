"""Whether a unit can be measured yet: one that still loads is refused before anything is begun."""

from __future__ import annotations

import argparse
import asyncio
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from specconsole.errors import LinkLost, LinkRefused, NotRunning, SpecConsoleError
from specconsole.host.base import Host
from specconsole.stream import within
from specconsole.text import one_line

if TYPE_CHECKING:
    from specconsole.load.timeline import LoadTimeline
    from specconsole.service.unit import Unit

READ_S = 10.0
"""By the viewer's clock, for the log of the start: without it the unit is measured, and the server has the word."""


USUAL: Mapping[str, object] = {
    "unit": None, "prompts": None, "sample": None, "seed": 0, "repeat": None, "max_tokens": None, "temperature": None,
    "concurrency": None, "context": None, "warmup": "auto", "api": "chat", "model": None, "label": "",
    "vllm_json": None, "allow_random": False, "detach": False, "csv": False, "md": False, "json": False,
}  # fmt: skip
"""The options of `bench` that say what is measured and how it is written, with what they are where nobody gives them."""


def typed(host: Host, args: argparse.Namespace) -> str:
    """The command that measures it, with the options that were given."""
    words = []
    for name, usual in USUAL.items():
        value = getattr(args, name, usual)
        if value != usual:
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return " ".join(("specconsole bench", host.typed, *map(shlex.quote, words)))


async def refuse_loading(host: Host, unit: Unit, args: argparse.Namespace) -> None:
    """Refuse to measure a unit whose server has not come up; `args`: what was asked for.

    Raises:
        NotRunning: it loads.
        LinkLost, LinkRefused: the link broke.
    """
    from specconsole.engine import health
    from specconsole.engine.client import EngineClient
    from specconsole.load.timeline import Stage

    async with EngineClient(host, unit.serving.endpoint) as client:
        report = await health.check(client)
    if report.health not in (health.Health.REFUSED, health.Health.STARTING):
        return
    attempt = await _start_of(host, unit)
    if attempt is None or attempt.stage is not Stage.LOADING or attempt.heard_at is None or attempt.span is None:
        return
    watch = f"specconsole watch {host.typed} {one_line(unit.name.removesuffix('.service'))}"
    raise NotRunning(
        f"{one_line(unit.key)} still loads (phase {attempt.span.phase.title}), and nothing was begun.",
        hint=f"Measure it when it is ready: {watch} && {typed(host, args)}",
    )


async def _start_of(host: Host, unit: Unit) -> LoadTimeline | None:
    """How far the unit's start is by its log; None: that cannot be read."""
    from specconsole.service.failure import failure

    try:
        return (await within(READ_S, failure(host, unit, (unit,), host.clock))).attempt
    except (LinkLost, LinkRefused):
        raise
    except (SpecConsoleError, asyncio.TimeoutError):
        return None

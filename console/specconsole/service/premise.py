"""Reads what a unit's speculation rests on: its model and drafter on the host, packages beside vLLM, units at its port."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from specconsole.errors import CommandFailed, DeadlineExceeded
from specconsole.host.base import Host, Program
from specconsole.host.errand import told as answers
from specconsole.host.errand import why_silent
from specconsole.remote import unit_search
from specconsole.service import checkpoint, discover, method
from specconsole.service.checkpoint import Checkpoint
from specconsole.service.launch import Files, Launch
from specconsole.service.method import Facts, Neighbour
from specconsole.service.plan import same_place
from specconsole.service.source import Source
from specconsole.service.unit import Unit
from specconsole.stream import within

LOOK_S = 20.0
PACKAGES = ("vllm", "arctic_inference")
"""Asked for in vLLM's environment; where vLLM itself is not, it is another one, and nothing is known."""


@dataclass(frozen=True)
class Looked:
    """What a look at checkpoints brought."""

    named: Mapping[str, Checkpoint] = field(default_factory=dict)
    """By the name that was asked for."""
    found: tuple[Checkpoint, ...] = ()
    """Drafters where it was searched."""
    packages: Mapping[str, str | None] | None = None
    cut: str = ""
    """Why the search ended early: folders, time, or that the host runs none; "" when it saw all."""


async def of_source(host: Host, raw: Source, told: str | None, neighbours: Sequence[Neighbour] = ()) -> Facts | None:
    """What is known of a unit's command as it stands; `told`: vLLM's version. None: it does not start vLLM. Raises LinkLost."""
    known = await discover.scripts(host, {"": raw})
    for argv in raw.commands:
        files = Files(known, raw.folder)
        found = await of_command(
            host, argv, raw.environment, files, complete=raw.complete, version=told, neighbours=neighbours
        )
        if found:
            return found
    return None


async def of_command(
    host: Host,
    argv: Sequence[str],
    environment: Mapping[str, str],
    files: Files,
    *,
    complete: bool = True,
    version: str | None = None,
    neighbours: Sequence[Neighbour] = (),
) -> Facts | None:
    """Read an effective command, of a unit that is there or that is to be written, and look at its checkpoints.

    None: it does not start vLLM. Raises LinkLost.
    """
    draft = method.facts(argv, environment, files, complete=complete, version=version, neighbours=neighbours)
    if draft is None:
        return None
    model, drafter = names(draft)
    seen = await look(host, [one for one in (model, drafter) if one], draft.launch, draft.given.text("download-dir"))
    return method.facts(
        argv,
        environment,
        files,
        complete=complete,
        version=version,
        target=seen.named.get(model or ""),
        drafter=seen.named.get(drafter or ""),
        neighbours=neighbours,
        packages=seen.packages,
    )


def names(known: Facts) -> tuple[str | None, str | None]:
    """Model and drafter as the command names them; None: none, or not known."""
    spec = method.spec_of(known.given)
    return known.model, spec.model if spec and spec.method != "custom_class" else None


async def look(
    host: Host, wanted: Sequence[str], launch: Launch, download_dir: str | None = None, search: Sequence[str] = ()
) -> Looked:
    """Look at checkpoints by path or repository, and for drafters below folders of the host; what cannot be is not known.

    Paths of a container are looked at where they are mounted from. Raises LinkLost.
    """
    places = {name: place for name in wanted if (place := on_host(name, launch))}
    prefix = unit_search.prefix_of(launch.program, None) or launch.environment.get("VIRTUAL_ENV", "")
    order: dict[str, Any] = {"look": sorted(set(places.values())), "hubs": hubs(launch, download_dir)}
    order["search"] = list(search)
    if prefix.startswith("/") and launch.container is None:
        order |= {"site": prefix, "packages": list(PACKAGES)}
    if not order["look"] and not search:
        return Looked()
    runs_none = "this host runs no search"
    try:
        lines = await within(LOOK_S, answers(host, Program("drafters", order)))
    except (CommandFailed, DeadlineExceeded, asyncio.TimeoutError) as error:
        return Looked(cut=f"{runs_none}: {why_silent(host, error)}")
    return _looked(lines, places, f"{runs_none}: {why_silent(host)}")


def _looked(lines: Iterable[Mapping[str, Any]], places: Mapping[str, str], cut: str) -> Looked:
    """`cut`: why the search ended early where its last line is missing."""
    named: dict[str, Checkpoint] = {}
    found: list[Checkpoint] = []
    packages: Mapping[str, str | None] | None = None
    for line in lines:
        if "look" in line:
            named |= {name: checkpoint.of(line) for name, place in places.items() if place == line["look"]}
        elif "found" in line:
            found.append(checkpoint.of(line["found"]))
        elif "packages" in line:
            packages = line["packages"] if line["packages"].get("vllm") else None
        elif "end" in line:
            cut = str(line["end"].get("cut") or "")
    return Looked(named, tuple(found), packages, cut)


def on_host(name: str, launch: Launch) -> str | None:
    """Where a path that vLLM sees lies on the host; a repository's name stays; None: not on the host, or not known."""
    if not name.startswith("/"):
        return name if "/" in name and not name.startswith(".") else None
    return launch.container.outside(name) if launch.container else name


def hubs(launch: Launch, download_dir: str | None = None) -> list[str]:
    """Folders of the host in which Hugging Face keeps what this unit downloads."""
    env = launch.environment
    home = "/root" if launch.container else env.get("HOME", "/root")
    cache = env.get("XDG_CACHE_HOME") or f"{home}/.cache"
    root = env.get("HF_HOME") or f"{cache}/huggingface"
    named = [download_dir, env.get("HF_HUB_CACHE"), env.get("HUGGINGFACE_HUB_CACHE"), f"{root}/hub"]
    places = (on_host(one, launch) for one in named if one and one.startswith("/"))
    return list(dict.fromkeys(place for place in places if place))


def neighbours(unit: Unit, units: Sequence[Unit], apart: Collection[str]) -> tuple[Neighbour, ...]:
    """The other units and where each that could be in the way listens; `apart`: those of its manager's that its start stops."""
    return tuple(
        Neighbour(
            other.key,
            other.serving.endpoint.port if _meets(unit, other) else None,
            other.state.running,
            other.manager == unit.manager and other.name in apart,
        )
        for other in units
        if other.key != unit.key
    )


def _meets(unit: Unit, other: Unit) -> bool:
    known = not {"port"} & {*unit.serving.unknown, *other.serving.unknown}
    return known and not other.serving.endpoint.uds and same_place(unit.serving.endpoint, other.serving.endpoint)

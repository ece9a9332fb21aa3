"""vLLM's version without running anything of the unit's: the installed package's folder, or the image's tag."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping

from specconsole.errors import CommandFailed, DeadlineExceeded
from specconsole.host.base import Commands
from specconsole.remote import outside, unit_search
from specconsole.service import files
from specconsole.service.launch import Launch
from specconsole.service.shellword import UNKNOWN

_DIST = re.compile(r".*?/lib(?:64)?/python3[^/]*/(?:site|dist)-packages/vllm-(?P<version>[^/]+)\.dist-info\Z")
_TAG = re.compile(r"v?(\d+\.\d+[\w.+-]*)\Z")
_NAMED = re.compile(r"(?<![a-z])vllm(?![a-z]).*version\Z")


async def versions(host: Commands, launches: Mapping[str, Launch], known: Mapping[str, str | None]) -> dict[str, str]:
    """The version by unit, where it can be told; `known` are files that are read already. Raises LinkLost."""
    found = {name: tag for name, launch in launches.items() if (tag := of_image(launch))}
    found |= await _labelled(host, {name: launch for name, launch in launches.items() if name not in found})
    programs = {name: launch.program for name, launch in launches.items() if name not in found and launch.program}
    scripts = {
        program for program in programs.values() if program.startswith("/") and not unit_search.is_python(program)
    }
    heads = {**known, **await files.read(host, scripts - known.keys(), ("head", "-c", "4096", "--"))}
    prefixes = {}
    for name, program in programs.items():
        home = launches[name].environment.get("VIRTUAL_ENV", "")
        prefixes[name] = unit_search.prefix_of(program, heads.get(program)) or home
    installed = await _installed(host, filter(None, prefixes.values()))
    return found | {name: installed[prefix] for name, prefix in prefixes.items() if prefix in installed}


def of_image(launch: Launch) -> str | None:
    """The version in the tag of vLLM's own image; other images number their tags by themselves."""
    if launch.container is None:
        return None
    name, _, tag = launch.container.image.partition("@")[0].rpartition("/")[2].partition(":")
    found = _TAG.match(tag) if name.startswith("vllm-openai") else None
    return found[1] if found else None


async def _labelled(host: Commands, launches: Mapping[str, Launch]) -> dict[str, str]:
    """The version by the labels of images on the host. Nothing is pulled, and no container is run."""
    # The program by its name alone: what a unit's path leads to may be anybody's, and we may be root.
    boxes = {
        name: (box.program.rpartition("/")[2], box.image)
        for name, launch in launches.items()
        if (box := launch.container)
    }
    told = {box: await _label(host, *box) for box in sorted(set(boxes.values()))}
    return {name: version for name, box in boxes.items() if (version := told[box])}


async def _label(host: Commands, program: str, image: str) -> str | None:
    """The label of an image that says vLLM's version, such as com.nvidia.vllm.version.

    `org.opencontainers.image.version` is not asked: images inherit it from the distribution that they are made from.
    """
    if not program or UNKNOWN in image or image.startswith("-"):
        return None
    try:
        done = await host.run([program, "image", "inspect", "--format", "{{json .Config.Labels}}", image])
        labels = outside.parse(done.check().text)
    except (CommandFailed, DeadlineExceeded, ValueError):
        return None
    said = labels.items() if isinstance(labels, dict) else ()
    found = [_TAG.match(str(value)) for key, value in said if _NAMED.search(str(key).lower())]
    versions = {one[1] for one in found if one}
    return versions.pop() if len(versions) == 1 else None


async def _installed(host: Commands, prefixes: Iterable[str]) -> dict[str, str]:
    wanted = sorted(set(prefixes))
    told = await asyncio.gather(*(_installed_in(host, prefix) for prefix in wanted))
    return {prefix: version for prefix, version in zip(wanted, told, strict=True) if version}


async def _installed_in(host: Commands, prefix: str) -> str | None:
    try:
        done = await host.run(unit_search.installed(prefix))
    except (CommandFailed, DeadlineExceeded):
        return None
    versions = {found["version"] for line in done.text.splitlines() if (found := _DIST.match(line))}
    return versions.pop() if len(versions) == 1 else None

"""vLLM's version without running anything of the unit's: the installed package's folder, or the image's tag."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from specconsole.errors import CommandFailed, DeadlineExceeded
from specconsole.host.base import Host
from specconsole.remote import outside
from specconsole.service import files
from specconsole.service.launch import Launch
from specconsole.service.shellword import UNKNOWN

_DIST = re.compile(
    r"(?P<prefix>.*?)/lib(?:64)?/python3[^/]*/(?:site|dist)-packages/vllm-(?P<version>[^/]+)\.dist-info\Z"
)
_TAG = re.compile(r"v?(\d+\.\d+[\w.+-]*)\Z")
_NAMED = re.compile(r"(?<![a-z])vllm(?![a-z]).*version\Z")
_SHEBANG = re.compile(r"#!\s*(/\S+)")
_LONG = re.compile(r"'''exec' \"?(/[^\"\n]+?)\"? \"\$0\"")
"""How pip and uv write the first lines where the interpreter's path is too long for a shebang."""


async def versions(host: Host, launches: Mapping[str, Launch], known: Mapping[str, str | None]) -> dict[str, str]:
    """The version by unit, where it can be told; `known` are files that are read already. Raises LinkLost."""
    found = {name: tag for name, launch in launches.items() if (tag := of_image(launch))}
    found |= await _labelled(host, {name: launch for name, launch in launches.items() if name not in found})
    programs = {name: launch.program for name, launch in launches.items() if name not in found and launch.program}
    scripts = {program for program in programs.values() if program.startswith("/") and not _is_python(program)}
    heads = {**known, **await files.read(host, scripts - known.keys(), ("head", "-c", "4096", "--"))}
    prefixes = {}
    for name, program in programs.items():
        home = launches[name].environment.get("VIRTUAL_ENV", "")
        prefixes[name] = prefix_of(program, heads.get(program)) or home
    installed = await _installed(host, filter(None, prefixes.values()))
    return found | {name: installed[prefix] for name, prefix in prefixes.items() if prefix in installed}


def of_image(launch: Launch) -> str | None:
    """The version in the tag of vLLM's own image; other images number their tags by themselves."""
    if launch.container is None:
        return None
    name, _, tag = launch.container.image.partition("@")[0].rpartition("/")[2].partition(":")
    found = _TAG.match(tag) if name.startswith("vllm-openai") else None
    return found[1] if found else None


async def _labelled(host: Host, launches: Mapping[str, Launch]) -> dict[str, str]:
    """The version by the labels of images on the host. Nothing is pulled, and no container is run."""
    # The program by its name alone: what a unit's path leads to may be anybody's, and we may be root.
    boxes = {
        name: (box.program.rpartition("/")[2], box.image)
        for name, launch in launches.items()
        if (box := launch.container)
    }
    told = {box: await _label(host, *box) for box in sorted(set(boxes.values()))}
    return {name: version for name, box in boxes.items() if (version := told[box])}


async def _label(host: Host, program: str, image: str) -> str | None:
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


def prefix_of(program: str, head: str | None) -> str:
    """The environment that a program belongs to: an interpreter's own, or that of a script's first line; "" unknown."""
    if head and (found := _SHEBANG.match(head)):
        interpreter = _LONG.search(head) if found[1] in ("/bin/sh", "/usr/bin/env") else found
        program = interpreter[1] if interpreter else program
    folder, bin_, _ = program.rpartition("/bin/")
    return folder if bin_ else ""


def _is_python(program: str) -> bool:
    return program.rpartition("/")[2].startswith("python")


async def _installed(host: Host, prefixes: Iterable[str]) -> dict[str, str]:
    folders = [f"{prefix}/{lib}" for prefix in sorted(set(prefixes)) for lib in ("lib", "lib64")]
    if not folders:
        return {}
    try:
        done = await host.run(["find", *folders, "-maxdepth", "3", "-name", "vllm-*.dist-info"])
    except (CommandFailed, DeadlineExceeded):
        return {}
    found: dict[str, set[str]] = {}
    for line in done.text.splitlines():
        if match := _DIST.match(line):
            found.setdefault(match["prefix"], set()).add(match["version"])
    return {prefix: versions.pop() for prefix, versions in found.items() if len(versions) == 1}

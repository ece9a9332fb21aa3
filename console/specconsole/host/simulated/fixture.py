"""The host on which the recorded starts ran, and the units that would have made them.

The recorder started the servers by hand; systemd, its units and their names are the demo's. The command lines are the
recorded ones.
"""

from __future__ import annotations

from functools import lru_cache, partial

from specconsole.host.simulated import recording
from specconsole.host.simulated.script import Script
from specconsole.host.simulated.site import Site, UnitFile

PREFIX = "/opt/torch/.venv"
PYTHON = f"{PREFIX}/bin/python3"
_MEMORY = 128_887 * 2**20
_GPU_MEMORY = 150_754_820_096
"""Bytes, as the recorder read them."""
_NOTE = "a replay: the times are those of other prompts, recorded on an H200 with 1 and with 8 streams"

_UNITS = {
    "vllm-moe.service": ("moe-baseline", "vLLM moe-30b-a3b, baseline"),
    "vllm-moe-ngram.service": ("moe-ngram", "vLLM moe-30b-a3b, n-gram speculation"),
    "vllm-moe-eagle3.service": ("moe-eagle3", "vLLM moe-30b-a3b, EAGLE-3 speculation"),
    "vllm-moe-sync.service": ("moe-sync", "vLLM moe-30b-a3b, baseline without async scheduling"),
    "vllm-dense.service": ("dense-baseline", "vLLM dense-8b, baseline"),
    "vllm-dense-ngram.service": ("dense-ngram", "vLLM dense-8b, n-gram speculation"),
    "vllm-dense-fails.service": ("dense-dies", "vLLM dense-8b, FlashInfer sampler (its package is missing)"),
}
"""Unit by name: the recording behind it and its description."""


def unit_files() -> dict[str, UnitFile]:
    """All units by name. Each conflicts with those before it, since there is one GPU."""
    files: dict[str, UnitFile] = {}
    for name, (played, description) in _UNITS.items():
        files[name] = UnitFile(
            name,
            played,
            description,
            argv=(PYTHON, *recording.header(played)["argv"][1:]),
            script=partial(_script, played),
            environment=() if played == "dense-dies" else ("VLLM_USE_FLASHINFER_SAMPLER=0",),
            conflicts=tuple(files),
        )
    return files


def _script(name: str, number: int, seed: int, held: frozenset[int]) -> Script:  # noqa: ARG001
    """Every start of a unit is the recorded one."""
    return recording.load(name)


def unit_of(name: str) -> str:
    """The unit that plays a recording."""
    return next(unit for unit, (played, _) in _UNITS.items() if played == name)


@lru_cache
def site(gpus: int = 1) -> Site:
    """The host; with more than its one GPU the others are copies that say so."""
    card = recording.header("moe-baseline")["card"]
    constant = {name: value for name, value in card.items() if name not in ("memory_reserved", "driver")}
    return Site(
        hostname="h200-replay",
        boot_id="d5e3a0c4b7f94c0f9f6d1c2b3a495867",
        kernel="6.18.44-fc-v657-gpu",
        python=PYTHON,
        prefix=PREFIX,
        vllm="0.24.0",
        systemd="255 (255.4-1ubuntu8)",
        cpu_count=16,
        memory_total=_MEMORY,
        shm_total=135_148_564_480,
        driver=card["driver"],
        cards=tuple(
            constant
            | ({"uuid": f"{card['uuid'][:-2]}{index:02x}", "name": f"{card['name']} (copy of GPU 0)"} if index else {})
            for index in range(gpus)
        ),
        memory_gpu=_GPU_MEMORY,
        units=unit_files(),
        mounts={
            "/": "/dev/vda 264241152 17825792 67108864 21% /",
            "/dev/shm": "tmpfs 131981020 0 131981020 0% /dev/shm",  # noqa: S108
        },
        why={"xid": "not recorded"},
        note=_NOTE,
    )

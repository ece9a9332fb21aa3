"""A profile written from what is found on a host: units, roles and expectations, for a person to read and change."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from specconsole.history.memory import Memory
from specconsole.service.unit import Role, Unit
from specconsole.text import one_line

LOADS = 20
HEAD = """\
# The vLLM units of {name} as `specconsole profile init` found them. Everything here can be left out or changed: what is not
# said is found on the host by itself. `specconsole profile validate {file}` checks it.
"""
SWAP = """
# How a swap goes; each line as it would be anyway.
# [swap]
# drain_s = 30             # how long to wait for a moment without requests
# at_deadline = "go"       # or "give-up": with requests still in flight then
# rollback = true          # return to the unit before when the new one fails
"""
KEY = """
# Where the API key comes from, one of the two. {why}
# [api_key]
# command = ["pass", "show", "vllm/{host}"]
# env = "VLLM_API_KEY"
"""


async def loads_of(memory: Memory, hostname: str, units: Sequence[Unit]) -> tuple[float, ...]:
    """Earlier loads of the baseline that are remembered, in seconds."""
    baseline = next((unit for unit in units if unit.role is Role.BASELINE), None)
    found = await memory.loads(hostname, baseline.key, LOADS) if baseline else ()
    return tuple(one.ready - one.started for one in found if one.ready is not None and one.complete)


def file_name(hostname: str) -> str:
    """A host's name as a file's."""
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "-_.") else "-" for char in hostname)
    return kept.strip("-.") or "host"


def toml(host: str, hostname: str, units: Sequence[Unit], file: str, loads_s: Sequence[float] = ()) -> str:
    """The profile's text. `host` is what was typed; `loads_s`: earlier loads of the baseline in seconds."""
    typed = host if host.startswith("demo:") else host.rpartition("@")[2]  # of a simulated host @ is the speed
    names = list(dict.fromkeys([typed, hostname]))
    parts = [HEAD.format(name=one_line(hostname), file=one_line(file))]
    parts.append(f"description = {_text(_description(units))}\n")
    parts.append(f"# Hosts that it is for: names as you type them, with * and ?.\nhosts = {_list(names)}\n")
    first = next((unit for unit in units if unit.role is Role.BASELINE), None)
    parts += ["\n".join(_unit(unit, label, first)) for unit, label in zip(units, labels(units), strict=True)]
    parts.append(_key(hostname, units))
    parts.append("\n".join(_expect(units, loads_s)))
    return "\n".join(part.strip("\n") + "\n" for part in [*parts, SWAP])


def labels(units: Sequence[Unit]) -> list[str]:
    """A short name for each unit, good as a table's name, unique, and no other unit's own name."""
    found: list[str] = []
    taken = {name for unit in units for name in (unit.name, unit.name.removesuffix(".service"))}
    for unit in units:
        wish = "".join(
            char if (char.isascii() and char.isalnum()) or char in "-_" else "-" for char in unit.label or unit.name
        )
        wish = "-".join(part for part in wish.split("-") if part) or "unit"
        number = 2
        name = wish
        while name in found or name in taken - {unit.name, unit.name.removesuffix(".service")}:
            name, number = f"{wish}-{number}", number + 1
        found.append(name)
    return found


def _description(units: Sequence[Unit]) -> str:
    models = list(
        dict.fromkeys(unit.serving.model.rstrip("/").rpartition("/")[2] for unit in units if unit.serving.model)
    )
    variants = sum(unit.role is Role.VARIANT for unit in units)
    what = ", ".join(models[:3]) or "vLLM"
    return f"{what}: {len(units)} unit{'s' if len(units) != 1 else ''}" + (
        f", {variants} with speculation" if variants else ""
    )


def _unit(unit: Unit, label: str, first: Unit | None) -> Iterator[str]:
    """`first`: the one baseline that a profile has."""
    serving = unit.serving
    where = serving.endpoint.uds or f"port {serving.endpoint.port}"
    what = serving.model or "a model that its command does not show"
    yield f"# {one_line(what)}, {one_line(where)}{f', {serving.parallelism}' if serving.parallelism else ''}, vLLM {one_line(unit.version or 'of unknown version')}"
    if serving.speculation:
        yield f"# --speculative-config {one_line(serving.speculation.config, 300)}"
    yield f"[units.{label}]"
    yield f"name = {_text(unit.name)}"
    if unit.manager != "system":
        yield f"manager = {_text(unit.manager)}"
    if unit.role is Role.UNKNOWN:
        yield '# role = "baseline"        # or "variant": its command does not tell'
    elif unit.role is Role.BASELINE and unit is not first:
        yield '# role = "baseline"        # read from its command; a profile has one, and [expect] is of that'
    else:
        yield f"role = {_text(unit.role.value)}"
    if "port" in serving.unknown:
        yield f"# port = {serving.endpoint.port}              # its command does not tell: say it here"
    elif not serving.endpoint.uds:
        yield f"# port = {serving.endpoint.port}              # read from its command, anew each time"


def _key(host: str, units: Sequence[Unit]) -> str:
    if any(unit.serving.has_api_key for unit in units):
        why = "Without this the key is read on the host, from the unit's environment or command."
    else:
        why = "No unit was seen to ask for one."
    return KEY.format(why=why, host=one_line(host))


def _expect(units: Sequence[Unit], loads_s: Sequence[float]) -> Iterator[str]:
    baseline = next((unit for unit in units if unit.role is Role.BASELINE), None)
    yield "# What is usual here; what differs is pointed out."
    yield "[expect]"
    if baseline and baseline.serving.model:
        yield f"model = {_text(baseline.serving.model.rstrip('/').rpartition('/')[2])}"
    if baseline and "parallelism" not in baseline.serving.unknown:
        yield f"tensor_parallel = {baseline.serving.tensor_parallel}"
    yield "# tpot_ms = 13.6         # of the baseline, one stream: specconsole bench measures it"
    yield "# tok_s = 74"
    if loads_s:
        low, high = min(loads_s) / 60, max(loads_s) / 60
        yield f"load_minutes = [{max(low, 0.1):.1f}, {max(high, 0.1):.1f}]    # of {len(loads_s)} earlier loads"
    else:
        yield "# load_minutes = [25, 90]    # from start to ready, page cache cold"


def _text(text: str) -> str:
    """A TOML basic string: JSON's escapes are among its own."""
    return json.dumps(one_line(text), ensure_ascii=False)


def _list(texts: Sequence[str]) -> str:
    return "[" + ", ".join(map(_text, texts)) + "]"

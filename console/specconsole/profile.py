"""A profile describes one deployment: which hosts, which units, where the key is, what to expect. Without one, discovery does it."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specconsole import paths, resources, toml
from specconsole.errors import ConfigError

if TYPE_CHECKING:
    from importlib.abc import Traversable

_UNIT = re.compile(r"[A-Za-z0-9:_.@\\-]{1,255}")
_OTHER_KINDS = frozenset(
    ["socket", "device", "mount", "automount", "swap", "target", "path", "timer", "slice", "scope"]
)
_MANAGER = re.compile(r"system|user:[A-Za-z_][\w.-]*")

_SLOWEST_START, _FASTEST_ROUNDED = 0.5, 1.1
"""Tokens a second of a stream count the wait for its first token too: below 1000 / TPOT, but never far above it."""


@dataclass(frozen=True)
class UnitProfile:
    """One unit of the deployment."""

    label: str
    """The short name on screens: baseline, ngram."""
    name: str
    """With its suffix: vllm-kimi.service."""
    manager: str = "system"
    """system, or user:NAME."""
    role: str | None = None
    """baseline or variant, where the command does not tell."""
    port: int | None = None
    """Where its server is reached, where the command does not tell or something stands in between."""
    speculative: Mapping[str, Any] = field(default_factory=dict)
    """What `derive` makes it from, where it is a variant: the keys of --speculative-config."""


@dataclass(frozen=True)
class KeySource:
    """Where the API key comes from; one of the two."""

    command: tuple[str, ...] = ()
    """Run on the operator's machine, without a shell; its first line of output is the key."""
    env: str = ""
    """A variable of the console's own environment."""


@dataclass(frozen=True)
class Expectations:
    """What this deployment usually shows; what differs is pointed out."""

    model: str | None = None
    tensor_parallel: int | None = None
    tpot_ms: float | None = None
    """Of the baseline, one stream."""
    tok_s: float | None = None
    """Of the baseline, one stream."""
    load_minutes: tuple[float, float] | None = None
    """From start to ready, cold."""


@dataclass(frozen=True)
class Swaps:
    """How this deployment is swapped; None: as the program would by itself."""

    drain_s: float | None = None
    """How long to wait for a moment without requests."""
    at_deadline: str | None = None
    """go or give-up, with requests still in flight then."""
    rollback: bool | None = None
    before: tuple[str, ...] = ()
    """A command of the host, without a shell, run as root before the drain; it failed: nothing is changed."""
    after: tuple[str, ...] = ()
    """The same once a unit serves again, the new one or the old one."""


@dataclass(frozen=True)
class BenchSet:
    """What a benchmark of this deployment varies: each combination is a run of its own."""

    concurrency: tuple[int, ...] = (1,)
    context: tuple[int, ...] = (0,)
    """Tokens that prompts are brought to; 0: as they are."""
    temperature: tuple[float, ...] = (0.0,)
    repeat: int = 3
    """Requests for each prompt."""
    max_tokens: int = 256
    sample: int | None = None
    """Draw so many of the prompts; None: all."""


@dataclass(frozen=True)
class Profile:
    """One file."""

    name: str
    hosts: tuple[str, ...] = ()
    """Shell patterns over host names; none: used only when asked for by name."""
    units: tuple[UnitProfile, ...] = ()
    api_key: KeySource | None = None
    expect: Expectations = Expectations()
    prompts: str = "default"
    """The prompt set of benchmarks: default, or a file's path."""
    bench: BenchSet = BenchSet()
    swap: Swaps = Swaps()
    description: str = ""
    source: str = ""
    """The file it was read from."""

    def unit(self, label: str) -> UnitProfile | None:
        """The unit with a label."""
        return next((unit for unit in self.units if unit.label == label), None)


def load(source: str | Path | Traversable) -> Profile:
    """Read a profile from a file.

    Raises:
        ConfigError: the file cannot be read, others may write it, or something in it is wrong; names file, line and the nearest right key.
    """
    path = paths.typed(source) if isinstance(source, str) else source
    if isinstance(path, Path):
        _refuse_others(path)
    return _profile(toml.read(path))


def _refuse_others(path: Path) -> None:
    """Refuse a file that others may write: its commands are run on hosts with our rights. A group of one's own is none."""
    try:
        status = path.stat()
    except OSError:
        return  # whoever reads it tells
    shared = status.st_mode & stat.S_IWGRP and status.st_gid != status.st_uid
    if status.st_mode & stat.S_IWOTH or shared:
        raise ConfigError(
            f"{path} may be written by other users, and what a profile says is run on hosts.", hint=f"chmod go-w {path}"
        )


def named(name: str) -> Profile:
    """A profile by the name of its file, or by its path. Raises ConfigError where there is none."""
    known = resources.find("profiles")
    if os.sep in name or name.endswith(".toml"):
        if not paths.typed(name).exists():
            hint = f"specconsole profile init HOST writes one; known by name are {', '.join(sorted(known)) or 'none'}."
            raise ConfigError(f"There is no profile file {name}.", hint=hint)
        return load(name)
    if name not in known:
        raise ConfigError(f'There is no profile "{name}".', hint=f"Known are {', '.join(sorted(known)) or 'none'}.")
    return load(known[name])


def for_host(*names: str) -> Profile | None:
    """The profile whose pattern fits one of a host's names, the user's own first; None: none fits.

    Raises:
        ConfigError: a profile is wrong; said even if it would not have fitted, or it would go unnoticed.
    """
    wanted = {
        form for name in names for form in (name, name.rpartition("@")[2], _without_port(name.rpartition("@")[2]))
    }
    for source in resources.find("profiles").values():
        profile = load(source)
        if any(fnmatch.fnmatchcase(name, pattern) for name in wanted for pattern in profile.hosts):
            return profile
    return None


def _without_port(name: str) -> str:
    head, colon, port = name.rpartition(":")
    return head if colon and port.isdecimal() and ":" not in head else name


def _profile(file: toml.File) -> Profile:
    top = file.content
    file.only(top, ("description", "hosts", "units", "api_key", "expect", "bench", "swap"))
    bench = file.get(top, "bench", "table", default={})
    file.only(bench, ("prompts", "concurrency", "context", "temperature", "repeat", "max_tokens", "sample"), ("bench",))
    return Profile(
        name=Path(file.name).stem,
        hosts=tuple(file.get(top, "hosts", "texts", default=())),
        units=_units(file, file.get(top, "units", "table", default={})),
        api_key=_key(file, file.get(top, "api_key", "table")),
        expect=_expect(file, file.get(top, "expect", "table", default={})),
        prompts=file.get(bench, "prompts", "text", ("bench",), "default"),
        bench=_bench(file, bench),
        swap=_swap(file, file.get(top, "swap", "table", default={})),
        description=file.get(top, "description", "text", default=""),
        source=file.name,
    )


def _units(file: toml.File, tables: Mapping[str, Any]) -> tuple[UnitProfile, ...]:
    units: list[UnitProfile] = []
    for label in tables:
        path = ("units", label)
        table = file.get(tables, label, "table", ("units",))
        file.only(table, ("name", "manager", "role", "port", "speculative"), path)
        name, manager = file.get(table, "name", "text", path), file.get(table, "manager", "text", path, "system")
        if not name:
            raise file.wrong(path, f'[units.{label}] needs a "name", the unit\'s.')
        if not _UNIT.fullmatch(name) or name.rpartition(".")[2] in _OTHER_KINDS:
            raise file.wrong(
                (*path, "name"),
                f'"name" is the name of a service unit, not {name!r}.',
                "Letters, digits and : - _ . @ \\ stand in its name, and none but services run vLLM: vllm or vllm.service.",
            )
        if not _MANAGER.fullmatch(manager):
            raise file.wrong((*path, "manager"), f'"manager" must be "system" or "user:NAME", not {manager!r}.')
        role = file.one_of(table, "role", ("baseline", "variant"), path)
        name = name if name.endswith(".service") else f"{name}.service"
        speculative = _speculative(file, table, path)
        unit = UnitProfile(label, name, manager, role, file.get(table, "port", "port", path), speculative)
        _alone(file, unit)
        for other in units:
            _agreeing(file, other, unit)
        units.append(unit)
    return tuple(units)


def _alone(file: toml.File, unit: UnitProfile) -> None:
    """Refuse a unit that contradicts itself."""
    if unit.role == "baseline" and unit.speculative:
        raise file.wrong(
            ("units", unit.label, "speculative"),
            f'[units.{unit.label}] has role = "baseline" and "speculative": a baseline is what does not speculate.',
            'Take one of the two out; role = "variant" is what derive makes.',
        )


def _agreeing(file: toml.File, other: UnitProfile, unit: UnitProfile) -> None:
    """Refuse two units of which only one can be as it is said."""
    path = ("units", unit.label)
    if (other.name, other.manager) == (unit.name, unit.manager):
        said = f"[units.{unit.label}] and [units.{other.label}] name the same unit, {unit.name}."
        raise file.wrong((*path, "name"), said)
    if other.role == unit.role == "baseline":
        raise file.wrong(
            (*path, "role"),
            f'[units.{other.label}] and [units.{unit.label}] both have role = "baseline": a profile has one, which [expect] is of.',
            "Take the role out of one: it counts only where a unit's command does not tell. Another deployment is another profile.",
        )
    for one, two in ((other, unit), (unit, other)):
        if f"{one.label.removesuffix('.service')}.service" == two.name != one.name:
            raise file.wrong(
                ("units", one.label),
                f"[units.{one.label}] is called as the unit of [units.{two.label}]: {one.label} would always mean that one.",
                "Give it another short name.",
            )


def _speculative(file: toml.File, table: Mapping[str, Any], path: tuple[str, ...]) -> Mapping[str, Any]:
    """The keys of --speculative-config, whatever they are: each vLLM release has others."""
    given = file.get(table, "speculative", "table", path, {})
    try:
        json.dumps(given)
    except TypeError:
        raise file.wrong((*path, "speculative"), '"speculative" holds what JSON cannot say, such as a date.') from None
    k = given.get("num_speculative_tokens", 1)
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise file.wrong(
            (*path, "speculative", "num_speculative_tokens"),
            f'"num_speculative_tokens" must be a whole number above 0, not {k!r}.',
        )
    return dict(given)


def _key(file: toml.File, table: Mapping[str, Any] | None) -> KeySource | None:
    if table is None:
        return None
    file.only(table, ("command", "env"), ("api_key",))
    command, env = (
        file.get(table, "command", "texts", ("api_key",), []),
        file.get(table, "env", "text", ("api_key",), ""),
    )
    if bool(command) == bool(env):
        raise file.wrong(("api_key",), '[api_key] needs either "command" or "env".')
    return KeySource(tuple(command), env)


def _bench(file: toml.File, table: Mapping[str, Any]) -> BenchSet:
    path = ("bench",)
    concurrency = file.get(table, "concurrency", "counts", path, [1])
    if 0 in concurrency:
        raise file.wrong((*path, "concurrency"), '"concurrency" must be a list of whole numbers above 0.')
    return BenchSet(
        tuple(concurrency),
        tuple(file.get(table, "context", "counts", path, [0])),
        tuple(float(value) for value in file.get(table, "temperature", "numbers", path, [0])),
        file.get(table, "repeat", "count", path, 3),
        file.get(table, "max_tokens", "count", path, 256),
        file.get(table, "sample", "count", path),
    )


def _swap(file: toml.File, table: Mapping[str, Any]) -> Swaps:
    path = ("swap",)
    file.only(table, ("drain_s", "at_deadline", "rollback", "before", "after"), path)
    drain_s = file.get(table, "drain_s", "seconds", path)
    hooks = {name: tuple(file.get(table, name, "texts", path, [])) for name in ("before", "after")}
    for name, argv in hooks.items():
        if argv and not argv[0].startswith("/"):
            raise file.wrong(
                (*path, name), f'"{name}" must begin with the path of a program on the host, not {argv[0]!r}.'
            )
    at_deadline = file.one_of(table, "at_deadline", ("go", "give-up"), path)
    return Swaps(drain_s, at_deadline, file.get(table, "rollback", "yes", path), **hooks)


def _expect(file: toml.File, table: Mapping[str, Any]) -> Expectations:
    kinds = {
        "model": "text",
        "tensor_parallel": "count",
        "tpot_ms": "milliseconds",
        "tok_s": "number",
        "load_minutes": "minutes",
    }
    file.only(table, kinds, ("expect",))
    values = {key: file.get(table, key, kind, ("expect",)) for key, kind in kinds.items()}
    if values["load_minutes"]:
        values["load_minutes"] = tuple(values["load_minutes"])
    tpot_ms, tok_s = values["tpot_ms"], values["tok_s"]
    if tpot_ms and tok_s and not _SLOWEST_START < tok_s * tpot_ms / 1000 < _FASTEST_ROUNDED:
        raise file.wrong(
            ("expect", "tok_s"),
            f'"tok_s" = {tok_s:g} contradicts "tpot_ms" = {tpot_ms:g}: that is {1000 / tpot_ms:.1f} tokens a second.',
            "Give one of them, or both of the same runs.",
        )
    return Expectations(**values)

"""Whether a command's speculation will work: what the host's vLLM refuses, and what it changes without a word; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from specconsole.service import arguments, command, drafter_rule, launch, method_effect, method_rule
from specconsole.service.arguments import Arguments
from specconsole.service.checkpoint import Checkpoint
from specconsole.service.finding import Finding
from specconsole.service.launch import Files, Launch
from specconsole.service.method_table import METHODS
from specconsole.service.shellword import UNKNOWN
from specconsole.text import whole_number


@dataclass(frozen=True)
class Neighbour:
    """Another unit of the host that listens somewhere."""

    key: str
    port: int | None
    """None: not known, a socket file, or another address."""
    running: bool
    stopped_by_start: bool
    """Starting the unit stops it (Conflicts=, either way)."""


@dataclass(frozen=True)
class Facts:
    """What is known of a definition: of a unit that is there, or of one that is to be written."""

    launch: Launch = field(repr=False)
    """Where vLLM starts in its effective command."""
    given: Arguments = field(repr=False)
    """vLLM's own arguments, those of a --config file included."""
    version: str | None = None
    """vLLM's, from the environment's dist-info or the image's tag; None: not known."""
    target: Checkpoint | None = None
    """The served model; None: not looked at, or not on this host."""
    drafter: Checkpoint | None = None
    """The speculative model; None: none is named, not looked at, or not on this host."""
    neighbours: tuple[Neighbour, ...] = ()
    packages: Mapping[str, str | None] | None = None
    """Versions of packages beside vLLM, None for one that is not there; None: not looked at."""

    @property
    def environment(self) -> Mapping[str, str]:
        """What vLLM sees."""
        return self.launch.environment

    @property
    def model(self) -> str | None:
        """The model that is served, as the command names it."""
        return command.model_of(self.launch, self.given)


@dataclass(frozen=True)
class Spec:
    """The speculative configuration as vLLM will take it."""

    config: Mapping[str, Any]
    """The keys as given."""
    method: str
    """As vLLM infers it, names of one family of MTP as mtp; "" where it cannot be told."""
    written: str
    """The method as given; "" where only a model is named."""
    model: str | None
    k: int | None
    """num_speculative_tokens; None: not given, or no whole number."""

    @property
    def own_layers(self) -> bool:
        """It drafts with layers of the served model itself."""
        return METHODS.get(self.method, ("", "", ""))[2] == "layers" and self.model is None


def spec_of(given: Arguments, drafter: Checkpoint | None = None) -> Spec | None:
    """Read the configuration out of a command; None for none."""
    config = arguments.speculative_config(given)
    if config is None:
        return None
    written, model, k = config.get("method"), config.get("model"), config.get("num_speculative_tokens")
    written = written if isinstance(written, str) else ""
    model = model if isinstance(model, str) and model and UNKNOWN not in model else None
    if isinstance(k, str):
        k = whole_number(k)
    k = k if isinstance(k, int) and not isinstance(k, bool) else None
    method = "" if UNKNOWN in written else _inferred(written, model, drafter)
    return Spec(config, method, "" if UNKNOWN in written else written, None if method.startswith("ngram") else model, k)


def _inferred(written: str, model: str | None, drafter: Checkpoint | None) -> str:
    """The method that vLLM comes to: the one given, else by the drafter's name and type."""
    if written:
        return "mtp" if METHODS.get(written, ("", "", ""))[2] == "layers" else written.strip("[]")
    if model is None:
        return ""
    if model in ("ngram", "[ngram]"):
        return "ngram"
    name = model.lower()
    kind = drafter.kind if drafter else ""
    by_name = (("eagle-", "eagle"), ("eagle3", "eagle3"), ("dflash", "dflash"), ("dspark", "dspark"))
    found = next((method for part, method in by_name if part in name), "")
    return found or (kind if kind in ("medusa", "mlp_speculator", "mtp") else "draft_model")


def facts(
    argv: Sequence[str],
    environment: Mapping[str, str],
    files: Files,
    *,
    complete: bool = True,
    version: str | None = None,
    target: Checkpoint | None = None,
    drafter: Checkpoint | None = None,
    neighbours: Sequence[Neighbour] = (),
    packages: Mapping[str, str | None] | None = None,
) -> Facts | None:
    """Read an effective command (secrets and all); None: it does not start vLLM."""
    found = launch.find(argv, environment, files, complete=complete)
    if found is None:
        return None
    given = arguments.parse(found.arguments, Files().read if found.container else files.read)
    return Facts(found, given, version, target, drafter, tuple(neighbours), packages)


def check(known: Facts) -> tuple[Finding, ...]:
    """Everything there is to say of a command and its speculation, refusals first.

    Flags, model and port are looked at with or without speculation.
    """
    order = {"refuse": 0, "warn": 1, "note": 2}
    return tuple(sorted(_check(known), key=lambda finding: order[finding.severity]))


def _check(known: Facts) -> Iterator[Finding]:
    yield from method_rule.flags(known)
    yield from method_rule.ports(known)
    yield from drafter_rule.served(known)
    spec = spec_of(known.given, known.drafter)
    if spec is None:
        return
    yield from method_rule.rules(known, spec)
    yield from drafter_rule.rules(known, spec)
    yield from method_effect.effects(known, spec)

"""vLLM's command line, read as its own parser reads it: underscores for dashes, dotted JSON keys, short names, YAML."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from specconsole.remote import outside
from specconsole.service.shellword import UNKNOWN
from specconsole.service.unit import Speculation
from specconsole.service.yaml import parse as parse_yaml
from specconsole.text import whole_number

_SHORT = {"-tp": "tensor-parallel-size", "-pp": "pipeline-parallel-size", "-dp": "data-parallel-size"}
_SHORT |= {"-asc": "api-server-count", "-sc": "speculative-config"}
_SEVERAL = ("served-model-name", "api-key")
"""Options that take all words up to the next option."""
_SWITCHES = ("enforce-eager", "headless", "trust-remote-code", "async-scheduling", "grpc")
_SWITCH_PREFIXES = ("enable-", "disable-", "no-")
_ABBREVIATED = ("tensor-parallel-size", "pipeline-parallel-size", "speculative-config", "enforce-eager")
"""Options that argparse also takes by a beginning that no other option has ("--tensor-parallel 8")."""
_OLD = ("speculative-model", "num-speculative-tokens", "ngram-prompt-lookup-max", "ngram-prompt-lookup-min")
"""Flags of speculation until 0.8.2."""
_NEW = {"spec-method": "method", "spec-model": "model", "spec-tokens": "num_speculative_tokens"}
"""Flags of speculation besides the JSON, from 0.22."""


@dataclass
class Arguments:
    """Option by its long name without dashes; dotted keys keep their dots. The last one given counts."""

    values: dict[str, list[str]] = field(default_factory=dict)
    """[] for a switch."""
    positional: list[str] = field(default_factory=list)
    uncertain: bool = False
    """There are, or may be, options that are not seen here."""

    def has(self, name: str) -> bool:
        """The option is given."""
        return name in self.values

    def text(self, name: str) -> str | None:
        """Its value; None when it is not given, or not known."""
        value = self.values.get(name) or []
        return value[0] if value and UNKNOWN not in value[0] else None

    def number(self, name: str) -> int | None:
        """Its value as a whole number; None when it is none."""
        text = self.text(name) or ""
        return whole_number(text)

    def switch(self, name: str) -> bool:
        """A switch is on: given without a value, or with a true one."""
        value = self.values.get(name)
        return (
            value is not None and (not value or value[0].lower() in ("true", "1", "yes")) and not self.has(f"no-{name}")
        )


def parse(words: Sequence[str], read: Callable[[str], str | None] = lambda _: None) -> Arguments:
    """Read the words after `vllm serve`; `read` gives the content of a --config file, None when it is not readable."""
    found = Arguments()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        name = _long(name)
        if not name and word.startswith("-"):  # -O3, -O 3, -cc.mode=3: nothing of ours
            _take(rest, 0 if equals or word != "-O" else 1)
        elif not name:
            first = len(rest) == len(words) - 1  # the model comes first; later words in this place may be options
            found.uncertain = found.uncertain or (UNKNOWN in word and not first)
            found.positional.append(word)
        elif equals:
            found.values[name] = [value]
        elif name.startswith(_SWITCH_PREFIXES) or name in _SWITCHES:
            found.values[name] = []
        else:
            found.values[name] = _take(rest, len(rest) if name in _SEVERAL else 1)
    return _with_config(found, read)


def _long(name: str) -> str:
    """The long name of an option; "" for a word that is none."""
    if name in _SHORT:
        return _SHORT[name]
    if not name.startswith("--") or len(name) == 2:
        return ""
    head, dot, keys = name[2:].partition(".")
    head = head.replace("_", "-")
    whole = next((option for option in _ABBREVIATED if len(head) > 7 and option.startswith(head)), head)
    return whole + dot + keys


def _take(rest: list[str], most: int) -> list[str]:
    taken: list[str] = []
    while rest and len(taken) < most and not (rest[0].startswith("-") and not rest[0].lstrip("-")[:1].isdecimal()):
        taken.append(rest.pop(0))
    return taken


def _with_config(found: Arguments, read: Callable[[str], str | None]) -> Arguments:
    """Options of the command line win over those of the file."""
    if not found.has("config"):
        return found
    path = found.text("config")
    content = read(path) if path else None
    entries = parse_yaml(content) if content is not None else None
    if entries is None:
        found.uncertain = True
        return found
    for key, value in entries.items():
        name = key.replace("_", "-")
        if not found.has(name) and value is not False and value is not None:
            found.values[name] = _as_words(value)
    return found


def _as_words(value: Any) -> list[str]:
    if value is True:
        return []
    if isinstance(value, list):
        return [str(item) for item in value]
    return [json.dumps(value) if isinstance(value, dict) else str(value)]


def speculation(arguments: Arguments) -> Speculation | None:
    """The speculative configuration that the options give; None for none."""
    config, written = _config(arguments)
    return _speculation(config, " ".join(written)) if written and config is not None else None


def speculative_config(arguments: Arguments) -> dict[str, Any] | None:
    """The keys of the speculative configuration, short flags and those of old releases included; None for none.

    A method that cannot be read is `UNKNOWN`.
    """
    config, written = _config(arguments)
    return config if written else None


def _config(arguments: Arguments) -> tuple[dict[str, Any], list[str]]:
    config, written = _modern(arguments)
    for flag, key in _NEW.items():
        if arguments.has(flag):
            config[key] = arguments.text(flag)
            written.append(f"--{flag} {arguments.text(flag) or '?'}")
    for flag in _OLD:
        if arguments.has(flag):
            written.append(f"--{flag} {arguments.text(flag) or '?'}")
    if arguments.has("speculative-model"):
        config["model"] = arguments.text("speculative-model")
        config["num_speculative_tokens"] = arguments.text("num-speculative-tokens")
    return config, written


def _modern(arguments: Arguments) -> tuple[dict[str, Any], list[str]]:
    """What --speculative-config and its dotted keys say."""
    config: dict[str, Any] = {}
    written: list[str] = []
    if arguments.has("speculative-config"):
        text = arguments.text("speculative-config")
        loaded = _json(text)
        if loaded is None:
            config["method"] = UNKNOWN
        if loaded != {}:
            written.append(text or "?")
        config |= loaded or {}
    for name, values in arguments.values.items():
        head, dot, key = name.partition(".")
        if head == "speculative-config" and dot:
            config[key.partition(".")[0].replace("-", "_")] = values[0] if values else True
            written.append(f"{key}={' '.join(values)}")
    return config, written


def _json(text: str | None) -> dict[str, Any] | None:
    """The JSON of --speculative-config; {} where it says none, None where it cannot be read."""
    try:
        loaded = outside.parse(text or "?")
    except ValueError:
        return None
    return loaded if isinstance(loaded, dict) else {} if loaded is None else None


def _speculation(config: Mapping[str, Any], written: str) -> Speculation:
    method, model = (_text(config.get(key)) for key in ("method", "model"))
    if method is None:
        named_ngram = model in ("ngram", "[ngram]")
        method = (
            "ngram" if named_ngram else "draft_model" if model else "mtp"
        )  # without a model: the target's own heads
    tokens = str(config.get("num_speculative_tokens", ""))
    return Speculation(
        "unknown" if UNKNOWN in method else method,
        whole_number(tokens),
        None if model in ("ngram", "[ngram]") else model,
        written,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None

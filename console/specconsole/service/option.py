"""Speculation as options of vLLM's command line: one JSON, or the single flags of releases before it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from specconsole.errors import UsageError
from specconsole.remote import outside
from specconsole.service.method_table import CONFIG_SINCE
from specconsole.service.release import has

JSON_OPTION = "--speculative-config"

_FLAGS = {
    "model": "--speculative-model",
    "num_speculative_tokens": "--num-speculative-tokens",
    "draft_tensor_parallel_size": "--speculative-draft-tensor-parallel-size",
    "max_model_len": "--speculative-max-model-len",
    "disable_by_batch_size": "--speculative-disable-by-batch-size",
    "quantization": "--speculative-model-quantization",
    "prompt_lookup_max": "--ngram-prompt-lookup-max",
    "prompt_lookup_min": "--ngram-prompt-lookup-min",
    "acceptance_method": "--spec-decoding-acceptance-method",
    "posterior_threshold": "--typical-acceptance-sampler-posterior-threshold",
    "posterior_alpha": "--typical-acceptance-sampler-posterior-alpha",
    "disable_logprobs": "--disable-logprobs-during-spec-decoding",
    "disable_mqa_scorer": "--speculative-disable-mqa-scorer",
}
"""The flag that said what a key of the JSON says now."""
_SWITCHES = ("disable_mqa_scorer",)
_IMPLIED = ("ngram", "draft_model", "eagle", "medusa", "mlp_speculator")
"""Methods of those releases: none was named, the model told."""
_OURS = re.compile(
    r"--(speculative[-_]\w[\w.-]*|spec[-_](?:method|model|tokens|decoding[-_][\w-]+)|num[-_]speculative[-_]tokens"
    r"|ngram[-_]prompt[-_]lookup[-_]\w+|typical[-_]acceptance[-_][\w-]+|disable[-_]logprobs[-_]during[-_]spec[-_]decoding)|-sc"
)


def words(settings: Mapping[str, Any], version: str | None) -> tuple[str, ...]:
    """The options that give vLLM this speculative configuration; the JSON where the version is not known.

    Raises:
        UsageError: that release has no flag for one of the keys.
    """
    if has(version, CONFIG_SINCE) is not False:
        return (JSON_OPTION, json.dumps(settings, ensure_ascii=False))
    found: list[str] = []
    method, rest = settings.get("method"), {key: value for key, value in settings.items() if key != "method"}
    if method == "ngram":
        rest = {"model": "[ngram]", **rest}
    elif method not in (None, *_IMPLIED):
        raise UsageError(f"vLLM {version} does not know the method {method}.", hint=f"It has {', '.join(_IMPLIED)}.")
    for key, value in rest.items():
        flag = _FLAGS.get(key)
        if flag is None:
            raise UsageError(f"vLLM {version} has no flag for {key}.", hint=f"It has {', '.join(_FLAGS)}.")
        if key not in _SWITCHES:
            found += [flag, _text(value)]
        elif value:
            found.append(flag)
    return tuple(found)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def is_option(word: str) -> bool:
    """A word is an option of speculation, in any of its spellings, with or without its value behind an =."""
    return _OURS.fullmatch(word.partition("=")[0]) is not None


def without(argv: Sequence[str]) -> tuple[str, ...]:
    """Arguments without those of speculation."""
    ours = taken(argv)
    return tuple(word for at, word in enumerate(argv) if at not in ours)


def taken(argv: Sequence[str]) -> frozenset[int]:
    """Which words belong to speculation: its options and their values."""
    found: set[int] = set()
    for at, word in enumerate(argv):
        if is_option(word):
            found.add(at)
            if "=" not in word and at + 1 < len(argv) and not argv[at + 1].startswith("-"):
                found.add(at + 1)
    return frozenset(found)


def setting(text: str) -> tuple[str, Any]:
    """Read KEY=VALUE; a value is JSON where it can be, else text. Raises UsageError."""
    key, equals, value = text.partition("=")
    key = key.strip().replace("-", "_")
    if not equals or not key:
        raise UsageError(f"{text!r} is no KEY=VALUE.", hint="For example: --set num_speculative_tokens=5")
    try:
        return key, outside.parse(value)
    except ValueError:
        return key, value

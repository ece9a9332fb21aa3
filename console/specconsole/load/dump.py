"""The engine's configuration as one line of 4,000 to 6,000 characters: what of it a load shows; pure."""

from __future__ import annotations

import re

_VALUE = r"(?:'(?P<quoted>[^']{0,512})'|(?P<plain>[^,\s)]{1,128}))"
_FIELDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(rf"(?:^|[ (,]){word}={_VALUE}"))
    for name, word in (
        ("model", "model"),
        ("tensor_parallel", "tensor_parallel_size"),
        ("pipeline_parallel", "pipeline_parallel_size"),
        ("data_parallel", "data_parallel_size"),
        ("max_model_len", "max_seq_len"),
        ("quantization", "quantization"),
        ("kv_cache_dtype", "kv_cache_dtype"),
        ("eager", "enforce_eager"),
    )
)
_SPECULATION = re.compile(r"speculative_config=(?:(?P<none>None)|SpeculativeConfig\((?P<inside>[^()]{0,1024})\))")
_NUMBERS = ("tensor_parallel", "pipeline_parallel", "data_parallel", "max_model_len")


def read(text: str) -> dict[str, object]:
    """Name the facts of a configuration dump; what it does not say is absent."""
    found: dict[str, object] = {}
    for name, pattern in _FIELDS:
        value = _value(pattern, text)
        if value is None or value == "None":
            continue
        if name == "eager":
            found[name] = value == "True"
        elif name in _NUMBERS:
            if value.isdecimal() and len(value) < 10:
                found[name] = int(value)
        else:
            found[name] = value
    return found | _speculation(text)


def _value(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return None if found is None else found["quoted"] if found["quoted"] is not None else found["plain"]


_INSIDE = {
    name: re.compile(rf"(?:^|[ ,]){word}={_VALUE}")
    for name, word in (
        ("method", "method"),
        ("drafter", "model"),
        ("old_drafter", "draft_model"),
        ("k", "num_spec_tokens"),
    )
}


def _speculation(text: str) -> dict[str, object]:
    found = _SPECULATION.search(text)
    if found is None:
        return {}
    if found["none"]:
        return {"speculation": False}
    inside = {name: _value(pattern, found["inside"]) for name, pattern in _INSIDE.items()}
    facts: dict[str, object] = {"speculation": True}
    if (method := inside["method"]) and method != "None":
        facts["method"] = method
    drafter = inside["drafter"] or inside["old_drafter"]
    if drafter and drafter != "None":
        facts["drafter"] = drafter
    if (k := inside["k"]) and k.isdecimal() and len(k) < 6:
        facts["k"] = int(k)
    return facts

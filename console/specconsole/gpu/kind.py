"""Whether what a host sent is of the kinds that it should be: a word where a number stands would end whoever adds it up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

LARGEST = 2.0**64
"""Beyond it nothing here is a number: the kernel counts in 64 bits."""
_KINDS: Mapping[str, tuple[type, ...]] = {"int": (int, float), "float": (int, float), "str": (str,), "bool": (bool,)}
_NUMBERS = (int, float)


def check(value: object) -> None:
    """Look at every field of a dataclass and of those within it; JSON has no subclasses, so that the type itself tells.

    Raises:
        TypeError: a field holds something else than it says; the text names it.
    """
    if isinstance(value, Mapping):
        for item in value.values():
            check(item)
    elif isinstance(value, tuple):
        for item in value:
            check(item)
    elif is_dataclass(value) and not isinstance(value, type):
        held = vars(value)
        for name, kinds in _declared(type(value)):
            found = held[name]
            kind = type(found)
            if not kinds:
                check(found)
            elif kind not in kinds:
                raise TypeError(f"{name} is {kind.__name__}")
            elif kind in _NUMBERS and not -LARGEST <= found <= LARGEST:
                raise TypeError(f"{name} is beyond measure")


@lru_cache(maxsize=32)
def _declared(kind: Any) -> tuple[tuple[str, frozenset[type]], ...]:
    """Name and kinds of each field; no kinds: something that has parts."""
    found = []
    for item in fields(kind):
        words = [word.strip() for word in str(item.type).split("|")]
        kinds = {one for word in words for one in _KINDS.get(word, ())}
        found.append((item.name, frozenset(kinds | {type(None)}) if kinds and "None" in words else frozenset(kinds)))
    return tuple(found)

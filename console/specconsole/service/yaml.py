"""The YAML that people write for `vllm serve --config`: keys with plain values, short lists, one level of nesting.

A whole YAML reader would be another dependency for a file of ten lines; what is beyond this is not guessed.
"""

from __future__ import annotations

import re
from typing import Any

from specconsole.remote import outside

_ENTRY = re.compile(r"(?P<indent> *)(?P<key>[A-Za-z_][\w.-]*) *:(?: +(?P<value>.*))?\Z")
_ITEM = re.compile(r" *- +(?P<value>.*)\Z")
_COMMENT = re.compile(r"(?:^|\s)#.*\Z")
_WORDS: dict[str, Any] = {"true": True, "false": False, "yes": True, "no": False, "null": None, "~": None, "": None}


def parse(text: str) -> dict[str, Any] | None:
    """Read a mapping; None when something in it is beyond this reader."""
    result: dict[str, Any] = {}
    key, inner = "", ""
    for line in text.splitlines():
        bare = _without_comment(line)
        if not bare.strip() or bare.strip() in ("---", "..."):
            continue
        item, entry = _ITEM.match(bare), _ENTRY.match(bare)
        if item and key and isinstance(result[key], (list, type(None))):
            result[key] = [*(result[key] or []), _scalar(item["value"])]
        elif entry and entry["indent"] and key and isinstance(result[key], (dict, type(None))):
            inner = inner or entry["indent"]
            if entry["indent"] != inner:
                return None
            result[key] = {**(result[key] or {}), entry["key"]: _scalar(entry["value"] or "")}
        elif entry and not entry["indent"]:
            key, inner = entry["key"], ""
            result[key] = _scalar(entry["value"] or "")
        else:
            return None
    return result


def _without_comment(line: str) -> str:
    """Cut a comment off, unless its sign stands within quotes."""
    return line.rstrip() if "'" in line or '"' in line else _COMMENT.sub("", line).rstrip()


def _scalar(text: str) -> Any:
    text = text.strip()
    if text[:1] in ("'", '"'):
        end = text.find(text[0], 1) if text[0] == "'" else _closing(text)
        inside = text[1:end]
        return inside.replace('\\"', '"').replace("\\\\", "\\") if text[0] == '"' else inside.replace("''", "'")
    if text[:1] in ("[", "{"):
        try:
            return outside.parse(text)
        except ValueError:
            return _flow(text)
    return _WORDS.get(text.lower(), text)


def _closing(text: str) -> int:
    found = re.compile(r'"(?:[^"\\]|\\.)*"').match(text)
    return found.end() - 1 if found else len(text)


def _flow(text: str) -> Any:
    """[a, b] without quotes; a mapping stays a text, which is then read as JSON or not at all."""
    return [_scalar(part) for part in text[1:-1].split(",")] if text.startswith("[") else text

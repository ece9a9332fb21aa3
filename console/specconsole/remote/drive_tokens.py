"""What the server's tokenizer says: tokens that end an answer, and how many a prompt has; Python 3.8."""

from __future__ import annotations

import json
from typing import Any, Dict, Optional, Set

from specconsole.remote import drive_rule as rule
from specconsole.remote import outside
from specconsole.remote.drive_http import Target, post

MOST_TOKENS = 1 << 31
LONG_S = 60.0
"""A prompt of a million tokens takes seconds."""


def ends(target: Target, model: str) -> Optional[Set[int]]:
    """The ids of the tokens that end an answer in this vocabulary; None where the server does not tokenize."""
    found: Set[int] = set()
    for text in rule.ENDS:
        tokens = _ask(target, {"model": model, "prompt": text, "add_special_tokens": False}, "tokens")
        if not isinstance(tokens, list):
            return None
        if len(tokens) == 1 and isinstance(tokens[0], int):
            found.add(tokens[0])
    return found


def count(target: Target, body: Dict[str, Any]) -> Optional[int]:
    """How many tokens the server makes of a body's prompt, its template included; None where it does not say."""
    found = _ask(target, {key: body[key] for key in ("model", "prompt", "messages") if key in body}, "count")
    return found if isinstance(found, int) and 0 <= found < MOST_TOKENS else None


def _ask(target: Target, body: Dict[str, Any], key: str) -> Any:
    try:
        status, answer = post(target, "/tokenize", json.dumps(body).encode(), LONG_S)
        return outside.parse(answer).get(key) if status == 200 else None
    except (OSError, ValueError, AttributeError):
        return None

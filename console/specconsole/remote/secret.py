"""Secrets in command lines, masked before they leave the host; Python 3.8, standard library."""

from __future__ import annotations

import re
from typing import List, Sequence

MASK = "***"

# The last word of a name decides: --api-key and HF_TOKEN hold a secret, --long-prefill-token-threshold and
# --return-tokens-as-token-ids do not, nor does --ssl-keyfile.
_LAST = r"(?:key|token|secret|password|passwd|passphrase|credentials?|auth)"
_NAME = r"(?:[\w.-]*[-_.])?" + _LAST
_OPTION = re.compile(r"--?" + _NAME + r"$", re.IGNORECASE)
_ASSIGNED = re.compile(r"(?<![\w.-])((?:--?)?" + _NAME + r"=)(\"[^\"]*\"|'[^']*'|\S+)", re.IGNORECASE)
_SPACED = re.compile(r"(?<![\w.-])(--" + _NAME + r"\s+)(?!--)(\"[^\"]*\"|'[^']*'|\S+)", re.IGNORECASE)
_JSON = re.compile(r"(\"(?:\w+[-_])?" + _LAST + r"\"\s*:\s*)\"(?:[^\"\\]|\\.)*\"", re.IGNORECASE)
_BEARER = re.compile(r"\b((?:bearer|basic)\s+)[\w.~+/=-]{6,}", re.IGNORECASE)
_USERINFO = re.compile(r"(\w://[^\s/:@]*:)[^\s/@]+(?=@)")
_SHAPES = re.compile(
    r"\b(?:hf_\w{16,}|sk-[\w-]{16,}|gh[pousr]_\w{20,}|nvapi-[\w-]{16,}|glpat-[\w-]{16,}|AKIA[0-9A-Z]{16}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
)


def mask(text: str) -> str:
    """Mask what looks like a secret in a piece of text: values of telling names, bearer tokens, known token shapes."""
    text = _ASSIGNED.sub(r"\1" + MASK, text)
    text = _SPACED.sub(r"\1" + MASK, text)
    text = _JSON.sub(r'\1"' + MASK + '"', text)
    text = _BEARER.sub(r"\1" + MASK, text)
    text = _USERINFO.sub(r"\1" + MASK, text)
    return _SHAPES.sub(MASK, text)


def mask_argv(argv: Sequence[str]) -> List[str]:
    """Mask a command's words: every value after an option that holds a secret (--api-key takes several), and `mask`."""
    masked: List[str] = []
    hiding = False
    for word in argv:
        if hiding and not word.startswith("-"):
            masked.append(MASK)
            continue
        hiding = bool(_OPTION.match(word))
        masked.append(word if hiding else mask(word))
    return masked

"""Secrets masked, before anything is shown, searched, copied or written.

vLLM prints its API key and the hub's token in clear text up to 0.28.0 (`args: Namespace(…)`, `non-default args: {…}`);
command lines, environments, headers and URLs turn up in tracebacks of any version. A secret is known by the name that
it stands behind, or by its shape. Names are exact: `eos_token`, `num_batched_tokens` and `ssl_keyfile` are none.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate

from specconsole.remote import secret

MASK = secret.MASK
"""What stands in a secret's place."""

_WORD = (
    r"(?:api[_-]?keys?|(?:hf|hub|auth|access|refresh|session|bearer|secret|api|github|gitlab|wandb|ngc|security)[_-]?token"
    r"|secret[_-]?(?:access[_-]?)?keys?|(?:client[_-]?)?secret|passw(?:or)?d|passphrase|private[_-]?key|(?:proxy-)?authorization)"
)
_NAME = rf"(?<![A-Za-z0-9]){_WORD}(?![\w-])"
_DOUBLE = r'b?"(?:[^"\\]|\\.)*(?:"|\Z)'
_SINGLE = r"b?'(?:[^'\\]|\\.)*(?:'|\Z)"
# A quote inside another string: as many backslashes close it as opened it. One that a cut line left open ends with it.
_ESCAPED = r"b?(?P<e>\\+)(?P<q>[\"']).*?(?:(?<!\\)(?P=e)(?P=q)|\Z)"
# No two parts of it may match the same blanks, or a long list without an end takes for ever.
_LIST = rf"[\[(]\s*(?:(?:{_DOUBLE}|{_SINGLE})[\s,]*)+[\])]|[\[(][^\])]*[\])]?"
_BARE = r"(?:(?:Bearer|Basic|Token|Digest)\s+)?[^\s,;&'\")\]}>]+"
_NOTHING = r"(?:None|True|False|null)(?=[\s,;&'\")\]}>]|\Z)|''|\"\"|\[\]"

_ASSIGNED = re.compile(
    rf"(?P<key>{_NAME}(?:\\*[\"'])?\s*(?:=>|[:=])\s*)(?!{_NOTHING})(?P<value>{_ESCAPED}|{_LIST}|{_DOUBLE}|{_SINGLE}|{_BARE})",
    re.IGNORECASE | re.DOTALL,
)
# A word list in Python's or JSON's spelling: 'authorization', b'…' and '--api-key', 'a', 'b', '--port'.
_LISTED = re.compile(
    rf"(?P<key>{_NAME}\\*[\"']\s*)(?P<values>(?:,\s*(?!b?\\*[\"']-)(?:b?\\+[\"'].*?\\[\"']|{_DOUBLE}|{_SINGLE}))+)",
    re.IGNORECASE | re.DOTALL,
)
_ITEM = re.compile(rf"b?\\+[\"'].*?\\[\"']|{_DOUBLE}|{_SINGLE}", re.DOTALL)
# On a command line the option takes several keys. Prose goes on with one of these words; a key is none of them.
_PROSE = r"(?:or|and|to|is|in|for|the|with|option|flag|argument|not|must|was|are|if|as|on|may|can|should|instead)(?=[.,;:)]*(?:\s|\Z))"
_OPTION = re.compile(
    rf"(?P<key>(?<![\w-])--?[\w-]*?{_NAME}\s+)(?!-|{_PROSE})(?P<value>{_DOUBLE}|{_SINGLE}|[^\s'\"]+)"
    r"(?P<more>(?:\s+(?!-)(?=[^\s'\"]*[\d_])[^\s'\",:()]{8,}(?=\s|\Z))*)",
    re.IGNORECASE | re.DOTALL,
)
# Behind these words stands base64, a token or English: a digit, a "=" or a capital inside the word decides.
_SCHEME = re.compile(r"\b((?i:Bearer|Basic)\s+)(?:(?=[^\s'\"]*(?:[\d=]|[a-z][A-Z]))[\w.~+/=\-]{8,}|[\w~+/=\-]{20,})")
_PASSWORD_IN_URL = re.compile(r"(\w://[^\s/@:'\"]*:)[^\s/'\"]+(?=@)")
_USER_IN_URL = re.compile(r"(\w://)[^\s/@:'\"]{20,}(?=@)")
_QUERY = re.compile(
    r"([?&](?:sig|signature|token|key|x-(?:amz|goog)-(?:signature|credential|security-token))=)[^&\s'\"]+",
    re.IGNORECASE,
)
_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?:hf_[A-Za-z0-9]{16,}|sk-(?:[\w-]{16,}|(?=[\w-]*\d)[\w-]{8,})|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    r"|nvapi-[\w-]{16,}|xox[abprs]-[\w-]{10,}|AIza[\w-]{30,}|(?:AKIA|ASIA)[0-9A-Z]{16}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
)
_PRIVATE_KEY = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?=-----END|\Z)", re.DOTALL)
_TOKEN = re.compile(r"token(?![a-z0-9_])")
# Looked for one by one, since one pattern of them all, ignoring case, takes 35 times as long. They must cover every pattern above.
_TRIGGERS = (
    "api_key", "api-key", "apikey", "secret", "passw", "passphrase", "private", "authoriz", "bearer", "basic",
    "sig=", "signature=", "key=", "x-amz", "x-goog", "hf_", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat", "glpat-", "nvapi-",
    "xox", "aiza", "akia", "asia", "eyj",
)  # fmt: skip
_SECRET_KEY = re.compile(rf"(?:.*[^A-Za-z0-9])?{_WORD}", re.IGNORECASE)


def mask(text: str) -> str:
    """Mask every secret in a piece of text; all else stays as it is, and doing it twice changes nothing.

    The text is to be free of escape sequences (`text.strip_escapes`), which could stand inside a name or value.
    """
    return mask_all([text])[0]


def mask_all(texts: Sequence[str]) -> list[str]:
    """`mask` each of many texts; what may hold a secret is looked for in all of them at once, a tenth of the cost a line."""
    masked = list(texts)
    for i in _suspects(texts):
        masked[i] = _mask(masked[i])
    return masked


def _mask(text: str) -> str:
    text = _PRIVATE_KEY.sub(rf"\1{MASK}", text)
    text = _LISTED.sub(lambda found: found["key"] + _ITEM.sub(_masked_item, found["values"]), text)
    text = _ASSIGNED.sub(lambda found: found["key"] + _masked(found["value"]), text)
    text = _OPTION.sub(lambda found: found["key"] + _masked(found["value"]) + re.sub(r"\S+", MASK, found["more"]), text)
    text = _SCHEME.sub(rf"\1{MASK}", text)
    text = _PASSWORD_IN_URL.sub(rf"\1{MASK}", text)
    text = _USER_IN_URL.sub(rf"\1{MASK}", text)
    text = _QUERY.sub(rf"\1{MASK}", text)
    return _SHAPES.sub(MASK, text)


def _suspects(texts: Sequence[str]) -> set[int]:
    """The places of those that may hold a secret."""
    lows = [text.lower() for text in texts]
    together = "\n".join(lows)
    begins = list(accumulate((len(low) + 1 for low in lows), initial=0))
    found: set[int] = set()
    for trigger in _TRIGGERS:
        at = together.find(trigger)
        while at >= 0:
            i = bisect_right(begins, at) - 1
            found.add(i)
            at = together.find(trigger, begins[i + 1])
    found.update(bisect_right(begins, one.start()) - 1 for one in _TOKEN.finditer(together))
    if "://" in together and "@" in together:
        found.update(i for i, low in enumerate(lows) if "://" in low and "@" in low)
    return found


def _masked_item(found: re.Match[str]) -> str:
    return _masked(found[0])


def _masked(value: str) -> str:
    """The mask in the same quotes and brackets, so that a dict or a JSON document stays one."""
    quote = re.match(r"b?(\\*[\"'])", value)
    if quote:
        return f"{quote[0]}{MASK}{quote[1]}"
    if value[0] in "[(":
        inner = re.search(r"\\*[\"']", value)
        around = inner[0] if inner else ""
        return f"{value[0]}{around}{MASK}{around}{']' if value[0] == '[' else ')'}"
    scheme = re.match(r"(?:Bearer|Basic|Token|Digest)\s+", value, re.IGNORECASE)
    return (scheme[0] if scheme else "") + MASK


def mask_argv(argv: Sequence[str]) -> list[str]:
    """Mask a command's words: all values of an option that takes secrets, assignments, and what `mask` finds in a word."""
    return [mask(word) for word in secret.mask_argv(argv)]


def mask_value(value: object) -> object:
    """Mask inside a value as JSON knows them: what stands under a secret's name, and every text."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {key: MASK if item and _is_secret(key) else mask_value(item) for key, item in value.items()}
    return [mask_value(item) for item in value] if isinstance(value, (list, tuple)) else value


def _is_secret(key: object) -> bool:
    return isinstance(key, str) and _SECRET_KEY.fullmatch(key) is not None

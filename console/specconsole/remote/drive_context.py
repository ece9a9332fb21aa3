"""Brings a prompt to a length in tokens by text before it: the entries of a made-up log, no two alike; Python 3.8.

The text is the same for the same prompt on every host and in every arm. It does not repeat itself: a text that does would hand n-gram
speculation drafts, and greedy copies of one text would share experts. How many tokens it has the server's tokenizer says.
"""

from __future__ import annotations

import zlib
from typing import Any, Callable, Dict, List, Optional

from specconsole.remote import drive_rule as rule

INTRO = "Below are entries of a station's log. They have nothing to do with the task that follows them.\n\n"
OUTRO = "\nThe task, without regard to the log:\n\n"
ENTRY_TOKENS = 30.0
"""About what an entry has in common vocabularies: where the search begins, and all there is without a tokenizer."""
LEAST_TOKENS = 8
"""An entry has more in every vocabulary."""
LETTERS = 4
"""Of a token, about, where nobody counts them."""
CLOSE = 0.01
MOST_TRIES = 6

PLACES = (
    "Harbour gate", "North pier", "Old mill", "Reservoir", "Upper lock", "Weather mast", "Pump house", "Signal box", "Boat shed",
    "West dam", "Ferry ramp", "Ice cellar", "Light tower", "Quarry road", "Fish ladder", "Customs yard",
)  # fmt: skip
THINGS = (
    "the flow meter", "a spare winch", "the fuel gauge", "one battery", "the tide table", "a cracked lamp", "the radio", "the ledger",
    "a rope of hemp", "the small crane", "an air filter", "the pressure valve", "a crate of bolts", "the oil pan", "the bell", "a brass key",
)  # fmt: skip
DEEDS = (
    "was replaced by", "was lent to", "was checked by", "was painted for", "was taken apart by", "was found by", "was sold to", "was repaired for",
    "was measured by", "was brought back by", "was promised to", "was counted by", "was cleaned by", "was weighed for", "was lost by", "was moved by",
)  # fmt: skip
PEOPLE = (
    "Anselm", "Brigid", "Casimir", "Dagny", "Edmund", "Freya", "Gunnar", "Hedda", "Ivor", "Johanna", "Konrad", "Linnea", "Magnus", "Nadia",
    "Oskar", "Petra",
)  # fmt: skip


def entry(seed: int, place: int) -> str:
    """One entry: what it says follows from its place alone."""
    value = zlib.crc32(b"%d/%d" % (seed, place))
    chosen = [words[(value >> shift) & 15] for shift, words in ((0, PLACES), (4, THINGS), (8, DEEDS), (12, PEOPLE))]
    number, share = (value >> 16) & 4095, (value >> 20) % 1000
    return "Day %d, %s: %s %s %s at %d.%03d units.\n" % (
        place + 1,
        chosen[0],
        chosen[1],
        chosen[2],
        chosen[3],
        number,
        share,
    )


class Filler:
    """Texts for the prompts of one run."""

    def __init__(self, count: Callable[[Dict[str, Any]], Optional[int]]) -> None:
        """`count` tells how many tokens a body's prompt has for the server; None: it does not say."""
        self._count = count
        self._kept: Dict[int, str] = {}
        self.guessed = False
        """The server does not tokenize: lengths are guesses, and the usage of the answers says what they were."""

    def fill(self, body: Dict[str, Any], tokens: int, seed: int) -> Dict[str, Any]:
        """The body with so many tokens before the answer; one that has them already stays as it is."""
        if seed not in self._kept:
            self._kept[seed] = self._text(body, tokens, seed)
        return rule.with_prefix(body, self._kept[seed])

    def _text(self, body: Dict[str, Any], tokens: int, seed: int) -> str:
        bare = self._count(body)
        if bare is None:
            self.guessed = True
            return whole(seed, int((tokens - len(_said(body)) / LETTERS) / ENTRY_TOKENS))
        if bare >= tokens:
            return ""
        most = tokens // LEAST_TOKENS + 1  # a count that hardly grows must not make a text that fills the memory
        entries, best, apart = max(int((tokens - bare) / ENTRY_TOKENS), 1), "", float("inf")
        for _ in range(MOST_TRIES):
            text = whole(seed, entries)
            found = self._count(rule.with_prefix(body, text))
            if found is None:
                break
            if abs(found - tokens) < apart:
                best, apart = text, abs(found - tokens)
            if apart <= max(CLOSE * tokens, ENTRY_TOKENS / 2) or found <= bare:
                break
            each = (found - bare) / entries
            entries = min(max(entries + round((tokens - found) / each), 1), most)
        return best


def _said(body: Dict[str, Any]) -> str:
    """The text of a body's prompt."""
    if isinstance(body.get("prompt"), str):
        return str(body["prompt"])
    return "".join(str(message.get("content") or "") for message in body.get("messages", []))


def whole(seed: int, entries: int) -> str:
    """So many entries between their first and their last words; "" for none."""
    if entries < 1:
        return ""
    lines: List[str] = [entry(seed, place) for place in range(entries)]
    return INTRO + "".join(lines) + OUTRO

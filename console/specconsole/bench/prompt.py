"""Prompts to measure with: the five that ship, a file of whatever form, or random words; and a sample drawn from many."""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from specconsole import toml
from specconsole.errors import UsageError

DEFAULT, RANDOM = "default", "random"
RANDOM_WORDS = 256
MOST_PROMPTS = 4096
"""The rule that avoids the prefix cache tells so many prompts apart."""
_HEAD, _TAIL = (
    ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z"),
    ("a", "e", "i", "o", "u", "an", "el", "or"),
)


@dataclass(frozen=True)
class Prompt:
    """One text to send."""

    id: str
    """Unique in its set; runs are compared prompt by prompt under this name."""
    text: str
    category: str = ""
    """The kind of text, where the set tells it."""


@dataclass(frozen=True)
class PromptSet:
    """Prompts, and where they come from."""

    name: str
    prompts: tuple[Prompt, ...]
    whole: int
    """How many there were to draw from."""
    seed: int | None = None
    """What the sample was drawn with; None: all are here."""

    @property
    def digest(self) -> str:
        """Equal for equal prompts in the same order: the beginning of a SHA-256 over their names and texts."""
        found = hashlib.sha256()
        for prompt in self.prompts:
            for part in (prompt.id, prompt.text):
                found.update(f"{len(part)}:{part}".encode(errors="surrogatepass"))
        return found.hexdigest()[:16]


def default() -> tuple[Prompt, ...]:
    """The five prompts that ship: code, mathematics, prose, structured extraction, summary of a text in the prompt."""
    shipped = toml.read(files("specconsole.bench") / "prompts" / "default.toml").content["prompt"]
    return tuple(Prompt(item["id"], item["text"].strip(), item["category"]) for item in shipped)


def load(name: str) -> tuple[Prompt, ...]:
    """All prompts of a set; raises as `draw`."""
    return draw(name).prompts


def draw(name: str, sample: int | None = None, seed: int = 0) -> PromptSet:
    """The prompts of a set: "default", "random", or a file; with `sample` so many of them, spread over its categories.

    The same file, sample and seed give the same prompts on every machine.

    Raises:
        UsageError: the file cannot be read, a line is none of its forms, or there are more prompts than a run can tell apart.
    """
    if name == RANDOM:
        return PromptSet(name, _random(5 if sample is None else sample, seed), 5 if sample is None else sample, seed)
    found = default() if name == DEFAULT else _of_file(name)
    if sample is not None and sample < len(found):
        return PromptSet(name, _drawn(found, sample, seed), len(found), seed)
    if len(found) > MOST_PROMPTS:
        raise UsageError(
            f"{name} has {len(found):,} prompts, a run takes {MOST_PROMPTS:,} at most.", hint="Give --sample 80."
        )
    return PromptSet(name, found, len(found))


def _of_file(name: str) -> tuple[Prompt, ...]:
    from specconsole.bench.promptfile import FORMS, read

    found = tuple(read(name))
    if not found:
        raise UsageError(f"{name} holds no prompt.", hint=FORMS)
    return found


def _drawn(prompts: Sequence[Prompt], count: int, seed: int) -> tuple[Prompt, ...]:
    """A sample in the order of the file, from each category in turn, so that none is left out while there is room."""
    groups: dict[str, list[int]] = defaultdict(list)
    for place, prompt in enumerate(prompts):
        groups[prompt.category].append(place)
    rng = random.Random(f"{seed}")  # noqa: S311  a sample, no secret; a text seeds alike in every version of Python
    for members in groups.values():
        members.sort(key=lambda _: rng.random())
    chosen: list[int] = []
    while len(chosen) < count:
        for members in groups.values():
            if members and len(chosen) < count:
                chosen.append(members.pop())
    return tuple(prompts[place] for place in sorted(chosen))


def _random(count: int, seed: int) -> tuple[Prompt, ...]:
    """Words that mean nothing: what some benchmarks send. They have nothing that a drafter could have learnt."""
    rng = random.Random(f"words {seed}")  # noqa: S311  no secret
    return tuple(
        Prompt(f"random-{place + 1}", " ".join(_word(rng) for _ in range(RANDOM_WORDS)), RANDOM)
        for place in range(count)
    )


def _word(rng: random.Random) -> str:
    return "".join(
        _HEAD[int(rng.random() * len(_HEAD))] + _TAIL[int(rng.random() * len(_TAIL))]
        for _ in range(1 + int(rng.random() * 3))
    )

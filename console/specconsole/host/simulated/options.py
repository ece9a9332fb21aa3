"""Command lines taken apart, as far as the simulated programs need it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field


@dataclass
class Options:
    """Flags, options with values, and words."""

    flags: set[str] = field(default_factory=set)
    given: list[tuple[str, str]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def values(self, *names: str) -> list[str]:
        """All values of an option, by any of its names, in their order."""
        return [value for name, value in self.given if name in names]


def parse(words: Sequence[str], valued: Collection[str]) -> Options:
    """Take words apart; `valued` names the options that have a value."""
    options = Options()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            options.words += rest
            break
        if not word.startswith("-") or word == "-":
            options.words.append(word)
        elif word.startswith("--"):
            if equals:
                options.given.append((name, value))
            elif word in valued:
                options.given.append((word, rest.pop(0) if rest else ""))
            else:
                options.flags.add(word)
        elif word[:2] in valued:
            options.given.append((word[:2], word[2:] or (rest.pop(0) if rest else "")))
        else:
            options.flags |= {f"-{letter}" for letter in word[1:]}
    return options

"""Where more options go in a unit's ExecStart, so that they reach vLLM and nothing else changes.

A place counts only when the changed text, read again as systemd and the shell read it, starts the same vLLM with exactly
the arguments that were wanted. So a place is found by trying, and where none is found the answer is no, with the reason.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from specconsole.remote import outside
from specconsole.service import arguments, launch, option, quoting, unitfile
from specconsole.service.launch import Files, Launch
from specconsole.service.quoting import Command
from specconsole.service.shellword import UNKNOWN
from specconsole.service.unitfile import Entry, Settings

LONGEST = 120
"""Columns of a line that is still added to; from there the options get a line of their own."""
ENV = "/usr/bin/env"
_USED = re.compile(r"\$\{?([A-Za-z_]\w*)")
_SPLITS = re.compile(r"\bIFS=|\bset\s+-[a-z]*f|nullglob|failglob|\benv\s+-")
"""What would have a shell split or read its variables in another way than usual."""
Edit = tuple[int, int, str]
"""Replace what stands from here to there by a text."""


class Unplaced(Exception):
    """The options cannot be placed with certainty; the text says why, `by_hand` what a person would have to do."""

    def __init__(self, why: str, by_hand: str) -> None:
        super().__init__(why)
        self.by_hand = by_hand


@dataclass(frozen=True)
class Surroundings:
    """What decides, besides its text, what a unit's command becomes."""

    specifiers: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    complete: bool = True
    folder: str = "/"
    files: Mapping[str, str | None] = field(default_factory=dict, repr=False)
    """The scripts that it runs."""

    def launch(self, command: Command) -> Launch | None:
        """How a command starts vLLM; None where it does not."""
        words = self.expanded(command)
        return launch.find(words, self.environment, self.known(), complete=self.complete)

    def expanded(self, command: Command) -> list[str]:
        """The words as systemd passes them on."""
        unset = "" if self.complete else UNKNOWN
        words = [quoting.resolve(word, self.specifiers) for word in command.argv]
        return words if ":" in command.prefixes else quoting.expand(words, self.environment, unset)

    def known(self) -> Files:
        """The scripts, for one reading."""
        return Files(self.files, self.folder)


@dataclass(frozen=True)
class Start:
    """The command that starts vLLM, and where it is written."""

    entry: Entry
    command: Command
    launch: Launch


def find(settings: Settings, around: Surroundings) -> Start | None:
    """Find what starts vLLM among the effective commands of a unit."""
    for entry in effective(settings):
        try:
            commands = quoting.commands(entry.value)
        except ValueError:
            continue
        for command in commands:
            found = around.launch(command)
            if found is not None:
                return Start(entry, command, found)
    return None


def effective(settings: Settings, key: str = "ExecStart") -> list[Entry]:
    """The entries of a key that count: those since its last reset."""
    found: list[Entry] = []
    for entry in settings.entries:
        if (entry.section, entry.key) == ("Service", key):
            found = [*found, entry] if entry.value else []
    return found


def place(text: str, words: Sequence[str], around: Surroundings) -> str:
    """Return the text of a unit with options of speculation put into its command, in place of those it has.

    Raises:
        Unplaced: no place is certain.
    """
    by_hand = f"At the end of vLLM's own arguments: {shlex.join(words)}"
    start = find(unitfile.parse(text), around)
    if start is None:
        raise Unplaced("nothing in its ExecStart shows how vLLM is started", by_hand)
    _refuse_early(start, words, by_hand)
    wanted = (*option.without(start.launch.arguments), *words)
    for edits in _candidates(text, start, words):
        changed = edited(text, edits)
        if _fits(changed, wanted, words, start.launch, around):
            return changed
    for name in variables(start, around):
        changed = edited(text, [*_removed(start), _through(start, name, words)])
        if _fits_through(changed, name, words, start.launch, around):
            return changed
    raise Unplaced(*_why(start, around, by_hand))


def _refuse_early(start: Start, words: Sequence[str], by_hand: str) -> None:
    found = start.launch
    if found.launcher == "shell":
        raise Unplaced("what starts vLLM is a script or a program that cannot be looked into", by_hand)
    if "--" in found.arguments:
        raise Unplaced("its arguments hold a --, behind which an option is none", by_hand)
    if not found.certain:
        raise Unplaced("its script starts vLLM in more than one way", by_hand)
    if any(mark in word for word in words for mark in ("\0", "\n")):
        raise Unplaced("an option with a line break in it has no place in a unit file", by_hand)


def edited(text: str, edits: Sequence[Edit]) -> str:
    """Apply changes that do not overlap."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _candidates(text: str, start: Start, words: Sequence[str]) -> Iterator[list[Edit]]:
    """What may be right: behind the last word of the command; then at each place in a word that is a shell's script."""
    entry, command = start.entry, start.command
    variables = ":" not in command.prefixes
    written = " ".join(quoting.quote(word, variables=variables) for word in words)
    last = command.spans[-1][1]
    yield [*_removed(start), (entry.place(last), entry.place(last), _joint(text, entry, written) + written)]
    shells = [at for at, word in enumerate(command.argv) if "vllm" in word and set(word) & set(" \t")]
    for at in shells:
        yield from _within_word(start, at, " " + shlex.join(words), variables=variables)


def _removed(start: Start) -> list[Edit]:
    """Take out the options of speculation that stand there by themselves, with the blanks in front of them."""
    entry, command = start.entry, start.command
    found = []
    for at in sorted(option.taken(command.argv)):
        begin, end = entry.place(command.spans[at - 1][1]), entry.place(command.spans[at][1])
        found.append((begin, end, ""))
    return found


def _joint(text: str, entry: Entry, written: str) -> str:
    """What stands between the last word and the new ones: a line of their own where the command is long already."""
    if not entry.continued:
        return " " if len(entry.value) + len(written) < LONGEST else " \\\n    "
    place = entry.pieces[-1][1]
    return " \\\n" + text[text.rfind("\n", 0, place) + 1 : place]


def _within_word(start: Start, at: int, written: str, *, variables: bool) -> Iterator[list[Edit]]:
    """Put it behind each word of a script within a word, from its beginning on."""
    entry, command = start.entry, start.command
    letters = quoting.spelling(entry.value, *command.spans[at])
    for index, (char, end, quote) in enumerate(letters):
        following = letters[index + 1][0] if index + 1 < len(letters) else " "
        if char not in " \t\n;|&>" and (following in " \t\n;|&>)" or index + 1 == len(letters)):
            place = entry.place(end)
            yield [(place, place, quoting.within(written, quote, variables=variables))]


def _fits(text: str, wanted: Sequence[str], words: Sequence[str], before: Launch, around: Surroundings) -> bool:
    """The changed unit starts the same vLLM with the arguments that were wanted, and no others of speculation count."""
    start = find(unitfile.parse(text), around)
    if start is None or start.launch.arguments != tuple(wanted) or _bare(start.launch) != _bare(before):
        return False
    read = Files().read if start.launch.container else around.known().read
    return _speculation(wanted, read) == _speculation(words)


# -- through a variable --


def variables(start: Start, around: Surroundings) -> list[str]:
    """The variables that a script uses once, so that nothing else of it reads them; [] where it runs none, or splits words its own way."""
    command = start.command
    place = command.spans[0][0] + len(command.prefixes)
    if set(command.prefixes) & set("@:") or start.entry.value[place : place + 1] != "/":
        return []
    asked = Files({}, around.folder)
    launch.find(around.expanded(command), around.environment, asked, complete=around.complete)
    script = "\n".join(around.files.get(path) or "" for path in sorted(asked.wanted))
    if _SPLITS.search(script):
        return []
    found = _USED.findall(script)
    return [name for name in dict.fromkeys(found) if found.count(name) == 1]


def _through(start: Start, name: str, words: Sequence[str]) -> Edit:
    """Give the script's variable its value and the options behind it: systemd puts in whatever its files say then."""
    place = start.entry.place(start.command.spans[0][0] + len(start.command.prefixes))
    added = quoting.within(" ".join(map(_compact, words)), '"')
    return place, place, f'{ENV} "{name}=${{{name}}} {added}" '


def _compact(word: str) -> str:
    """A JSON without blanks: a shell would split it there."""
    try:
        return json.dumps(outside.parse(word), ensure_ascii=False, separators=(",", ":")) if word[:1] == "{" else word
    except ValueError:
        return word


def _fits_through(text: str, name: str, words: Sequence[str], before: Launch, around: Surroundings) -> bool:
    """The script passes exactly these options on, together and not between another option and its value."""
    start, wanted = find(unitfile.parse(text), around), tuple(map(_compact, words))
    if start is None or not start.launch.certain or any(set(word) & set("*?[\\") for word in wanted):
        return False
    found = start.launch.arguments
    taken = sorted(option.taken(found))
    if not taken or any(UNKNOWN in word for word in found):
        return False
    first, end = taken[0], taken[-1] + 1
    apart = end < len(found) and not found[end].startswith("-")
    same = replace(_bare(start.launch), environment=_without(start.launch, name)) == replace(
        _bare(before), environment=_without(before, name)
    )
    alone = found[:first] + found[end:] == option.without(before.arguments) and found[first:end] == wanted
    return same and alone and not apart and _speculation(found, around.known().read) == _speculation(wanted)


def _without(found: Launch, name: str) -> dict[str, str]:
    return {key: value for key, value in found.environment.items() if key != name}


def _bare(found: Launch) -> Launch:
    """A launch without its arguments."""
    box = found.container and replace(found.container, command=[])
    return replace(found, arguments=(), container=box)


def _speculation(words: Sequence[str], read: Callable[[str], str | None] = lambda _: None) -> dict[str, list[str]]:
    """The options of speculation that count, those of a --config file among them."""
    given = arguments.parse(words, read).values
    return {name: value for name, value in given.items() if option.is_option(f"--{name}")}


def _why(start: Start, around: Surroundings, by_hand: str) -> tuple[str, str]:
    """Why no place was right."""
    if option.taken(start.launch.arguments) - option.taken(around.expanded(start.command)):
        return "it speculates already, by options in a script or a variable", "Derive from a unit without speculation."
    read = Files().read if start.launch.container else around.known().read
    if others := _speculation(option.without(start.launch.arguments), read):
        return f"its --config file speculates: {', '.join(others)}", "Take them out of that file, or derive by hand."
    asked = Files({}, around.folder)
    launch.find(around.expanded(start.command), around.environment, asked, complete=around.complete)
    scripts = [path for path in sorted(asked.wanted) if "vllm" in (around.files.get(path) or "")]
    if scripts:
        return f"{scripts[0]} does not pass its own arguments on to vLLM", (
            f'Put "$@" at the end of vLLM\'s arguments in {scripts[0]} and derive again, or {by_hand[0].lower()}{by_hand[1:]}'
        )
    return "no place in its ExecStart surely reaches vLLM", by_hand

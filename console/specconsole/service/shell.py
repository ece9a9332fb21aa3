"""Enough of a shell to see what a start script runs: variables, branches, redirects; never more than that.

What only running it would tell (a command's output, a file's presence) becomes `UNKNOWN` within a word, so that nobody
takes a guess for a fact.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from specconsole.service.shelltest import outcome
from specconsole.service.shellword import UNKNOWN, Text, Words

Lookup = Callable[[str], "str | None"]
"""The content of a file that is sourced; None: not readable."""

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=")
_LOOPS = ("for", "while", "until", "case", "select")
_PASSED = ("do", "{", "}", "time", "in", "exec", "command", "builtin")
_STDOUT = (">", ">>", "1>", "1>>", "&>", "&>>", ">|")
_HARMLESS = ("activate", "conda.sh", "mamba.sh")
"""Sourced to find programs; they set no variable that a start script uses otherwise."""
_DECLARING = ("export", "declare", "typeset", "local", "readonly")


@dataclass
class Run:
    """One simple command as the script would start it."""

    words: list[str]
    assigned: dict[str, str] = field(default_factory=dict)
    """NAME=VALUE in front of the command."""
    arrays: dict[str, list[str]] = field(default_factory=dict)
    output: str | None = None
    """The file that its standard output goes to."""
    certain: bool = True
    """False: whether it runs depends on what is not known."""


@dataclass
class _Branch:
    """An open if, case or loop."""

    taken: bool | None
    """Whether the part that is being read runs."""
    before: bool | None = False
    """Whether an earlier part of it ran."""
    condition: list[tuple[bool | None, str]] | None = None
    """While its condition is read: the outcomes so far, and the operators after them."""


class Shell:
    """Reads a script from top to bottom, keeping its variables."""

    def __init__(
        self,
        environment: Mapping[str, str],
        arguments: Sequence[str] = (),
        sourced: Lookup = lambda _: None,
        *,
        complete: bool = True,
    ) -> None:
        """`complete`: a variable that is not in the environment is empty; else it is UNKNOWN."""
        self.words = Words(environment, arguments, complete=complete)
        self.runs: list[Run] = []
        self._sourced = sourced
        self._sourcing = 0
        self._output: str | None = None
        self._branches: list[_Branch] = []
        self._guard: bool | None = True
        """Whether the next command runs, after && or ||."""

    def read(self, script: str) -> list[Run]:
        """Return the commands of a script that run, or may run, in their order; sourced files' too."""
        text = Text(script.replace("\r\n", "\n"))
        run, heredocs = Run([]), list[str]()
        while text.at < len(text.text):
            if text.peek() in (" ", "\t"):
                text.take()
            elif text.peek(2) == "\\\n":
                text.take(2)
            elif text.peek() == "#":
                text.at = text.line_end()
            elif found := text.operator():
                text.take(len(found))
                if "<<" in found and "<<<" not in found:
                    heredocs.append(self.words.joined(text))
                elif "<" in found or ">" in found:
                    target = self.words.joined(text)
                    run.output = target if found in _STDOUT and target != "/dev/null" else run.output
                else:
                    self._end(run, found)
                    run = Run([])
                    if found == "\n":
                        _skip_heredocs(text, heredocs)
            else:
                self._word(text, run)
        self._end(run, "\n")
        return self.runs

    def _word(self, text: Text, run: Run) -> None:
        assignment = _ASSIGNMENT.match(text.text, text.at)
        only_passed = all(word in (*_PASSED, *_DECLARING, "then", "else") for word in run.words)
        if not assignment or not only_passed:
            run.words += self.words.fields(text)
            return
        text.at = assignment.end()
        name, append = assignment[1], bool(assignment[2])
        if text.peek() == "(":
            text.take()
            items = self.words.array(text)
            run.arrays[name] = [*self.words.arrays.get(name, []), *items] if append else items
        else:
            value = self.words.joined(text)
            run.assigned[name] = self.words.variables.get(name, "") + value if append else value

    def _end(self, run: Run, operator: str) -> None:
        """A command is complete: remember it, or do what it says to our variables."""
        words, negated = self._structure(run.words)
        runs = self._state()
        result = outcome(words, self.words.variables)
        result = result if result is None or not negated else not result
        if self._branches and self._branches[-1].condition is not None:
            self._branches[-1].condition.append((result, operator))
        elif runs is not False:
            run.certain = runs is True
            self._do(run, words)
        self._guard = self._guarded(result, operator, runs)

    def _guarded(self, result: bool | None, operator: str, runs: bool | None) -> bool | None:
        if operator not in ("&&", "||") or (self._branches and self._branches[-1].condition is not None):
            return True
        if runs is False:  # a && b || c: what did not run leaves the last outcome as it was
            return operator == "||"
        return result if operator == "&&" or result is None else not result

    def _state(self) -> bool | None:
        states = [self._guard, *(branch.taken for branch in self._branches)]
        return False if False in states else None if None in states else True

    def _structure(self, words: list[str]) -> tuple[list[str], bool]:
        """Take the keywords off the front, opening and closing branches."""
        words, negated = list(words), False
        while words:
            word = words[0]
            if word == "!":
                negated = not negated
            elif word == "if":
                self._branches.append(_Branch(taken=True, condition=[]))
            elif word in _LOOPS:
                self._branches.append(_Branch(taken=None))
                if word in ("for", "select") and len(words) > 1:
                    self.words.variables[words[1]] = UNKNOWN
                if word not in ("while", "until"):
                    return [], False
            elif word in ("fi", "done", "esac"):
                self._branches = self._branches[:-1]
            elif word in ("then", "elif", "else"):
                self._part(word)
            elif word not in _PASSED:
                break
            words.pop(0)
        return words, negated

    def _part(self, word: str) -> None:
        """The next part of an if begins."""
        if not self._branches:
            return
        branch = self._branches[-1]
        if word == "then":
            said, branch.condition = _together(branch.condition or []), None
            branch.taken = False if branch.before is True else _both(said, _not(branch.before))
            return
        branch.before = True if True in (branch.before, branch.taken) else _either(branch.before, branch.taken)
        branch.taken = _not(branch.before)
        if word == "elif":
            branch.condition = []

    def _do(self, run: Run, words: list[str]) -> None:
        run.output = run.output or self._output
        if not words or words[0] in _DECLARING:
            self._set(run)
            if "exec" in run.words:
                self._output = run.output
        elif words[0] in (".", "source") and len(words) > 1:
            self._source(words[1], words[2:])
        elif words[0] == "eval":
            self.read(" ".join(words[1:]))
        elif words[0] == "shift":
            self.words.arguments = self.words.arguments[1:]
        elif words[:2] == ["set", "--"]:
            self.words.arguments = words[2:]
        elif words[0] == "unset":
            self.words.variables |= dict.fromkeys(words[1:], "")
        else:
            run.words = words
            self.runs.append(run)

    def _set(self, run: Run) -> None:
        """Keep what was assigned; where that is not certain, what is added becomes UNKNOWN and what is replaced too."""
        for name, value in run.assigned.items():
            before = self.words.variables.get(name, "")
            if not run.certain and value != before:
                value = f"{before} {UNKNOWN}" if value.startswith(before) else UNKNOWN
            self.words.variables[name] = value
            self.words.arrays.pop(name, None)
        for name, items in run.arrays.items():
            had = self.words.arrays.get(name, [])
            self.words.arrays[name] = items if run.certain or items == had else [*had, UNKNOWN]

    def _source(self, path: str, arguments: list[str]) -> None:
        if path.rpartition("/")[2] in _HARMLESS:
            self.words.variables["VIRTUAL_ENV"] = path.rpartition("/bin/")[0]
            return
        content = None if UNKNOWN in path or self._sourcing > 3 else self._sourced(path)
        if content is None:
            self.words.unset = UNKNOWN
            return
        self._sourcing += 1
        kept, self.words.arguments = self.words.arguments, arguments or self.words.arguments
        self.read(content)
        self.words.arguments = kept
        self._sourcing -= 1


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _both(one: bool | None, other: bool | None) -> bool | None:
    return False if False in (one, other) else None if None in (one, other) else True


def _either(one: bool | None, other: bool | None) -> bool | None:
    return _not(_both(_not(one), _not(other)))


def _together(condition: Sequence[tuple[bool | None, str]]) -> bool | None:
    """The outcome of a condition's commands, joined by && and || from the left."""
    said: bool | None = True
    joint = "&&"
    for result, operator in condition:
        said = _both(said, result) if joint == "&&" else _either(said, result) if joint == "||" else result
        joint = operator
    return said


def _skip_heredocs(text: Text, words: list[str]) -> None:
    while words:
        word = words.pop(0)
        while text.at < len(text.text):
            line = text.text[text.at : text.line_end()]
            text.at = text.line_end() + 1
            if line.strip("\t") == word:
                break

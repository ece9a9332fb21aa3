"""The manual page, written from the parsers of all verbs: python docs/manual.py writes docs/specconsole.1 (./dev man)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from specconsole import __version__
from specconsole.verb.grammar import DESCRIPTION, FIRST, GROUPS
from specconsole.verb.lesson import LESSONS
from specconsole.verb.syntax import Option, Syntax, Value, syntax

PAGE = Path(__file__).parent / "specconsole.1"
OFTEN = 8
"""An option that so many verbs have, in the same words, is described once."""

FILES = (
    ("~/.config/specconsole/settings.toml", "theme, rate, mouse, ascii, and keys below [keymap]"),
    ("~/.config/specconsole/profiles/NAME.toml", "descriptions of deployments; specconsole profile init writes one"),
    ("~/.config/specconsole/experiments/NAME.toml", "plans of experiments"),
    ("~/.config/specconsole/themes/NAME.toml", "colours"),
    ("~/.local/state/specconsole", "history.db, and what the screen remembers"),
    ("~/.ssh/config, ~/.ssh/known_hosts", "read as ssh reads them; an accepted host key is added to the latter"),
    ("/var/lib/specconsole on the host", "the record of swaps, and of files that were written there"),
)
ENVIRONMENT = (
    ("XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME", "where those folders lie instead"),
    ("SSH_AUTH_SOCK", "the agent"),
    ("NO_COLOR", "draw without colours"),
    ("LC_ALL, LC_CTYPE, LANG", "a terminal that is not UTF-8 gets ASCII"),
)
ENDS = (
    (0, "it went well"),
    (1, "it failed, or is not permitted"),
    (2, "usage or configuration: nothing was asked of a host"),
    (3, "the unit, or the engine, does not run or is not there"),
    (4, "the link is refused or lost"),
    (5, "inconclusive, not comparable, or timed out"),
    (130, "interrupted"),
    (143, "terminated"),
)


def page() -> str:
    """The whole page."""
    verbs = {one.verb: one for one in syntax()}
    counted = Counter((option.names, option.help) for one in verbs.values() for option in one.options)
    often = {key for key, times in counted.items() if times >= OFTEN}
    return "\n".join([*_head(), *_verbs(verbs, often), *_often(verbs, often), *_tail()]) + "\n"


def _head() -> Iterator[str]:
    yield '.\\" Written by docs/manual.py from the parsers of the program.'
    yield f'.TH SPECCONSOLE 1 "" "specconsole {__version__}" "User Commands"'
    yield from (".SH NAME", "specconsole \\- operator console for vLLM under systemd on a host with GPUs")
    yield from (".SH SYNOPSIS", ".B specconsole", ".I VERB", ".RI [ HOST ]", ".RI [ OPTION \\~.\\|.\\|.]")
    yield from (".SH DESCRIPTION", _text(DESCRIPTION))
    yield _text(
        "Nothing is installed on the host: programs travel over SSH and run from memory. Every verb with a HOST takes a"
        " simulated one too, demo[:SCENARIO[:UNIT]][@SPEED]. Options may stand anywhere behind the verb."
    )
    yield from (".PP", "Begin with:", *_literal(FIRST))


def _verbs(verbs: dict[str, Syntax], often: set[tuple[tuple[str, ...], str]]) -> Iterator[str]:
    for title, names in GROUPS.items():
        yield f".SH {title.upper()}"
        for name in names:
            yield from _verb(verbs[name], often)


def _verb(one: Syntax, often: set[tuple[tuple[str, ...], str]]) -> Iterator[str]:
    own = [option for option in one.options if (option.names, option.help) not in often]
    places = " ".join(f"\\fI{_text(word)}\\fR" for word in _places(one))
    yield f".SS {one.verb}"
    yield f"\\fBspecconsole {one.verb}\\fR {places}".rstrip()
    yield from (".PP", _text(one.parser.description or ""))
    if more := (one.parser.epilog or "").partition("Examples:\n")[0].strip():
        yield from (".PP", _text(more))
    for option in own:
        yield from _option(option)
    lesson = LESSONS[one.verb]
    yield from (".PP", "Examples:", *_literal([line for line, _ in lesson.examples]))
    if lesson.keys:
        yield from (".PP", "Keys:")
        for key, told in lesson.keys:
            yield from (".TP", f".B {_text(key)}", _text(told))
    yield from (
        ".PP",
        _text("Exit codes: " + "; ".join(f"{code} {said}" for code, said in sorted(lesson.ends.items())) + "."),
    )


def _places(one: Syntax) -> Iterator[str]:
    """The words behind a verb as its help shows them; one that may be left out stands in brackets."""
    for action in one.parser._actions:
        if not action.option_strings:
            choices = tuple(str(choice) for choice in action.choices or ())
            name = str(action.metavar or (f"{{{','.join(choices)}}}" if choices else action.dest))
            yield {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} ..."}.get(str(action.nargs), name)


def _option(option: Option) -> Iterator[str]:
    value = f" \\fI{_text(_value(option.value))}\\fR" if option.value else ""
    names = ", ".join(f"\\fB{_text(name)}\\fR" for name in option.names)
    yield from (".TP", f"{names}{value}", _text(option.help))


def _value(value: Value) -> str:
    return f"{{{','.join(value.choices)}}}" if value.choices else value.name


def _often(verbs: dict[str, Syntax], often: set[tuple[tuple[str, ...], str]]) -> Iterator[str]:
    yield from (".SH OPTIONS THAT MANY VERBS HAVE", "Those with a HOST have all of the SSH options.")
    found = {(option.names, option.help): option for one in verbs.values() for option in one.options}
    for key, option in found.items():
        if key in often:
            yield from _option(option)


def _tail() -> Iterator[str]:
    yield ".SH EXIT STATUS"
    for code, told in ENDS:
        yield from (".TP", f".B {code}", _text(told))
    for title, rows in (("FILES", FILES), ("ENVIRONMENT", ENVIRONMENT)):
        yield f".SH {title}"
        for name, told in rows:
            yield from (".TP", f".I {_text(name)}", _text(told))
    yield from (
        ".SH SEE ALSO",
        ".BR ssh (1),",
        ".BR ssh_config (5),",
        ".BR systemctl (1),",
        ".BR journalctl (1),",
        ".BR nvidia\\-smi (1)",
    )


def _literal(lines: Sequence[str]) -> Iterator[str]:
    yield from (".PP", ".RS 4", ".nf", *(_text(line) for line in lines), ".fi", ".RE")


def _text(text: str) -> str:
    """Text as roff has it: no request at the start of a line, and hyphens that can be copied."""
    plain = (
        text.replace("\\", "\\e")
        .replace("-", "\\-")
        .replace("`", "\\(ga")
        .replace("'", "\\(aq")
        .replace("^", "\\(ha")
        .replace("~", "\\(ti")
    )
    return re.sub(r"^(?=\.)", r"\\&", plain, flags=re.MULTILINE)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

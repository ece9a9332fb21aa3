"""`specconsole units HOST`: every unit that runs vLLM, how it is, and what it serves."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from specconsole.errors import UsageError
from specconsole.host.base import Host
from specconsole.service.choose import FOUND_BY
from specconsole.service.finding import refused
from specconsole.service.unit import Serving, Unit
from specconsole.text import UNKNOWN, duration, one_line
from specconsole.ui.rows.unit_word import state_word
from specconsole.verb import output
from specconsole.verb.session import add_host_arguments, drive, open_host, profile_for

if TYPE_CHECKING:
    from specconsole.service.lint import Linted

HEADER = ("", "label", "state", "since", "restarts", "enabled", "role", "model", "port", "speculation", "vLLM", "unit")
RIGHT = (3, 4)
LINT = {"refuse": "FAILS:", "warn": "warns:"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_host_arguments(parser)
    parser.add_argument(
        "-f", "--follow", action="store_true", help="write them again after each change, until interrupted"
    )
    parser.add_argument(
        "--lint", action="store_true", help="say below what fails or ends badly; specconsole lint HOST tells all of it"
    )
    parser.add_argument("--once", action="store_true", help="write them once, as without --follow")


def run(args: argparse.Namespace) -> int:
    """List the units, once or after each change."""
    return drive(_run(args))


async def _run(args: argparse.Namespace) -> int:
    from specconsole.service.discover import discover
    from specconsole.service.inspection import inspect
    from specconsole.service.watch import watch

    if args.lint and args.follow:
        raise UsageError("--lint looks once.", hint="Without --follow.")

    async with open_host(args) as host:
        profile = profile_for(args, host)
        if args.once or not args.follow:
            units = await discover(host, profile)
            linted = await inspect(host, units) if args.lint else None
            _write(host, units, as_json=args.json, linted=linted)
            return 1 if any(refused(one.findings) for one in linted or ()) else 0
        async with aclosing(watch(host, profile)) as changes:
            async for units in changes:
                _write(host, units, as_json=args.json, again=True)
    return 0


def _write(
    host: Host,
    units: Sequence[Unit],
    *,
    as_json: bool,
    again: bool = False,
    linted: Sequence[Linted] | None = None,
) -> None:
    if as_json:
        found = {one.unit.key: one.findings for one in linted or ()}
        more = {"findings": found} if linted is not None else {}
        (output.write_json_line if again else output.write_json)(
            {"host": host.name, "units": [facts(u) for u in units], **more}
        )
    else:
        output.write_text(page(units) + lint_lines(host.typed, linted or ()) + ("\n" if again else ""))


def lint_lines(typed: str, linted: Sequence[Linted]) -> str:
    """What fails or ends badly, a line each; "" for nothing looked at."""
    said = [
        f"{one.unit.key.removesuffix('.service')}: {LINT[finding.severity]} {one_line(finding.sentence)}"
        for one in linted
        for finding in one.findings
        if finding.severity != "note"
    ]
    if not linted:
        return ""
    end = f"specconsole lint {typed} UNIT says what it was seen by, and --fix mends what a drop-in can."
    return "\n\n" + ("\n".join([*said, end]) if said else "Lint: nothing fails or ends badly.")


def facts(unit: Unit) -> dict[str, object]:
    """A unit as JSON: all of its fields, with its key, role and the word for its state."""
    plain = output.plain(unit)
    assert isinstance(plain, dict)
    for name in ("stated_role", "expected_load_s", "derivable"):  # what a profile says, no word of the host's
        plain.pop(name)
    return {"key": unit.key, "role": unit.role.value, "word": state_word(unit).word, **plain}


def page(units: Sequence[Unit]) -> str:
    """Lay units out for people, a line each; below, what their commands leave open."""
    if not units:
        return f"No unit of this host runs vLLM. {FOUND_BY}"
    lines = [output.table(HEADER, map(_cells, units), right=RIGHT)]
    notes = [note for unit in units for note in _notes(unit)]
    return "\n".join([*lines, "", *notes] if notes else lines)


def _cells(unit: Unit) -> tuple[str, ...]:
    state, serving, word = unit.state, unit.serving, state_word(unit)
    return (
        word.glyph,
        unit.label,
        word.word,
        duration(state.since_s),
        UNKNOWN if state.restarts is None else str(state.restarts),
        state.enabled or UNKNOWN,
        unit.role.value,
        f"{_short(serving.model)} {serving.parallelism}".strip(),
        _port(serving),
        speculation(unit),
        unit.version or UNKNOWN,
        unit.key,
    )


def speculation(unit: Unit) -> str:
    """The speculative configuration in a few words: ngram k=5."""
    found = unit.serving.speculation
    if found is None:
        return "none" if "speculation" not in unit.serving.unknown else UNKNOWN
    tokens = UNKNOWN if found.tokens is None else str(found.tokens)
    return f"{found.method} k={tokens}" + (f" {_short(found.model)}" if found.model else "")


def _short(model: str | None) -> str:
    return one_line(model.rstrip("/").rpartition("/")[2], 40) if model else UNKNOWN


def _port(serving: Serving) -> str:
    if "port" in serving.unknown:
        return UNKNOWN
    return serving.endpoint.uds or f"{serving.endpoint.port}{' TLS' if serving.endpoint.tls else ''}"


def _notes(unit: Unit) -> list[str]:
    name = unit.key.removesuffix(".service")
    notes = []
    if unit.serving.unknown and unit.state.load == "loaded":
        notes.append(f"{name}: its command does not tell {', '.join(unit.serving.unknown)}.")
    if unit.unread:
        notes.append(
            f"{name}: {one_line(', '.join(unit.unread), 300)} could not be read, so what it sets is not known."
        )
    if unit.state.need_reload:
        notes.append(f"{name}: its file changed since it was loaded; systemctl daemon-reload makes it count.")
    if unit.state.load == "masked" and unit.state.running:
        notes.append(f"{name}: it is masked and still runs; once stopped it cannot be started.")
    return notes

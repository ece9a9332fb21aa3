"""What defines a unit: its files, the command as systemd starts it, its environment; every secret masked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from specconsole.errors import CommandFailed, HostError, LinkLost, LinkRefused, NotRunning
from specconsole.host.base import Host, HostFacts
from specconsole.logs import redact, starts
from specconsole.logs.source import Source as LogSource
from specconsole.logs.starts import Start
from specconsole.remote import secret, unit_search
from specconsole.remote.systemctl import Manager
from specconsole.service import account, discover, files, source
from specconsole.service.shellword import UNKNOWN
from specconsole.service.unit import Unit
from specconsole.text import clean, one_line

LONGEST = 64 * 1024
"""Characters of one file that are kept."""

# What a name ends with when its value is a secret: MY_TOKEN, DB_PASS, --hf-token; not --ssl-keyfile, not max_tokens_per_s.
_TELLING = (
    r"(?:[\w.-]*[_.-])?(?:keys?|token|secrets?|pass|passwd|passwords?|passphrase|pwd|credentials?|auth|cookies?|pat)\d*"
)
_NAME = re.compile(_TELLING, re.IGNORECASE)
_VALUE = r"\"(?:\\.|[^\"\\])*\"|'[^']*'|[^\s\"'\\]+"
_QUOTED = re.compile(
    rf"(?P<quote>[\"'])(?P<name>{_TELLING}=)(?P<value>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)", re.IGNORECASE
)
_PLAIN = re.compile(rf"(?<![\w.\"'-])(?P<name>(?:--?)?{_TELLING}=)(?P<value>{_VALUE})", re.IGNORECASE)
_GAP = r"(?:[ \t]+(?:\\\n[ \t]*)?|\\\n[ \t]*)"
_OPTION = re.compile(rf"(?P<name>(?<![\w-])--{_TELLING})(?P<values>(?:{_GAP}(?!-)(?:{_VALUE}))+)", re.IGNORECASE)
_WORD = re.compile(_VALUE)
_CREDENTIAL = re.compile(r"^(\s*SetCredential(?:Encrypted)?\s*=\s*[^:\s]+:).*(?:\\\n.*)*", re.MULTILINE)


@dataclass(frozen=True)
class UnitFile:
    """A file that takes part in a unit's definition."""

    path: str
    text: str | None
    """Secrets masked; None: this login cannot read it."""


@dataclass(frozen=True)
class Definition:
    """What defines a unit, and how it fared lately."""

    files: tuple[UnitFile, ...] = ()
    """The unit's own file, its drop-ins in systemd's order, then the scripts that it runs."""
    commands: tuple[tuple[str, ...], ...] = ()
    """The words of ExecStart, specifiers and variables put in, as systemd starts them; `?` is not known."""
    environment: Mapping[str, str] = field(default_factory=dict)
    complete: bool = True
    """The environment is known in full; False: a file of it is not readable, or some comes from the manager."""
    missing: tuple[str, ...] = ()
    """The files of it that could not be read, or not in time."""
    folder: str = "/"
    """The working directory."""
    starts: tuple[Start, ...] = ()
    """The newest first."""
    starts_unread: str = ""
    """Why the starts could not be read; "" when they could."""
    unread: str = ""
    """Why files, environment and folder are not known; "" when they were read."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """What systemctl says of its settings, where that stands in for the files."""


async def define(host: Host, unit: Unit) -> Definition:
    """Read a unit's definition anew.

    Raises:
        NotRunning: the unit's manager is not there any more.
        CommandFailed: systemctl does not answer.
        LinkLost, LinkRefused: the link is down.
    """
    facts = await host.up()
    manager = await _manager(host, facts, unit)
    blocks = await discover.show(host, manager, [unit.name], unit_search.DETAILS)
    if not blocks:
        raise CommandFailed(f"systemctl says nothing of {unit.name}.")
    (read,) = (await source.sources(host, facts, manager, blocks[:1])).values()
    scripts = await discover.scripts(host, {unit.name: read})
    paths = unit_search.unit_files(blocks[0])
    texts = {**{path: text for path, text in scripts.items() if text is not None}, **await files.read(host, paths)}
    found, unread = await recent_starts(host, facts, unit)
    return Definition(
        tuple(UnitFile(path, _file(texts[path])) for path in dict.fromkeys([*paths, *texts])),
        tuple(tuple(word.replace(UNKNOWN, "?") for word in redact.mask_argv(words)) for words in read.commands),
        {name: masked_value(name, value.replace(UNKNOWN, "?")) for name, value in sorted(read.environment.items())},
        read.complete,
        read.unread,
        read.folder,
        found,
        unread,
    )


async def _manager(host: Host, facts: HostFacts, unit: Unit) -> Manager:
    system = Manager()
    if unit.manager == system.name:
        return system
    names = await discover.unit_names(host, system)
    for manager in await account.user_managers(host, facts, names):
        if manager.name == unit.manager:
            return manager
    raise NotRunning(f"The manager {unit.manager} does not run, or this login may not ask it.")


async def recent_starts(host: Host, facts: HostFacts, unit: Unit) -> tuple[tuple[Start, ...], str]:
    """A unit's starts, the newest first, or why they cannot be read. Raises LinkLost, LinkRefused."""
    try:
        return await starts.recent(host, LogSource(unit.name, unit.manager, unit.serving.log_file), facts), ""
    except (LinkLost, LinkRefused):
        raise
    except (HostError, NotRunning) as error:
        return (), one_line(str(error), 200)


def _file(text: str | None) -> str | None:
    if text is None:
        return None
    cut = text if len(text) <= LONGEST else f"{text[:LONGEST]}\n… {len(text) - LONGEST:,} more characters"
    return masked(clean(cut))


def masked(text: str) -> str:
    """A unit file or a script without its secrets: assignments and options by name, credentials, and known shapes."""
    text = _CREDENTIAL.sub(rf"\1{secret.MASK}", text)
    text = _QUOTED.sub(rf"\g<quote>\g<name>{secret.MASK}\g<quote>", text)
    text = _PLAIN.sub(rf"\g<name>{secret.MASK}", text)
    text = _OPTION.sub(lambda found: found["name"] + _WORD.sub(secret.MASK, found["values"]), text)
    return redact.mask(text)


def masked_value(name: str, value: str) -> str:
    """A variable's value, masked by its name or where it looks like a secret."""
    if value and _NAME.fullmatch(name):
        return secret.MASK
    return one_line(redact.mask(secret.mask(value)))

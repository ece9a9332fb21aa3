"""A unit's effective commands and environment: from its files by systemd's rules, checked against what systemd says.

`systemctl show` joins words by blanks, so that a JSON with blanks in it cannot be told from several words. The unit files
tell, and where the two disagree (a file that changed since it was loaded, a specifier beyond us) D-Bus decides.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from specconsole.errors import CommandFailed, DeadlineExceeded
from specconsole.host.base import Commands, HostFacts
from specconsole.remote import outside, systemctl, unit_search
from specconsole.remote.account import Account
from specconsole.remote.systemctl import Block, Manager
from specconsole.service import environment, files, quoting, unitfile
from specconsole.service.account import ROOT, accounts
from specconsole.service.quoting import Command
from specconsole.service.shellword import UNKNOWN
from specconsole.service.unitfile import Settings

_LOGS_TO = re.compile(r"(?:file|append|truncate):(/.*)")
_HEX = re.compile(r"\\x([0-9a-f]{2})")


@dataclass(frozen=True)
class Source:
    """What systemd would run for a unit."""

    commands: tuple[tuple[str, ...], ...] = field(repr=False)
    """The commands of ExecStart, with specifiers and variables put in; like the environment they may hold secrets."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    complete: bool = True
    """The environment is known in full: a variable that is not in it is empty."""
    folder: str = "/"
    log_file: str | None = None
    unread: tuple[str, ...] = ()
    """Files that it is made of and that gave nothing: not permitted, not there though they must be, or no answer in time."""


async def sources(host: Commands, facts: HostFacts, manager: Manager, blocks: Sequence[Block]) -> dict[str, Source]:
    """Read the commands of units, given their properties `systemctl.FILES`. Raises LinkLost."""
    late: set[str] = set()
    texts = await files.read(host, {path for block in blocks for path in unit_search.asked_files(block)}, late=late)
    settings = {systemctl.last(block, "Id"): _settings(block, texts) for block in blocks}
    users = {found.last("User") for found in settings.values() if found} - {"", ROOT.name}
    drafts = [
        _Draft(name, block, settings[name], manager, facts)
        for block in blocks
        for name in [systemctl.last(block, "Id")]
    ]
    asked = {path for draft in drafts for path, _ in draft.env_files}
    known, more = await asyncio.gather(accounts(host, users), files.read(host, asked - texts.keys(), late=late))
    texts |= more
    return {draft.name: await _source(host, draft, known, texts, late) for draft in drafts}


@dataclass
class _Draft:
    """A unit on its way to a `Source`."""

    name: str
    block: Block
    settings: Settings | None
    """None: the unit's files are not readable."""
    manager: Manager
    facts: HostFacts

    def resolve(self, text: str) -> str:
        return quoting.resolve(text, specifiers(self.name, self.manager, self.facts, self.block))

    @property
    def env_files(self) -> list[tuple[str, bool]]:
        """Path, and whether it may be missing."""
        if self.settings:
            values = map(self.resolve, self.settings.all("EnvironmentFile"))
            return [(value.removeprefix("-"), value.startswith("-")) for value in values]
        return unit_search.environment_files(self.block)

    @property
    def assigned(self) -> dict[str, str]:
        if self.settings:
            return environment.assignments([self.resolve(word) for word in self.settings.words("Environment")])
        try:
            return environment.assignments(quoting.split(systemctl.last(self.block, "Environment")))
        except ValueError:
            return {}


async def _source(
    host: Commands, draft: _Draft, known: Mapping[str, Account], texts: Mapping[str, str | None], late: set[str]
) -> Source:
    user = draft.settings.last("User") if draft.settings else ""
    account = known.get(user) or (ROOT if draft.manager.name == "system" else None)
    base = account.environment if account else {"HOME": draft.manager.home, "USER": draft.manager.user}
    must = [path for path, optional in draft.env_files if not optional or path in late]
    env = {**base, **draft.assigned}
    for path, _ in draft.env_files:
        if path in must and texts.get(path) is None:  # it may set each of them to something else
            env.update(dict.fromkeys(env.keys() - base.keys(), UNKNOWN))
        env.update(environment.parse_file(texts.get(path) or ""))
    settings = draft.settings
    unread = [path for path in (*unit_search.unit_files(draft.block), *must) if texts.get(path) is None]
    complete = (
        draft.manager.name == "system" and not unread and settings is not None and not settings.all("PassEnvironment")
    )
    commands = _checked(draft) or await _from_bus(host, draft) or _from_shown(draft.block)
    unset = "" if complete else UNKNOWN
    expanded = [
        command.argv if ":" in command.prefixes else quoting.expand(command.argv, env, unset) for command in commands
    ]
    folder = draft.resolve(settings.last("WorkingDirectory")).removeprefix("-") if settings else ""
    output = _LOGS_TO.match(
        draft.resolve(settings.last("StandardOutput")) if settings else systemctl.last(draft.block, "StandardOutput")
    )
    return Source(
        tuple(map(tuple, expanded)),
        env,
        complete,
        (account or ROOT).home if folder == "~" else folder or "/",
        output[1] if output else None,
        tuple(unread),
    )


def _settings(block: Block, texts: Mapping[str, str | None]) -> Settings | None:
    found = [texts.get(path) for path in unit_search.unit_files(block)]
    readable = [text for text in found if text is not None]
    return unitfile.parse(*readable) if readable and len(readable) == len(found) else None


def _checked(draft: _Draft) -> list[Command]:
    """The files' commands, if they are what systemd has loaded; else none."""
    if draft.settings is None:
        return []
    commands = [
        Command(tuple(map(draft.resolve, command.argv)), command.prefixes) for command in draft.settings.commands()
    ]
    shown = systemctl.shown_argv(draft.block)
    if systemctl.last(draft.block, "LoadState") in systemctl.BROKEN:
        return commands  # systemd has loaded none of it
    same = len(shown) == len(commands) and all(
        text.endswith(" ".join(command.argv["@" in command.prefixes :]))
        for text, command in zip(shown, commands, strict=True)
    )
    return commands if same else []


async def _from_bus(host: Commands, draft: _Draft) -> list[Command]:
    try:
        done = await host.run(systemctl.exact_argv(draft.manager, draft.name))
        return [Command((entry[0], *entry[1][1:])) for entry in outside.parse(done.text)["data"]]
    except (CommandFailed, DeadlineExceeded, ValueError, LookupError, TypeError):
        return []


def _from_shown(block: Block) -> list[Command]:
    """The last resort: blanks split words, except within the brackets of a JSON."""
    commands = []
    for path, text in zip(systemctl.shown_path(block), systemctl.shown_argv(block), strict=True):
        words: list[str] = []
        for part in text.split(" "):
            is_open = words and sum(words[-1].count(c) for c in "{[") > sum(words[-1].count(c) for c in "}]")
            words = [*words[:-1], f"{words[-1]} {part}"] if is_open else [*words, part]
        commands.append(Command((path, *words[1:])))
    return commands


def specifiers(name: str, manager: Manager, facts: HostFacts, block: Block) -> dict[str, str]:
    """What `%x` means in a unit's file, as far as it is known here."""
    stem = name.removesuffix(".service")
    prefix, _, instance = stem.partition("@")
    system = manager.name == "system"
    fragment = systemctl.last(block, "FragmentPath")
    return {
        "n": name,
        "N": stem,
        "p": prefix,
        "P": _unescape(prefix),
        "i": instance,
        "I": _unescape(instance),
        "j": prefix.rpartition("-")[2],
        "J": _unescape(prefix.rpartition("-")[2]),
        "f": "/" + _unescape(instance or prefix).lstrip("/"),
        "y": fragment,
        "Y": fragment.rpartition("/")[0],
        "h": manager.home,
        "u": manager.user,
        "U": str(manager.uid),
        "t": manager.runtime,
        "H": facts.hostname,
        "l": facts.hostname.partition(".")[0],
        "b": facts.boot_id.replace("-", ""),
        "S": "/var/lib" if system else f"{manager.home}/.local/state",
        "C": "/var/cache" if system else f"{manager.home}/.cache",
        "L": "/var/log" if system else f"{manager.home}/.local/state/log",
        "E": "/etc" if system else f"{manager.home}/.config",
        "T": "/tmp",  # noqa: S108  what the specifier means
        "V": "/var/tmp",  # noqa: S108
    }


def _unescape(text: str) -> str:
    return _HEX.sub(lambda found: chr(int(found[1], 16)), text.replace("-", "/"))

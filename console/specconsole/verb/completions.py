"""`specconsole completions SHELL`: a script that lets a shell complete our command line; `words KIND` is what it asks then."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from specconsole import paths, resources
from specconsole.errors import SpecConsoleError, UsageError
from specconsole.text import clean
from specconsole.verb import output

if TYPE_CHECKING:
    from specconsole.profile import Profile

SHELLS = ("bash", "zsh", "fish")
LISTED = 500
"""Names of units come from so many remembered loads and swaps."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Print a completion script for a shell. It completes verbs, options and their values, hosts of ~/.ssh/config and"
        " known_hosts, units that this machine remembers, profiles, plans, themes and scenarios. No host is asked."
    )
    parser.add_argument("shell", choices=(*SHELLS, "words"), help="which shell; words KIND: what the scripts ask")
    parser.add_argument("kind", nargs="?", choices=tuple(KINDS), metavar="KIND", help=f"of words: {', '.join(KINDS)}")
    parser.add_argument("typed", nargs="?", default="", metavar="TYPED", help="of words: what is typed so far")


def run(args: argparse.Namespace) -> int:
    """Print it."""
    if args.shell == "words":
        if args.kind is None:
            raise UsageError("Which words?", hint=f"One of {', '.join(KINDS)}.")
        output.write("".join(f"{clean(word)}\n" for word in words(args.kind, args.typed)))
        return 0
    if args.kind is not None:
        raise UsageError(f"completions {args.shell} takes nothing behind it.")
    from specconsole.verb import shells
    from specconsole.verb.syntax import syntax

    output.write(shells.SCRIPTS[args.shell](syntax()))
    return 0


def words(kind: str, typed: str) -> list[str]:
    """What may stand there, as whole words that begin with what is typed, each once."""
    if kind == "host" and typed.startswith("demo:"):
        return [f"demo:{name}" for name in _scenarios() if f"demo:{name}".startswith(typed)]
    before, names = _before(kind, typed), KINDS[kind]()
    found = dict.fromkeys(before + name for name in names if name and not any(c.isspace() for c in name))
    return [word for word in found if word.startswith(typed)]


def _before(kind: str, typed: str) -> str:
    """What stands before the name itself: USER@ of a host, the hosts before it in a list."""
    if kind == "hosts":
        return typed[: max(typed.rfind(","), typed.rfind("@")) + 1]
    return typed[: typed.rfind("@") + 1] if kind == "host" else ""


def _ssh_names() -> Iterator[str]:
    from specconsole.host import ssh_names

    folder = paths.ssh_dir()
    yield from ssh_names.aliases(folder / "config", folder)
    yield from ssh_names.known(folder / "known_hosts")


def _hosts() -> Iterator[str]:
    yield from _ssh_names()
    yield from (name for one in _profiles_read() for name in one.hosts if not set("*?[") & set(name))
    yield from ("localhost", "demo")


def _profiles_read() -> Iterator[Profile]:
    """The profiles that can be read; a wrong one is told where it is used."""
    from specconsole import profile

    for source in resources.find("profiles").values():
        with suppress(SpecConsoleError):
            yield profile.load(source)


def _units() -> Iterator[str]:
    """Units that were seen, and those of profiles that are for a host; a variant that `derive` makes only once it was seen."""
    seen = list(_remembered())
    yield from (name.removesuffix(".service") for name in seen)
    for one in _profiles_read():
        yield from (unit.label for unit in one.units if one.hosts and (unit.name in seen or not unit.speculative))


def _remembered() -> Iterator[str]:
    from specconsole.history.memory import path_for
    from specconsole.history.store import Store

    path = path_for()
    if not path.is_file():
        return
    store = Store(path)
    try:
        yield from (load.unit.rpartition("/")[2] for load in store.loads(limit=LISTED))
    except SpecConsoleError:
        return
    finally:
        store.close()


def _scenarios() -> Iterable[str]:
    from specconsole.host.simulated import scenarios

    return scenarios()


def _plans() -> Iterable[str]:
    from specconsole.experiment.plan import names

    return names()


KINDS: Mapping[str, Callable[[], Iterable[str]]] = {
    "host": _hosts,
    "hosts": _ssh_names,
    "unit": _units,
    "profile": lambda: resources.find("profiles"),
    "plan": lambda: (*_plans(), *_hosts()),  # of the other words the host stands there
    "theme": lambda: resources.find("themes"),
    "scenario": _scenarios,
    "level": lambda: ("debug", "info", "warning", "error", "critical"),
}
"""What a shell may ask for, and where it comes from."""

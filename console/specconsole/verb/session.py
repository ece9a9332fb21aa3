"""The options that every verb with a HOST shares, and the open host behind them."""

from __future__ import annotations

import argparse
import asyncio
import getpass
import os
import shlex
import signal
import socket
import stat
import sys
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specconsole import paths
from specconsole.clock import SystemClock
from specconsole.errors import CannotWrite, UsageError
from specconsole.host import target
from specconsole.host.base import Host
from specconsole.verb.link import say
from specconsole.verb.output import check_open

if TYPE_CHECKING:
    from specconsole.host.kept import KeptHost
    from specconsole.host.prompts import Patient, Prompter
    from specconsole.host.simulated import SimulatedHost
    from specconsole.host.way import Way
    from specconsole.profile import Profile


SLOW_S = 3.0
TICK_S = 0.25


def add_host_arguments(parser: argparse.ArgumentParser, *, json: bool = True, optional: bool = False) -> None:
    """Declare HOST and the options of the way to it; `json=False` for a verb with a screen."""
    parser.add_argument(
        "host",
        nargs="?" if optional else None,
        metavar="HOST",
        help="USER@HOST[:PORT], an alias of ~/.ssh/config, localhost (this machine), or demo[:SCENARIO[:UNIT]][@SPEED],"
        " a simulated host (specconsole demo --list)",
    )
    if json:
        parser.add_argument("--json", action="store_true", help="write JSON; its keys stand under schema 1")
    parser.add_argument("--read-only", action="store_true", help="offer nothing that changes the host")
    parser.add_argument("--profile", metavar="FILE", help="describe the deployment by this TOML file")
    add_way_arguments(parser)


def add_way_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the way to a host."""
    way = parser.add_argument_group("SSH")
    way.add_argument("-p", "--port", type=int, metavar="PORT", help="connect to this port")
    way.add_argument("-l", "--login", metavar="USER", help="log in as this user")
    way.add_argument("-i", "--identity", action="append", default=[], metavar="FILE", help="try this key first")
    way.add_argument("-J", "--jump", metavar="HOSTS", help="go through these hosts, comma separated")
    way.add_argument("-F", "--ssh-config", metavar="FILE", help="read this instead of ~/.ssh/config; none reads none")
    way.add_argument("--accept-new", action="store_true", help="trust a host key that was never seen, and say so")


def typed(args: argparse.Namespace) -> str:
    """HOST with the options of the way to it, and the profile, before it: what another verb takes to get to the same place."""
    options = [
        ("--profile", getattr(args, "profile", None)),
        ("-p", args.port),
        ("-l", args.login),
        *(("-i", file) for file in args.identity),
        ("-J", args.jump),
        ("-F", args.ssh_config),
    ]
    words = [word for option, value in options if value is not None for word in (option, str(value))]
    return shlex.join([*words, *(["--accept-new"] if args.accept_new else []), str(args.host)])


def make_host(args: argparse.Namespace, prompter: Prompter | None = None) -> Host:
    """Make the host that the arguments name, not yet opened.

    Raises:
        UsageError: HOST is none.
    """
    host = _host(args, prompter)
    host.typed = typed(args)
    return host


def _host(args: argparse.Namespace, prompter: Prompter | None) -> KeptHost | SimulatedHost:
    name = str(args.host)
    clock = SystemClock()
    if (demo := target.demo(name)) is not None:
        from importlib import import_module

        return import_module("specconsole.host.simulated").make(demo, read_only=args.read_only)  # type: ignore[no-any-return]
    if name in target.LOCAL_NAMES:
        from specconsole.host.local import LocalHost

        return LocalHost(name, clock=clock, read_only=args.read_only)
    from specconsole.host.prompts import TerminalPrompter
    from specconsole.host.ssh import SshHost

    where = target.parse(name)
    if args.port is not None and not 0 < args.port < 65536:
        raise UsageError(f"{args.port} is no port.", hint="Ports are numbers from 1 to 65535.")
    return SshHost(
        where,
        way_of(args),
        clock=clock,
        prompter=prompter or TerminalPrompter(),
        read_only=args.read_only,
    )


def way_of(args: argparse.Namespace) -> Way:
    """Gather what the SSH side needs to know of this user, this machine and the command line."""
    from specconsole.host.way import Way

    folder = paths.ssh_dir()
    config = Path(args.ssh_config) if args.ssh_config else folder / "config"
    try:
        user = getpass.getuser()
    except (KeyError, OSError) as error:
        raise UsageError("Your user has no name on this machine.", hint="Set LOGNAME or give USER@HOST.") from error
    return Way(
        folder=folder,
        config=None if args.ssh_config == "none" else config,
        config_is_asked_for=bool(args.ssh_config),
        system_config=None if args.ssh_config else Path("/etc/ssh/ssh_config"),
        local_user=user,
        local_host=socket.gethostname(),
        local_uid=os.getuid(),
        agent=os.environ.get("SSH_AUTH_SOCK") or None,
        environment=dict(os.environ),
        user=args.login,
        port=args.port,
        identities=tuple(args.identity),
        jump=args.jump,
        accept_new=args.accept_new,
    )


@asynccontextmanager
async def open_host(args: argparse.Namespace, prompter: Prompter | None = None) -> AsyncGenerator[Host, None]:
    """Open the host that the arguments name and close it at the end; asks on the terminal unless told whom to ask.

    Raises:
        UsageError: HOST is none.
        LinkRefused, LinkLost: as `Host.open`.
    """
    from specconsole.host.prompts import Patient, TerminalPrompter

    asked = Patient(prompter or TerminalPrompter())
    host = make_host(args, asked)
    try:
        async with _telling_of_the_wait(host, asked):
            await host.open()
        yield host
    finally:
        await host.close()


@asynccontextmanager
async def _telling_of_the_wait(host: Host, asked: Patient) -> AsyncGenerator[None, None]:
    """Say once, to who waits at a terminal, that the host takes its time; not while a question stands there."""

    async def tell() -> None:
        waited = 0.0
        while waited < SLOW_S:
            await asyncio.sleep(TICK_S)
            waited = 0.0 if asked.waiting else waited + TICK_S
        say(f"still connecting to {host.name} (ctrl+c ends it)")

    task = asyncio.create_task(tell()) if sys.stderr is not None and sys.stderr.isatty() else None
    try:
        yield
    finally:
        if task:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def profile_for(args: argparse.Namespace, host: Host) -> Profile | None:
    """The profile that was asked for by name or path, else the one whose pattern fits the host; None: none does.

    Raises:
        ConfigError: it is not there, or something in it is wrong.
    """
    from specconsole import profile

    if args.profile:
        return profile.named(args.profile)
    facts = host.facts
    return profile.for_host(*(name for name in (host.name, facts.hostname if facts else "") if name))


TERMINATED = 128 + signal.SIGTERM


def drive(work: Coroutine[Any, Any, int]) -> int:
    """Run a verb's coroutine to its exit code; ctrl+c is 130, SIGTERM 143, and each lets it clean up.

    Raises:
        BrokenPipeError: whoever read our output is gone.
        CannotWrite: there is no output; nothing was begun, on the host neither.
    """
    try:
        check_open()
    except CannotWrite:
        work.close()
        raise
    try:
        return asyncio.run(_minded(work))
    except KeyboardInterrupt:
        return 130


async def _minded(work: Coroutine[Any, Any, int]) -> int:
    """Await the work, and end it when we are told to, or when nobody reads its output any more.

    A follower writes when something changes, which may be hours after the reader of its pipe has gone.
    """
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
    why: list[str] = []

    def end(reason: str) -> None:
        why.append(reason)
        task.cancel()
        if output is not None:
            loop.remove_reader(output)

    loop.add_signal_handler(signal.SIGTERM, end, "terminated")
    output = _pipe()
    if output is not None:
        loop.add_reader(output, end, "unread")
    try:
        return await task
    except asyncio.CancelledError:
        if "unread" in why:
            raise BrokenPipeError from None
        if "terminated" in why:
            return TERMINATED
        raise
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        if output is not None:
            loop.remove_reader(output)


def _pipe() -> int | None:
    """Standard output, where it is a pipe: its writing end becomes readable when the reading one is closed."""
    try:
        found = sys.stdout.fileno()
        return found if stat.S_ISFIFO(os.fstat(found).st_mode) else None
    except (OSError, ValueError):  # closed, or not a file at all
        return None

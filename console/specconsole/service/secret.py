"""A unit's API key: from the profile, the console's environment, or the unit itself; never printed, never in an argv."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from specconsole.engine.key import ApiKey, sendable
from specconsole.errors import CommandFailed, ConfigError, DeadlineExceeded
from specconsole.host.base import Host
from specconsole.profile import KeySource, Profile
from specconsole.remote import unit_search
from specconsole.service import arguments, command, discover, launch
from specconsole.service.launch import Files
from specconsole.service.prefetch import prefetch
from specconsole.service.unit import Unit
from specconsole.stream import within

COMMAND_S = 60.0
"""A password store may ask for a passphrase first."""


async def api_key(
    host: Host, unit: Unit, profile: Profile | None = None, environ: Mapping[str, str] | None = None
) -> ApiKey | None:
    """The key for a unit's server; None when it has none, or none that we can read.

    `environ` is the console's own environment.

    Raises:
        ConfigError: the profile's command fails or prints nothing, or its variable is not set.
        LinkLost: the link is down.
    """
    environ = environ or {}
    if profile and profile.api_key:
        return await of_profile(profile.api_key, environ)
    if not unit.serving.has_api_key and not unit.serving.unknown:
        return None
    if value := environ.get(command.KEY_VARIABLE):
        return ApiKey(value, "the console's environment")
    return await _of_process(host, unit) or await _of_unit(host, unit, profile)


async def of_profile(source: KeySource, environ: Mapping[str, str]) -> ApiKey:
    """The key that a profile points to. Raises ConfigError."""
    if source.env:
        if not (value := environ.get(source.env)):
            raise ConfigError(f"The profile takes the API key from {source.env}, which is not set.")
        return ApiKey(value, source.env)
    try:
        status, out = await _output(source.command)
    except asyncio.TimeoutError:  # before OSError, which it is from Python 3.11 on
        raise ConfigError(
            f"The profile's key command {source.command[0]} did not end within {COMMAND_S:g} s."
        ) from None
    except OSError as error:
        raise ConfigError(f"The profile's key command {source.command[0]} cannot be run: {error.strerror}.") from None
    lines = out.decode(errors="replace").splitlines()
    if status or not lines or not lines[0].strip():
        raise ConfigError(f"The profile's key command {source.command[0]} gave no key (status {status}).")
    return ApiKey(lines[0].strip(), "the profile's command")


async def _output(argv: Sequence[str]) -> tuple[int | None, bytes]:
    """Run a program of the operator's machine; it may ask on the terminal, and does not outlive us."""
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
    )
    try:
        out, _ = await within(COMMAND_S, process.communicate())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, out


async def _of_process(host: Host, unit: Unit) -> ApiKey | None:
    """From the running main process, which has the last word: what it was started with may have changed since."""
    pid = unit.state.main_pid
    if pid is None:
        return None
    argv, environment = await _proc(host, f"/proc/{pid}/cmdline"), await _proc(host, f"/proc/{pid}/environ")
    pairs = (item.partition("=") for item in environment)
    return _key(argv, {name: value for name, _, value in pairs}, "the running process")


async def _proc(host: Host, path: str) -> list[str]:
    try:
        done = await host.run([*unit_search.CAT, path])
    except (CommandFailed, DeadlineExceeded):
        return []
    return done.text.split("\0")[:-1] if done.status == 0 else []


async def _of_unit(host: Host, unit: Unit, profile: Profile | None) -> ApiKey | None:
    """From the unit's files: its command, its environment, the script or container that it starts."""
    try:
        units = await discover.findings(await prefetch(host, profile), profile)
    except (CommandFailed, DeadlineExceeded):
        return None
    found = next((one for one in units if one.unit.key == unit.key), None)
    if found is None:
        return None
    known = await discover.scripts(host, {unit.name: found.raw})
    keys = (
        _key(argv, found.raw.environment, "the unit's own settings", Files(known, found.raw.folder), found.raw.complete)
        for argv in found.raw.commands
    )
    return next((key for key in keys if key), None)


def _key(
    argv: Sequence[str],
    environment: Mapping[str, str],
    source: str,
    known: Files | None = None,
    complete: bool = True,
) -> ApiKey | None:
    known = known or Files()
    found = launch.find(argv, environment, known, complete=complete)
    if found is None:
        return None
    value = command.key_of(found, arguments.parse(found.arguments, known.read))
    return ApiKey(value, source) if value and sendable(value) else None

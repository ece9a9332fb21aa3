"""Commands and a web address of the operator's that are told of a load's end or hang, on the operator's own machine.

A hook never hurts: it has a deadline, it cannot end what called it, and what goes wrong with it is one sentence. No shell
reads a command; the facts go in as variables and as JSON on standard input.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import signal
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from tempfile import TemporaryFile
from urllib.parse import urlsplit

from specconsole import paths
from specconsole.errors import UsageError
from specconsole.load.announce import Ended
from specconsole.stream import within
from specconsole.text import one_line

COMMAND_S, WEBHOOK_S = 30.0, 10.0
"""For so long each is waited for; then it is ended."""
_SAID = 2000
_OPERATORS = frozenset(";&|<>()")


@dataclass(frozen=True)
class Hooks:
    """What is to be told; empty: nothing."""

    on_ready: tuple[str, ...] = ()
    """A command's words."""
    on_fail: tuple[str, ...] = ()
    on_stuck: tuple[str, ...] = ()
    webhook: str = ""
    """An http or https address that is posted to."""

    def command(self, end: Ended) -> tuple[str, ...]:
        """The command for this end."""
        return self.on_stuck if end.stuck else self.on_fail if end.failed else self.on_ready


def hooks(on_ready: str | None, on_fail: str | None, webhook: str | None, on_stuck: str | None = None) -> Hooks:
    """Read what the operator gave; raises UsageError where it cannot work, so that this is not found after 90 minutes."""
    words = _words("--on-ready", on_ready), _words("--on-fail", on_fail), _words("--on-stuck", on_stuck)
    return Hooks(*words, webhook=_address(webhook))


def _words(option: str, given: str | None) -> tuple[str, ...]:
    if given is None:
        return ()
    try:
        words, parts = tuple(shlex.split(given)), _parts(given)
    except ValueError as error:
        raise UsageError(
            f"{option} cannot be read: {error}.", hint="It takes a command, quoted as for a shell."
        ) from None
    if not words:
        raise UsageError(f"{option} is empty.", hint="It takes a command.")
    if shell := next((part for part in parts if set(part) <= _OPERATORS), ""):
        hint = f"Name one: {option} {shlex.quote(f'sh -c {shlex.quote(given)}')}"
        raise UsageError(f"{option} holds {shell}, and no shell reads it.", hint=hint)
    program = str(paths.typed(words[0]))
    if shutil.which(program) is None:
        hint = "No shell reads it: for pipes and variables name one, sh -c '…'."
        raise UsageError(f"{option}: there is no program {one_line(words[0], 100)}.", hint=hint)
    return (program, *words[1:])


def _parts(given: str) -> list[str]:
    """The words, and what a shell would take for operators between them."""
    parts = shlex.shlex(given, posix=False, punctuation_chars=True)
    parts.commenters = ""
    return list(parts)


def _address(given: str | None) -> str:
    if given is None:
        return ""
    try:
        parts = urlsplit(given)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port is not False
    except ValueError:
        whole = False
    if not whole:
        raise UsageError("--webhook is no address.", hint="It takes http://… or https://….")
    return given


async def fire(hooks: Hooks, end: Ended, environ: Mapping[str, str]) -> list[str]:
    """Tell all that wants to be told, at the same time; return what went wrong, one sentence each.

    Args:
        hooks: what to tell.
        end: what has ended.
        environ: the environment that a command gets, besides the facts.
    """
    deeds = []
    if command := hooks.command(end):
        deeds.append(_run(command, end, environ))
    if hooks.webhook:
        deeds.append(_post(hooks.webhook, end))
    return [said for said in await asyncio.gather(*deeds) if said]


async def _run(command: Sequence[str], end: Ended, environ: Mapping[str, str]) -> str:
    """Run a command to its end. Files and no pipes: what it leaves in the background would hold those open."""
    name = one_line(command[0], 80)
    with TemporaryFile() as given, TemporaryFile() as complaints:
        given.write(json.dumps(end.facts()).encode() + b"\n")
        given.seek(0)
        variables = {**environ, **end.environment()}
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=given, stdout=DEVNULL, stderr=complaints, env=variables, start_new_session=True
            )
        except (OSError, ValueError) as error:
            return f"The hook {name} did not start: {one_line(str(error), 200)}."
        try:
            status = await within(COMMAND_S, process.wait())
        except asyncio.TimeoutError:
            return f"The hook {name} was ended: it took longer than {COMMAND_S:g} s."
        finally:
            await _end(process)
        if not status:
            return ""
        complaints.seek(max(complaints.seek(0, os.SEEK_END) - _SAID, 0))
        last = complaints.read(_SAID).decode(errors="replace").strip().splitlines()[-1:]
        return f"The hook {name} ended with status {status}" + (f": {one_line(last[0], 200)}" if last else ".")


async def _end(process: Process) -> None:
    """End a hook that still runs, and all that it started."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _post(address: str, end: Ended) -> str:
    """Post the facts; an address often holds a secret, so that only its host is ever named."""
    import httpx

    where = one_line(urlsplit(address).hostname or "", 100)
    body = {"schema": 1, **end.facts()}

    async def posted() -> int:
        client = httpx.AsyncClient(timeout=WEBHOOK_S, follow_redirects=False)
        async with client, client.stream("POST", address, json=body) as response:
            return response.status_code

    try:
        status = await within(WEBHOOK_S, posted())
    except asyncio.TimeoutError:
        return f"The webhook at {where} did not answer within {WEBHOOK_S:g} s."
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        return f"The webhook at {where} was not reached ({type(error).__name__})."
    return "" if 200 <= status < 300 else f"The webhook at {where} answered with status {status}."

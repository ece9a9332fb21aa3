"""A host over SSH: hop by hop to it, and again after each loss."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

import asyncssh

from specconsole.clock import Clock
from specconsole.errors import LinkLost, LinkRefused
from specconsole.host.arrival import arrive
from specconsole.host.kept import KeptHost
from specconsole.host.line import Line, Note
from specconsole.host.prompts import Prompter
from specconsole.host.ssh.client import Client
from specconsole.host.ssh.key import Keys
from specconsole.host.ssh.machine import SshMachine
from specconsole.host.ssh_hop import Hop, chain
from specconsole.host.ssh_login import Login, Patient
from specconsole.host.ssh_trust import Trust
from specconsole.host.target import Target
from specconsole.host.way import Way
from specconsole.text import one_line, reason

T = TypeVar("T")


class SshHost(KeptHost):
    """A host over SSH, with its jumps; `prompter` may be changed at any time, for the next question."""

    def __init__(
        self,
        where: Target,
        way: Way,
        *,
        clock: Clock,
        prompter: Prompter,
        read_only: bool = False,
        silence_s: float = 30.0,
    ) -> None:
        # Without a handler of its own the library's warnings would go to the terminal, over the screen.
        logging.getLogger("asyncssh").addHandler(logging.NullHandler())
        self._ssh = SshDialer(where, way, clock, prompter, silence_s)
        super().__init__(where.text, self._ssh, clock=clock, read_only=read_only)

    @property
    def prompter(self) -> Prompter:
        """Who is asked on the way."""
        return self._ssh.prompter

    @prompter.setter
    def prompter(self, prompter: Prompter) -> None:
        self._ssh.prompter = prompter


class SshDialer:
    """Connects hop by hop; what was accepted or unlocked on the way holds for the next time, in memory only."""

    def __init__(self, where: Target, way: Way, clock: Clock, prompter: Prompter, silence_s: float) -> None:
        self.where = where
        self.way = way
        self.clock = clock
        self.prompter = prompter
        self.silence_s = silence_s
        self.accepted: set[bytes] = set()
        self.unlocked: dict[Path, asyncssh.SSHKey] = {}

    async def dial(self) -> Line:
        """As `Dialer.dial`."""
        hops = await asyncio.to_thread(chain, self.where, self.way)
        machine = SshMachine([Note("ssh", text) for hop in hops for text in hop.ignored], self.clock)
        try:
            for hop in hops:
                await self._connect(hop, machine)
            return await arrive(machine, self.clock, self.where.text, silence_s=self.silence_s)
        except BaseException:
            await machine.hang_up()
            raise

    async def _connect(self, hop: Hop, machine: SshMachine) -> None:
        trust = Trust(hop, self.accepted)
        for _ in range(2):
            patient = Patient(self.prompter)
            login = Login(hop, patient)
            keys = Keys(login, self.unlocked)
            client = Client(trust, login, keys)
            try:
                machine.add(await self._in_time(client.connect(machine.last), hop, patient), client)
                return
            except asyncssh.HostKeyNotVerifiable:
                said = await trust.settle(self.prompter)
                self.prompter.tell(said)
                machine.say(Note("key", said))
            except (asyncssh.Error, OSError, ValueError) as error:
                raise _why(error, hop, login) from error
            finally:
                await keys.close()
        raise LinkRefused(f"{hop.host} showed another key than the one that was accepted a moment ago.")

    async def _in_time(self, connecting: Awaitable[T], hop: Hop, patient: Patient) -> T:
        """Give a connect its time, not counting what somebody needs to type, and anew after each answer.

        A server takes 2 s to say that a password was wrong: three of each kind would use up one such time.
        """
        task = asyncio.ensure_future(connecting)
        left, answers = hop.connect_s, patient.answers
        try:
            while not task.done() and left > 0:
                before = self.clock.monotonic()
                await asyncio.wait({task}, timeout=min(left, 0.25))
                if patient.answers != answers:
                    left, answers = hop.connect_s, patient.answers
                elif not patient.waiting:
                    left -= self.clock.monotonic() - before
            if not task.done():
                raise LinkLost(f"{hop.login} did not answer within {hop.connect_s:.0f} s.", hint=_SILENT_HINT)
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)


def _why(error: Exception, hop: Hop, login: Login) -> LinkLost | LinkRefused:
    """Say what went wrong; only an answer of the host, or of the user, is a refusal."""
    said = one_line(str(error), 200)
    if isinstance(error, asyncssh.PermissionDenied):
        return LinkRefused(f"{hop.login} refused the login.", f"{_tried(login.keys_tried)}.", _LOGIN_HINT)
    if "Too many authentication failures" in said:
        hint = "Name the right key with -i, or set IdentitiesOnly in ~/.ssh/config."
        return LinkRefused(f"{hop.login} refused the login after {login.keys_tried} keys.", hint=hint)
    if login.prompter.asked:
        return LinkRefused(f"{hop.login} hung up before the question was answered.", said)
    if isinstance(error, asyncssh.KeyExchangeFailed | asyncssh.ProtocolNotSupported):
        return LinkRefused(f"{hop.host} and we have no way to talk in common.", said)
    if isinstance(error, socket.gaierror):
        return LinkLost(f"There is no host named {hop.host}.", hint="Check its spelling, DNS and ~/.ssh/config.")
    if isinstance(error, ValueError):
        return LinkRefused(f"{hop.login} cannot be connected to as the configuration says.", said)
    if isinstance(error, asyncssh.ChannelOpenError):
        return LinkLost(f"The jump host does not reach {hop.host}:{hop.port}.", said)
    if isinstance(error, ConnectionRefusedError):
        hint = "Check the port, and that sshd runs there."
        return LinkLost(f"{hop.host} refuses connections to port {hop.port}.", hint=hint)
    if isinstance(error, asyncssh.ConnectionLost | ConnectionResetError | BrokenPipeError):
        return LinkLost(f"{hop.host}:{hop.port} closed the connection before the login.", hint=_CLOSED_HINT)
    return LinkLost(f"{hop.host}:{hop.port} cannot be reached.", f"{reason(error)}.", "Check its name and the network.")


def _tried(keys: int) -> str:
    return f"{keys} {'key was' if keys == 1 else 'keys were'} tried" if keys else "There was no key to try"


_SILENT_HINT = "Check its name, the network, and what stands between."
_CLOSED_HINT = (
    "After failed logins sshd refuses an address for some minutes (PerSourcePenalties), and anybody when too many connect"
    " at once (MaxStartups): wait and try again."
)
_LOGIN_HINT = "Check the user's name and, with ssh-add -l or -i, the key."

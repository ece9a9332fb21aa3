"""A host over SSH: hop by hop to it, and again after each loss."""

from __future__ import annotations

import asyncio
import logging
import socket
from pathlib import Path

import asyncssh

from specconsole.clock import Clock
from specconsole.errors import LinkLost, LinkRefused
from specconsole.host.arrival import arrive
from specconsole.host.kept import KeptHost
from specconsole.host.line import Line, Note
from specconsole.host.prompts import Patient, Prompter
from specconsole.host.ssh.client import Client, Step
from specconsole.host.ssh.key import Keys
from specconsole.host.ssh.machine import SshMachine
from specconsole.host.ssh_hop import Hop, chain
from specconsole.host.ssh_login import Login
from specconsole.host.ssh_trust import Trust
from specconsole.host.target import Target
from specconsole.host.way import Way
from specconsole.text import one_line, reason


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
                machine.add(await self._in_time(client, machine.last), client)
                return
            except asyncssh.HostKeyNotVerifiable:
                said = await trust.settle(self.prompter)
                self.prompter.tell(said)
                machine.say(Note("key", said))
            except (asyncssh.Error, OSError, ValueError) as error:
                raise _why(error, client) from error
            finally:
                await keys.close()
        raise LinkRefused(f"{hop.host} showed another key than the one that was accepted a moment ago.")

    async def _in_time(
        self, client: Client, tunnel: asyncssh.SSHClientConnection | None
    ) -> asyncssh.SSHClientConnection:
        """Give each step of a connect its time, not counting what somebody needs to type, and anew after each answer.

        A server takes 2 s to say that a password was wrong: three of each kind would use up one such time. At a round trip
        of 2 s a connect takes 15 s.
        """
        login, hop = client.login, client.login.hop
        task = asyncio.ensure_future(client.connect(tunnel))
        left, come = hop.connect_s, (client.step, login.keys_tried, login.prompter.answers)
        try:
            while not task.done() and left > 0:
                before = self.clock.monotonic()
                await asyncio.wait({task}, timeout=min(left, 0.25))
                now = (client.step, login.keys_tried, login.prompter.answers)
                if now != come:
                    left, come = hop.connect_s, now
                elif not login.prompter.waiting:
                    left -= self.clock.monotonic() - before
            if not task.done():
                said, hint = _SILENT[client.step]
                raise LinkLost(f"{hop.login} {said.format(hop.connect_s)}.", hint=hint)
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)


def _why(error: Exception, client: Client) -> LinkLost | LinkRefused:
    """Say what went wrong; only an answer of the host, or of the user, is a refusal."""
    login, hop, said = client.login, client.login.hop, one_line(str(error), 200)
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
        what, hint = _CLOSED[client.step]
        return LinkLost(f"{hop.host}:{hop.port} closed the connection {what}.", hint=hint)
    return LinkLost(f"{hop.host}:{hop.port} cannot be reached.", f"{reason(error)}.", "Check its name and the network.")


def _tried(keys: int) -> str:
    return f"{keys} {'key was' if keys == 1 else 'keys were'} tried" if keys else "There was no key to try"


_SILENT = {
    Step.WAY: ("did not answer within {:.0f} s", "Check its name, the network, and what stands between."),
    Step.GREETING: (
        "took the connection and said nothing for {:.0f} s",
        "Its sshd hangs or waits for the machine, or a firewall in between took the connection: try again, and look there.",
    ),
    Step.KEYS: (
        "fell silent for {:.0f} s while keys were exchanged",
        "The link is dead, or drops large packets (the MTU of a VPN or tunnel): try again, or with a smaller MTU.",
    ),
    Step.LOGIN: (
        "fell silent for {:.0f} s during the login",
        "The link is dead, or what the host asks to log somebody in hangs (PAM, DNS, a home on the network): try again.",
    ),
}
"""What is said of a host that does not answer, by what was waited for, and what may be done."""
_LOST_HINT = "The network in between lost it, or sshd ended: try again."
_REFUSED_HINT = (
    "After failed logins sshd refuses an address for some minutes (PerSourcePenalties), and anybody when too many connect"
    " at once (MaxStartups): wait and try again."
)
_CLOSED = {
    Step.WAY: ("before the login", _REFUSED_HINT),
    Step.GREETING: ("before the login", _REFUSED_HINT),
    Step.KEYS: ("while keys were exchanged", _LOST_HINT),
    Step.LOGIN: ("during the login", _LOST_HINT),
}
_LOGIN_HINT = "Check the user's name and, with ssh-add -l or -i, the key."

"""What journalctl is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from specconsole.errors import NotRunning
from specconsole.host.base import Host
from specconsole.logs.entry import FIELDS, SUPPRESSED, Owner
from specconsole.logs.source import Source

_BASE = ("journalctl", "--all", "--quiet", "--no-pager", "-o", "json")
STARTED = ("39f53479d3a045ac8e11786248231fbf", "7d4958e842da4a758f6c1cdc7b36dcc5")
"""MESSAGE_IDs of "Started …" and "Starting …"."""


@dataclass(frozen=True)
class Query:
    """The journal of some units, as matches that every version of journalctl takes alike.

    `-u` is not used: it would take brackets in a name for a pattern, and for a user's unit it means the caller's.
    """

    keys: dict[Owner, str]
    """Each unit, and what its records carry as `unit`."""
    fields: bool = field(default=True)
    """Ask for a few fields only; before systemd 236 journalctl does not know how."""

    def argv(self, *position: str) -> list[str]:
        """Build the command; `position` is where to begin and whether to follow."""
        some = [f"--output-fields={FIELDS}"] if self.fields else []
        return [*_BASE, *some, *position, *self._matches()]

    def _matches(self) -> list[str]:
        terms = [term for owner in self.keys for term in _terms(owner)]
        # Before 236 the notice of the rate limit carried no unit.
        terms.append([f"MESSAGE_ID={SUPPRESSED}", "_TRANSPORT=driver"])
        return [word for term in terms for word in ("+", *term)][1:]


def _terms(owner: Owner) -> list[list[str]]:
    """The unit's output; what its manager says of it; what others (journald, coredump) say of it."""
    unit = owner.unit
    if owner.uid:
        by = f"_UID={owner.uid}"
        return [
            [f"_SYSTEMD_USER_UNIT={unit}", by],
            [f"USER_UNIT={unit}", by],
            [f"OBJECT_SYSTEMD_USER_UNIT={unit}", f"OBJECT_UID={owner.uid}"],
            [f"COREDUMP_USER_UNIT={unit}", by],
        ]
    return [
        [f"_SYSTEMD_UNIT={unit}"],
        [f"UNIT={unit}", "_PID=1"],
        [f"OBJECT_SYSTEMD_UNIT={unit}", "_UID=0"],
        [f"COREDUMP_UNIT={unit}", "_UID=0"],
    ]


async def ask_for(host: Host, sources: Sequence[Source]) -> Query:
    """Make the query for some units; the users' numbers are asked of the host.

    Raises:
        NotRunning: the host knows no such user.
    """
    numbers = {user: await _uid(host, user) for user in {source.user for source in sources} if user}
    return Query({Owner(source.unit, numbers.get(source.user, "")): source.key for source in sources})


async def _uid(host: Host, user: str) -> str:
    if user.isdecimal():
        return user
    answer = await host.run(["id", "-u", "--", user])
    number = answer.text.strip()
    if answer.status or not number.isdecimal():
        raise NotRunning(f"There is no user {user} on {host.name}.")
    return number


def started(owner: Owner) -> list[str]:
    """Ask for the newest word of a manager that it started the unit."""
    return [*_BASE, "-n", "1", *_by_manager(owner), *(f"MESSAGE_ID={number}" for number in STARTED)]


def all_said(owner: Owner, lines: int) -> list[str]:
    """Ask for the newest words of a manager on the unit, oldest first."""
    return [*_BASE, "-n", str(lines), *_by_manager(owner)]


def _by_manager(owner: Owner) -> list[str]:
    return [f"USER_UNIT={owner.unit}", f"_UID={owner.uid}"] if owner.uid else [f"UNIT={owner.unit}", "_PID=1"]


def of_start(owner: Owner, invocation: str) -> list[str]:
    """Ask for all that one start printed and that was said of it, oldest first."""
    name = "USER_INVOCATION_ID" if owner.uid else "INVOCATION_ID"
    return [*_BASE, f"_SYSTEMD_INVOCATION_ID={invocation}", "+", f"{name}={invocation}"]

"""The drop-in that mends what lint found: composed, shown, and written by the host; never over one that is not ours."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from specconsole.errors import CommandFailed, NotPermitted
from specconsole.host.base import Host, Program, why_read_only
from specconsole.host.errand import told, why_silent
from specconsole.remote import outside
from specconsole.remote.systemctl import Manager
from specconsole.service import account, files, unitfile
from specconsole.service.finding import Finding
from specconsole.service.lint import Subject
from specconsole.text import one_line

NAME = "90-specconsole.conf"
MARK = "# specconsole-lint: "
_MARK = re.compile(rf"^{re.escape(MARK)}(.*)\n", re.MULTILINE)
HEAD = "# Written by `specconsole lint --fix`, which may write it anew. Once it is edited by hand it is yours, and left alone.\n"
TOGETHER = ("Conflicts", "After", "Environment")
"""Settings that may stand several times."""


@dataclass(frozen=True)
class Mend:
    """What would be written."""

    subject: Subject
    path: str
    text: str = ""
    """"" where there is nothing to write."""
    before: str = ""
    """What an earlier one wrote; "" for nothing."""
    blockers: tuple[str, ...] = ()
    """Why it cannot be written."""
    mended: tuple[Finding, ...] = ()
    """What it mends."""
    left: tuple[Finding, ...] = ()
    """What it leaves as it is: what no drop-in mends, and notes, whose own lines are a matter of taste."""
    manager: Manager = field(default_factory=Manager)

    @property
    def diff(self) -> tuple[str, ...]:
        """Against what is there; the new file's lines, each with a +, where nothing is."""
        old, new = self.before.splitlines(), self.text.splitlines()
        return tuple(difflib.unified_diff(old, new, self.path if old else "(none)", self.path, n=2, lineterm=""))


async def plan(host: Host, subject: Subject, findings: Sequence[Finding], manager: Manager) -> Mend:
    """Compose the drop-in for what fails or ends badly; what a note says is a matter of taste. Reads only. Raises LinkLost."""
    unit = subject.unit
    own = "/etc/systemd/system" if manager.name == "system" else f"{manager.home}/.config/systemd/user"
    path = f"{own}/{unit.name}.d/{NAME}"
    there = (await files.read(host, [path]))[path]
    mended = tuple(finding for finding in findings if finding.remedy and finding.severity != "note")
    blockers = []
    if host.read_only:
        blockers.append(why_read_only(host))
    if host.facts is not None and host.facts.python is None:
        blockers.append("this host has no Python of 3.8 or newer, which would write it")
    kept = body(there) if there is not None else ""
    if kept is None:
        blockers.append(f"{path} is there already, and specconsole did not write it, or it was edited since")
    text = marked(merged([kept or "", *(finding.remedy for finding in mended)])) if mended else ""
    left = tuple(
        finding for finding in findings if finding not in mended and (finding.remedy or finding.severity != "note")
    )
    return Mend(subject, path, text, there or "", tuple(blockers), mended, left, manager)


def merged(texts: Iterable[str]) -> str:
    """One drop-in out of several: sections together, of each setting the last value, or all where several may stand."""
    sections: dict[str, dict[str, list[str]]] = {}
    for text in texts:
        for entry in unitfile.parse(text).entries:
            key, value = entry.key, entry.value
            values = sections.setdefault(entry.section, {}).setdefault(key, [])
            same = key in TOGETHER and value.partition("=")[0] not in [one.partition("=")[0] for one in values]
            values[:] = [*values, value] if same else [value] if key not in TOGETHER else _replaced(values, value)
    parts = [
        f"[{section}]\n" + "".join(f"{key}={value}\n" for key, values in keys.items() for value in values)
        for section, keys in sorted(sections.items(), reverse=True)
    ]
    return "\n".join(parts)


def _replaced(values: Sequence[str], value: str) -> list[str]:
    """The values with the one of the same name replaced: NAME=VALUE of Environment=, or a unit's name."""
    name = value.partition("=")[0]
    return [value if one.partition("=")[0] == name else one for one in values]


def marked(body: str) -> str:
    """A drop-in's text behind the lines that say whose it is."""
    return f"{HEAD}{MARK}{json.dumps({'text': _digest(body)})}\n{body}"


def body(text: str) -> str | None:
    """What a drop-in of ours says; None: it is not ours, or was edited since."""
    found = _MARK.search(text)
    rest = text[found.end() :] if found else ""
    try:
        said = outside.parse(found[1]) if found else {}
    except ValueError:
        return None
    return rest if isinstance(said, dict) and said.get("text") == _digest(rest) else None


async def write(host: Host, mend: Mend) -> str:
    """Have the host write what was confirmed, and systemd read it; returns the path.

    Raises:
        NotPermitted: it has blockers, or the host refuses; nothing was changed.
        LinkLost: the link is down; whether it was written is not known, and asking again tells.
    """
    if mend.blockers:
        raise NotPermitted("Nothing was written.", "; ".join(mend.blockers))
    expect = _digest(mend.before) if mend.before else ""
    order = {"path": mend.path, "name": mend.subject.unit.name, "expect": expect, **await _owner(host, mend.manager)}
    try:
        answers = await told(host, Program("dropin", order), mend.text.encode())
    except CommandFailed as error:
        raise NotPermitted(f"{host.name} cannot write drop-ins.", str(error)) from error
    answer = answers[-1] if answers else {"refused": f"this host writes no drop-ins: {why_silent(host)}"}
    if "refused" in answer:
        raise NotPermitted("Nothing was written.", one_line(str(answer["refused"])) + ".")
    return str(answer["wrote"])


async def _owner(host: Host, manager: Manager) -> dict[str, Any]:
    if manager.name == "system":
        return {}
    found = (await account.accounts(host, [manager.user])).get(manager.user)
    if found is None:
        raise NotPermitted(f"The account {manager.user} is not known on {host.name}.")
    return {"user": found.name, "uid": found.uid, "gid": found.gid}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

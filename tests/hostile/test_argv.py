"""Names that are options of the programs they are given to: units, containers, users, hosts; and programs that are not ours."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from specconsole.errors import UsageError
from specconsole.host import target
from specconsole.logs.entry import Owner
from specconsole.logs.query import Query, of_start, started
from specconsole.remote import swap_container, systemctl
from specconsole.remote.swap_process import Process
from specconsole.remote.swap_unit import Ref, Systemd
from specconsole.remote.systemctl import Manager, user_manager

EVIL = (
    "--now",
    "-H evil",
    "-Mevil",
    "--root=/tmp",
    "a\nb.service",
    "'; reboot #.service",
    "$(reboot).service",
    "%n.service",
)
REMOTE = Path(swap_container.__file__).parent
MANAGERS = (Manager(), user_manager("alice", 1000, 1000, "/home/alice", as_root=True))


def behind_the_options(argv: Sequence[str], name: str) -> bool:
    """The name is one word, whole, and stands behind the word that ends the options."""
    return name in argv and "--" in argv and argv.index("--") < argv.index(name)


@pytest.mark.parametrize("name", EVIL)
@pytest.mark.parametrize("manager", MANAGERS, ids=["system", "user"])
def test_no_unit_name_is_an_option_when_it_is_read(name: str, manager: Manager) -> None:
    assert behind_the_options(systemctl.show(manager, [name], systemctl.STATE), name)
    bus = systemctl.exact_argv(manager, name)
    assert re.fullmatch(r"/org/freedesktop/systemd1/unit/\w+", bus[-3])


@pytest.mark.parametrize("name", EVIL)
@pytest.mark.parametrize("user", ["", "alice"])
def test_no_unit_name_is_an_option_when_it_is_changed(name: str, user: str) -> None:
    called: list[list[str]] = []

    def run(argv: Sequence[str], *_: Any) -> tuple[int, str, str]:
        called.append(list(argv))
        return 0, "Id=x\nActiveState=failed\n", ""

    asked = Systemd(run)
    asked.stop(Ref(name, user, 1000, 1000))
    asked.start(Ref(name, user, 1000, 1000))
    assert [next(word for word in argv if word in ("stop", "start", "show", "reset-failed")) for argv in called] == [
        *("stop", "show", "reset-failed", "start"),
    ]  # fmt: skip
    assert all(behind_the_options(argv, name) for argv in called)


def test_every_systemctl_call_of_the_host_s_programs_ends_its_options() -> None:
    """Of the calls written out in the source, those that name a unit by a variable; `keeper` and `unit` make names of ours."""
    calls = re.compile(r'"(?:reset-failed|start|stop|restart|enable|disable|mask)", (?!"|keeper\(|unit\()[\w.]+')
    lines = [
        (path, line) for path in REMOTE.glob("*.py") for line in path.read_text().splitlines() if "systemctl" in line
    ]
    found = [f"{path.name}: {line.strip()}" for path, line in lines if calls.search(line)]
    assert len(lines) > 5
    assert not found


@pytest.mark.parametrize("name", EVIL)
def test_no_unit_name_is_an_option_of_journalctl(name: str) -> None:
    for owner in (Owner(name), Owner(name, "1000")):
        for argv in (Query({owner: name}).argv("-n", "5"), started(owner), of_start(owner, name)):
            assert name not in argv, "it stands behind FIELD= only"
            assert [word for word in argv if name in word and not re.match(r"[A-Z_]+=", word)] == []


@pytest.mark.parametrize(
    "host", ["-oProxyCommand=reboot", "--now", "a b", "a\nb", "root@-x", "-x@host", "", "a\x1b[1m"]
)
def test_no_host_name_is_an_option(host: str) -> None:
    with pytest.raises(UsageError):
        target.parse(host)


@pytest.mark.parametrize("name", ["-H=tcp://evil", "--format={{json .}}", "a b", "a\nb", "", "../x", "x" * 300])
def test_no_container_name_is_an_option_of_its_engine(name: str, tmp_path: Path) -> None:
    assert swap_container.identity(["docker", "run", f"--name={name}", "image"]) is None
    (tmp_path / "cid").write_text(name)
    assert swap_container.identity(["docker", "run", f"--cidfile={tmp_path / 'cid'}", "image"]) is None
    os.mkfifo(tmp_path / "fifo")
    assert swap_container.identity(["docker", "run", f"--cidfile={tmp_path / 'fifo'}", "image"]) is None


def test_the_program_that_a_process_names_is_never_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process chooses the words of its own command, and the one who reads them may be root."""
    called: list[str] = []

    def run(argv: Sequence[str], *_: Any) -> tuple[int, str, str]:
        called.append(argv[0])
        return 1, "", ""

    monkeypatch.setattr(swap_container, "_argv", lambda _: ["/tmp/evil/docker", "run", "--name=box", "image"])
    swap_container.of_unit([Process(4711, 1, "S", 1, "docker", "u.service")], run)
    assert called == ["docker"]

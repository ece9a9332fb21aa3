"""Completion by the shells themselves, and the words that they ask the program for."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import specconsole
from specconsole import cli
from specconsole.history.entry import Load
from specconsole.history.store import Store
from specconsole.verb.completions import SHELLS, words

SECONDS = 60.0


@pytest.fixture
def desk(own_home: Path) -> Path:
    """A home with SSH files, and on its PATH a command that completes, and else only shows what it was given."""
    ssh = own_home / ".ssh"
    (ssh / "conf.d").mkdir(parents=True)
    (ssh / "config").write_text("Include conf.d/*\nHost gpu-1 gpu-2 *.lab !no\n  User root\nHost bastion # a jump\n")
    (ssh / "conf.d" / "more").write_text("Host inner-1\nMatch host x\n")
    lines = ("known.example,10.0.0.9", "[port.example]:2222", "|1|aa|bb", "@revoked bad.example", "# a comment", "")
    (ssh / "known_hosts").write_text("".join(f"{line} ssh-ed25519 AAAA\n" if line else "\n" for line in lines))
    profiles = own_home / ".config" / "specconsole" / "profiles"
    profiles.mkdir(parents=True)
    (profiles / "mine.toml").write_text('hosts = ["gpu-1"]\n[units.ngram]\nname = "vllm-ngram"\n')
    command = own_home / "bin" / "specconsole"
    command.parent.mkdir()
    answer = f'completions) exec {sys.executable} -m specconsole "$@" ;;'
    command.write_text(f'#!/bin/sh\ncase $1 in {answer} *) echo "<$*>" ;; esac\n')
    command.chmod(0o755)
    return own_home


def environment(desk: Path) -> dict[str, str]:
    return {
        "HOME": str(desk),
        "PATH": f"{desk / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(specconsole.__file__).parents[1]),
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
    }


def shell(name: str) -> str:
    """A shell of this machine; where the tests must run it must be there."""
    found = shutil.which(name)
    if found is None:
        if os.environ.get("CI"):
            pytest.fail(f"{name} is not installed", pytrace=False)
        pytest.skip(f"{name} is not installed")
    return found


@pytest.mark.parametrize(
    ("kind", "typed", "found"),
    [
        ("host", "", ["inner-1", "gpu-1", "gpu-2", "bastion", "known.example", "10.0.0.9", "port.example:2222", "localhost", "demo"]),
        ("host", "root@g", ["root@gpu-1", "root@gpu-2"]),
        ("host", "demo:n", ["demo:normal", "demo:ngram-pays", "demo:ngram-loses"]),
        ("hosts", "ops@bastion,root@gpu", ["ops@bastion,root@gpu-1", "ops@bastion,root@gpu-2"]),
        ("unit", "", ["ngram"]),
        ("theme", "d", ["dark"]),
        ("level", "w", ["warning"]),
        ("plan", "does", ["does-it-pay"]),
        ("plan", "this", ["this-host"]),
        ("scenario", "slow", ["slow-disk"]),
        ("profile", "min", ["mine", "minimal"]),
    ],
)  # fmt: skip
def test_words(desk: Path, kind: str, typed: str, found: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert words(kind, typed) == found
    assert cli.main(["completions", "words", kind, "--", typed]) == 0
    assert capsys.readouterr().out.split() == found


def test_units_that_were_seen_are_words(own_home: Path) -> None:
    folder = own_home / ".local" / "state" / "specconsole"
    folder.mkdir(parents=True)
    store = Store(folder / "history.db")
    store.put_load(Load("gpu-1", "vllm-kimi.service", "a1", 1.0, "ready"))
    store.close()
    assert words("unit", "vllm") == ["vllm-kimi"]


OWN = """
[units.baseline]
name = "vllm-kimi"
[units.ngram]
name = "vllm-ngram"
speculative = { method = "ngram" }
[units.eagle3]
name = "vllm-eagle3"
speculative = { method = "eagle3" }
"""


def test_a_variant_that_no_host_has_is_no_word(own_home: Path) -> None:
    profiles = own_home / ".config" / "specconsole" / "profiles"
    profiles.mkdir(parents=True)
    (profiles / "mine.toml").write_text(f"hosts = ['gpu-1']\n{OWN}")
    assert words("unit", "") == ["baseline"], "what is only described may not have been derived yet"
    folder = own_home / ".local" / "state" / "specconsole"
    folder.mkdir(parents=True)
    store = Store(folder / "history.db")
    store.put_load(Load("gpu-1", "vllm-ngram.service", "a1", 1.0, "ready"))
    store.close()
    assert words("unit", "") == ["vllm-ngram", "baseline", "ngram"]
    (profiles / "mine.toml").write_text(OWN)
    assert words("unit", "") == ["vllm-ngram"], "such a profile is for no host by itself"


def test_nothing_is_made_by_asking(own_home: Path) -> None:
    for kind in ("host", "unit", "profile"):
        words(kind, "")
    assert list(own_home.iterdir()) == []


def test_asking_is_light(desk: Path) -> None:
    code = "import sys; from specconsole import cli; cli.main(['completions', 'words', 'host']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(desk), check=True, capture_output=True, text=True
    )
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert "gpu-1" in loaded, "the answer"
    assert not loaded & {"textual", "rich", "asyncssh", "httpx", "asyncio", "sqlite3"}


def test_what_a_file_says_cannot_reach_the_terminal(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (desk / ".ssh" / "config").write_text("Host gpu\x1b[2J-1\n")
    cli.main(["completions", "words", "host"])
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("name", SHELLS)
def test_the_scripts_are_whole(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completions", name]) == 0
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    subprocess.run([shell(name), "-n", str(script)], check=True)


COMPLETED = [
    ("stat", "status"),
    ("status root@bas", "status root@bastion"),
    ("status demo:ngram-p", "status demo:ngram-pays"),
    ("swap gpu-1 --orphans e", "swap gpu-1 --orphans end"),
    ("swap --drain 3 gpu-1 ngr", "swap --drain 3 gpu-1 ngram"),
    ("status gpu-1 --read", "status gpu-1 --read-only"),
    ("connect gpu-1 --theme col", "connect gpu-1 --theme colourblind"),
    ("connect -J root@bas", "connect -J root@bastion"),
    ("explain notes-2", "explain notes-2026.log"),
    ("experiment run does", "experiment run does-it-pay"),
    ("experiment wa", "experiment watch"),
    ("swap gpu-1 --orphans=en", "swap gpu-1 --orphans=end"),
]
"""What is typed behind the command, and what stands there after the Tab key."""


class Terminal:
    """A shell at a terminal, as somebody types into it."""

    def __init__(self, argv: list[str], desk: Path) -> None:
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.chdir(desk)
            os.execve(argv[0], argv, environment(desk))
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self.end, text.encode())

    def sees(self, pattern: str) -> str:
        """Read until a pattern is shown, and forget what is before its end."""
        while not (found := re.search(pattern, self.shown)):
            ready, _, _ = select.select([self.end], [], [], SECONDS)
            assert ready, f"{pattern!r} is not in {self.shown!r}"
            self.shown += os.read(self.end, 65536).decode(errors="replace")
        self.shown = self.shown[found.end() :]
        return found[0]

    def close(self) -> None:
        os.close(self.end)
        os.waitpid(self.pid, 0)


SET_UP = {
    "bash": (["--norc", "--noprofile", "-i"], 'eval "$(specconsole completions bash)"'),
    "zsh": (["-f", "-i"], "autoload -U compinit; compinit -u; source <(specconsole completions zsh)"),
}


@pytest.mark.parametrize("name", SET_UP)
def test_a_shell_completes(name: str, desk: Path) -> None:
    (desk / "notes-2026.log").touch()
    options, load = SET_UP[name]
    terminal = Terminal([shell(name), *options], desk)
    try:
        terminal.type(f"{load}; printf '<lo%s>' aded\r")
        terminal.sees("<loaded>")
        for typed, completed in COMPLETED:
            terminal.type(f"specconsole {typed}\t\r")
            assert terminal.sees(r"<[^<>\r\n]*>") == f"<{completed}>"
    finally:
        terminal.close()


def test_fish_completes(desk: Path) -> None:
    (desk / "notes-2026.log").touch()
    lines = "\n".join(f"echo (complete -C 'specconsole {typed}' | string join '|')" for typed, _ in COMPLETED)
    argv = [shell("fish"), "--no-config", "-c", f"specconsole completions fish | source\n{lines}"]
    done = subprocess.run(argv, env=environment(desk), cwd=desk, capture_output=True, text=True, timeout=SECONDS)
    offered = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    assert offered == [completed.split()[-1] for _, completed in COMPLETED], done.stderr

"""What can be wrong on the operator's own side, each told in one sentence: files, folders, output, terminal."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fakes import FakeHost

import specconsole
from specconsole import cli, glyph
from specconsole.errors import SpecConsoleError
from specconsole.history.store import HistoryUnavailable, Store
from specconsole.host.base import Rights, why_read_only
from specconsole.ui.paint.ascii import plain

KNOWN = "Known are eagle3-8x-rtx-pro-6000, kimi-k25-8x-rtx-pro-6000, minimal."


@pytest.mark.parametrize("verb", [("status",), ("watch",), ("swap", "--dry-run", "ngram")], ids=lambda verb: verb[0])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "hosts = [",
            "is no TOML: Invalid value (at line 1, its end). Texts stand in quotes, lists in [ ]; each key once.",
        ),
        ('hostz = ["a"]', ', line 1: "hostz" means nothing. Did you mean "hosts"?'),
        ('\nhosts = "a"', ", line 2: \"hosts\" must be a list of texts, not 'a'."),
        (None, "specconsole profile init HOST writes one; known by name are eagle3-8x-rtx-pro-6000"),
        (b"\xff\xfe", "is no text in UTF-8. Save it as UTF-8."),
    ],
)
def test_a_profile_that_is_wrong(
    verb: tuple[str, ...], text: str | bytes | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.toml"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert cli.main([verb[0], "demo:normal:ngram", "--profile", str(path), *verb[1:]]) == 2
    told = capsys.readouterr().err
    assert str(path) in told
    assert said in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [("stop", "demo:normal:ngram", "--yes", ""), ("logs", "demo:normal", "-S", ""), ("logs", "demo:normal", "--unit=")],
)
def test_an_empty_word_is_none_that_was_left_out(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == 2, "stop would stop the only unit that runs"
    said = f"specconsole: {words[0]} was given an empty word. Is a variable not set? What is not meant is left out.\n"
    assert capsys.readouterr().err == said


def test_a_profile_that_nobody_knows(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["status", "demo:normal", "--profile", "nope"]) == 2
    assert capsys.readouterr().err == f'specconsole: There is no profile "nope". {KNOWN}\n'


def test_settings_that_are_wrong(
    own_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = own_home / ".config" / "specconsole" / "settings.toml"
    path.parent.mkdir(parents=True)
    path.write_text('rate = "fast"\n')
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert cli.main(["demo"]) == 2
    assert capsys.readouterr().err == f"specconsole: {path}, line 1: \"rate\" must be a number above 0, not 'fast'.\n"


@pytest.mark.parametrize("words", [("connect", "gpu-1"), ("demo",)])
def test_a_screen_without_a_terminal(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(list(words)) == 2
    assert capsys.readouterr().err.startswith("specconsole: The console needs a terminal. Use ")


def test_a_state_folder_that_cannot_be_written(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = own_home / ".local" / "state"
    state.parent.mkdir()
    state.touch()  # a file: root, too, cannot make a folder in it
    assert cli.main(["history", "loads"]) == 1
    assert capsys.readouterr().err == (
        f"specconsole: The history file {state}/specconsole/history.db cannot be used. Not a directory."
        " Make its folder writable for you, or set XDG_STATE_HOME; until then nothing is remembered.\n"
    )
    assert cli.main(["status", "demo:normal:ngram"]) == 0, "nothing else depends on it"


@pytest.mark.parametrize(
    ("error", "way_out"),
    [
        (sqlite3.OperationalError("database or disk is full"), "Make room on that disk"),
        (OSError(errno.ENOSPC, "No space left on device"), "Make room on that disk"),
        (PermissionError(errno.EACCES, "Permission denied"), "Make its folder writable for you"),
        (sqlite3.OperationalError("attempt to write a readonly database"), "Make its folder writable for you"),
        (sqlite3.DatabaseError("file is not a database"), "move it away to begin a new one"),
    ],
)
def test_a_history_that_cannot_be_used(error: Exception, way_out: str, tmp_path: Path) -> None:
    def failing() -> None:
        raise error

    store = Store(tmp_path / "history.db")
    with pytest.raises(HistoryUnavailable) as told:
        store._guard(failing)
    store.close()
    assert way_out in str(told.value)


def test_a_configuration_folder_that_cannot_be_written(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own_home / ".config").touch()
    assert cli.main(["status", "demo:normal:ngram"]) == 0
    assert cli.main(["profile", "init", "demo:normal"]) == 2
    assert "cannot be made. Not a directory." in capsys.readouterr().err


def program(*words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    own = {**os.environ, "PYTHONPATH": str(Path(specconsole.__file__).parents[1]), **environment}
    with Path("/dev/full").open("wb") as full:
        output = full if "FULL" in environment else subprocess.PIPE
        argv = [sys.executable, "-m", "specconsole", *words]
        return subprocess.run(argv, env=own, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE)


@pytest.mark.parametrize("words", ["profile list", "--version", "--help", "status --help", "help watch"])
def test_output_that_does_not_fit_on_the_disk(words: str) -> None:
    done = program(*words.split(), FULL="1")
    assert done.returncode == 1
    assert done.stderr == b"specconsole: The output cannot be written: No space left on device. Send it elsewhere.\n"


CLOSED = "specconsole: The output cannot be written: standard output is closed. Send it elsewhere.\n"


@pytest.mark.parametrize(
    "words",
    [
        "status demo:normal:ngram --json",
        "units demo:normal",
        "gpus demo:normal --json",
        "engine demo:normal:ngram",
        "logs demo:normal:ngram -n 5 --json",
        "watch demo:held-gpu@600 --json",
        "swap demo:normal:ngram baseline --yes --json",
        "doctor demo:normal --json",
        "lint demo:normal --json",
        "bench demo:normal:ngram --json",
        "history loads --json",
        "profile list --json",
        "profile show minimal --json",
        "breakeven --base 13.6 --spec 16.2 --tau 1.31 --k 5 --json",
        "explain /dev/null --json",
        "demo",
        "--version",
        "--help",
    ],
)
def test_a_closed_output_is_one_sentence(
    words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout", None)  # as Python has it behind `>&-`
    assert cli.main(words.split()) == 1
    assert capsys.readouterr().err == CLOSED


def test_a_closed_output_is_found_before_the_host_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    monkeypatch.setattr("specconsole.verb.session.make_host", lambda *_: pytest.fail("it was asked"))
    assert cli.main(["swap", "demo:normal:ngram", "baseline", "--yes"]) == 1


@pytest.mark.parametrize("name", ["stdin", "stdout"])
def test_a_screen_without_input_or_output(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{other}.isatty", lambda: True)
    monkeypatch.setattr(f"sys.{name}", None)
    assert cli.main(["connect", "gpu-1"]) == 2
    assert capsys.readouterr().err.startswith("specconsole: The console needs a terminal. Use ")


def test_a_shell_that_closes_the_output() -> None:
    argv = ["sh", "-c", f"exec {sys.executable} -m specconsole gpus demo:normal --json >&-"]
    own = {**os.environ, "PYTHONPATH": str(Path(specconsole.__file__).parents[1])}
    done = subprocess.run(argv, env=own, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr.decode()) == (1, CLOSED)


def test_a_terminal_that_is_not_utf_8_gets_what_it_can_show() -> None:
    shown = program("status", "demo:normal:ngram", PYTHONIOENCODING="ascii").stdout.decode("ascii")
    assert "\n*  ngram     serving" in shown
    assert "8 x RTX PRO 6000" in shown
    assert "?" not in shown
    latin = program("status", "demo:normal:ngram", PYTHONIOENCODING="latin-1").stdout.decode("latin-1")
    assert "8 × RTX PRO 6000" in latin, "what it can show stays"
    assert "\n*  ngram     serving" in latin


def test_json_is_whole_whatever_the_locale() -> None:
    assert program("explain", "--json", "/dev/null", PYTHONIOENCODING="ascii").stdout.isascii()


def test_a_mistake_is_told_in_the_terminal_s_letters() -> None:
    assert program("status", "gpü-1", "x", PYTHONIOENCODING="ascii").stderr.isascii()


@pytest.mark.parametrize("char", "●○◐▲✖…×—°█▁─│⠿é")
def test_every_glyph_has_one_spelling(char: str) -> None:
    assert glyph.spelt(char) == plain(char)


def test_why_nothing_can_be_changed() -> None:
    host = FakeHost()
    assert why_read_only(host) == ""
    host.read_only = True
    assert why_read_only(host).endswith("is open for reading only, as you asked (--read-only)")


async def test_without_rights_the_login_is_named() -> None:
    class Guest(FakeHost):
        @property
        def read_only_asked(self) -> bool:
            return False

    host = Guest(read_only=True)
    await host.open()
    assert host.facts
    object.__setattr__(host.facts, "rights", Rights.USER)
    assert f"{host.facts.user} is not root and has no sudo without a password" in why_read_only(host)


def test_every_error_has_an_exit_code_that_is_written_down() -> None:
    def family(kind: type[SpecConsoleError]) -> set[type[SpecConsoleError]]:
        return {kind, *(one for child in kind.__subclasses__() for one in family(child))}

    assert {kind.exit_code for kind in family(SpecConsoleError)} == {1, 2, 3, 4, 5}

"""Questions on a real terminal: shown, hidden, given up, and interrupted without a broken terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from specconsole.host.prompts import NoPrompter, Question, TerminalPrompter

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import asyncio, sys
sys.path.insert(0, {console!r})
from specconsole.host.prompts import Question, TerminalPrompter
print(asyncio.run(TerminalPrompter().{call}))
"""


class Terminal:
    """A program with a terminal of its own."""

    def __init__(self, call: str) -> None:
        self.master, slave = pty.openpty()
        code = PROGRAM.format(console=str(ROOT / "console"), call=call)
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=_own,
        )
        self.slave = slave
        self.seen = b""

    def until(self, text: bytes, again: bytes = b"") -> None:
        """Read until a text comes; `again` is typed once more each second: a signal just before a poll wakes nobody."""
        end = time.monotonic() + 20
        while text not in self.seen:
            assert time.monotonic() < end, f"{text!r} did not come, only {self.seen!r}"
            if select.select([self.master], [], [], 1)[0]:
                self.seen += os.read(self.master, 1000)
            elif again:
                self.type(again)

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def wait_for(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + 20
        while not holds():
            assert time.monotonic() < end
            time.sleep(0.01)

    @property
    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self.slave)[3] & termios.ECHO)

    def close(self) -> None:
        self.process.wait(20)
        os.close(self.slave)
        os.close(self.master)


def _own() -> None:
    import fcntl

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_a_secret_is_not_shown() -> None:
    terminal = Terminal("ask(Question('Password of ops@gpu', context='Authorised \\x1b[2Juse.'))")
    terminal.until(b"Password of ops@gpu: ")
    assert b"Authorised use." in terminal.seen
    terminal.wait_for(lambda: not terminal.echoes)
    terminal.type(b"sesame\n")
    terminal.until(b"sesame\r\n")
    assert terminal.seen.count(b"sesame") == 1, "printed by the program, not echoed"
    terminal.wait_for(lambda: terminal.echoes)
    terminal.close()


def test_a_yes_must_be_clear() -> None:
    terminal = Terminal("confirm(Question('Right host'))")
    terminal.until(b"Right host (yes/no): ")
    terminal.type(b"maybe\n")
    terminal.until(b"Right host (yes/no): maybe\r\nRight host (yes/no): ")
    terminal.type(b"YES\n")
    terminal.until(b"True")
    terminal.close()


@pytest.mark.parametrize("keys", [b"\n", b"n\n", b"\x04"])
def test_everything_else_is_a_no(keys: bytes) -> None:
    terminal = Terminal("confirm(Question('Right host'))")
    terminal.until(b"(yes/no): ")
    terminal.type(keys)
    terminal.until(b"False")
    terminal.close()


def test_ctrl_d_gives_up() -> None:
    terminal = Terminal("ask(Question('Password'))")
    terminal.until(b"Password: ")
    terminal.wait_for(lambda: not terminal.echoes)
    terminal.type(b"\x04")
    terminal.until(b"None")
    terminal.close()


def test_ctrl_c_ends_at_once_and_leaves_the_terminal_as_it_was() -> None:
    terminal = Terminal("ask(Question('Password'))")
    terminal.until(b"Password: ")
    terminal.wait_for(lambda: not terminal.echoes)
    terminal.type(b"\x03")
    terminal.until(b"KeyboardInterrupt", again=b"\x03")
    terminal.wait_for(lambda: terminal.echoes)
    terminal.close()


def test_without_a_terminal_nobody_answers() -> None:
    code = PROGRAM.format(console=str(ROOT / "console"), call="ask(Question('Password'))")
    done = subprocess.run(
        [sys.executable, "-c", code],
        input="secret\n",
        capture_output=True,
        text=True,
        start_new_session=True,
        check=True,
    )
    assert done.stdout == "None\n"


async def test_nobody_says_no(capsys: pytest.CaptureFixture[str]) -> None:
    nobody = NoPrompter()
    assert await nobody.ask(Question("?")) is None
    assert not await nobody.confirm(Question("?"))
    nobody.tell("x")
    assert nobody.told == ["x"]
    TerminalPrompter().tell("a\x1b[31mb")
    assert capsys.readouterr() == ("", "ab\n"), "standard output may be a pipe that wants JSON"

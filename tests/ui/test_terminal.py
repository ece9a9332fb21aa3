"""The real program on a real terminal: it leaves at once, and leaves the terminal as it found it, however it is ended."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ui.emulator import Emulator

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 60.0
"""The machine may be busy; nothing here is timed."""


class Terminal:
    """A terminal of 100x30 with the demo on it, as its first program or `under` another one.

    `before` is run before the demo, to break something; `errors`: its standard error.
    """

    def __init__(
        self,
        *arguments: str,
        own: bool = True,
        before: str = "",
        errors: int | None = None,
        under: tuple[str, ...] = (),
    ) -> None:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        self.screen = Emulator(100, 30)
        environment = dict(os.environ, TERM="xterm-256color", PYTHONPATH=str(ROOT / "console"))
        for name in ("COLUMNS", "LINES"):  # they are taken for the size, and whoever runs the tests may set them
            environment.pop(name, None)
        self.process = subprocess.Popen(
            [
                *under,
                sys.executable,
                "-c",
                f"{before}\nimport sys; from specconsole.cli import main; sys.exit(main())",
                "demo",
                *arguments,
            ],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave if errors is None else errors,
            env=environment,
            start_new_session=True,
            preexec_fn=_own_terminal if own else None,
        )

    def read_until(self, wanted: str, there: bool = True) -> None:
        """Read what the program paints until that stands on the screen, or stands there no more."""
        end = time.monotonic() + DEADLINE_S
        while (wanted in self.screen.text) is not there:
            ready, _, _ = select.select([self.master], [], [], max(end - time.monotonic(), 0.0))
            assert ready, f"{wanted!r} came never, or never went, on\n{self.screen.text}"
            data = os.read(self.master, 1 << 16)
            self.seen += data
            self.screen.receive(data)

    def read_to_end(self) -> int:
        """Read until the program is gone; returns its exit status."""
        end = time.monotonic() + DEADLINE_S
        while self.process.poll() is None:
            assert time.monotonic() < end, f"it goes on, and shows\n{self.screen.text}"
            if select.select([self.master], [], [], 0.1)[0]:
                self.seen += os.read(self.master, 1 << 16)
        while select.select([self.master], [], [], 0)[0]:
            self.seen += os.read(self.master, 1 << 16)
        return self.process.returncode

    def hang_up(self) -> None:
        """Close the terminal as when its window is closed."""
        os.close(self.slave)
        os.close(self.master)
        self.master = self.slave = -1

    def close(self) -> None:
        """End what is left."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for descriptor in (self.master, self.slave):
            if descriptor >= 0:
                os.close(descriptor)


def _own_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    made: list[Terminal] = []

    def open_terminal(*arguments: str, **options: Any) -> Terminal:
        made.append(Terminal(*arguments, **options))
        return made[-1]

    yield open_terminal
    for one in made:
        one.close()


RESTORED = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?2004l")
"""Back to the normal screen, with a cursor, without bracketed paste."""


def assert_restored(one: Terminal) -> None:
    tail = one.seen[one.seen.rindex(b"\x1b[?1049h") :]
    assert tail.count(b"\x1b[?1049l") == 1, "nothing is written to the screen that was left"
    assert [code for code in RESTORED if code not in tail] == []
    assert termios.tcgetattr(one.slave) == one.before
    assert b"Traceback" not in one.seen


@pytest.mark.parametrize(
    "leave",
    [
        lambda one: os.write(one.master, b"q"),
        lambda one: os.write(one.master, b"\x03"),
        lambda one: one.process.send_signal(signal.SIGTERM),
        lambda one: one.process.send_signal(signal.SIGHUP),
    ],
    ids=["q", "ctrl+c", "SIGTERM", "SIGHUP"],
)
def test_the_terminal_is_restored(terminal: Callable[..., Terminal], leave: Callable[[Terminal], object]) -> None:
    one = terminal()
    one.read_until("GPUs")
    one.read_until("live")
    leave(one)
    assert one.read_to_end() == 0
    assert_restored(one)


def test_errors_sent_elsewhere_leave_the_screen_on_the_terminal(
    terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    with (tmp_path / "errors").open("wb") as errors:
        one = terminal(errors=errors.fileno())
    one.read_until("GPUs")
    os.write(one.master, b"q")
    assert one.read_to_end() == 0
    assert_restored(one)
    assert (tmp_path / "errors").read_bytes() == b""


EARLY = """
import asyncio, os, signal
from specconsole.ui.app import SpecConsole
whole = SpecConsole.run_async
async def told_before(self, **options):
    os.kill(os.getpid(), signal.{name})
    for _ in range(10): await asyncio.sleep(0)
    return await whole(self, **options)
SpecConsole.run_async = told_before
"""
MEANWHILE = """
import os, signal
from specconsole.ui.screens.dashboard import DashboardScreen
whole = DashboardScreen.compose
def told(self):
    os.kill(os.getpid(), signal.{name})
    yield from whole(self)
DashboardScreen.compose = told
"""


@pytest.mark.parametrize("moment", [EARLY, MEANWHILE], ids=["early", "meanwhile"])
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 0), ("SIGHUP", 0)])
def test_a_signal_before_the_screen_stands_ends_it_too(
    terminal: Callable[..., Terminal], own_home: Path, name: str, code: int, moment: str
) -> None:
    one = terminal(before=moment.format(name=name))
    assert one.read_to_end() == code
    assert_restored(one)
    assert list(own_home.rglob("specconsole.log")) == []


@pytest.mark.parametrize("leave", [b"\x03", signal.SIGTERM, signal.SIGINT], ids=["ctrl+c", "SIGTERM", "SIGINT"])
@pytest.mark.parametrize(("keys", "there"), [(b"?", "Keys: "), (b":", "Leave the console"), (b"7", "No swap was made")])
def test_it_is_restored_from_dialogs_and_other_screens(
    terminal: Callable[..., Terminal], keys: bytes, there: str, leave: bytes | signal.Signals
) -> None:
    one = terminal()
    one.read_until("live")
    os.write(one.master, keys)
    one.read_until(there)
    if isinstance(leave, bytes):
        os.write(one.master, leave)
    else:
        one.process.send_signal(leave)
    assert one.read_to_end() == (130 if leave == signal.SIGINT else 0)
    assert_restored(one)


BREAK = """
from specconsole.ui.{module} import {kind}
def broken(*_): raise RuntimeError("[/x] it broke")
{setup}
"""
BROKEN = {
    "handler": BREAK.format(module="app", kind="SpecConsole", setup="SpecConsole.action_next_theme = broken"),
    "worker": BREAK.format(module="app", kind="SpecConsole", setup="SpecConsole.action_next_theme = lambda self: self.run_worker(self.fails())\nasync def fails(self): broken()\nSpecConsole.fails = fails"),
    "timer": BREAK.format(module="app", kind="SpecConsole", setup="SpecConsole.action_next_theme = lambda self: self.set_timer(0.01, broken)"),
    "drawing": BREAK.format(module="widgets.rows", kind="Rows", setup="from specconsole.ui.app import SpecConsole\nSpecConsole.action_next_theme = lambda self: (setattr(Rows, 'line', broken), self.screen.refresh(layout=True), [w.refresh() for w in self.screen.query(Rows)])"),
}  # fmt: skip
"""A fault of ours in each place that t leads to."""


@pytest.mark.parametrize("where", BROKEN)
def test_a_fault_leaves_the_terminal_and_one_sentence(
    terminal: Callable[..., Terminal], own_home: Path, where: str
) -> None:
    one = terminal(before=BROKEN[where])
    one.read_until("live")
    os.write(one.master, b"t")
    assert one.read_to_end() == 1
    assert_restored(one)
    said = one.seen[one.seen.index(b"\x1b[?1049l") :].decode()
    assert "The console failed: RuntimeError: [/x] it broke." in said
    assert said.count("it broke") == 1
    (written,) = own_home.rglob("specconsole.log")
    assert "Traceback" in written.read_text()
    assert str(written) in "".join(said.split("\r\n"))


def test_a_closed_window_ends_the_program(terminal: Callable[..., Terminal]) -> None:
    one = terminal()
    one.read_until("GPUs")
    one.hang_up()
    assert one.process.wait(DEADLINE_S) is not None


def test_a_terminal_that_vanishes_without_a_signal_ends_the_program_too(terminal: Callable[..., Terminal]) -> None:
    one = terminal(own=False)
    one.read_until("GPUs")
    one.hang_up()
    assert one.process.wait(DEADLINE_S) == 0


def _ask_anew(one: Terminal) -> None:
    one.screen.clear("¿")
    os.write(one.master, b"\x0c")


def _resize_and_back(one: Terminal) -> None:
    for rows in (29, 30):
        fcntl.ioctl(one.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 100, 0, 0))
    one.screen.clear("¿")


def _stop_and_go_on(one: Terminal) -> None:
    one.process.send_signal(signal.SIGTSTP)
    os.waitpid(one.process.pid, os.WUNTRACED)
    one.read_until("live", there=False)
    one.screen.clear("¿")
    one.process.send_signal(signal.SIGCONT)


def _halt_and_go_on(one: Terminal) -> None:
    one.process.send_signal(signal.SIGSTOP)
    os.waitpid(one.process.pid, os.WUNTRACED)
    one.screen.clear("¿")
    one.process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("disturb", [_ask_anew, _resize_and_back, _stop_and_go_on, _halt_and_go_on])
def test_what_was_lost_is_painted_anew(terminal: Callable[..., Terminal], disturb: Callable[[Terminal], None]) -> None:
    one = terminal()
    one.read_until("live")
    disturb(one)
    one.read_until("¿", there=False)
    one.read_until("live")
    os.write(one.master, b"q")
    assert one.read_to_end() == 0
    assert_restored(one)


SHELL = ("sh", "-c", 'set -m; "$@"; echo back in the shell; read line; fg; echo it left: $?', "sh")
"""A shell with job control: what stops before it goes on where a line is typed."""
WRAPPED = (*SHELL, "sh", "-c", '"$@"; exit $?', "sh")
"""A program of the same job waits for the console, as a script would."""


@pytest.mark.parametrize("under", [SHELL, WRAPPED], ids=["shell", "script"])
def test_ctrl_z_goes_to_the_shell_and_fg_comes_back(terminal: Callable[..., Terminal], under: tuple[str, ...]) -> None:
    one = terminal(under=under)
    one.read_until("live")
    os.write(one.master, b"?")
    one.read_until("Keys: ")
    os.write(one.master, b"\x1a")  # from a dialog too
    one.read_until("back in the shell")
    assert_restored(one)
    one.screen.clear("¿")
    os.write(one.master, b"\n")
    one.read_until("Keys: ")
    one.read_until("¿", there=False)
    os.write(one.master, b"qq")
    assert one.read_to_end() == 0
    assert_restored(one)
    assert b"it left: 0" in one.seen


def test_ctrl_z_stops_nothing_that_no_shell_could_bring_back(terminal: Callable[..., Terminal]) -> None:
    one = terminal()
    one.read_until("live")
    os.write(one.master, b"\x1a")
    one.read_until("No shell waits behind this console")
    os.write(one.master, b"q")
    assert one.read_to_end() == 0
    assert_restored(one)


@pytest.mark.parametrize("kind", ["dumb", "unknown"])
def test_a_terminal_that_shows_no_screens_gets_a_sentence(terminal: Callable[..., Terminal], kind: str) -> None:
    one = terminal(before=f"import os; os.environ['TERM'] = {kind!r}")
    assert one.read_to_end() == 2
    said = one.seen.decode()
    assert said.startswith(
        f"specconsole: This terminal shows no screens (TERM={kind}). Use specconsole status demo --json"
    )
    assert "\x1b" not in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(("arguments", "taken"), [((), True), (("--no-mouse",), False)])
def test_the_mouse_is_left_alone_on_demand(
    terminal: Callable[..., Terminal], arguments: tuple[str, ...], taken: bool
) -> None:
    one = terminal(*arguments)
    one.read_until("GPUs")
    os.write(one.master, b"q")
    one.read_to_end()
    assert (b"\x1b[?1000h" in one.seen) is taken


COLOURS = re.compile(rb"(?:^|;)(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;|$)")
"""What sets a colour, among the parameters of a rendition."""


def renditions(seen: bytes) -> set[bytes]:
    return {found[1] for found in re.finditer(rb"\x1b\[([0-9;]*)m", seen)}


@pytest.mark.parametrize(
    ("environment", "arguments"), [({"NO_COLOR": "1"}, ()), ({}, ("--theme", "mono"))], ids=["NO_COLOR", "mono"]
)
def test_no_colour_is_painted(
    terminal: Callable[..., Terminal],
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    arguments: tuple[str, ...],
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    one = terminal(*arguments)
    one.read_until("live")
    for keys, wanted in ((b"\t", "▌units"), (b"?", "Keys: "), (b"q:", "Leave the console")):
        one.seen = b""
        os.write(one.master, keys)
        one.read_until(wanted)
        assert [found for found in renditions(one.seen) if COLOURS.search(found)] == []
    one.process.send_signal(signal.SIGTERM)
    one.read_to_end()
    assert [found for found in renditions(one.seen) if COLOURS.search(found)] == []


def test_otherwise_colours_are_painted(terminal: Callable[..., Terminal]) -> None:
    one = terminal()
    one.read_until("live")
    assert [found for found in renditions(one.seen) if COLOURS.search(found)]

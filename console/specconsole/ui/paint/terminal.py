"""What is written to the terminal: only what differs from what stands there; and nothing any more once it went away, which ends the program."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, Final, TextIO

from specconsole.ui.paint.picture import Picture

if TYPE_CHECKING:
    from textual.driver import Driver

_BEGIN: Final = "\x1b[?2026h"
_END: Final = "\x1b[?2026l"
"""The bounds of an update, for terminals that then show all of it at once."""

ANEW: Final = "\x1b[m\x1b[?25l\x1b[?7l"
"""Plain, no cursor, no wrapped lines, whatever something else left; what stands there is not known then, and all is sent."""


class Lasting:
    """A file for the screen that outlasts its terminal.

    Textual writes in a thread of its own, which dies with the first error; from then on its queue fills up, the next
    write to it blocks the event loop for good, and no signal ends the program any more.
    """

    def __init__(self, file: IO[str], gone: Callable[[], None]) -> None:
        self._file = file
        self._gone = gone
        self._lost = False
        self._picture = Picture()
        self._begun = False
        """An update was begun, and nothing of it is sent yet."""

    def write(self, text: str) -> int:
        """Write, or drop it where there is no terminal any more; `gone` is called once, by the thread that writes."""
        self._safely(lambda: self._file.write(self._less(text)))
        return len(text)

    def flush(self) -> None:
        """Flush likewise."""
        self._safely(self._file.flush)

    def _less(self, text: str) -> str:
        """What of it is to be sent; of an update in which nothing differs, not even its bounds."""
        if text == _BEGIN or (text == _END and self._begun):
            self._begun = text == _BEGIN
            return ""
        less = self._picture.paint(text, self._size())
        if self._begun and less:
            self._begun = False
            return _BEGIN + less
        return less

    def _size(self) -> tuple[int, int]:
        try:
            return os.get_terminal_size(self._file.fileno())
        except OSError:
            return 0, 0

    def _safely(self, deed: Callable[[], object]) -> None:
        if self._lost:
            return
        try:
            deed()
        except (OSError, ValueError):  # ValueError: the file is closed
            self._lost = True
            self._gone()

    def __getattr__(self, name: str) -> Any:
        """Everything else is the file's."""
        return getattr(self._file, name)


def screen_file(error: TextIO | None, out: TextIO | None) -> TextIO | None:
    """Where the screen is drawn: on standard error, as Textual does; on standard output where that is the terminal alone.

    `2>file` keeps what goes wrong, not the screen.
    """
    if (error is not None and error.isatty()) or out is None or not out.isatty():
        return error
    # As on standard error, a character that the terminal's encoding lacks is no fault that ends the program.
    return open(out.fileno(), "w", encoding=out.encoding, errors="backslashreplace", closefd=False)


def stop_job(driver: Driver) -> bool:
    """Leave the terminal to the shell until its `fg`, with all of this job; False: nobody could bring it back.

    So it is with what stands in the group of its session's leader: `tmux new specconsole …`, `ssh -t`, a container.
    """
    if sys.platform == "win32" or not driver.can_suspend or os.getpgrp() == os.getsid(0):
        return False
    own: Any = driver
    driver.suspend_application_mode()
    own._must_signal_resume = True
    # Not SIGTSTP: a script around us would stop at once, and the shell would write on the screen that still stands.
    os.killpg(os.getpgrp(), signal.SIGSTOP)
    return True


def lasting(driver: type[Driver]) -> type[Driver]:
    """The same driver on a terminal that may go away."""

    class LastingDriver(driver):  # type: ignore[misc,valid-type]
        def __init__(self, app: Any, **options: Any) -> None:
            super().__init__(app, **options)
            own: Any = self.__dict__
            if "_file" in own:
                file = screen_file(own["_file"], sys.__stdout__)
                own["_file"] = file and Lasting(file, self._leave)

        def _sigcont_application(self, *_: object) -> None:
            """Go on from wherever it was stopped: Textual believes that to be after SIGTSTP, and starts threads and modes.

            After SIGSTOP they still run, and so they do where systemd ends a session: it sends SIGCONT with each SIGTERM. A
            second thread would take half of the keys, and the terminal would be left as the screen had set it.
            """
            me: Any = self
            theirs: Any = super()
            running = me._key_thread is not None and me._key_thread.is_alive()
            if running:
                me.suspend_application_mode()
            if running or me._must_signal_resume:
                theirs._sigcont_application()

        def _leave(self) -> None:
            self._loop.call_soon_threadsafe(self._app.exit)

    return LastingDriver

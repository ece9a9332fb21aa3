"""The terminal may go away while the screen is up: then nothing is written any more, and the program ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.driver import Driver


class Lasting:
    """A file for the screen that outlasts its terminal.

    Textual writes in a thread of its own, which dies with the first error; from then on its queue fills up, the next
    write to it blocks the event loop for good, and no signal ends the program any more.
    """

    def __init__(self, file: IO[str], gone: Callable[[], None]) -> None:
        self._file = file
        self._gone = gone
        self._lost = False

    def write(self, text: str) -> int:
        """Write, or drop it where there is no terminal any more; `gone` is called once, by the thread that writes."""
        self._safely(lambda: self._file.write(text))
        return len(text)

    def flush(self) -> None:
        """Flush likewise."""
        self._safely(self._file.flush)

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


def lasting(driver: type[Driver]) -> type[Driver]:
    """The same driver on a terminal that may go away."""

    class LastingDriver(driver):  # type: ignore[misc,valid-type]
        def __init__(self, app: Any, **options: Any) -> None:
            super().__init__(app, **options)
            own: Any = self.__dict__
            if "_file" in own:
                own["_file"] = Lasting(own["_file"], self._leave)

        def _leave(self) -> None:
            self._loop.call_soon_threadsafe(self._app.exit)

    return LastingDriver

"""What Python and asyncio complain of beside the program's way: collected here, each one is a failure.

A task that nobody awaited, an error that nobody took, a file or socket left open, a coroutine never run.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_NO_FAULT = ("Executing ", "socket.send() raised exception.")
"""That a callback took long is said of a machine that others use too; and who writes to a link that was cut is told of that
in the same turn of the loop: the SSH library may have written five packets by then."""


class _Log(logging.Handler):
    """asyncio's own log."""

    def __init__(self, found: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._found = found

    def emit(self, record: logging.LogRecord) -> None:
        if not record.getMessage().startswith(_NO_FAULT):
            where = "".join(traceback.format_stack(limit=14)[:-4])
            self._found.append(f"{self.format(record)}\n{where}")


@contextmanager
def complaints(loop: asyncio.AbstractEventLoop) -> Iterator[list[str]]:
    """Collect them while the block runs; use it inside the loop."""
    found: list[str] = []
    log = _Log(found)

    def unraisable(what: Any) -> None:
        found.append(f"unraisable in {what.object!r}: {''.join(traceback.format_exception(what.exc_value))}")

    def unhandled(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        told = "".join(traceback.format_exception(error)) if error else ""
        found.append(f"{context['message']} {context.get('task') or context.get('future') or ''} {told}")

    def in_thread(what: threading.ExceptHookArgs) -> None:
        found.append(f"thread {what.thread}: {''.join(traceback.format_exception(what.exc_value))}")

    def warned(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any, **__: Any) -> None:
        found.append(f"{filename}:{lineno}: {category.__name__}: {message}")

    logger, hooks = logging.getLogger("asyncio"), (sys.unraisablehook, threading.excepthook)
    with warnings.catch_warnings():
        warnings.simplefilter("always", ResourceWarning)
        warnings.simplefilter("always", RuntimeWarning)
        warnings.showwarning = warned
        sys.unraisablehook, threading.excepthook = unraisable, in_thread
        loop.set_exception_handler(unhandled)
        logger.addHandler(log)
        try:
            yield found
        finally:
            logger.removeHandler(log)
            loop.set_exception_handler(None)
            sys.unraisablehook, threading.excepthook = hooks

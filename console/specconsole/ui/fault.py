"""Faults of our own: written with their traceback to a private file that rotates, told to the user in one line."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from io import BufferedWriter, FileIO, TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from specconsole import paths
from specconsole.logs.redact import mask
from specconsole.text import clean, one_line, strip_escapes

FILE = "specconsole.log"
_BYTES = 1024 * 1024


class _Private(RotatingFileHandler):
    """A rotating file that only its owner may read; tracebacks can hold what the host said."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return TextIOWrapper(BufferedWriter(FileIO(descriptor, "a")), encoding=self.encoding)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802  logging's own
        """Let whoever writes know that it was not written: logging would print a traceback over the screen."""
        raise  # called while the error is handled


class _Masked(logging.Formatter):
    """The text of a fault without secrets and without what a terminal obeys: it is read with `cat`, and sent to others."""

    def format(self, record: logging.LogRecord) -> str:
        return mask(clean(super().format(record)))


class FaultLog:
    """Where faults go; without a folder they are only told."""

    def __init__(self, folder: Path | None) -> None:
        self.path = None if folder is None else folder / FILE
        self._logger = logging.Logger("specconsole.ui")
        if folder is None:
            return
        try:
            paths.private_dir(folder)
            handler = _Private(folder / FILE, maxBytes=_BYTES, backupCount=2, encoding="utf-8", delay=True)
            handler.setFormatter(_Masked("%(asctime)s %(message)s"))
            self._logger.addHandler(handler)
        except OSError:
            self.path = None

    def write(self, what: str, error: BaseException) -> str:
        """Write a fault down and return the sentence for the user."""
        where = ""
        if self.path is not None:
            try:
                self._logger.error(what, exc_info=error)
                where = f" The traceback is in {self.path}."
            except OSError:
                where = ""
        return f"{what}: {type(error).__name__}: {one_line(mask(strip_escapes(str(error))), 500)}.{where}"

    def close(self) -> None:
        """Close the file."""
        for handler in list(self._logger.handlers):
            with suppress(
                OSError
            ):  # the disk is full: what it could not write it tries once more, and is closed all the same
                handler.close()
            self._logger.removeHandler(handler)

"""Where a run's requests and orders come from: standard input, or the folder of a transient unit; Python 3.8."""

from __future__ import annotations

import os
import select
import sys
import threading
from typing import Any, Dict, List

from specconsole.remote import outside

POLL_S = 0.2


class Source:
    """The requests of a run, and the word to end it."""

    def __init__(self) -> None:
        self.key = ""
        self.requests: List[Dict[str, Any]] = []
        self.go = threading.Event()
        self.cancelled = False
        self.over = False
        self.bad = ""
        self._thread = threading.Thread(target=self._read, name="input")

    def _read(self) -> None:
        """Take what comes until `over`; of a subclass."""

    def take(self, line: bytes) -> None:
        """Take one line."""
        try:
            message = outside.parse(line)
        except ValueError:
            self.bad = "a line of the input is no JSON"
            return
        if "key" in message:
            self.key = str(message["key"] or "")
        elif "request" in message:
            self.requests.append(message["request"])
        elif message.get("cancel"):
            self.cancelled = True
        elif message.get("go"):
            self.go.set()

    def close(self) -> None:
        """Stop reading."""
        self.over = True
        self._thread.join()


class Input(Source):
    """Reads the lines of standard input; after "go" only a cancel is expected, and its end is one."""

    def __init__(self) -> None:
        super().__init__()
        self._thread.start()

    def _read(self) -> None:
        rest = b""
        fd = sys.stdin.fileno()
        while not self.over:
            # A thread that sits in a read would hold the interpreter at its end, so it only reads what is there.
            if not select.select([fd], [], [], POLL_S)[0]:
                continue
            data = os.read(fd, 1 << 16)
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self.take(line)
        self.cancelled = True
        self.go.set()


class Folder(Source):
    """Reads what was laid into the folder of a unit, then looks for orders there; the key is taken away once read."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._orders = os.path.join(folder, "orders")
        for name in ("key", "input"):
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                for line in file.read().splitlines():
                    self.take(line)
            os.unlink(path)
        self._ended = threading.Event()
        self._thread.start()

    def _read(self) -> None:
        taken = 0
        while not self._ended.wait(POLL_S):
            try:
                if os.stat(self._orders).st_size == taken:
                    continue
                with open(self._orders, "rb") as file:
                    file.seek(taken)
                    data = file.read()
            except OSError:
                continue
            whole = data[: data.rfind(b"\n") + 1]
            taken += len(whole)
            for line in whole.splitlines():
                self.take(line)

    def close(self) -> None:
        """Stop looking."""
        self._ended.set()
        super().close()

"""A real terminal for a test: the program runs in a tmux of its own, is typed to, and its screen is read."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from types import TracebackType

from tests.lab.programs import ROOT


class Terminal:
    """Runs `specconsole` with some words until the block ends."""

    def __init__(self, words: Sequence[str], *, columns: int = 120, rows: int = 40) -> None:
        self.words = words
        self.size = (str(columns), str(rows))
        self._server = f"specconsole-lab-{uuid.uuid4().hex[:8]}"

    def _tmux(self, *words: str, environment: Mapping[str, str] | None = None) -> str:
        argv = ["tmux", "-L", self._server, "-f", "/dev/null", *words]
        done = subprocess.run(argv, check=True, capture_output=True, text=True, env=environment)
        return done.stdout

    def __enter__(self) -> Terminal:
        console = shlex.join([sys.executable, "-m", "specconsole", *self.words])
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "console"), "LC_ALL": "C.UTF-8"}
        # tmux's server is nobody's child: without this one it would outlive tests that were killed.
        watch = f"while kill -0 {os.getpid()} 2>/dev/null; do sleep 1; done; tmux -L {self._server} kill-server"
        command = f"( {watch} ) & {console}; echo it ended with $?; sleep 600"
        self._tmux("new-session", "-d", "-x", self.size[0], "-y", self.size[1], command, environment=environment)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error:
            print(self.screen())
        self._tmux("kill-server")

    def screen(self) -> str:
        """Return what is to be seen now."""
        return self._tmux("capture-pane", "-p")

    def press(self, *keys: str) -> None:
        """Type keys by tmux's names."""
        self._tmux("send-keys", *keys)

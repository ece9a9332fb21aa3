"""The forms of vLLM's log by version: header, process prefix, colours, JSON.

Up to 0.30 all that Python writes gets the process prefix, since stdout and stderr are wrapped; from 0.31 on it is part
of the record's own format, and bars, access lines and tracebacks are bare.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from .options import Options

_LEVELS = {"DEBUG": 37, "INFO": 32, "WARNING": 33, "ERROR": 31, "CRITICAL": 35}


@dataclass(frozen=True)
class Process:
    """Who writes."""

    name: str
    pid: int


@dataclass(frozen=True)
class Style:
    """How one server writes its log."""

    version: tuple[int, int, int]
    colour: bool = False
    json: bool = False

    @classmethod
    def of(cls, options: Options) -> Style:
        """Take from the options what decides the form."""
        return cls(options.version, options.colour, options.json_log)

    def name(self, kind: str, rank: int = 0, ranks: int = 1) -> str:
        """Return the name in parentheses of the API server, the engine or a worker; "" where this version has none."""
        if kind == "api":
            return "APIServer" if self.version >= (0, 10, 1) else ""
        if kind == "engine":
            if self.version < (0, 10, 1):
                return ""
            return "EngineCore" if self.version >= (0, 18, 0) else "EngineCore_DP0"
        if ranks == 1:
            return "Worker"
        return f"Worker_TP{rank}" if self.version >= (0, 10, 2) else f"VllmWorker rank={rank}"

    def _prefix(self, process: Process) -> str:
        if not process.name:
            return ""
        text = f"({process.name} pid={process.pid})"
        always = (0, 10, 1) <= self.version <= (0, 14, 1)
        if always:
            colour = "\x1b[1;36m" if self.version <= (0, 11, 2) else "\x1b[0;36m"
            return f"{colour}{text}\x1b[0;0m "
        return f"\x1b[0;36m{text}\x1b[0;0m " if self.colour else f"{text} "

    def record(self, process: Process, level: str, source: str, message: str, at: float) -> str:
        """Return one record of vLLM's logger; each further line of it carries its own header, and all but the last a CR."""
        if self.json:
            return self._json(process, level, "vllm." + source.partition(".py")[0], message, at)
        stamp = time.strftime("%m-%d %H:%M:%S", time.localtime(at))
        if self.colour and self.version >= (0, 16, 0):
            header = f"\x1b[{_LEVELS[level]}m{level}\x1b[0m \x1b[90m{stamp}\x1b[0m \x1b[90m[{source}]\x1b[0m "
        else:
            header = f"{level} {stamp} [{source}] "
        header = self._prefix(process) + header
        return "\r\n".join(header + line for line in message.split("\n")) + "\n"

    def bare(self, process: Process, text: str) -> str:
        """Return what Python writes past the logger: prefixed line by line where stdout is wrapped."""
        if self.version >= (0, 31, 0):
            return text
        prefix = self._prefix(process)
        return "".join(prefix + line for line in text.splitlines(keepends=True)) if "\r" not in text else prefix + text

    def uvicorn(self, process: Process, message: str, at: float) -> str:
        """Return a line of the HTTP server's own logger."""
        if self.json:
            return self._json(process, "INFO", "uvicorn.error", message, at)
        return self.bare(process, f"INFO:     {message}\n")

    def _json(self, process: Process, level: str, logger: str, message: str, at: float) -> str:
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) + f",{int(at % 1 * 1000):03}"
        fields = {
            "asctime": stamp,
            "levelname": level,
            "name": logger,
            "processName": process.name,
            "process": process.pid,
            "message": message,
        }
        return json.dumps(fields) + "\n"

"""A unit of the real vLLM that was watched while it came up and measured then; a start takes a minute, so tests share it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.e2e.console import Answer, Console
from tests.lab.host import LabHost

REPEAT, TOKENS = 2, 48
START_S = 600.0
STARTED = "39f53479d3a045ac8e11786248231fbf"
"""systemd's own mark of a unit that it has started."""


@dataclass(frozen=True)
class Measured:
    """One unit's start and its benchmark."""

    watch: Answer
    bench: Answer

    @property
    def run(self) -> Any:
        """What the benchmark wrote."""
        return self.bench.json


def measure(server: LabHost, console: Console, unit: str) -> Measured:
    """Watch a start that was begun a moment ago, and measure what serves then."""
    server.run(f"for i in $(seq 600); do systemctl is-active -q {unit} && exit; sleep 0.1; done; exit 1")
    watch = console.ask("watch", unit, "--json", "--timeout", str(START_S), timeout_s=START_S + 60)
    assert watch.status == 0, watch.out + watch.err + server.run(f"journalctl -u {unit} -n 40 -o cat").stdout
    words = ("--repeat", str(REPEAT), "--max-tokens", str(TOKENS), "--json", "--label", unit)
    return Measured(watch, console.ask("bench", *words, timeout_s=600))


def starts(server: LabHost, unit: str) -> list[str]:
    """The starts of a unit, as its systemd numbers them; oldest first."""
    out = server.run(f"journalctl --no-pager -o json -u {unit} MESSAGE_ID={STARTED}").stdout
    return [json.loads(line)["INVOCATION_ID"] for line in out.splitlines()]

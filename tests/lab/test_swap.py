"""Swaps on real hosts: real systemd, real journald, the GPU stub, and units that behave as vLLM's do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.lab.cards import cards
from tests.lab.conftest import MakeHost
from tests.lab.host import LabHost
from tests.lab.swapping import cleared
from tests.lab.test_lab_itself import get
from tests.lab.test_verbs import Desk
from tests.lab.units import deployment

BASELINE, NGRAM = "vllm-kimi-k25-int4.service", "vllm-kimi-k25-int4-ngram.service"
RECORD = "/var/lib/specconsole/swaps.jsonl"


def record(host: LabHost) -> list[dict[str, Any]]:
    """The record as it lies on the host."""
    text = host.run(f"cat {RECORD}", check=False).stdout
    return [json.loads(line) for line in text.splitlines()]


def serves(host: LabHost) -> str:
    """Which unit runs and answers, seen past SSH."""
    host.run(get("/health"))
    return host.run("systemctl list-units --state=active --no-legend --plain 'vllm*'").stdout.split()[0]


@pytest.fixture
def host(make_host: MakeHost) -> LabHost:
    made = make_host(files={**cards(2, power=288_000), **deployment(0.3, tensor_parallel=2)})
    made.run(f"systemctl start {BASELINE}")
    return made


async def test_from_baseline_to_ngram_and_back(host: LabHost, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path)
    done = desk("swap", "gpu-1", NGRAM, "--yes", "--drain", "1")
    assert serves(host) == NGRAM
    assert "speculation by the log on, by /metrics on" in done.stdout
    assert record(host)[-1]["outcome"] == "committed"
    cleared(host)
    done = desk("swap", "gpu-1", BASELINE, "--yes", "--drain", "1")
    assert serves(host) == BASELINE

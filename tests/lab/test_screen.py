"""The main job as an operator does it: `specconsole connect` in a terminal, against a real host."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.lab.cards import cards, set_card
from tests.lab.conftest import MakeHost, cannot, on_trixie
from tests.lab.reach import eventually, ours
from tests.lab.shell import ssh_config
from tests.lab.terminal import Terminal
from tests.lab.units import deployment

pytestmark = on_trixie
BASELINE = "vllm-kimi-k25-int4"


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (150, 45)])
async def test_connect_shows_gpus_units_engine_and_log(
    make_host: MakeHost, tmp_path: Path, columns: int, rows: int
) -> None:
    if not shutil.which("tmux"):
        cannot("this test needs tmux")
    host = make_host(files={**cards(2, power=288_000), **deployment(0.5, tensor_parallel=2)})
    config = tmp_path / "ssh_config"
    config.write_text(ssh_config(host))

    async def shows(*texts: str, timeout_s: float = 30) -> None:
        await eventually(lambda: all(text in terminal.screen() for text in texts), timeout_s)

    with Terminal(["connect", "-F", str(config), "gpu-1"], columns=columns, rows=rows) as terminal:
        await shows("gpu-1", "baseline", "ngram", "stopped", "2 × H200", "288")
        host.run(f"systemctl start {BASELINE}")
        await shows("serving", "kimi-k2.5", "startup complete")
        set_card(host, 1, fail__memory=15)
        await shows("lost")
        host.plug(up=False)
        await eventually(lambda: "up" not in terminal.screen().splitlines()[0], 10)
        host.plug(up=True)
        await eventually(lambda: "● up" in terminal.screen().splitlines()[0], 30)
        terminal.press("q")
        await shows("it ended with 0", timeout_s=10)
    await eventually(lambda: [line for line in ours(host) if "vllm" not in line.lower()] == [], 5)

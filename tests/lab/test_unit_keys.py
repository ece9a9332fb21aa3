"""Derive, lint and underive by key, in a terminal, on a real host: nothing is written before the y, and systemd has it after."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.lab.cards import cards
from tests.lab.conftest import MakeHost, cannot, on_trixie
from tests.lab.reach import eventually
from tests.lab.shell import ssh_config
from tests.lab.terminal import Terminal
from tests.lab.units import SYSTEM, deployment

pytestmark = on_trixie
BASELINE, NGRAM = "vllm-kimi-k25-int4.service", "vllm-kimi-k25-int4-ngram.service"
PROFILE = f"""
hosts = []
[units.baseline]
name = "{BASELINE}"
role = "baseline"
[units.ngram]
name = "{NGRAM}"
role = "variant"
speculative = {{ method = "ngram", num_speculative_tokens = 5, prompt_lookup_max = 4 }}
"""


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40)])
async def test_a_variant_comes_is_mended_and_goes(make_host: MakeHost, tmp_path: Path, columns: int, rows: int) -> None:
    if not shutil.which("tmux"):
        cannot("this test needs tmux")
    units = {path: text for path, text in deployment(0.3).items() if NGRAM not in path}
    host = make_host(files={**cards(1), **units})
    config, profile = tmp_path / "ssh_config", tmp_path / "mine.toml"
    config.write_text(ssh_config(host))
    profile.write_text(PROFILE)
    unit, drop_in = host.path(f"{SYSTEM}/{NGRAM}"), host.path(f"{SYSTEM}/{NGRAM}.d/90-specconsole.conf")

    async def shows(*texts: str) -> None:
        await eventually(lambda: all(text in terminal.screen() for text in texts), 30)

    words = ["connect", "-F", str(config), "gpu-1", "--profile", str(profile)]
    with Terminal(words, columns=columns, rows=rows) as terminal:
        await shows("not derived")
        terminal.press("BTab", "BTab", "BTab", "j")
        await shows("› ○ ngram")
        terminal.press("D")
        await shows(f"derive {NGRAM}", "y does it")
        assert not unit.exists()
        terminal.press("y")
        await eventually(unit.exists)
        await eventually(lambda: "not derived" not in terminal.screen(), 30)
        terminal.press("L")
        await shows("lint ngram", "looked")
        terminal.press("f")
        await shows(f"mend {NGRAM}", "y does it")
        assert not drop_in.exists()
        terminal.press("y")
        await eventually(drop_in.exists)
        assert host.run(f"systemctl show -p NeedDaemonReload --value {NGRAM}").stdout == "no\n"
        await shows("looked")
        terminal.press("Escape")
        await shows("› ○ ngram")
        terminal.press("U")
        await shows(f"take {NGRAM} away", "y does it")
        assert unit.exists()
        terminal.press("y")
        await eventually(lambda: not unit.exists())
        assert drop_in.exists()

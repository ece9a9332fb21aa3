"""The developer's own machine is fenced off: no settings, no colours, no animation, no real state directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No test depends on a time, the drawing of examples included.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

# Textual reads these when it is imported.
os.environ["TEXTUAL_ANIMATIONS"] = "none"
os.environ["TEXTUAL_COLOR_SYSTEM"] = "truecolor"
os.environ["LC_ALL"] = "C.UTF-8"
os.environ["TZ"] = "UTC"
for name in ("NO_COLOR", "FORCE_COLOR", "TEXTUAL_THEME", "SSH_AUTH_SOCK", "VLLM_API_KEY"):
    os.environ.pop(name, None)


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a home of its own, so that no test reads or writes the developer's."""
    home = tmp_path_factory.mktemp("home")
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    return home

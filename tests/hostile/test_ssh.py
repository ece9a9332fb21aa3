"""What an SSH connection gives to the host: a login, and nothing of the laptop's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import asyncssh
import pytest

import specconsole
from specconsole.clock import SystemClock
from specconsole.host.prompts import NoPrompter
from specconsole.host.ssh import SshHost
from specconsole.host.target import parse
from tests.host.server import running, way

SOURCE = Path(specconsole.__file__).parent


async def test_neither_agent_nor_display_is_forwarded(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    connect = asyncssh.connect

    async def recorded(*args: Any, **options: Any) -> Any:
        asked.update(options)
        return await connect(*args, **options)

    monkeypatch.setattr(asyncssh, "connect", recorded)
    async with running() as server:
        folder = way(own_home).folder
        folder.joinpath("known_hosts").write_text(server.known_hosts_line)
        folder.joinpath("config").write_text("Host *\n  ForwardAgent yes\n  ForwardX11 yes\n")
        host = SshHost(
            parse(f"root@127.0.0.1:{server.port}"),
            way(own_home, config=folder / "config"),
            clock=SystemClock(),
            prompter=NoPrompter(),
        )
        await host.open()
        await host.close()
    assert asked["config"] is None, "the library reads no configuration of its own"
    assert not asked.get("agent_forwarding")
    assert asyncssh.SSHClientConnectionOptions().agent_forward_path is None
    named = [path.name for path in SOURCE.rglob("*.py") if "x11_forwarding" in path.read_text()]
    assert not named

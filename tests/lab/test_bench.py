"""`specconsole bench` on a host whose only Python must not be run: the load generator stays here, the run says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.conftest import MakeHost, on_trixie
from tests.lab.host import LabHost
from tests.lab.test_verbs import Desk
from tests.lab.units import deployment

pytestmark = on_trixie
UNIT = "vllm-kimi-k25-int4"
SHORT = ("--repeat", "1", "--max-tokens", "12", "--warmup", "1")


@pytest.fixture(scope="module")
def host(make_shared: MakeHost) -> LabHost:
    return make_shared(files=deployment(0.5), python=False)


def ours(host: LabHost) -> str:
    return host.run("ps -eo args | grep -c '[s]pecconsole'", check=False).stdout.strip()


def test_a_host_without_python_is_measured_through_the_tunnel(host: LabHost, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path)
    host.run(f"systemctl start {UNIT}")
    desk("watch", "gpu-1", UNIT, "--timeout", "50")
    run = desk.json("bench", "gpu-1", *SHORT)
    assert run["tunnel"] is True
    assert len(run["results"]) == 5
    assert all(one["completion_tokens"] == 12 and not one["error"] for one in run["results"])
    said = desk("bench", "gpu-1", *SHORT, "--md").stdout
    assert "through the tunnel" in said
    assert "Tokens: 60 here, 60 at the server." in said
    assert ours(host) == "0"

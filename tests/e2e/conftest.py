"""One host for all tests of this folder: making it takes 4 minutes once a machine, a start of vLLM a minute."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks import serve_peer

from specconsole.bench import prompt
from tests.e2e.console import Answer, Console
from tests.e2e.environment import environment
from tests.e2e.host import PACKAGES, UNITS, WRONG, files
from tests.e2e.measured import TOKENS, Measured, measure
from tests.lab.host import LabHost
from tests.lab.image import base_image, missing
from tests.lab.network import isolated

HERE = Path(__file__).parent
BUILD_S = 1800
"""For a test with what it needs: the first one builds a vLLM and starts two servers."""
EAGER = "--enforce-eager"
"""Without the compilation, which is half of a start: nothing that is tested here shows in it."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in this folder."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.timeout(BUILD_S))


@pytest.fixture(scope="session")
def server() -> Iterator[LabHost]:
    """The host, with both units there and none started."""
    if reason := missing():
        if os.environ.get("CI"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    vllm, image = environment(), base_image("bookworm", PACKAGES)  # all three may need the network
    peer = serve_peer.layer(vllm / "opt/vllm/venv")
    asked = serve_peer.files([one.text for one in prompt.default()], repeat=1, max_tokens=TOKENS, api="chat")
    with isolated(), LabHost("tiny-1", peer, vllm, image, files={**files(EAGER), **asked}, disk="6g") as host:
        yield host


@pytest.fixture(scope="session")
def console(server: LabHost, tmp_path_factory: pytest.TempPathFactory) -> Console:
    """The command line as an operator uses it, with a home of its own."""
    return Console(server, tmp_path_factory.mktemp("operator"))


@pytest.fixture(scope="session")
def base(server: LabHost, console: Console) -> Measured:
    """The baseline, started by hand."""
    server.run(f"systemctl start --no-block {UNITS[0]}")
    return measure(server, console, UNITS[0])


@pytest.fixture(scope="session")
def ngram(base: Measured, server: LabHost, console: Console) -> Measured:
    """The n-gram unit, swapped to; the swap goes on by itself while the start is watched."""
    begun = console.ask("swap", UNITS[1], "--yes", "--detach", "--drain", "0")
    assert begun.status == 0, begun.out + begun.err
    return measure(server, console, UNITS[1])


@pytest.fixture(scope="session")
def peer(ngram: Measured, server: LabHost) -> Any:
    """The result file of `vllm bench serve` on the n-gram unit: the same prompts, once each."""
    told, _ = serve_peer.run(server, "ngram")
    return told


@pytest.fixture(scope="session")
def there(ngram: Measured, peer: Any, console: Console) -> Answer:
    """The swap by which n-gram came up, told afterwards; all that is measured there is measured by now."""
    return console.ask("swap", "--follow", "--json")


@pytest.fixture(scope="session")
def back(there: Answer, console: Console) -> Answer:
    """The swap back to the baseline."""
    return console.ask("swap", UNITS[0], "--yes", "--drain", "5")


@pytest.fixture(scope="session")
def refused(back: Answer, console: Console) -> Answer:
    """A swap whose variant cannot start; the baseline serves again then."""
    return console.ask("swap", WRONG, "--yes", "--drain", "0")

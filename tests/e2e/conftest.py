"""One host for all tests of this folder: making it takes 4 minutes once a machine, a start of vLLM a minute."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.console import Console
from tests.e2e.environment import environment
from tests.e2e.host import PACKAGES, files
from tests.lab.host import LabHost
from tests.lab.image import base_image, missing
from tests.lab.network import isolated

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in this folder."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def server() -> Iterator[LabHost]:
    """The host, with both units there and none started."""
    if reason := missing():
        if os.environ.get("CI"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    layer, image = environment(), base_image("bookworm", PACKAGES)  # both may need the network
    with isolated(), LabHost("tiny-1", layer, image, files=files(), disk="6g") as host:
        yield host


@pytest.fixture(scope="session")
def console(server: LabHost, tmp_path_factory: pytest.TempPathFactory) -> Console:
    """The command line as an operator uses it, with a home of its own."""
    return Console(server, tmp_path_factory.mktemp("operator"))

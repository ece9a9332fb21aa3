"""Hosts for the tests: images, an isolated network, and what a failed test left in its hosts' journals.

A machine that cannot run the lab skips it and says why; with CI set in the environment that is a failure.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.lab.host import LabHost
from tests.lab.image import SUITES, base_image, gpu_layer, missing, vllm_layer
from tests.lab.network import isolated

MakeHost = Callable[..., LabHost]
"""make_host(name="gpu-1", gpu=True, vllm=True, **LabHost's own arguments): a started host of the test's suite."""

on_bookworm = pytest.mark.parametrize("suite", ["bookworm"], indirect=True)
on_trixie = pytest.mark.parametrize("suite", ["trixie"], indirect=True)
"""For tests of what does not depend on systemd's or OpenSSH's version: one release is enough, and each boot costs 2 s."""

HERE = Path(__file__).parent
FAILED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in this folder."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.lab)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember whether the test failed, for the hosts' last words."""
    report = yield
    if report.failed:
        for node in item.listchain():
            node.stash[FAILED] = True
    return report


def cannot(reason: str) -> None:
    """Skip, but fail where the tests must run."""
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@dataclass(frozen=True)
class Layers:
    """The trees that hosts are made of."""

    images: dict[str, Path]
    gpu: Path
    vllm: Path


@pytest.fixture(scope="session")
def layers(tmp_path_factory: pytest.TempPathFactory) -> Layers:
    """Build what is missing; the only step that may need a package registry."""
    if reason := missing():
        cannot(reason)
    images = {suite: base_image(suite) for suite in SUITES}
    return Layers(
        images, gpu_layer(tmp_path_factory.mktemp("gpu", numbered=True)), vllm_layer(tmp_path_factory.mktemp("vllm"))
    )


@pytest.fixture(scope="package", autouse=True)
def network(layers: Layers) -> Iterator[None]:
    """Cut this process off the machine's network while tests of this folder run."""
    with isolated():
        yield


@pytest.fixture(scope="session", params=SUITES)
def suite(request: pytest.FixtureRequest) -> str:
    """Each of the Debian releases in turn."""
    return str(request.param)


def _factory(layers: Layers, suite: str, request: pytest.FixtureRequest) -> Iterator[MakeHost]:
    hosts: list[LabHost] = []

    def make(name: str = "gpu-1", *, gpu: bool = True, vllm: bool = True, **arguments: Any) -> LabHost:
        trees = [*([layers.gpu] if gpu else ()), *([layers.vllm] if vllm else ()), layers.images[suite]]
        hosts.append(LabHost(name, *trees, **arguments))
        return hosts[-1].start()

    try:
        yield make
    finally:
        for host in hosts:
            if request.node.stash.get(FAILED, False):
                last_words(host)
            host.stop()


@pytest.fixture
def make_host(layers: Layers, suite: str, network: None, request: pytest.FixtureRequest) -> Iterator[MakeHost]:
    """Make hosts for one test."""
    yield from _factory(layers, suite, request)


@pytest.fixture(scope="module")
def make_shared(layers: Layers, suite: str, network: None, request: pytest.FixtureRequest) -> Iterator[MakeHost]:
    """Make hosts for the tests of a module, which must leave them as they found them."""
    yield from _factory(layers, suite, request)


def last_words(host: LabHost) -> None:
    """Print what a failed test's host has to say, where pytest shows it under the failure."""
    print(f"--- {host.name}")
    if not host.init:
        print(host.console()[-2000:])
        return
    print(host.run("journalctl -n 30 -o short-precise --no-pager", check=False).stdout)
    print(host.run("ps -eo pid,ppid,user,args --no-headers | grep -v 'ps -eo' | tail -30", check=False).stdout)

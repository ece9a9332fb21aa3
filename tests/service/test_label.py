"""Groups and short names, and where versions are found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specconsole.host.base import Endpoint
from specconsole.remote import unit_search
from specconsole.service import systemd, version
from specconsole.service.label import grouped, identity, labelled, ordered
from specconsole.service.launch import Launch
from specconsole.service.unit import Role, Serving, Speculation, Unit


def unit(
    name: str,
    model: str | None = "/models/Kimi",
    method: str = "",
    tokens: int = 5,
    *,
    manager: str = "system",
    label: str = "",
) -> Unit:
    speculation = Speculation(method, tokens, None, "{}") if method else None
    serving = Serving((), "serve", model, (), Endpoint(), speculation=speculation)
    state = systemd.state({}, None)
    return Unit(f"{name}.service", manager, "", "", (), serving, state, label=label)


def labels(*units: Unit) -> list[str]:
    return [unit.label for unit in labelled(grouped(units))]


def test_a_baseline_and_its_variants() -> None:
    assert labels(unit("vllm-kimi"), unit("vllm-kimi-ngram", method="ngram"), unit("x", method="eagle3")) == [
        *("baseline", "ngram", "eagle3"),
    ]
    assert labels(unit("vllm-kimi")) == ["kimi"]
    assert labels(unit("a"), unit("b"), unit("c", method="ngram")) == ["a", "b", "ngram"]


def test_names_are_unique_whatever_happens() -> None:
    two = [unit("a", method="ngram", tokens=3), unit("b", method="ngram", tokens=5)]
    assert labels(*two) == ["ngram k=3", "ngram k=5"]
    same = [unit("a", method="ngram"), unit("b", method="ngram")]
    assert labels(*same) == ["a", "b"]
    users = [unit("a", manager="user:x"), unit("a", manager="user:y")]
    assert labels(*users) == ["x/a.service", "y/a.service"]
    assert labels(unit("a", label="mine"), unit("b", method="ngram", label="mine too")) == ["mine", "mine too"]


def test_groups_are_models() -> None:
    units = grouped([unit("a"), unit("b", "/other/Kimi"), unit("c", "/models/Kimi/"), unit("d", None)])
    assert [one.group for one in units] == ["/models/Kimi", "/other/Kimi", "/models/Kimi", "d"]
    cached = "/root/.cache/huggingface/hub/models--moonshotai--Kimi-K2.5/snapshots/abc"
    assert identity(cached) == identity("moonshotai/Kimi-K2.5") == "moonshotai/Kimi-K2.5"
    assert {one.group for one in grouped([unit("a", cached), unit("b", "moonshotai/Kimi-K2.5")])} == {"Kimi-K2.5"}


def test_the_baseline_comes_first() -> None:
    units = ordered(grouped([unit("a", method="ngram"), unit("z"), unit("b", "/models/A")]))
    assert [one.name for one in units] == ["b.service", "z.service", "a.service"]


def test_a_stated_role_counts_only_where_the_command_does_not_tell() -> None:
    one = unit("a")
    assert replace(one, stated_role=Role.VARIANT).role is Role.BASELINE
    unclear = replace(one, serving=replace(one.serving, unknown=("speculation",)))
    assert unclear.role is Role.UNKNOWN
    assert replace(unclear, stated_role=Role.VARIANT).role is Role.VARIANT


@pytest.mark.parametrize(
    ("program", "head", "prefix"),
    [
        ("/opt/v/bin/python3", None, "/opt/v"),
        ("/opt/v/bin/vllm", None, "/opt/v"),
        ("/usr/local/bin/vllm", "#!/opt/v/bin/python3.12\nimport", "/opt/v"),
        ("/x/bin/vllm", "#!/bin/sh\n'''exec' \"/a long/path/bin/python3\" \"$0\" \"$@\"\n' '''\n", "/a long/path"),
        ("/x/bin/vllm", "#!/bin/sh\n'''exec' /long/bin/python3 \"$0\" \"$@\"\n", "/long"),
        ("/x/bin/vllm", "#!/usr/bin/env python3\n", "/x"),
        ("vllm", None, ""),
    ],
)
def test_the_environment_of_a_program(program: str, head: str | None, prefix: str) -> None:
    assert unit_search.prefix_of(program, head) == prefix


@pytest.mark.parametrize(
    ("image", "told"),
    [
        ("vllm/vllm-openai:v0.24.0", "0.24.0"),
        ("reg:5000/x/vllm-openai:0.11.2.post1@sha256:abc", "0.11.2.post1"),
        ("vllm/vllm-openai:latest", None),
        ("reg:5000/vllm", None),
        ("vllm/vllm-openai@sha256:abc", None),
        ("nvcr.io/nvidia/vllm:25.09-py3", None),
    ],
)
def test_the_version_of_an_image(image: str, told: str | None) -> None:
    from specconsole.service.container import Container

    assert version.of_image(Launch("docker", container=Container(image, []))) == told
    assert version.of_image(Launch("serve")) is None

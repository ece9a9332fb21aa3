"""Every command of the table does something: its place binds it, and what it calls exists there."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from textual.actions import parse
from textual.binding import Binding
from textual.dom import DOMNode

from specconsole import ui
from specconsole.ui.app import SpecConsole
from specconsole.ui.keys import COMMANDS, Command

for module in pkgutil.walk_packages(ui.__path__, "specconsole.ui."):
    importlib.import_module(module.name)


def nodes(base: type = DOMNode) -> Iterator[type[Any]]:
    below: list[type] = type.__subclasses__(base)
    for kind in below:
        if kind.__module__.startswith("specconsole."):
            yield kind
        yield from nodes(kind)


def binders(command: Command) -> list[type[Any]]:
    """The widgets, screens and app that bind a command themselves."""
    return [
        kind
        for kind in set(nodes())
        if any(isinstance(one, Binding) and one.id == command.id for one in vars(kind).get("BINDINGS", ()))
    ]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.id)
def test_a_command_is_bound_and_its_action_exists(command: Command) -> None:
    where = binders(command)
    assert where, "no place binds it"
    namespace, name, _ = parse(command.action)
    for kind in where:
        owners = (
            [SpecConsole] if namespace == "app" else list(nodes()) if namespace == "screen" else [kind, *nodes(kind)]
        )
        assert any(hasattr(owner, f"action_{name}") or hasattr(owner, f"_action_{name}") for owner in owners), kind

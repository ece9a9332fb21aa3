"""The quick copy of a frozen value is the one that `dataclasses.replace` makes."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from specconsole.load.case import Case
from specconsole.load.changed import changed
from specconsole.load.sign import Signs
from specconsole.load.timeline import LoadTimeline


@pytest.mark.parametrize(
    "value", [LoadTimeline("u", "i", 1.0), Signs(), Case("u", "i")], ids=lambda v: type(v).__name__
)
def test_each_field_is_changed_as_by_replace(value: Any) -> None:
    assert not hasattr(type(value), "__slots__")
    assert not hasattr(type(value), "__post_init__")
    for field in fields(value):
        made: Any = changed(value, **{field.name: "new"})
        assert made == replace(value, **{field.name: "new"})
        assert made != value
        assert vars(made) == {**vars(value), field.name: "new"}
        assert getattr(changed(made), field.name) == "new", "a copy of a copy"

"""docs/json.md and what the verbs print agree, key by key."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from specconsole.verb.output import SCHEMA

SOMETIMES = {"watch": {"estimate.ready", "estimate.phase", "weights", "verdict"}}
"""Objects that may be null by the moments at which a simulated host was looked at."""
DOCS = Path(__file__).resolve().parents[2] / "docs"


@cache
def schema() -> Any:
    spec = importlib.util.spec_from_file_location("docs_schema", DOCS / "schema.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def documented() -> dict[str, dict[str, set[str]]]:
    """By heading and place: the keys of the page."""
    found: dict[str, dict[str, set[str]]] = {}
    for part in re.split(r"^## ", (DOCS / "json.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        rows = re.findall(r"^\| (?:`([^`]*)`)? ?\| (`.*) \|$", body, re.MULTILINE)
        found[title] = {place: set(re.findall(r"`([^`]+)`", keys)) for place, keys in rows}
    return found


def test_every_key_that_is_printed_is_written_down_and_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    page = documented()
    printed = schema().everything()
    assert list(page) == list(printed)
    for verb, groups in printed.items():
        for place, keys in groups.items():
            if keys and list(keys) != ["*"]:
                assert set(keys) == page[verb].get(place, set()), f"{verb}, {place or 'the document'}: ./dev json"
        missing = {place for place in page[verb] if place not in groups and "[]" not in place and place != "engines.*"}
        assert missing <= SOMETIMES.get(verb, set()), f"{verb} prints no {missing}"


def test_every_document_has_the_schema() -> None:
    assert f"`schema`, now {SCHEMA}." in (DOCS / "json.md").read_text(encoding="utf-8")
    assert all("schema" in places[""] for places in documented().values())

"""The manual page that is checked in is the one that the parsers give."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from specconsole.verb.grammar import VERBS

DOCS = Path(__file__).resolve().parents[2] / "docs"


def written() -> str:
    spec = importlib.util.spec_from_file_location("manual", DOCS / "manual.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.page())


@pytest.fixture(scope="module")
def page() -> str:
    return written()


def test_the_page_is_new(page: str) -> None:
    assert (DOCS / "specconsole.1").read_text(encoding="utf-8") == page, "./dev man writes it"


def test_the_page_has_every_verb_and_no_stray_request(page: str) -> None:
    assert re.findall(r"^\.SS (\w+)$", page, re.MULTILINE) == list(VERBS)
    requests = set(re.findall(r"^[.'](\S*)", page, re.MULTILINE))
    assert requests <= {'\\"', "TH", "SH", "SS", "PP", "TP", "RS", "RE", "nf", "fi", "B", "BR", "I", "RI"}

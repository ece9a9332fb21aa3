"""The same log in another wrapping gets the same answer, as far as nothing but its stamps and lines has changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from specconsole.explain.document import document
from specconsole.explain.files import explain
from specconsole.explain.kind import Kind
from specconsole.explain.recognise import recognise
from tests.corpus import words
from tests.corpus.scoring import check
from tests.corpus.test_cases import CASES, NOT_TOLD, read
from tests.corpus.vary import OF_MANY, WRAPPINGS, exported, journal_bytes

MOVED = re.compile(r"silence_s|boot_s|windows|records|line$|root_line|warn|mean_s|notices$")
"""What stamps or numbers of lines decide."""
JOURNALS = ("C17", "C19", "G07", "G10", "G19")
"""Logs whose own wrapping is what they are about."""
SLOW = ("B07", "B10")
"""Only the stamps of byte arrays are believed: how slow the bars were does not show in them."""
FEW_LINES = ("B09", "B23", "B26")
"""One or two lines do not show that what they begin with is a collector's."""
LONE_GROUPS = ("A10", "A18")
"""A process that stands on a line of its own before each bar is not joined to it across JSON objects."""


@pytest.mark.parametrize("wrap", [*WRAPPINGS, *OF_MANY], ids=lambda wrap: wrap.__name__)
def test_wrapping(wrap: Callable[[str], str]) -> None:
    wrong = {}
    for folder in CASES:
        if folder.name[:3] in JOURNALS or (wrap is journal_bytes and folder.name[:3] in SLOW):
            continue
        if wrap in OF_MANY and folder.name[:3] in (LONE_GROUPS if wrap is exported else FEW_LINES):
            continue
        case = read(folder)
        got = words.translate(
            document(explain((name, BytesIO(wrapped(folder / name, wrap))) for name in case["inputs"]))
        )
        missed = {
            name.split(".")[0]
            for name, right, *_ in check(case["expected"], got)
            if not right and not MOVED.search(name)
        }
        if missed - NOT_TOLD.get(folder.name, set()):
            wrong[folder.name] = missed
    assert not wrong


def wrapped(path: Path, wrap: Callable[[str], str]) -> bytes:
    content = path.read_bytes()
    return wrap(content.decode()).encode() if recognise(content) is Kind.LOG else content

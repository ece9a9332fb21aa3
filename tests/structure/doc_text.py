"""What is written for users, taken apart: links, commands, tables of keys, examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"^(?: {4}.*\n)+", re.MULTILINE)
_SPAN = re.compile(r"(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)")
_LINK = re.compile(r"!?\[[^\]\n]*(?:\n[^\]\n]*)?\]\(([^)\s]+)\)")


def name(path: Path) -> str:
    """A file as people call it."""
    return str(path.relative_to(ROOT))


def plain(path: Path) -> str:
    """A file's words, each separated by one blank."""
    return " ".join(path.read_text(encoding="utf-8").split())


def examples(path: Path, language: str) -> list[str]:
    """The fenced blocks in a language."""
    return [block for kind, block in _FENCE.findall(path.read_text(encoding="utf-8")) if kind == language]


def links(path: Path) -> Iterator[str]:
    """Where a file leads to within this repository."""
    for target in _LINK.findall(_FENCE.sub("", path.read_text(encoding="utf-8"))):
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(path: Path) -> set[str]:
    """The names by which a file's headings can be linked to."""
    heads = re.findall(r"^#+ (.+)$", _FENCE.sub("", path.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def code(path: Path) -> Iterator[str]:
    """Each line of code and each word in code's letters."""
    text = path.read_text(encoding="utf-8")
    for kind, block in _FENCE.findall(text):
        if kind in ("", "sh", "console", "bash"):
            yield from block.splitlines()
    text = _FENCE.sub("", text)
    for block in _INDENTED.findall(text):
        yield from (line.strip() for line in block.splitlines())
    for span in _SPAN.findall(_INDENTED.sub("", text)):
        yield " ".join(span.split())


def keys(path: Path) -> dict[str, dict[str, list[str]]]:
    """By heading: the keys of its table, and the other cells of each; "" for headings that are no table of TOML's."""
    found: dict[str, dict[str, list[str]]] = {}
    section = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if head := re.match(r"#+ (.+)", line):
            table = re.fullmatch(r"`\[([\w.]+)\]`", head[1])
            section = table[1] if table else ""
        elif row := re.match(r"\| `(\w+)` \| (.*) \|$", line):
            found.setdefault(section, {})[row[1]] = [cell.strip() for cell in row[2].split(" | ")]
    return found

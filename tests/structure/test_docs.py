"""What is written for users agrees with the program: links, commands, options, keys of files, figures."""

from __future__ import annotations

import argparse
import importlib
import re
import shlex
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest
from tests.structure import doc_text
from tests.structure.doc_text import FILES, ROOT

from specconsole import cli, profile, toml
from specconsole.experiment import plan
from specconsole.verb.grammar import VERBS

DOCS = ROOT / "docs"
each_file = pytest.mark.parametrize("path", FILES, ids=doc_text.name)


@each_file
def test_every_link_leads_somewhere(path: Path) -> None:
    for target in doc_text.links(path):
        file, _, anchor = target.partition("#")
        other = (path.parent / file).resolve() if file else path
        assert other.exists(), f"{target} is not there"
        assert not anchor or anchor in doc_text.anchors(other), f"{target} names no heading"


def test_every_page_is_in_the_index_and_the_readme_leads_to_it() -> None:
    index = set(doc_text.links(DOCS / "README.md"))
    pages = {path.name for path in DOCS.glob("*.md")} - {"README.md"}
    assert pages <= index, f"docs/README.md does not name {sorted(pages - index)}"
    assert "docs/README.md" in set(doc_text.links(ROOT / "README.md"))


# -- commands --


@cache
def options(verb: str) -> frozenset[str]:
    parser = argparse.ArgumentParser(prog=verb)
    importlib.import_module(f"specconsole.verb.{verb}").configure(parser)
    return frozenset(parser._option_string_actions)


@cache
def source() -> str:
    """All that the program itself says: vLLM's options and systemd's stand in it, too."""
    return "\n".join(file.read_text() for file in sorted((ROOT / "console").rglob("*.py")))


def commands(line: str) -> Iterable[tuple[str, list[str]]]:
    """Each verb in a line of code, with the options that are given to it."""
    for part in re.split(r" && | \| |; ", line.partition(" # ")[0].partition("   ")[0]):
        words = _words(part)
        at = words.index("specconsole") + 1 if "specconsole" in words else 0
        if at < len(words) and (at or words[0] in VERBS):
            given = [word.partition("=")[0] for word in words[at + 1 :] if re.match(r"--[a-z]", word)]
            yield from ((verb, given) for verb in words[at].split("|") if re.fullmatch(r"[a-z]+", verb))


def _words(part: str) -> list[str]:
    try:
        return shlex.split(part)
    except ValueError:
        return part.split()


@each_file
def test_every_command_is_there_with_its_options(path: Path) -> None:
    for line in doc_text.code(path):
        for verb, given in commands(line):
            assert verb in VERBS, f"{line}: there is no verb {verb}"
            unknown = [one for one in given if one.rstrip(",.;:") not in options(verb)]
            assert not unknown, f"{line}: {verb} has no {' '.join(unknown)}"


@each_file
def test_every_option_is_there(path: Path) -> None:
    for span in doc_text.code(path):
        if found := re.fullmatch(r"(--[a-z][\w-]+)(?:[ =].*)?", span):
            ours = any(found[1] in options(verb) for verb in VERBS) or found[1] == "--version"
            assert ours or f"{found[1]}" in source(), f"{span} is no option of ours, nor of those that we speak of"


def typed(line: str) -> Iterable[list[str]]:
    """What a user would type of a line of code, behind `specconsole`; a verb alone only names the verb."""
    for part in re.split(r" && | \| |; |[$<]\(|\)", line.partition(" # ")[0].partition("   ")[0]):
        words = [word.strip("[]") for word in _words(part)]
        given = words[words.index("specconsole") + 1 :] if "specconsole" in words else []
        if len(given) > 1:
            yield ["status" if word == "VERB" else word for word in given]


@each_file
def test_every_command_can_be_typed_as_it_stands(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line in doc_text.code(path):
        for words in typed(line):
            if "--help" in words:
                with pytest.raises(SystemExit, match=r"^0$"):
                    cli.parse(words)
                assert f"specconsole {words[0]}" in capsys.readouterr().out
            else:
                cli.parse(words)


# -- keys --


def accepted(text: str, read: object, monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """By table ("" for the top): the keys that a reader takes; NAME stands for what a person calls a unit or an arm."""
    found: dict[str, set[str]] = {}
    only = toml.File.only

    def seen(self: toml.File, table: toml.Table, allowed: Iterable[str], path: tuple[str, ...] = ()) -> None:
        names = tuple(allowed)
        found.setdefault(".".join([*path[:1], *("NAME" for _ in path[1:])]), set()).update(names)
        only(self, table, names, path)

    monkeypatch.setattr(toml.File, "only", seen)
    assert callable(read)
    read(toml.File("example.toml", text))
    return found


def documented(path: Path) -> dict[str, set[str]]:
    tables: Mapping[str, Mapping[str, object]] = doc_text.keys(path)
    found = {section: set(rows) for section, rows in tables.items()}
    found[""] |= {section.partition(".")[0] for section in found if section}
    return found


@pytest.mark.parametrize(("page", "read"), [("profiles.md", profile._profile), ("experiments.md", plan.of_file)])
def test_every_key_is_explained_and_no_other_one(page: str, read: object, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = doc_text.examples(DOCS / page, "toml")
    assert documented(DOCS / page) == accepted(example, read, monkeypatch)

"""`specconsole profile`: what there is, what is in it, what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specconsole import cli


def test_what_is_shipped_is_listed_and_good(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["profile", "list", "--json"]) == 0
    listed = {one["name"] for one in json.loads(capsys.readouterr().out)["profiles"]}
    assert {"minimal", "kimi-k25-8x-rtx-pro-6000", "eagle3-8x-rtx-pro-6000"} <= listed
    assert cli.main(["profile", "validate"]) == 0
    assert capsys.readouterr().out.count(": good") >= 3


def test_one_is_shown_as_it_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["profile", "show", "minimal"]) == 0
    assert "The smallest useful profile" in capsys.readouterr().out


def test_a_wrong_one_names_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[swap]\ndrain = 3\n")
    assert cli.main(["profile", "validate", str(path)]) == 2
    said = capsys.readouterr().err
    assert "line 2" in said
    assert "drain_s" in said
    assert cli.main(["profile", "show"]) == 2

"""`specconsole profile`: what there is, what is in it, what is wrong with it."""

from __future__ import annotations

import json
import resource
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


def test_one_is_written_from_what_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new" / "demo.toml"
    assert cli.main(["profile", "init", "demo:normal", "-o", str(path)]) == 0
    assert f"2 unit(s); for demo:normal, where --profile {path} names it" in capsys.readouterr().err
    assert cli.main(["profile", "validate", str(path), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["profiles"]
    assert [(unit["label"], unit["name"], unit["role"]) for unit in found["units"]] == [
        ("baseline", "vllm-kimi-k25-int4.service", "baseline"),
        ("ngram", "vllm-kimi-k25-int4-ngram.service", "variant"),
    ]
    assert found["hosts"] == ["demo:normal"]
    assert (found["expect"]["model"], found["expect"]["tensor_parallel"]) == ("Kimi-K2.5", 8)
    text = path.read_text()
    assert "# [api_key]" in text
    assert '--speculative-config {"method": "ngram"' in text
    assert cli.main(["profile", "init", "demo:normal", "-o", str(path)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert path.read_text() == text


def test_half_of_one_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is left of it would be taken for the host's profile from then on."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, before[1]))  # as a disk that is full by then
        assert cli.main(["profile", "init", "demo:normal", "-o", str(tmp_path / "new" / "gpu.toml")]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "cannot be written" in capsys.readouterr().err
    assert list((tmp_path / "new").iterdir()) == []


def test_one_is_printed_and_lies_where_it_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert cli.main(["profile", "init", "demo:normal", "-o", "-"]) == 0
    assert "[units.ngram]" in capsys.readouterr().out
    assert cli.main(["profile", "init", "demo:normal", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["path"] == str(tmp_path / "specconsole/profiles/demo-normal.toml")
    assert cli.main(["profile", "show", "demo-normal"]) == 0
    capsys.readouterr()
    own = tmp_path / "specconsole/profiles/other.toml"
    assert cli.main(["profile", "init", "demo:normal", "-o", str(own)]) == 0
    assert "; used by itself for demo:normal" in capsys.readouterr().err
    assert cli.main(["profile", "init", "demo:normal", "-o", str(own.with_suffix(".txt"))]) == 0
    assert "used by itself" not in capsys.readouterr().err
    assert cli.main(["profile", "init"]) == 2

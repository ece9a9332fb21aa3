"""The command line and what is written about it agree."""

from __future__ import annotations

import importlib

import pytest

from specconsole import cli


@pytest.mark.parametrize("name", cli.VERBS)
def test_every_verb_is_there_and_teaches(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module(f"specconsole.verb.{name}")
    assert callable(module.configure)
    assert callable(module.run)
    with pytest.raises(SystemExit) as ended:
        cli.parser(name).parse_args([name, "--help"])
    assert ended.value.code == 0
    assert name in capsys.readouterr().out

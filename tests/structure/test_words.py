"""The command line and what is written about it agree."""

from __future__ import annotations

import importlib

import pytest

from specconsole import cli
from specconsole.verb.grammar import VERBS


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_is_there_and_teaches(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module(f"specconsole.verb.{name}")
    assert callable(module.configure)
    assert callable(module.run)
    with pytest.raises(SystemExit) as ended:
        cli.parse([name, "--help"])
    assert ended.value.code == 0
    assert name in capsys.readouterr().out


def test_options_may_stand_anywhere() -> None:
    for words in (["root@h", "unit", "-p", "22"], ["root@h", "-p", "22", "unit"], ["-p", "22", "root@h", "unit"]):
        args = cli.parse(["watch", *words])
        assert (args.host, args.unit, args.port) == ("root@h", "unit", 22)


def test_a_wrong_verb_is_told_the_right_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["conect", "root@h"]) == 2
    assert "Did you mean connect?" in capsys.readouterr().err

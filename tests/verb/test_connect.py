"""`connect`: refuses in one sentence what cannot be, before it connects anywhere."""

from __future__ import annotations

import gc
import io
import sys

import pytest

from specconsole import cli


class Screen(io.StringIO):
    """Standard input or output that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["connect", "root@gpu-1"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("specconsole: The console needs a terminal.")
    assert "--json" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rate", "99", "root@gpu-1"], "--rate 99 is out of range. It takes 0.2 to 10."),
        (["--rate", "0", "root@gpu-1"], "--rate 0 is out of range."),
        (["root@gpu-1:99999"], "'99999' is no port."),
        (["root@"], "'root@' is no host."),
        (["root@[::1"], "'root@[::1' is no host."),
    ],
)
def test_bad_input_is_one_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Screen())
    monkeypatch.setattr(sys, "stdout", Screen())
    assert cli.main(["connect", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert gc.isenabled(), "it is off only while a screen is on its way"

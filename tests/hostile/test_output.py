"""What leaves the program: JSON on a terminal, tracebacks, the fault log, hook variables, files that only their owner reads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from specconsole import toml
from specconsole.errors import ConfigError
from specconsole.ui.fault import FaultLog
from specconsole.verb import output
from tests.bench.driven import ROOT

EVIL = "a\x1b]0;owned\x07\x9b2J\u202eevil\u2066\x7f\x00\ud800é"
SECRET = "sk-abcdef0123456789abcdef"


@pytest.mark.parametrize("write", [output.write_json, output.write_json_line])
def test_json_obeys_no_terminal_and_means_the_same(write: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert callable(write)
    write({"name": EVIL})
    written = capsys.readouterr().out
    assert not set(written) & set("\x1b\x07\x9b\u202e\u2066\x7f\x00")
    assert "é" in written
    assert json.loads(written)["name"] == EVIL


FAULT = """
import sys
from specconsole import cli
sys.argv = ["specconsole", "status"]
def fails(words):
    raise RuntimeError("\\x1b]0;owned\\x07 api_key='%s'" % sys.stdin.read().strip())
cli.parse = fails
cli.main()
"""


def test_a_traceback_on_the_terminal_holds_neither_escape_nor_secret() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAULT],
        input=SECRET,
        env={"PYTHONPATH": str(ROOT / "console")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "RuntimeError" in done.stderr
    assert SECRET not in done.stderr
    assert "\x1b" not in done.stderr


def test_the_fault_log_holds_neither_escape_nor_secret_and_is_private(tmp_path: Path) -> None:
    faults = FaultLog(tmp_path / "state")
    try:
        raise RuntimeError(f"\x1b]0;owned\x07 --api-key {SECRET} Authorization: Bearer {SECRET}")
    except RuntimeError as error:
        said = faults.write("The source failed", error)
    faults.close()
    assert faults.path is not None
    for text in (said, faults.path.read_text()):
        assert "RuntimeError" in text
        assert SECRET not in text
        assert "\x1b" not in text
    assert faults.path.stat().st_mode & 0o777 == 0o600
    assert faults.path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, "a = " + "{b=" * 50_000, "a = " + "9" * 10_000, "a = 0000-99-99"]
)
def test_toml_without_end_is_one_sentence(text: str) -> None:
    with pytest.raises(ConfigError, match=r"x\.toml"):
        toml.File("x.toml", text)

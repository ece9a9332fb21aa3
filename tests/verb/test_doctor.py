"""The verb doctor: a host as text and JSON, and the program's own data without any host."""

from __future__ import annotations

import json

import pytest

from specconsole import cli


def test_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    status = cli.main(["doctor", "localhost", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said["schema"] == 1
    assert status == (1 if said["verdict"] == "missing" else 0)
    checks = {check["name"]: check for check in said["checks"]}
    assert checks["python"]["level"] == "ok"
    assert set(checks["gpus"]) == {"name", "level", "found", "works", "fails", "fix"}


def test_resources_need_no_host(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--resources"]) == 0
    words = capsys.readouterr().out.split()
    assert {"dark", "light", "minimal", "moe-ngram"} <= set(words)
    assert cli.main(["doctor", "--resources", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["themes"]["dark"].endswith("dark.toml")


def test_no_host_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor"]) == 2
    assert "Which host?" in capsys.readouterr().err

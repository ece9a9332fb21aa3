"""The audit of the dependencies: it reads the pins, tells what is vulnerable, and fails neither CI nor a lonely machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.structure import audit

ROOT = audit.ROOT


def test_every_dependency_is_named_with_its_pin() -> None:
    found = {name: (specifier, bound) for name, specifier, bound in audit.pins((ROOT / "pyproject.toml").read_text())}
    assert found["textual"][1] == "exact"
    assert found["asyncssh"] == (">=2.24,<3", "bounded")
    assert found["tomli"][1] == "open"
    assert audit.installed("httpx") != "—"
    assert audit.installed("no-such-package-of-anybody") == "—"


def test_what_the_tool_says_is_read() -> None:
    known = {
        "name": "a",
        "version": "1",
        "vulns": [{"id": "X-1", "fix_versions": ["2"]}, {"id": "X-2", "fix_versions": []}],
    }
    skipped = {"name": "b", "skip_reason": "not found"}
    told = audit.read(json.dumps({"dependencies": [known, skipped, {"name": "c", "version": "3", "vulns": []}]}))
    assert told == (2, ["a 1: X-1, mended in 2", "a 1: X-2, mended in no version yet"])
    assert audit.read(json.dumps({"dependencies": [skipped]})) is None


def test_without_an_answer_it_says_so_and_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(audit, "tool", lambda _: None)
    assert audit.main(str(tmp_path)) == 0
    assert (
        capsys.readouterr().out.splitlines()[-1]
        == "Known vulnerabilities could not be looked up: no answer from the network."
    )


@pytest.mark.parametrize(("ci", "status"), [("true", 0), ("", 1)])
def test_a_vulnerability_fails_a_person_and_never_ci(
    ci: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(audit, "tool", lambda _: Path("python"))
    monkeypatch.setattr(audit, "vulnerable", lambda _: (3, ["a 1: X-1, mended in 2"]))
    assert audit.main(str(tmp_path)) == status
    assert "1 known vulnerabilities in 3 packages." in capsys.readouterr().out
    assert "./dev audit || true" in (ROOT / ".ci" / "run").read_text()

"""`specconsole lint`: every finding with its ground, JSON with all of it, and nothing written without a yes."""

from __future__ import annotations

import json

import pytest
from tests.fakes import FakeHost, failed
from tests.service.machine import Machine
from tests.service.test_lint import made

from specconsole import cli
from specconsole.service.finding import Finding
from specconsole.service.lint import Linted, Subject
from specconsole.service.mend import Mend
from specconsole.verb import session
from specconsole.verb.lint import preview

BAD = {"Type": "notify", "TimeoutStartUSec": "1min 30s", "KillMode": "process", "LimitMEMLOCK": "8388608"}
DROP_IN = "/etc/systemd/system/vllm-kimi.service.d/90-specconsole.conf"


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    machine.change("vllm-kimi.service", **BAD)
    machine.host.answer("test -*", failed(1, ""))
    monkeypatch.setattr(session, "make_host", lambda *_: machine.host)
    return machine


def test_findings_with_evidence_ground_and_remedy(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lint", "root@gpu-1", "vllm-kimi"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("vllm-kimi.service (vLLM of unknown version, speculation none): 1 fails")
    for words in (
        "FAILS  type-notify",
        "seen: Type=notify",
        "by:   no vLLM calls sd_notify",
        "mend: [Service]",
        "      Type=exec",
        "warns  kill-mode",
        "LimitMEMLOCK=infinity",
    ):
        assert words in said
    assert "vllm-kimi-ngram" not in said


def test_all_units_without_one_and_json(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lint", "root@gpu-1", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    by_unit = {one["unit"]: [finding["id"] for finding in one["findings"]] for one in said["units"]}
    assert "type-notify" in by_unit["vllm-kimi.service"]
    assert len(by_unit) >= 4
    assert set(said["units"][0]["findings"][0]) == {"id", "severity", "sentence", "evidence", "source", "remedy"}


def test_units_says_it_in_short(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["units", "root@gpu-1", "--lint"]) == 1
    said = capsys.readouterr().out
    assert "vllm-kimi: FAILS: vLLM never says that it is up" in said
    assert "specconsole lint root@gpu-1 UNIT" in said
    assert cli.main(["units", "root@gpu-1", "--json"]) == 0
    assert "findings" not in json.loads(capsys.readouterr().out)
    assert cli.main(["units", "root@gpu-1", "--lint", "--follow"]) == 2


def wrote(host: FakeHost) -> list[str]:
    return [str(process.what.name) for process in host.processes if not isinstance(process.what, tuple) and process.what.name == "dropin"]  # fmt: skip


def test_nothing_is_written_without_a_yes(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lint", "root@gpu-1", "vllm-kimi", "--fix"]) == 2
    told = capsys.readouterr()
    assert "Nobody can be asked" in told.err
    assert "or look with no --fix" in told.err
    assert "+KillMode=mixed" in told.out
    assert not wrote(machine.host)


def test_what_the_drop_in_leaves_is_said() -> None:
    broken = Finding("lookup-wrong", "refuse", "It cannot start.", "prompt_lookup_min 5", "vLLM 0.16.0: `must be <=`")
    taste = Finding(
        "restart-none", "note", "It stays down.", "Restart=no", "specconsole", "[Service]\nRestart=always\n"
    )
    mended = Finding(
        "kill-mode", "warn", "It leaves some behind.", "KillMode=process", "specconsole", "[Service]\nKillMode=mixed\n"
    )
    subject = Subject(made(), {})
    plan = Mend(subject, DROP_IN, "[Service]\nKillMode=mixed\n", mended=(mended,), left=(broken, taste))
    said = preview(Linted(subject.unit, (broken, mended, taste)), plan)
    assert said.split("The drop-in leaves as it is:")[1].splitlines()[1:] == [
        "  FAILS  lookup-wrong (no drop-in of ours mends it)",
        "  note   restart-none (a note: its lines are yours to write or not)",
    ]


def test_yes_writes_and_looks_again(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.host.script("dropin", [json.dumps({"wrote": DROP_IN}).encode() + b"\n"])
    assert cli.main(["lint", "root@gpu-1", "vllm-kimi", "--fix", "--yes"]) == 1
    told = capsys.readouterr().err
    assert wrote(machine.host) == ["dropin"]
    assert f"wrote {DROP_IN}" in told
    assert "from the next start of vllm-kimi.service on" in told
    assert "still so, something else sets it: Type=notify" in told  # this fake systemd never changes its mind


def test_a_unit_is_needed_to_mend_or_to_compare(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    for flag in ("--fix", "--drafters"):
        assert cli.main(["lint", "root@gpu-1", flag]) == 2
        assert "Which unit?" in capsys.readouterr().err


def test_drafters_are_listed(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    model = {"look": "/models/Kimi-K2.5", "path": "/models/Kimi-K2.5", "hidden_size": 7168, "vocab_size": 163840}
    draft = {"path": "/models/e3", "kind": "eagle3", "hidden_size": 4096, "vocab_size": 163840, "bytes": 3 << 30}
    good = {**draft, "path": "/models/good", "hidden_size": 7168}
    lines = [model, {"found": draft}, {"found": good}, {"end": {"folders": 3, "cut": "time"}}]
    machine.host.script("drafters", ["".join(f"{json.dumps(line)}\n" for line in lines).encode()])
    cli.main(["lint", "root@gpu-1", "vllm-kimi", "--drafters"])
    said = capsys.readouterr().out
    assert "DOES NOT FIT eagle3   /models/e3 (hidden size 4096" in said
    assert "fits         eagle3   /models/good" in said
    assert '"model": "/models/good"' in said
    assert "Searched: /models/Kimi-K2.5, /models, /root/.cache/huggingface/hub. Not all of it" in said


def test_in_the_demo_it_works_but_for_what_lies_on_disks(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lint", "demo:normal", "ngram", "--drafters"]) == 0
    said = capsys.readouterr().out
    assert "warns  async-off" in said
    assert "Not searched: this host runs no search" in said
    assert cli.main(["lint", "demo:normal", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["units"]) == 2

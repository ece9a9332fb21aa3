"""`specconsole units`: a line a unit, JSON with all of it, and what cannot be known said."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.fakes import failed
from tests.service.machine import Machine

from specconsole import cli
from specconsole.service.discover import discover
from specconsole.verb import session, units


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr(session, "make_host", lambda *_: machine.host)
    return machine


def test_a_line_a_unit(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["units", "root@gpu-1"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == [
        "label",
        "state",
        "since",
        "restarts",
        "enabled",
        "role",
        "model",
        "port",
        "speculation",
        "vLLM",
        "unit",
    ]
    assert rows[0].split()[:3] == ["●", "baseline", "running"]
    assert rows[0].split()[4:] == [
        "0",
        "disabled",
        "baseline",
        "Kimi-K2.5",
        "TP8",
        "8011",
        "none",
        "—",
        "vllm-kimi.service",
    ]
    assert rows[1].split()[:3] == ["○", "ngram", "stopped"]
    assert "ngram k=5" in rows[1]
    assert "eagle3 k=3 qwen3-eagle3" in rows[2]


def test_json_has_all_of_it(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["units", "root@gpu-1", "--json", "--once"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert (written["schema"], written["host"]) == (1, "root@gpu-1")
    first = written["units"][0]
    assert (first["key"], first["role"], first["word"], first["label"]) == (
        "vllm-kimi.service",
        "baseline",
        "running",
        "baseline",
    )
    assert first["serving"]["endpoint"] == {
        "port": 8011,
        "address": "127.0.0.1",
        "uds": None,
        "tls": False,
        "everywhere": True,
    }
    assert first["state"]["active"] == "active"
    assert written["units"][1]["serving"]["speculation"]["method"] == "ngram"


def test_a_host_without_systemd_and_a_host_without_vllm(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.units = machine.unit_files = ""
    assert cli.main(["units", "h"]) == 0
    assert capsys.readouterr().out.startswith("No unit of this host runs vLLM. Units are found by ")
    machine.host.answer("systemctl *", failed(1, "Failed to connect to bus: Host is down"))
    assert cli.main(["units", "h"]) == 1
    assert (
        capsys.readouterr().err
        == "specconsole: systemctl ended with status 1. Failed to connect to bus: Host is down\n"
    )


async def test_what_the_command_does_not_tell_and_what_is_stale_is_said() -> None:
    machine = Machine()
    del machine.files["/etc/vllm/common.sh"]
    machine.late = {"/etc/vllm/kimi.env"}
    machine.change("vllm-kimi.service", NeedDaemonReload="yes")
    page = units.page(await discover(machine.host))
    row = next(line for line in page.splitlines() if "vllm-wrapped" in line)
    assert row.split()[6:11] == ["static", "unknown", "—", "8003", "—"] or "unknown" in row
    assert "vllm-wrapped: its command does not tell model, parallelism, speculation." in page
    assert "vllm-kimi: /etc/vllm/kimi.env could not be read, so what it sets is not known." in page
    assert "vllm-kimi: its file changed since it was loaded" in page


async def test_a_masked_unit_that_runs_is_pointed_out() -> None:
    unit = (await discover(Machine().host))[0]
    masked = replace(unit, state=replace(unit.state, load="masked"))
    assert "it is masked and still runs" in units.page([masked])


def test_hostile_names_reach_no_terminal(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.change("vllm-kimi.service", Description="\x1b[2Jgone", StatusText="\x1b]0;x\x07")
    path = "/etc/systemd/system/vllm-kimi-ngram.service"
    machine.files[path] = machine.files[path].replace("Kimi-K2.5", "Ki\x1b[31mmi")
    machine.blocks["vllm-kimi-ngram.service"] = machine.blocks["vllm-kimi-ngram.service"].replace(
        "Kimi-K2.5", "Ki\x1b[31mmi"
    )
    assert cli.main(["units", "h"]) == 0
    assert "\x1b" not in capsys.readouterr().out

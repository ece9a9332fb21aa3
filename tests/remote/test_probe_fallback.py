"""nvidia-smi run on the host: old drivers, lost GPUs, and hosts that have none."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from specconsole.remote import probe_smi
from specconsole.remote.probe_fallback import NoGpus, Smi, run
from tests.remote import smi_text


class Script:
    """Plays nvidia-smi: knows some fields, holds some GPUs, of which some are lost."""

    def __init__(self, *rows: int, lost: tuple[int, ...] = (), unknown: tuple[str, ...] = (), apps: str = "") -> None:
        self.rows, self.lost, self.unknown, self.apps = rows, lost, unknown, apps
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, argv: Sequence[str]) -> str:
        self.asked.append(tuple(argv))
        if argv[1].startswith("--query-compute-apps"):
            return self.apps
        fields = tuple(argv[1].partition("=")[2].split(","))
        for field in fields:
            if field in self.unknown:
                return smi_text.UNKNOWN_FIELD.format(field)
        wanted = [int(argv[argv.index("-i") + 1][5:7], 16)] if "-i" in argv else list(self.rows)
        gone = [index for index in wanted if index in self.lost]
        if gone:
            return f"Unable to determine the device handle for GPU 0000:0{gone[0]}:00.0: Unknown Error\n"
        return "".join(smi_text.plain_row(index, fields) for index in wanted)


@pytest.fixture
def driver(tmp_path: Path) -> str:
    for index in range(3):
        (tmp_path / "gpus" / f"0000:0{index}:00.0").mkdir(parents=True)
    return str(tmp_path)


def test_rows_come_with_their_processes_and_units() -> None:
    script = Script(0, 1, apps=f"GPU-1, {os.getpid()}, python, 12\nGPU-1, 4194305, [Not Found], 10151\n")
    rows, version = Smi(script).read()
    assert version == "580.159.04"
    assert rows[0]["processes"] == []
    own, other = rows[1]["processes"]
    assert own["name"].startswith(Path("/proc/self/cmdline").read_text().split("\0")[0])
    assert (other["name"], other["memory"], other["unit"]) == ("", 10151 << 20, None)


def test_an_old_driver_is_asked_again_without_what_it_does_not_know() -> None:
    script = Script(0, unknown=("mig.mode.current", "enforced.power.limit", "ecc.errors.corrected.aggregate.total"))
    smi = Smi(script)
    rows, _ = smi.read()
    assert rows[0]["memory_used"] == 132613 << 20
    assert "power.limit" in smi.fields
    asked = len(script.asked)
    smi.read()
    assert len(script.asked) == asked + 2  # it is remembered: one query, one for the processes


def test_one_lost_gpu_hides_no_other(driver: str) -> None:
    rows, _ = Smi(Script(0, 1, 2, lost=(1,)), driver).read()
    assert [row["index"] for row in rows] == [0, 1, 2]
    assert [row.get("error") for row in rows][1] == "Unknown Error"
    assert rows[1]["bus"] == "00000000:01:00.0"
    assert rows[2]["memory_used"] == 132613 << 20


def test_a_lost_gpu_is_told_where_the_others_cannot_be_listed(tmp_path: Path) -> None:
    rows, _ = Smi(Script(0, 1, lost=(1,)), str(tmp_path)).read()
    assert [row["index"] for row in rows] == [-1]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (smi_text.NO_DRIVER, "the NVIDIA driver is not loaded"),
        (smi_text.MISMATCH, "driver and library do not match"),
        ("", "nvidia-smi gave no GPU: no output"),
        ("something new\n", "nvidia-smi gave no GPU: something new"),
    ],
)
def test_no_gpu_comes_with_a_reason(text: str, why: str) -> None:
    with pytest.raises(NoGpus, match=why):
        Smi(lambda _: text).read()


def test_a_missing_program_is_no_gpu() -> None:
    with pytest.raises(NoGpus, match="no-such-smi: no such file or directory"):
        run(["no-such-smi"])


def test_one_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specconsole.remote.probe_fallback.TIMEOUT_S", 0.05)
    with pytest.raises(NoGpus, match="did not end"):
        run(["sleep", "60"])


def test_the_field_that_names_the_gpu_is_never_left_out() -> None:
    with pytest.raises(NoGpus):
        Smi(lambda _: smi_text.UNKNOWN_FIELD.format("index")).read()
    assert "index" in probe_smi.FIELDS

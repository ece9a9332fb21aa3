"""A bundle of the recorded host holds what a question needs, no secret, and is read back by explain."""

from __future__ import annotations

import json
import os
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from specconsole.cli import main
from specconsole.errors import UsageError
from specconsole.explain.archive import contents, packed
from specconsole.explain.document import document
from specconsole.explain.files import explain
from specconsole.explain.record import line_of, record_of
from specconsole.gpu.sample import Fleet, Gpu, GpuProcess, ShmEntry, UnitProcess, UnitTree, Vitals, parse, to_frame
from specconsole.host.simulated import replay
from specconsole.logs.record import Kind, Level, LogRecord


def test_bundle_of_the_recorded_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "made.tar.gz"
    assert main(["bundle", "demo", "--seconds", "0", "-o", str(path)]) == 0
    assert capsys.readouterr().out.strip() == str(path)
    assert path.stat().st_mode & 0o777 == 0o600
    with tarfile.open(path) as archive:
        names = archive.getnames()
        about = json.load(archive.extractfile("bundle.json"))  # type: ignore[arg-type]
    assert {"bundle.json", "samples.jsonl", "doctor.json", "history.json", "report.json"} <= set(names)
    logs = [place for place, name in enumerate(names) if name.startswith("log-")]
    assert logs
    assert min(logs) > names.index("samples.jsonl"), "a log that was read before would lack what the samples tell of"
    assert about["bundle"] == 1
    assert main(["explain", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert not [file for file in told["files"] if file["kind"] == "unknown"]
    assert told["load"]["version"] == "0.24.0"
    assert replay.make(contents(path)).name.startswith("bundle of demo:h200")


def test_a_place_that_cannot_be_is_told_before_anything_is_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    there = tmp_path / "there"
    there.write_text("the user's own")
    os.mkfifo(tmp_path / "device")
    for place in (there, tmp_path, tmp_path / "no" / "folder", tmp_path / "device"):
        assert main(["bundle", "demo", "--seconds", "0", "-o", str(place)]) == 2
        assert capsys.readouterr().err.startswith(f"specconsole: {place} "), "nothing is said to be collected before"
    assert there.read_text() == "the user's own"
    assert (tmp_path / "device").is_fifo(), "a file moved over a device breaks the machine"


def test_a_bundle_goes_to_standard_output_and_never_to_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    assert main(["bundle", "demo", "--seconds", "0", "-o", "-"]) == 0
    (tmp_path / "got").write_bytes(capsysbinary.readouterr().out)
    with tarfile.open(tmp_path / "got") as archive:
        assert "bundle.json" in archive.getnames()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["bundle", "demo", "--seconds", "0", "-o", "-"]) == 2
    said = capsysbinary.readouterr()
    assert (said.out, said.err.count(b"\n")) == (b"", 1)
    assert b"A bundle is packed, which a terminal cannot show. Send it on: -o - > FILE." in said.err
    assert not (tmp_path / "-").exists()


def test_records_come_back_whole() -> None:
    record = LogRecord(
        7,
        1750000000.25,
        "u.service",
        "a\nb \u2588",
        Level.ERROR,
        Kind.BAR,
        "Worker_TP1",
        1,
        42,
        "x.py:3",
        invocation="i",
        message_id="m",
    )
    back = record_of(line_of(record), 7)
    assert back == record
    assert record_of(b'{"at": "x", "text": 1}', 1) is None
    assert record_of(b"[" * 5000, 1) is None


def test_samples_come_back_whole() -> None:
    process = GpuProcess(12, "VLLM::EngineCore", 5, "u.service")
    gpu = Gpu(
        0,
        "GPU-1",
        "NVIDIA H200",
        util=0.5,
        processes=(process,),
        throttle=("power cap",),
        why={"xid": "x"},
        last=Gpu(0, "", ""),
    )
    tree = UnitTree((UnitProcess(12, 1, "VLLM::EngineCore", "R", 1.5),), cpu_s=2.0)
    fleet = Fleet(
        1.0, 2.0, "nvml", None, (gpu,), Vitals(memory_total=7), {"u.service": tree}, (ShmEntry("psm_1", 3, 4.0, 0),)
    )
    assert parse(json.dumps(to_frame(fleet))) == fleet


def test_archives_are_opened_without_trust() -> None:
    log = b"INFO 05-06 21:59:57 [x.py:1] Loading weights took 2.5 seconds\n"
    archive = packed(iter([("../../etc/x\x1b[1m", log), ("b.txt", b"MemTotal: 12 kB\n")]), 0.0)
    report = explain(iter([("a.tar.gz", BytesIO(archive))]))
    assert [file.kind for file in report.files] == ["log", "meminfo"]
    assert "\x1b" not in json.dumps(document(report))
    with pytest.raises(UsageError):
        explain(iter([("a.tar.gz", BytesIO(archive[: len(archive) // 2]))]))


def test_a_compressed_log_is_read() -> None:
    import gzip

    log = b"INFO 05-06 21:59:57 [x.py:1] Loading weights took 2.5 seconds\n"
    assert explain(iter([("a.log.gz", BytesIO(gzip.compress(log)))])).files[0].name == "a.log.gz"

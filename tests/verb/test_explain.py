"""`explain` at its edge: what it opens, and what it does not wait for."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from specconsole.cli import main
from specconsole.explain.report import Report
from specconsole.load.verdict import Judgement, Verdict
from specconsole.verb import explain

LINE = "INFO 05-06 21:59:57 [x.py:1] Loading weights took 2.5 seconds\n"


def test_a_pipe_that_nobody_writes_into_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(explain, "PATIENCE_S", 0.01)
    os.mkfifo(tmp_path / "pipe")
    assert main(["explain", str(tmp_path / "pipe")]) == 2
    assert "is a pipe into which nobody writes" in capsys.readouterr().err


def test_a_pipe_that_is_written_is_read_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rest comes after the first byte, and is waited for."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(LINE * 20_000,))
    writer.start()
    assert main(["explain", str(path)]) == 0
    writer.join()
    assert "weights 2.5 s" in capsys.readouterr().out


def test_what_the_shell_substitutes_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    reads, writes = os.pipe()
    os.write(writes, LINE.encode())
    os.close(writes)
    assert main(["explain", f"/dev/fd/{reads}"]) == 0
    os.close(reads)
    assert "weights 2.5 s" in capsys.readouterr().out


def test_a_socket_and_a_folder_are_no_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "s"))
        assert main(["explain", str(tmp_path / "s")]) == 2
    assert "It is a device or a socket." in capsys.readouterr().err
    assert main(["explain", str(tmp_path)]) == 2
    assert "directory" in capsys.readouterr().err


def test_a_packed_file_is_called_as_it_was_typed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import gzip

    path = tmp_path / "empty.gz"
    path.write_bytes(gzip.compress(b""))
    assert main(["explain", str(path)]) == 5
    assert f"{path}: " in capsys.readouterr().out


FAILED = "(EngineCore pid=9) ERROR 05-06 21:59:58 [core.py:2] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


@pytest.mark.parametrize(
    ("text", "asked", "code"),
    [(LINE, True, 0), (LINE + FAILED, False, 0), (LINE + FAILED, True, 1), ("nothing known", True, 5)],
)
def test_a_failure_is_an_exit_code_where_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, asked: bool, code: int
) -> None:
    path = tmp_path / "vllm.log"
    path.write_text(text)
    assert main(["explain", str(path), *(["--exit-code"] if asked else [])]) == code
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("judgement", "bad"),
    [(Judgement.STUCK, True), (Judgement.FAILED, True), (Judgement.WATCH, False), (Judgement.IDLE, False)],
)
def test_stuck_is_bad_and_a_doubt_is_not(judgement: Judgement, bad: bool) -> None:
    assert Report((), verdict=Verdict(judgement, "")).bad is bad

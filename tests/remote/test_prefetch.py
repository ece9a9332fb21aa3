"""The program that answers what discovery is about to ask, beside the shell's own answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from specconsole.remote import outside, prefetch
from specconsole.remote.prefetch import FILE_BYTES, Answer, Asker, OutOfTime, Prefetch, in_time, together
from specconsole.remote.unit_search import CAT, HEAD

Told = dict[tuple[str, ...], tuple[int, str]]


def read(path: Path, program: tuple[str, ...] = CAT) -> Told:
    lines: list[bytes] = []
    Prefetch(lambda _: None, outside.regular, lines.append, {}, 0)._read(program, str(path))
    return {tuple(one["argv"]): (one["status"], one["out"]) for one in map(json.loads, lines)}


@pytest.mark.parametrize("data", [b"PORT=8001\n", b"", "Kimi – größer\n".encode(), b"\xff\xfe no text", b"a\0b"])
@pytest.mark.parametrize("program", [CAT, HEAD])
def test_a_file_reads_as_the_program_prints_it(tmp_path: Path, data: bytes, program: tuple[str, ...]) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    shown = subprocess.run([*program, path], capture_output=True, check=True).stdout
    (argv, (status, out)) = next(iter(read(path, program).items()))
    assert (argv, status, out.encode("utf-8", "surrogateescape")) == ((*program, str(path)), 0, shown)


def test_of_a_large_file_the_head_is_told_and_not_half_of_the_whole(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * FILE_BYTES)
    assert not read(path)
    assert read(path, HEAD) == {(*HEAD, str(path)): (0, "x" * int(HEAD[2]))}


def test_what_is_no_file_is_left_to_the_console(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert not read(tmp_path / "fifo")
    assert not read(tmp_path)
    assert not read(Path("/dev/null")), "cat prints nothing and succeeds"
    assert read(tmp_path / "none") == {(*CAT, str(tmp_path / "none")): (1, "")}


def test_a_program_that_is_missing_or_hangs_has_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    asker = Asker()
    assert asker.run([sys.executable, "-c", "print('é'); exit(3)"]) == (3, "é\n", "")
    assert asker.run(["/no/such/program"]) is None
    assert asker.run(["a\0b"]) is None
    monkeypatch.setattr(prefetch, "ASK_S", 0.05)
    assert asker.run(["sleep", "60"]) is None
    monkeypatch.setattr(prefetch, "ASK_S", 8.0)
    monkeypatch.setattr(prefetch, "ALL_S", prefetch.LEAST_S / 2)
    with pytest.raises(OutOfTime):
        Asker().run(["true"])


def test_a_file_that_was_not_waited_for_is_not_told_as_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Nor is a script of which nobody had time to say whether it names vLLM told as one that does not."""
    (tmp_path / "a.sh").write_text("vllm serve")
    monkeypatch.setattr(prefetch, "ALL_S", 0.0)
    lines: list[bytes] = []
    asker = Asker()
    asking = Prefetch(asker.run, asker.read, lines.append, {}, 0)
    for ask in (
        lambda: asking._reads(CAT, {str(tmp_path / "a.sh"), prefetch.UPTIME}),
        lambda: asking._mentioning({str(tmp_path / "a.sh")}),
    ):
        with pytest.raises(OutOfTime):
            ask()
    assert not lines
    assert prefetch.main({}) == 0
    assert not capfdbinary.readouterr().out


def test_each_of_several_comes_to_its_end_before_an_error_is_raised() -> None:
    begun, done = threading.Event(), []

    def slow() -> None:
        begun.wait(60)
        done.append(1)

    def fails() -> None:
        begun.set()
        raise OutOfTime

    with pytest.raises(OutOfTime):
        together(fails, slow)
    assert done == [1]


def test_a_file_that_gives_no_answer_is_left_behind() -> None:
    assert in_time(lambda: 1, 60) == 1
    with pytest.raises(FileNotFoundError):
        in_time(lambda: outside.regular("/no/such/file", 1), 60)
    for_ever = threading.Event()
    with pytest.raises(TimeoutError):
        in_time(for_ever.wait, 0)
    for_ever.set()


def test_a_late_file_is_told_and_the_others_are_answered(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("B")
    late, well = str(tmp_path / "a"), str(tmp_path / "b")

    def file(path: str, limit: int) -> bytes:
        if path == late:
            raise TimeoutError
        return outside.regular(path, limit)

    lines: list[bytes] = []
    Prefetch(lambda _: None, file, lines.append, {}, 0)._reads(CAT, {late, well})
    told = {one["argv"][-1]: one for one in map(json.loads, lines)}
    assert told[late] == {"argv": [*CAT, late], "late": True}
    assert told[well]["out"] == "B"


def test_where_systemd_does_not_answer_nothing_more_is_asked() -> None:
    asked: list[tuple[str, ...]] = []

    def run(argv: object) -> Answer | None:
        asked.append(tuple(argv))  # type: ignore[arg-type]
        return 1, "", "Failed to connect to bus"

    lines: list[bytes] = []
    Prefetch(run, outside.regular, lines.append, {}, 0).all()
    assert {argv[:2] for argv in asked} == {("systemctl", "show"), ("systemctl", "list-units")}
    assert not any("--" in argv for argv in asked), "a list that failed names no units"

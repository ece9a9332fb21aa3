"""Whatever a file holds, reading it ends, and nothing that a terminal would obey comes out."""

from __future__ import annotations

import gzip
import json
import random
import re
import tarfile
from collections.abc import Callable
from dataclasses import replace
from io import BufferedReader, BytesIO, RawIOBase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specconsole.errors import UsageError
from specconsole.explain.document import document
from specconsole.explain.files import explain
from specconsole.explain.kind import Kind
from specconsole.explain.lines import lines
from specconsole.explain.readings import _READERS, Readings, take
from specconsole.explain.recognise import recognise
from specconsole.explain.report import Report
from specconsole.text import clean
from tests.bench.test_foreign import TOLD, aiperf, aiperf_lines, guidellm
from tests.corpus.test_cases import CASES

HARMFUL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
PIECES = (
    "INFO 05-06 21:59:57 [x.py:1] Loading weights took 2 seconds\n", "(Worker_TP0 pid=12) ", "Loading safetensors checkpoint shards:  50% Completed | 1/2 [00:01<00:01,  1.0s/it]\r",
    "\x1b]0;owned\x07", "\x1b[31m", "# HELP vllm:x y\nvllm:num_requests_running{engine=\"0\"} 1e+010\n", '{"t": 0.1, "raw": "data: {}\\n\\n"}\n', "GPU0\t X \tNODE\n", "PID PPID STAT %CPU TIME COMMAND\n",
    "77 1 D 0.1 00:00:00 VLLM::EngineCore\n", "read_bytes: 12\n", "rchar: 9\n", "7711 (a) b) D 1 2 3 0 -1 4 5 0 6 0 7 8 0\n", "| 0 NVIDIA GB10 On | 0000:01:00.0 Off | N/A |\n", "index, name, memory.used [MiB]\n",
    "0, NVIDIA X, [N/A]\n", "Mean TPOT (ms): 1e999\n", "k,tok_s\n0,nan\n1,2\n", "baseline: 3 s\nspec k=2: 2 s\n", "Traceback (most recent call last):\n", "ValueError: no\n", "\u202e", "é\udcff".encode(errors="replace").decode(), "9" * 400, "(" * 200, "|" * 300,
)  # fmt: skip
WILD = st.one_of(
    st.binary(max_size=400),
    st.text(max_size=400).map(lambda text: text.encode(errors="replace")),
    st.lists(st.sampled_from(PIECES), max_size=12).map(lambda parts: "".join(parts).encode()),
)


def answer(*contents: bytes) -> Report:
    return explain((f"file{place}\x1b[1m", BytesIO(content)) for place, content in enumerate(contents))


def harmless(report: Report) -> None:
    told = document(report)
    text = json.dumps(told)
    assert "\\u001b" not in text
    assert not [line for line in lines(report) if HARMFUL.search(clean(line)) or "\x1b" in line]


@settings(max_examples=60, deadline=None)
@given(st.lists(WILD, min_size=1, max_size=3))
def test_any_files(contents: list[bytes]) -> None:
    harmless(answer(*contents))


@pytest.mark.parametrize("kind", list(_READERS), ids=lambda kind: kind.value)
def test_every_reader_takes_any_text(kind: Kind) -> None:
    @settings(max_examples=25, deadline=None)
    @given(WILD)
    def read(content: bytes) -> None:
        take(Readings(), kind, content.decode(errors="replace"))

    read()


@pytest.mark.parametrize("folder", CASES, ids=lambda path: path.name[:3])
def test_cut_and_glued_cases(folder) -> None:  # type: ignore[no-untyped-def]
    for path in folder.iterdir():
        if path.name != "case.toml":
            content = path.read_bytes()
            harmless(answer(content[: len(content) * 2 // 3]))
            harmless(answer(content[len(content) // 3 :].replace(b"\n", b"\r\n")))


@pytest.mark.parametrize("word", [b"k=1 ", b"draft ", b"\n"], ids=["k", "draft", "empty lines"])
def test_a_word_that_stands_there_again_and_again_costs_no_minute(word: bytes) -> None:
    assert recognise(word * 20_000 + b"x") is Kind.UNKNOWN
    assert recognise(b"x\n" + b"k=1 " * 100 + b"\n12 tok/s\n") is Kind.NOTES
    assert recognise(b"x\n12 tok/s\n" + b"k=1 " * 100) is Kind.UNKNOWN, "the figure stands before"


def test_what_is_not_recognised_is_said() -> None:
    report = answer(b"Dear all,\nthe server is slow today.\n")
    assert [file.kind for file in report.files] == ["unknown"]
    assert report.verdict is None
    assert report.load is None
    assert any("not recognised" in text for text in report.unknown)
    assert recognise(b"") is Kind.EMPTY


def test_secrets_do_not_come_out() -> None:
    log = b"INFO 05-06 21:59:57 [api_server.py:1] args: Namespace(port=8000, api_key='sk-verysecretkey12345', model='m')\n"
    stream = b"RuntimeError: token hf_abcdefghijklmnopqrstuv is wrong\n"
    text = json.dumps(document(answer(log + stream)))
    assert "verysecret" not in text
    assert "hf_abc" not in text


def packed(content: bytes, mode: str) -> bytes:
    whole = BytesIO()
    with tarfile.open(fileobj=whole, mode=mode) as archive:  # type: ignore[call-overload]
        member = tarfile.TarInfo("vllm.log")
        member.size = len(content)
        archive.addfile(member, BytesIO(content))
    return whole.getvalue()


def noisy() -> bytes:
    noise = random.Random(1)
    return b"".join(b"INFO 05-06 21:59:57 [x.py:1] step %d\n" % noise.getrandbits(64) for _ in range(9000))


@pytest.mark.parametrize(
    "pack", [lambda text: packed(text, "w"), lambda text: packed(text, "w:gz")], ids=["tar", "tgz"]
)
def test_an_archive_that_is_cut_is_one_sentence(pack: Callable[[bytes], bytes]) -> None:
    whole = pack(noisy())
    assert answer(whole).files[0].kind == "log"
    with pytest.raises(UsageError, match="broken archive"):
        answer(whole[: len(whole) // 2])


FAILED = b"ERROR 05-06 21:59:58 [core.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


def test_a_packed_log_that_is_cut_is_judged_up_to_there() -> None:
    whole = gzip.compress(FAILED + noisy())
    for place in (len(whole) - 4, len(whole) // 2, 2000):
        report = answer(whole[:place])
        assert (report.files[0].kind, report.files[0].note) == ("log", "it is cut: its end is missing")
        assert report.diagnosis is not None
        assert report.diagnosis.name == answer(FAILED + noisy()).diagnosis.name  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="broken archive"):
        answer(whole[:12])


def test_a_packed_log_with_a_wrong_checksum_is_judged_and_called_damaged() -> None:
    whole = bytearray(gzip.compress(FAILED + noisy()))
    whole[-8] ^= 1
    report = answer(bytes(whole))
    assert report.files[0].note.startswith("it is damaged: CRC check failed")
    assert report.diagnosis is not None


def test_a_packed_archive_that_is_cut_is_judged_by_the_files_before_the_cut() -> None:
    both = BytesIO()
    with tarfile.open(fileobj=both, mode="w:gz") as archive:
        for name, content in (("a.log", FAILED), ("b.log", noisy())):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, BytesIO(content))
    report = answer(both.getvalue()[: len(both.getvalue()) // 2])
    assert [file.name for file in report.files] == ["a.log"]
    assert report.files[0].note == "it is cut: its end is missing, and the files behind this one"
    assert report.diagnosis is not None


def test_a_disk_that_fails_on_the_way_is_one_sentence() -> None:
    class Failing(RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: object) -> int:
            raise OSError(5, "Input/output error")

    with pytest.raises(UsageError, match=r"a.log cannot be read. Input/output error"):
        explain(iter([("a.log", BufferedReader(Failing()))]))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (json.dumps(aiperf()), "aiperf"),
        (aiperf_lines(), "aiperf"),
        (json.dumps(guidellm()), "guidellm"),
        (json.dumps({"schema": 1, **TOLD.to_json()}), "run"),
    ],
    ids=["aiperf", "aiperf-lines", "guidellm", "ours"],
)
def test_results_of_other_clients_and_of_ours_are_recognised_and_told(text: str, kind: str) -> None:
    report = answer(text.encode())
    assert [file.kind for file in report.files] == [kind]
    tpot = TOLD.timing().tpot_s
    assert tpot is not None
    assert report.benches[0].report.get("mean_tpot_ms") == pytest.approx(tpot * 1000, rel=1e-6)
    assert next(iter(lines(report))) == f"A benchmark report without contradictions: {tpot * 1000:.2f} ms a token."


def test_a_run_that_its_checks_speak_against_is_not_called_sound() -> None:
    report = answer(json.dumps({"schema": 1, **replace(TOLD, why="failed", error="reset").to_json()}).encode())
    assert next(iter(lines(report))).startswith("The run failed (reset)")
    assert "tpot" in report.benches[0].doubts[0].invalid


@pytest.mark.parametrize("name", ["results", "spec", "windows", "scrapes", "identity"])
def test_a_damaged_run_is_one_sentence(name: str) -> None:
    report = answer(json.dumps({"schema": 1, **TOLD.to_json(), name: {"results": [], "spec": {}}}).encode())
    assert [file.kind for file in report.files] == ["run"]
    assert "damaged" in report.files[0].note
    assert report.benches == ()
    harmless(report)

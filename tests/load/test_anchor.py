"""What is searched only behind a literal word finds exactly what it would find in every line."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specconsole.host.simulated import recording
from specconsole.load import cause, clue, feed, sign
from specconsole.load.anchor import Anchored, holds
from specconsole.load.clue import Clues
from specconsole.load.failures import SUPPORT
from specconsole.load.sign import Signs
from specconsole.load.timeline import LoadTimeline
from specconsole.load.wording import Table, Wording
from specconsole.load.wording_phase import API, CAPTURE, COMPILE, CONFIG, INIT, PROFILE, WARMUP, WEIGHTS
from specconsole.logs.record import LogRecord
from tests.load.log import UNIT, records

TESTS = Path(__file__).parents[1]
ANCHORED = [
    *(pattern for _, pattern in SUPPORT),
    *(sign.NOTICE, sign.HEARTBEAT, sign.STATS, sign.NCCL_COMPLETE, sign.NETWORK_ERROR, *sign.PEERS),
]
CLUE = re.compile(
    r"[Ee]rror|[Ee]xception|[Ff]ail|[Kk]illed|[Tt]imed out|exceed|not found|No space|[Ii]nvalid|nsupported|not supported|"
    r"Xid|left-over|status=2|terminated|[Ii]nsufficient|required|must be|out of memory|No available|mismatch|is lost|"
    r"repeated too|no kernel image|Cannot|cannot|Watchdog|died|exited|Refused|refused|Segfault|Permission|weights missing|"
    r"atal|Duplicate GPU|code=|Segmentation|core dumped|\[type=|\[Errno|Not Found for|match with|out of resource|should have|divisible|"
    r"did not match|has no |does not exist|No route|unreachable|unsatisfied|could not select"
)
"""The words of a clue as one expression."""
NAMES = ("dense-baseline", "dense-dies", "dense-ngram", "moe-baseline", "moe-eagle3", "moe-ngram", "moe-sync")


@cache
def logs() -> dict[str, list[str]]:
    """Every recorded log and every text of the corpus, line by line."""
    found = {f"recording {name}": [_text(line) for _, line in recording.load(name).lines] for name in NAMES}
    for path in sorted((TESTS / "logs/data").glob("*.gz")):
        found[path.name] = gzip.decompress(path.read_bytes()).decode(errors="replace").splitlines()
    for path in sorted((TESTS / "corpus/cases").rglob("*")):
        if path.is_file() and path.suffix != ".gz":
            found[str(path.relative_to(TESTS))] = path.read_text(errors="replace").splitlines()
    return found


def _text(line: bytes | str) -> str:
    return line.decode(errors="replace") if isinstance(line, bytes) else line


@pytest.mark.parametrize("pattern", ANCHORED, ids=lambda pattern: pattern.pattern[:40])
@given(data=st.data())
@settings(max_examples=60)
def test_every_match_holds_one_of_the_words(pattern: Anchored, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(pattern.whole))
    if pattern.whole.search(text):
        assert pattern.search(text)


def test_every_line_that_was_ever_recorded_is_found_alike() -> None:
    lines = [line for log in logs().values() for line in log]
    assert len(lines) > 5_000
    for line in dict.fromkeys(lines):
        assert holds(line, clue.WORDS) is bool(CLUE.search(line)), line
        for pattern in ANCHORED:
            assert bool(pattern.search(line)) is bool(pattern.whole.search(line)), line


@given(st.lists(st.one_of(st.sampled_from(clue.WORDS), st.text(max_size=9)), max_size=4).map("".join))
def test_a_word_of_a_clue_is_found_wherever_it_stands(text: str) -> None:
    assert holds(text, clue.WORDS) is bool(CLUE.search(text))


@given(st.from_regex(clue.SERVING, fullmatch=True))
def test_statistics_hold_no_clue_and_no_number_of_a_failure(text: str) -> None:
    assert not CLUE.search(text)
    assert not any(pattern.whole.search(text) for _, pattern in SUPPORT)


def test_the_statistics_of_recorded_servers_are_known_for_what_they_are() -> None:
    lines = [record.text for log in logs().values() for record in _records(log)]
    said = [line for line in lines if line.startswith(("Engine 000: Avg", "SpecDecoding metrics: "))]
    known = [line for line in said if clue.SERVING.fullmatch(line)]
    assert len(known) > 0.8 * len(said) > 20


def judged(lines: list[str]) -> tuple[Clues, Signs, LoadTimeline]:
    clues, signs, start = Clues(), Signs(), feed.begin(UNIT, "inv", 0.0)
    for record in _records(lines):
        clues, signs, start = clue.read(clues, record), sign.read(signs, record), feed.feed(start, record)
    return clues, signs, start


def _records(lines: list[str]) -> Iterator[LogRecord]:
    return records((float(number), line) for number, line in enumerate(lines[-3000:]))


def test_whole_logs_are_judged_alike_with_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    filtered = {name: judged(lines) for name, lines in logs().items()}
    monkeypatch.setattr(Anchored, "search", lambda self, text: self.whole.search(text))
    monkeypatch.setattr(clue, "holds", lambda text, words: words is not clue.WORDS or bool(CLUE.search(text)))
    for module in (cause, feed, sign):
        monkeypatch.setattr(module, "holds", lambda *_: True)
    monkeypatch.setattr(clue, "SERVING", re.compile("$^"))
    assert {name: judged(lines) for name, lines in logs().items()} == filtered


MILESTONES = (*CONFIG, *INIT, *WEIGHTS, *COMPILE, *PROFILE, *WARMUP, *CAPTURE, *API)


TAG = re.compile(r"\[[\w .:-]{1,40}\] ")
MORE = {row: re.compile(row.more) for row in MILESTONES}


def _in_order(text: str) -> Wording | None:
    """The first row that fits, each one looked at."""
    begin = tag.end() if (tag := TAG.match(text)) else 0
    for row in MILESTONES:
        at = text.find(row.says) if row.inside else begin if text.startswith(row.says, begin) else -1
        if at >= 0 and MORE[row].match(text, at + len(row.says)):
            return row
    return None


def test_the_first_row_that_fits_is_found_by_its_first_letters() -> None:
    table = Table(MILESTONES)

    def found(line: str) -> Wording | None:
        said = table.find(line)
        return said.wording if said else None

    lines = {record.text for log in logs().values() for record in _records(log)}
    lines |= {form.format(row.says) for row in MILESTONES for form in ("{}", "{} ", "[backbone] {}", "x {}", "{}7 is")}
    assert len({found(line) for line in lines}) > len(MILESTONES) / 2
    for line in lines:
        assert found(line) == _in_order(line), line

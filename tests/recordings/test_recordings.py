"""The shipped recordings hold what was captured: every byte of the logs, the counters, the moments."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from itertools import pairwise

import pytest

from specconsole.host.simulated import recording
from specconsole.host.simulated.page import Page, number

LOGS = {
    "moe-baseline": (38394, "826622a5"),
    "moe-ngram": (41733, "c43344e3"),
    "moe-eagle3": (40400, "2378ebe9"),
    "moe-sync": (31718, "b9a03b39"),
    "dense-baseline": (28018, "af124e19"),
    "dense-ngram": (35056, "6a6412df"),
    "dense-dies": (18136, "f05147c9"),
}
"""Bytes that each server printed, and the beginning of their SHA-256."""
SERVED = [name for name in LOGS if name != "dense-dies"]
MAIN = {"moe-ngram": (642, 3060, 3840), "moe-eagle3": (640, 1920, 2560), "dense-ngram": (642, 3060, 3840)}
"""Drafts, accepted and generated tokens of the batch "main-T0", as its client scraped them."""


def test_all_are_there_and_small() -> None:
    assert set(recording.names()) == set(LOGS)
    folder = files("specconsole") / "host" / "recordings"
    assert sum(len(entry.read_bytes()) for entry in folder.iterdir()) < 1_500_000


@pytest.mark.parametrize("name", LOGS)
def test_the_log_is_whole(name: str) -> None:
    played = recording.load(name)
    data = b"".join(part for _, part in played.log)
    size, digest = LOGS[name]
    assert len(data) == size
    assert hashlib.sha256(data).hexdigest()[:8] == digest
    moments = [at for at, _ in played.log]
    assert moments == sorted(moments)
    assert b"\n".join(line for _, line in played.lines) == b"\n".join(
        line.rstrip() for line in data.split(b"\n") if line.strip()
    )


@pytest.mark.parametrize("name", LOGS)
def test_samples_come_at_least_once_a_second(name: str) -> None:
    samples = recording.load(name).samples
    assert samples[0].at < 0 < samples[-1].at
    assert max(after.at - before.at for before, after in pairwise(samples)) < 0.5


@pytest.mark.parametrize("name", SERVED)
def test_the_page_ends_as_it_was_recorded(name: str) -> None:
    played = recording.load(name)
    assert played.ticks[-1][0] <= played.moment("served") <= played.moment("stop")
    assert Page(played.text).render(played.values(played.moment("stop")), 0.0) == played.text


@pytest.mark.parametrize("name", SERVED)
def test_counters_only_grow_and_buckets_stay_in_order(name: str) -> None:
    played = recording.load(name)
    page = Page(played.text)
    for (_, before), (_, after) in pairwise(played.ticks):
        for series, old, new in zip(page.series, before, after, strict=True):
            assert not series.counts or old is None or (new is not None and new >= old - 1e-6), series
    for at in (played.ticks[0][0], played.moment("again") + 5, played.moment("served")):
        values = played.values(at)
        for name_, places in page.by_name.items():
            for one, other in pairwise(places):
                same = page.series[one].labels.partition('le="')[0] == page.series[other].labels.partition('le="')[0]
                if name_.startswith("vllm:") and name_.endswith("_bucket") and same:
                    assert (values[one] or 0) <= (values[other] or 0), (name_, at)


@pytest.mark.parametrize("name", MAIN)
def test_the_counters_move_when_the_requests_ran(name: str) -> None:
    played = recording.load(name)
    page = Page(played.text)
    batch = [request for request in played.requests if request.batch == "main-T0"]
    begin, end = played.values(batch[0].at), played.values(batch[-1].end)

    def grown(series: str) -> float:
        (place,) = page.by_name[f"vllm:{series}_total"]
        return (end[place] or 0) - (begin[place] or 0)

    drafts, accepted, generated = MAIN[name]
    assert grown("spec_decode_num_drafts") == pytest.approx(drafts, abs=1)
    assert grown("spec_decode_num_accepted_tokens") == pytest.approx(accepted, abs=1)
    assert grown("generation_tokens") == pytest.approx(generated, abs=1)


def test_the_recorded_batches_have_their_chunks() -> None:
    batch = [request for request in recording.load("moe-ngram").requests if request.batch == "main-T0"]
    assert len(batch) == 15
    assert all(sum(tokens for _, tokens in request.chunks) == 256 for request in batch)
    steps = [after[0] - before[0] for request in batch for before, after in pairwise(request.chunks)]
    assert sum(steps) / len(steps) == pytest.approx(11.698, abs=0.01)
    tokens = sum(tokens for request in batch for _, tokens in request.chunks[1:])
    assert tokens / len(steps) == pytest.approx(4.757, abs=0.001)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.0"), (4368.0, "4368.0"), (999999.0, "999999.0"), (1e6, "1e+06"), (1.7959617587e9, "1.7959617587e+09")],
)
def test_numbers_are_written_as_the_exporter_writes_them(value: float, text: str) -> None:
    assert number(value) == text

"""Numbers of other clients' files that cannot be: unknown and said, whatever they are and wherever they stand."""

from __future__ import annotations

import copy
import io
import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from specconsole import cli
from specconsole.bench import client_report, foreign
from specconsole.bench.compare import compare
from specconsole.bench.figure import Figures, number
from specconsole.bench.run import BenchRun
from specconsole.bench.side import notes, side_by_side
from specconsole.bench.table import summary
from specconsole.errors import UsageError
from specconsole.explain.document import document
from specconsole.explain.files import explain
from specconsole.explain.lines import lines
from tests.bench.test_foreign import aiperf, aiperf_lines, guidellm, read, summed, vllm

HUGE = 10**400
STRANGE = (math.nan, math.inf, -math.inf, -3, -1e9, 1e308, 1e-320, HUGE, 10**20, 0, 0.5, True, "x", None)
FORMS: dict[str, Callable[[], list[Any]]] = {
    "vllm": lambda: [vllm()],
    "summed": lambda: [summed()],
    "aiperf": lambda: [aiperf()],
    "lines": lambda: [json.loads(line) for line in aiperf_lines().splitlines()],
    "guidellm": lambda: [guidellm()],
    "means": lambda: [guidellm(single=False)],
}
WILD = re.compile(
    r"(?<![\w-])-?(?:inf|nan)(?![\w])|\d{26}|(?:\d{1,3},){9}|-\d+(?:\.\d+)? (?:requests|tokens|tok)|\w+Error\b"
)
"""What no line may hold of a number that was not taken; the words of what was refused are cut out before."""
REFUSED = re.compile(r"is no plausible number: \S+, so")


def text_of(values: list[Any]) -> str:
    return "\n".join(json.dumps(one) for one in values) if len(values) > 1 else json.dumps(values[0], indent=1)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where numbers stand."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        yield from places(item, (*at, key))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield at


PLACES = {name: list(places(make())) for name, make in FORMS.items()}


def changed(form: str, at: tuple[Any, ...], value: object) -> str:
    whole = copy.deepcopy(FORMS[form]())
    inner: Any = whole
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    return text_of(whole)


def numbers(value: object) -> Iterator[float]:
    if isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from numbers(item)
    elif isinstance(value, (int, float)):
        yield value


def told(text: str) -> list[str]:
    """Every line that compare and explain say of a file."""
    report = explain(iter([("x.json", io.BytesIO(text.encode()))]))
    for one in numbers(document(report)):
        assert math.isfinite(one)
        assert abs(one) < 1e26
    said = list(lines(report))
    try:
        runs: tuple[BenchRun, ...] = foreign.read(text, "x.json") or ()
    except UsageError as error:
        return [*said, str(error)]
    for run in runs:
        assert all(math.isfinite(one) and 0 <= one < 1e26 for one in numbers(summary(run)["rows"]))
        found = side_by_side(compare(run, read(vllm())))
        said += [*found.head, *("  ".join(row) for row in found.rows), *notes(compare(read(vllm()), run))]
    return said


@given(
    st.sampled_from(sorted(FORMS)).flatmap(lambda name: st.tuples(st.just(name), st.sampled_from(PLACES[name]))),
    st.sampled_from(STRANGE),
)
@settings(max_examples=60)
@example(("summed", (0, "completed")), 1e-320)
@example(("summed", (0, "completed")), -3)
@example(("summed", (0, "completed")), HUGE)
@example(("summed", (0, "mean_itl_ms")), 1e308)
@example(("summed", (0, "mean_tpot_ms")), 1e-320)
@example(("vllm", (0, "itls", 0, 1)), math.nan)
@example(("aiperf", (0, "request_latency", "avg")), 1e-320)
@example(("guidellm", (0, "benchmarks", 0, "requests", "successful", 0, "inter_token_latency_ms")), -1e9)
def test_no_number_of_a_file_leads_to_one_that_cannot_be(where: tuple[str, tuple[Any, ...]], value: object) -> None:
    for line in told(changed(*where, value)):
        assert not WILD.search(REFUSED.sub("", line)), line
        assert len(line) < 400


@pytest.mark.parametrize(
    ("form", "at", "value", "said"),
    [
        ("summed", (0, "mean_itl_ms"), 1e308, "mean_itl_ms is no plausible number: 1e+308, so it is not known."),
        ("summed", (0, "completed"), HUGE, f"completed is no plausible number: 1{'0' * 22}…, so it is not known."),
        ("summed", (0, "completed"), -3, "completed is no plausible number: -3, so it is not known."),
        ("summed", (0, "completed"), 2.5, "completed is no plausible number: 2.5, so it is not known."),
        ("vllm", (0, "itls", 0, 1), math.nan, "itls is no plausible number: nan, so it is not known."),
        ("aiperf", (0, "request_latency", "avg"), 1e-320, "request_latency is no plausible number: 1e-320, so it is not known."),
        ("aiperf", (0, "request_count", "avg"), -2.0, "request_count is no plausible number: -2.0, so it is not known."),
        ("lines", (0, "metrics", "request_latency", "value"), -5, "request_latency is no plausible number: -5, so it is not known."),
        ("lines", (0, "metrics", "inter_chunk_latency", "value", 0), "x", "inter_chunk_latency is no number, so it is not known."),
        ("guidellm", (0, "benchmarks", 0, "requests", "successful", 0, "output_tokens"), 10**13, "output_tokens is no plausible number: 10000000000000, so it is not known."),
        ("means", (0, "benchmarks", 0, "metrics", "request_latency", "successful", "count"), HUGE, f"request_latency count is no plausible number: 1{'0' * 22}…, so it is not known."),
    ],
)  # fmt: skip
def test_a_number_that_cannot_be_is_said(form: str, at: tuple[Any, ...], value: object, said: str) -> None:
    assert said in " | ".join(told(changed(form, at, value)))


def test_explain_and_compare_doubt_the_same_number() -> None:
    text = changed("summed", (0, "completed"), HUGE)
    report = explain(iter([("x.json", io.BytesIO(text.encode()))]))
    assert [doubt.code for doubt in report.benches[0].doubts][:1] == ["unread"]
    assert report.benches[0].report.get("mean_tpot_ms") == pytest.approx(9.0)
    with pytest.raises(UsageError, match=r"how many requests were completed.* completed is no plausible number"):
        foreign.read(text, "x.json")


def test_gaps_that_cannot_be_leave_the_means_of_the_file() -> None:
    run = read(changed("vllm", (0, "itls", 0, 1), math.nan))
    assert run.timing().tpot_s == pytest.approx(0.009)
    assert run.told
    assert run.told.unread == ("itls is no plausible number: nan, so it is not known.",)


def test_the_verb_says_it_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "good.json").write_text(json.dumps(vllm()))
    (tmp_path / "bad.json").write_text(changed("summed", (0, "completed"), 1e-320))
    assert cli.main(["compare", str(tmp_path / "bad.json"), str(tmp_path / "good.json")]) == 2
    assert "completed is no plausible number: 1e-320" in capsys.readouterr().err
    (tmp_path / "bad.json").write_text('{"mean_ttft_ms": 1, "ttfts": ["a"], "itls": [1], "output_lens": [2]}')
    assert cli.main(["compare", str(tmp_path / "bad.json"), str(tmp_path / "good.json")]) == 2
    assert "Error" not in capsys.readouterr().err


def test_a_printed_report_with_such_a_number() -> None:
    report = client_report.read(f"Successful requests: {'9' * 500}\nMean TPOT (ms): 9.0\nMean ITL (ms): nan\n")
    assert report is not None
    assert dict(report.values) == {"mean_tpot_ms": 9.0}
    assert report.unread == (
        "Successful requests is no plausible number: inf, so it is not known.",
        "Mean ITL (ms) is no plausible number: nan, so it is not known.",
    )


def test_a_deviation_of_equal_times_is_nearly_zero() -> None:
    report = client_report.read('{"mean_tpot_ms": 9.0, "std_tpot_ms": 1.7e-15}')
    assert report is not None
    assert report.unread == ()


@given(st.one_of(st.floats(), st.integers(), st.sampled_from(STRANGE)))
def test_what_is_taken_lies_within_its_bounds(value: object) -> None:
    found, taken = number(value, 0, 1e12), Figures()
    assert found is None or (found == value and (found == 0 or 1e-12 <= found <= 1e12))
    count = taken.count("n", value)
    assert count is None or (count == value and 0 <= count <= 10**12)
    assert bool(taken.unread) == (count is None and value is not None)

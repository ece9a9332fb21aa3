"""What of a baseline's run is not as its profile expects."""

from __future__ import annotations

from dataclasses import replace

from specconsole.bench.expected import differs
from specconsole.bench.run import BenchRun, Identity
from specconsole.profile import Expectations
from tests.bench.made import run, stream


def measured(step_ms: float, method: str | None = None) -> BenchRun:
    made = run([stream("code/0", [1] * 11, step_ms=step_ms)])
    return replace(made, identity=Identity(speculation=bool(method), method=method))


def test_what_two_starts_do_not_differ_by_is_said() -> None:
    assert list(differs(measured(10.5), Expectations(tpot_ms=10.0))) == [], "starts differ by up to 5.7 % by chance"
    assert list(differs(measured(11.0), Expectations(tpot_ms=10.0))) == [
        "TPOT is 11 ms, 10 % above the 10 ms that the profile expects."
    ]
    speed = measured(10.0).timing().stream_tok_s
    assert speed is not None
    (said,) = differs(measured(10.0), Expectations(tpot_ms=10.0, tok_s=2 * speed))
    assert said.startswith("The speed of one stream is ")
    assert "50 % below the" in said


def test_nothing_is_said_of_what_the_expectation_is_not_of() -> None:
    expect = Expectations(tpot_ms=5.0)
    assert list(differs(measured(10.0, "ngram"), expect)) == []
    assert list(differs(measured(10.0), Expectations())) == []
    several = measured(10.0)
    assert list(differs(replace(several, spec=replace(several.spec, concurrency=4)), expect)) == []

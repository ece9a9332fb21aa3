"""What differs from a profile's expectation is said where it shows: by doctor, in plans, in a start that nothing foretells."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specconsole.history.entry import Load
from specconsole.load.feed import begin
from specconsole.load.phase import Expectation
from specconsole.profile import Expectations, Profile, UnitProfile
from specconsole.service.check import Level
from specconsole.service.discover import _named
from specconsole.service.doctor import judge
from specconsole.service.examine import Readings
from specconsole.service.expected import of_units
from specconsole.service.plan import lines
from specconsole.service.start_kept import expected
from specconsole.service.unit import Serving, Unit
from tests.service.test_doctor import readings as readings
from tests.service.test_label import unit
from tests.service.test_plan import BASE, NGRAM, plan

PROFILE = Profile("kimi", expect=Expectations("Kimi", 8, load_minutes=(25, 90)))


def split(over: int, **changes: object) -> Unit:
    made = unit("vllm-kimi")
    serving: Serving = replace(made.serving, tensor_parallel=over, **changes)  # type: ignore[arg-type]
    return replace(made, serving=serving)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (split(8), ()),
        (split(8, model="/models/x", served_names=("Kimi",)), ()),
        (split(8, model=None), ()),
        (split(4, unknown=("parallelism",)), ()),
        (split(4), ("vllm-kimi.service is split over 4 GPUs (tensor parallel), not 8",)),
        (split(8, model="/models/Qwen3"), ("vllm-kimi.service serves /models/Qwen3, not Kimi",)),
        (unit("vllm-kimi", model="/models/Qwen3", method="ngram"), ()),
    ],
)
def test_a_baseline_that_is_another_one_is_said(found: Unit, said: tuple[str, ...]) -> None:
    assert of_units((found,), PROFILE) == said
    assert of_units((found,), None) == ()
    others = replace(PROFILE, units=(UnitProfile("other", "other.service"),))
    assert of_units((found,), others) == (), "the profile is of other units"


def test_the_doctor_says_it(readings: Readings) -> None:
    (check,) = (one for one in judge(replace(readings, differs=("a is not b",))) if one.name == "profile")
    assert (check.level, check.found) == (Level.LIMITED, "a is not b.")
    assert not any(one.name == "profile" for one in judge(readings))


def test_loads_that_nobody_saw_yet_are_foretold_by_the_profile() -> None:
    (found,) = _named((unit("vllm-kimi"),), PROFILE)
    assert found.expected_load_s == (1500, 5400)
    (other,) = _named((unit("vllm-kimi"),), replace(PROFILE, units=(UnitProfile("other", "other.service"),)))
    assert other.expected_load_s is None
    attempt = begin(found.key, "inv", 0.0, Expectation(), at=0.0)
    assert expected(found, attempt, (), 60.0).why == "no history yet; the profile expects 25–90 min"
    assert expected(other, attempt, (), 60.0).why == "no history yet"
    known = Load(
        "h", found.key, "before", 0.0, "ready", 90.0, 100.0, phases={"weights": 60.0, "api": 5.0},
        fingerprint={"model": "/models/Kimi", "parallelism": "", "eager": False},
    )  # fmt: skip
    assert expected(found, attempt, (known,), 60.0).why == "", "what was seen counts for more"
    told = dict(lines(plan(target=replace(NGRAM, expected_load_s=(1500, 5400)), units=(BASE, NGRAM))))
    assert "not known (no earlier load is known, the profile expects 25 min to 1 h 30);" in told["watch"]

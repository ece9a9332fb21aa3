"""What the host is told of an experiment."""

from __future__ import annotations

from specconsole import toml
from specconsole.experiment.plan import of_file
from specconsole.experiment.prepare import Prepared
from tests.experiment.test_plan import GOOD
from tests.service.test_plan import BASE, NGRAM


def test_the_energy_of_each_arm_is_that_of_its_own_unit() -> None:
    made = Prepared(of_file(toml.File("night.toml", GOOD)), "gpu-1", {"baseline": BASE, "ngram": NGRAM}, (BASE, NGRAM))
    steps = made.to_json({})["steps"]
    assert [step["arm"] for step in steps] == ["baseline", "ngram", "baseline"]
    assert [step["run"]["unit"] for step in steps] == ["base.service", "ngram.service", "base.service"]

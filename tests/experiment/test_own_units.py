"""The plan of the units that a host has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from specconsole import paths
from specconsole.errors import ConfigError
from specconsole.experiment import own_units
from specconsole.service.unit import Speculation, Unit
from tests.ui.scene import unit


def speculating(name: str, label: str, tokens: int | None = 5) -> Unit:
    return unit(name, label=label, speculation=Speculation("ngram", tokens, None, "{}"))


BASE = unit("vllm-big.service", label="baseline")
VARIANTS = (speculating("vllm-big-ngram.service", "ngram"), speculating("vllm-big-mtp.service", "mtp", None))
UNITS = tuple(replace(one, group="big") for one in (BASE, *VARIANTS))


def test_a_host_s_own_units_are_a_plan() -> None:
    made = own_units.named("this-host", UNITS)
    assert made.name == "this-host"
    assert made.order == ("baseline", "ngram", "mtp", "baseline"), (
        "the drift of the host shows between the two baselines"
    )
    assert {name: (arm.unit, arm.k) for name, arm in made.arms.items()} == {
        "baseline": ("vllm-big.service", None),
        "ngram": ("vllm-big-ngram.service", 5),
        "mtp": ("vllm-big-mtp.service", None),
    }
    assert made.description == "Baseline, ngram, mtp, baseline"
    shipped = own_units.named("does-it-pay", ())
    assert (made.cells, made.soak_s, made.drain_s, made.at_deadline, made.margin, made.end) == (
        shipped.cells, shipped.soak_s, shipped.drain_s, shipped.at_deadline, shipped.margin, shipped.end
    ), "it asks as the shipped one does"  # fmt: skip


@pytest.mark.parametrize("name", ["other.service", "other-ngram.service"])
def test_of_two_models_the_one_that_is_served_is_meant(name: str) -> None:
    both = (unit("other.service", label="other"), speculating("other-ngram.service", "other-ngram"))
    others = [replace(one, group="other") for one in both]
    served = [replace(one, state=replace(one.state, active="active")) if one.name == name else one for one in others]
    assert own_units.named("this-host", (*UNITS, *served)).baseline.unit == "other.service"
    assert own_units.named("this-host", (*UNITS, *others)).baseline.unit == "vllm-big.service"


def test_odd_labels_stay_what_they_are() -> None:
    odd = (BASE, speculating('vllm-"b".service', 'k=3 "x"'), speculating("vllm-c.service", "baseline"))
    made = own_units.named("this-host", tuple(replace(one, group="big") for one in odd))
    assert list(made.arms) == ["baseline", 'k=3 "x"', "vllm-c.service"]
    assert made.arms['k=3 "x"'].unit == 'vllm-"b".service'


def test_a_label_is_written_as_it_is() -> None:
    made = own_units.named("this-host", (UNITS[0], replace(UNITS[1], label="EAGLE3-Big")))
    assert made.description == "Baseline, EAGLE3-Big, baseline"


@pytest.mark.parametrize("units", [(), UNITS[:1], UNITS[1:], (UNITS[0], replace(UNITS[1], group="other"))])
def test_what_compares_with_nothing_is_said(units: tuple[Unit, ...]) -> None:
    with pytest.raises(ConfigError, match="a baseline and a variant") as told:
        own_units.named("this-host", units)
    assert "derive" in told.value.hint
    assert all(one.key in str(told.value) for one in units)


def test_a_file_of_that_name_is_the_user_s_will() -> None:
    mine: Path = paths.config_dir() / "experiments" / "this-host.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text(own_units.text(UNITS).replace("vllm-big-mtp", "mine"))
    assert own_units.named("this-host", UNITS).arms["mtp"].unit == "mine.service"

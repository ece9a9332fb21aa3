"""A profile written from units: good TOML whatever their names and models are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from specconsole import profile
from specconsole.service import portrait
from tests.service.test_lint import made


def loaded(tmp_path: Path, text: str) -> profile.Profile:
    path = tmp_path / "p.toml"
    path.write_text(text)
    return profile.load(path)


def test_odd_names_become_good_tables(tmp_path: Path) -> None:
    odd = made("vllm@a-\\x2d:b.service")
    odd = replace(odd, label='a "b" ü', serving=replace(odd.serving, model='/m/x"\n[units.z]', unknown=("port", "speculation"), speculation=None))  # fmt: skip
    same = replace(made("two.service", manager="user:al"), label="a-b")
    found = loaded(tmp_path, portrait.toml("root@h:22", "gpu-9", [odd, same], "f.toml", [3600.0, 5400.0]))
    assert [unit.label for unit in found.units] == ["a-b", "a-b-2"]
    assert found.units[1].manager == "user:al"
    assert found.units[0].role is None
    assert found.hosts == ("h:22", "gpu-9")
    assert found.expect.load_minutes == (60.0, 90.0)


def test_a_host_without_units_has_one_all_the_same(tmp_path: Path) -> None:
    assert loaded(tmp_path, portrait.toml("h", "h", [], "f.toml")).units == ()
    assert loaded(tmp_path, portrait.toml("demo:oom@60", "demo-oom", [], "f.toml")).hosts == ("demo:oom@60", "demo-oom")
    assert portrait.file_name("../gpu 1.") == "gpu-1"


def test_two_deployments_of_a_host_make_a_profile_that_is_taken(tmp_path: Path) -> None:
    base = made("vllm-a.service")
    plain = replace(base.serving, speculation=None, unknown=())
    units = [
        replace(made("vllm-a.service"), label="baseline", serving=plain),
        replace(made("vllm-b.service"), label="vllm-a", serving=plain),
    ]
    text = portrait.toml("h", "h", units, "f.toml")
    found = loaded(tmp_path, text)
    assert [(unit.label, unit.role) for unit in found.units] == [("baseline", "baseline"), ("vllm-a-2", None)]
    assert '# role = "baseline"' in text

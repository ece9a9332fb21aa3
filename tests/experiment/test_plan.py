"""Plans of experiments: what is read, and what each mistake is told as."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specconsole import resources, toml
from specconsole.errors import ConfigError
from specconsole.experiment.asked import axes, called, from_json, to_json
from specconsole.experiment.plan import KIND, Arm, ExperimentPlan, named, of_file

GOOD = """order = ["baseline", "ngram", "baseline"]
[arms.baseline]
unit = "a.service"
[arms.ngram]
unit = "b"
k = 5
"""


def plan(text: str) -> ExperimentPlan:
    return of_file(toml.File("night.toml", text))


def test_a_plan_is_read_with_its_defaults() -> None:
    made = plan(GOOD)
    assert made.order == ("baseline", "ngram", "baseline")
    assert made.arms["ngram"] == Arm("ngram", "b.service", 5)
    assert (made.end, made.margin, made.soak_s) == ("baseline", 0.02, 0.0)
    assert [cell.total for cell in made.cells] == [15]
    assert made.text == GOOD


@pytest.mark.parametrize(
    ("form", "steps"),
    [("A-B-A", ["baseline", "ngram", "baseline"]), ("A-B-B-A", ["baseline", "ngram", "ngram", "baseline"])],
)
def test_forms_of_order(form: str, steps: list[str]) -> None:
    made = plan(GOOD.replace('["baseline", "ngram", "baseline"]', f'"{form}"'))
    assert list(made.order) == steps


def test_a_form_goes_on_from_one_baseline_to_the_next_arm() -> None:
    text = GOOD.replace('["baseline", "ngram", "baseline"]', '"A-B-A"') + '[arms.eagle3]\nunit = "c"\n'
    assert plan(text).order == ("baseline", "ngram", "baseline", "eagle3", "baseline")


def test_a_form_of_too_many_arms_is_too_long() -> None:
    arms = "".join(f'[arms.n{place}]\nunit = "n{place}"\n' for place in range(20))
    with pytest.raises(ConfigError, match='"order" has 41 steps; 40 are the most'):
        plan(f'order = "A-B-A"\n[arms.baseline]\nunit = "a"\n{arms}')


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('unit = "b"', 'unit = "a"', 'night.toml, line 5: [arms.ngram] and [arms.baseline] name the same unit, a.service.'),
        ("k = 5", "k = 0", 'night.toml, line 6: "k" must be a whole number above 0, not 0.'),
        ("k = 5", "kk = 5", 'night.toml, line 6: "kk" means nothing in [arms.ngram].'),
        ("[arms.baseline]", "[arms.base]", "an [arms.baseline] is needed"),
        ('"ngram", ', "", '"order" leaves out ngram.'),
        ('"ngram"', '"eagle"', 'night.toml, line 1: "order" names "eagle", which is no arm.'),
        ('["baseline", "ngram", "baseline"]', '"A-C"', '"order" must be one of A-B-A, A-B-B-A'),
        ('unit = "b"\n', "", '[arms.ngram] needs a "unit"'),
        ("k = 5", 'needs_vllm = "new"', '"needs_vllm" is a version'),
        ("order", "soak_s = inf\norder", '"soak_s" must be a number above 0: seconds, a week at most'),
        ("order", "soak_s = 1e12\norder", "a week at most"),
        ("order", "margin = 2\norder", '"margin" is a share below 1'),
        ("k = 5", "[bench]\nmax_tokens = 1", "night.toml, line 6: [bench]: --max-tokens is 2 or more"),
        ("k = 5", '[swap]\nat_deadline = "wait"', '"at_deadline" must be one of go, give-up'),
    ],
)  # fmt: skip
def test_each_mistake_names_file_line_and_key(old: str, new: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        plan(GOOD.replace(old, new, 1))
    assert said in str(raised.value)
    assert str(raised.value).startswith("night.toml")


AXES = """[bench]
concurrency = [8, 1]
context = [0, "32k"]
temperature = [0, 0.7]
prompts = ["default", "{file}"]
sample = 2
"""


def test_each_combination_of_a_bench_is_a_cell(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(f'{{"id": "q{place}", "prompt": "Say {place}."}}\n' for place in range(5)))
    made = plan(GOOD + AXES.format(file=file)).cells
    assert len(made) == 16
    assert [(cell.context, cell.concurrency) for cell in made[:4]] == [(0, 1), (0, 8), (32_000, 1), (32_000, 8)]
    assert {cell.temperature for cell in made} == {0.0, 0.7}
    assert {(cell.prompt_set, len(cell.prompts)) for cell in made} == {("default", 2), (str(file), 2)}
    assert made[8].drawn_from == 5
    again = from_json(json.loads(json.dumps(to_json(made))))
    assert again == made, "the host is told all of it"
    assert called(made[3], made) == "default, temperature 0, context 32,000, 8 at once"
    assert called(made[0], made[:2]) == "1 at once", "only what tells them apart"
    assert called(made[0], made[:1]) == ""
    assert axes(made[:4]) == "context as it is, 32,000; streams at once 1, 8"


def test_one_value_is_one_cell() -> None:
    (made,) = plan(GOOD + '[bench]\nconcurrency = 4\ncontext = "8k"\ntemperature = 0.5\n').cells
    assert (made.concurrency, made.context, made.temperature) == (4, 8000, 0.5)


@pytest.mark.parametrize(
    ("bench", "said"),
    [
        ("concurrency = [1, 0]", '"concurrency" must be a whole number above 0, or a list of them, not 0.'),
        ("concurrency = []", '"concurrency" must be a whole number above 0, or a list of them, not [].'),
        ("concurrency = [1, 2.5]", '"concurrency" must be a whole number above 0, or a list'),
        ("concurrency = true", '"concurrency" must be a whole number above 0, or a list of them, not True.'),
        ('context = ["32x"]', '"context" must be a number of tokens, or a list of them'),
        ("temperature = [0, 3]", "--temperature is a number from 0 to 2"),
        ("temperature = -1", '"temperature" must be a number from 0 to 2, or a list of them, not -1.'),
        ("prompts = [3]", '"prompts" must be a text, or a list of them'),
        ('prompts = ["default", "random"]', "random words say nothing of speculation"),
        ("seed = -1", '"seed" must be a whole number'),
        ('allow_random = "yes"\nprompts = "random"', '"allow_random" must be true or false'),
        (f"concurrency = {list(range(1, 202))}", "These are 201 cells; 200 are the most."),
    ],
)
def test_each_mistake_of_an_axis_is_told(bench: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        plan(f"{GOOD}[bench]\n{bench}\n")
    assert said in str(raised.value)
    assert str(raised.value).startswith("night.toml, line")


def test_random_words_are_measured_where_that_is_asked_for() -> None:
    (made,) = plan(GOOD + '[bench]\nprompts = "random"\nallow_random = true\n').cells
    assert made.prompt_set == "random"


def test_an_arm_is_refused_below_its_version_with_its_sentence() -> None:
    arm = Arm("eagle3", "c.service", 3, needs_vllm="0.18", because="EAGLE-3 for this model needs vLLM 0.18 or newer")
    said = "arm eagle3: EAGLE-3 for this model needs vLLM 0.18 or newer; this host has 0.16.0"
    assert arm.refusal("0.16.0") == said
    assert arm.refusal("0.18.0") == ""
    assert arm.refusal(None) == "", "a version that is not known refuses nothing"


def test_derived_arms_one_for_each_k() -> None:
    made = plan(
        'order = ["baseline", "ngram", "baseline"]\n[arms.baseline]\nunit = "a"\n[arms.ngram]\nk = [3, 5]\n'
        '[arms.ngram.speculative]\nmethod = "ngram"\nprompt_lookup_max = 4\n'
    )
    assert made.order == ("baseline", "ngram-k3", "ngram-k5", "baseline")
    arm = made.arms["ngram-k3"]
    assert (arm.unit, arm.k) == ("", 3)
    assert arm.speculative == {"method": "ngram", "prompt_lookup_max": 4, "num_speculative_tokens": 3}
    with pytest.raises(ConfigError, match='"k" must be a whole number above 0, or a list of them'):
        plan(GOOD.replace('unit = "b"\nk = 5', 'k = [0]\nspeculative = {method = "ngram"}'))


def test_what_is_shipped_is_good() -> None:
    assert "does-it-pay" in resources.find(KIND)
    shipped = named("does-it-pay")
    assert shipped.order == ("baseline", "ngram", "eagle3", "baseline")
    assert (shipped.arms["ngram"].k, shipped.arms["eagle3"].k) == (5, 3)
    assert shipped.arms["eagle3"].needs_vllm == "0.18"
    with pytest.raises(ConfigError, match="There is no plan"):
        named("nothing")


def test_a_path_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(GOOD)
    assert named(str(tmp_path / "mine.toml")).name == "mine"

"""`specconsole breakeven`: plain numbers in, sentences or JSON out."""

from __future__ import annotations

import json

import pytest

from specconsole import cli

PAIR = ("--base", "13.6", "--spec", "12")


def told(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    assert cli.main(["breakeven", *words]) == status
    done = capsys.readouterr()
    return done.err if status else done.out


def test_a_published_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    out = told(capsys, "--base", "14.07", "--spec", "15.85ms", "--length", "1.39", "--k", "1")
    assert "R = 1.566" in out
    assert "τ = 1.390 tokens per step is not above R: 12.7 % more time per token." in out
    assert "AL 1.57, an acceptance rate of 57 %, a chance of 0.57 a token (measured AL 1.39)" in out
    assert "taken as 1" in out


def test_speeds_steps_and_rates(capsys: pytest.CaptureFixture[str]) -> None:
    by_step = json.loads(
        told(capsys, "--base", "62.6tok/s", "--spec", "46.4tok/s", "--step", "40", "--k", "5", "--json")
    )
    assert by_step["tpot_ratio"] == pytest.approx(62.6 / 46.4)
    assert by_step["tau"] == pytest.approx(40 * 46.4 / 1000)
    assert by_step["step_cost"] == pytest.approx(40 * 62.6 / 1000)
    by_rate = json.loads(
        told(capsys, "--base", "10", "--spec", "8", "--rate", "0.2", "--k", "5", "--coverage", "0.5", "--json")
    )
    assert by_rate["tau"] == pytest.approx(1 + 0.5 * 5 * 0.2)
    assert by_rate["needed"]["acceptance_length"] == pytest.approx(1 + (1.2 - 1) / 0.5)


def test_shares_in_percent(capsys: pytest.CaptureFixture[str]) -> None:
    words = (*PAIR, "--k", "5", "--json")
    plain = told(capsys, *words, "--rate", "0.4", "--coverage", "0.5", "--chance", "0.7")
    assert told(capsys, *words, "--rate", "40%", "--coverage", "50%", "--chance", "70%") == plain


def test_figures_rounded_for_print_agree(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(told(capsys, "--base", "13.6", "--spec", "16.2", "--step", "16.1", "--json"))
    assert found["tau"] == 1.0
    assert "τ = 1.800" in told(capsys, *PAIR, "--tau", "1.8", "--positions", ".51,.33")


def test_a_k_that_is_too_large_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--base", "13.6", "--spec", "16", "--tau", "1.6", "--positions", "40%,12%,5%,2%,1%")
    assert "Prediction: k = 5 is too large." in told(capsys, *words)
    assert json.loads(told(capsys, *words, "--json"))["enough_k"] == {"growing": 1, "fixed": 3}
    assert json.loads(told(capsys, *PAIR, "--tau", "1.8", "--json"))["enough_k"] is None


def test_other_k_drafters_and_experts(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--base", "4.255", "--spec", "3.072", "--tau", "3.43", "--positions", ".79,.59,.46,.35,.27")
    out = told(capsys, *words, "--other-k", "1,3", "--chance", "0.8", "--experts", "128/8")
    assert "Prediction for k = 1: R 1.30 to 2.48" in out
    assert "Prediction for k = 3:" in out
    assert "A draft with a chance of 0.80 a token: τ 3.69" in out
    assert "Verifying 6 tokens touches up to 41.1 of 128 experts" in out


def test_a_step_that_costs_too_much(capsys: pytest.CaptureFixture[str]) -> None:
    out = told(capsys, "--base", "5", "--spec", "10", "--tau", "1.2", "--k", "1")
    assert "No acceptance can make this configuration pay" in out
    assert "To break even" not in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--base", "x", "--spec", "1", "--tau", "2"), "x is no time per token"),
        (("--base", "0", "--spec", "1", "--tau", "2"), "0 is no time per token"),
        (("--base", "1", "--spec", "1", "--rate", "0.2"), "--rate needs --k"),
        (("--base", "1", "--spec", "1", "--tau", "2", "--experts", "8/16", "--k", "2"), "8/16 is no number of experts"),
        (("--base", "1", "--spec", "1", "--tau", "2", "--experts", "16/8"), "--experts needs --k"),
        (("--base", "1", "--spec", "1", "--tau", "2", "--other-k", "0"), "--other-k 0: 0 is not from 1 to 64"),
        (("--base", "1", "--spec", "1", "--tau", "2", "--k", "3", "--positions", ".1"), "--positions has 1 values"),
        (("--base", "1", "--spec", "1", "--tau", "7", "--k", "5"), "7 tokens a step cannot be"),
        (("--base", "1", "--spec", "1", "--tau", "1.3", "--coverage", "0", "--k", "5"), "bring 1 at most"),
        (("--base", "1", "--spec", "1", "--tau", "1.3", "--coverage", "0"), "1.3 tokens a step cannot be"),
        (("--base", "13.6", "--spec", "16.2", "--step", "10"), "0.617 tokens a step cannot be"),
        ((*PAIR, "--length", "2", "--coverage", "0"), "--coverage 0 and --length 2 contradict each other"),
        ((*PAIR, "--rate", "20%", "--k", "5", "--coverage", "0"), "--coverage 0 and --rate 0.2 contradict each other"),
        ((*PAIR, "--tau", "1", "--coverage", "0", "--positions", ".5"), "--coverage 0 and --positions contradict"),
        ((*PAIR, "--tau", "1.8", "--positions", ".4,.5"), "--positions .4,.5 rises"),
        ((*PAIR, "--tau", "2.5", "--positions", ".5,.3"), "--tau 2.5 and --positions contradict each other"),
        (
            (*PAIR, "--tau", "1.2", "--coverage", "1", "--positions", ".5,.3"),
            "makes 1.8 tokens a step with --coverage 1",
        ),
        ((*PAIR, "--length", "1.2", "--positions", ".5,.3"), "--length 1.2 and --positions contradict each other"),
        ((*PAIR, "--length", "9", "--k", "5", "--coverage", "0.01"), "--length 9 and --k 5 contradict each other"),
        ((*PAIR, "--tau", "2", "--chance", "0.5"), "--chance needs --k"),
        ((*PAIR, "--tau", "2", "--other-k", "3"), "--other-k needs --k"),
    ],
)
def test_bad_numbers_are_one_sentence(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in told(capsys, *words, status=2)


def test_experts_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--base", "10", "--spec", "8", "--tau", "2", "--k", "3", "--json")
    touched = json.loads(told(capsys, *words, "--experts", "384/8"))["experts_touched"]
    assert (touched["plain"], round(touched["verified_at_most"], 1), round(touched["factor_at_most"], 2)) == (
        8,
        31.0,
        3.88,
    )
    assert json.loads(told(capsys, *words))["experts_touched"] is None


def test_a_mistake_comes_before_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["breakeven", "--base", "1", "--spec", "1", "--tau", "2", "--experts", "8/16", "--k", "2"]) == 2
    assert capsys.readouterr().out == ""

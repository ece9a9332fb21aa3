"""Joules a token: from looks around windows; unknown where one look, card or token count is."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from specconsole.bench.check import check
from specconsole.bench.compare import compare
from specconsole.bench.energy import Card, Look, Meter, energy
from specconsole.bench.measure import entry
from specconsole.bench.pool import pool
from specconsole.bench.run import BenchRun
from specconsole.bench.side import notes
from specconsole.bench.table import markdown, summary, table
from tests.bench import made
from tests.bench.made import stream

COUNTER = Meter("counter", "", (Card(2, "GPU-2"), Card(3, "GPU-3")))


def measured(*joules: tuple[float | None, float | None], meter: Meter = COUNTER) -> BenchRun:
    """Two requests of 4 tokens and one of 2, a look a second."""
    run = made.run((stream("a/0", (1, 3)), stream("b/0", (2, 2)), stream("a/1", (1, 1), sent_s=2.0)))
    windows = tuple(replace(window, energy=place) for place, window in enumerate(run.windows))
    looks = tuple(Look(float(place), one) for place, one in enumerate(joules))
    return replace(run, windows=windows, looks=looks, meter=meter)


WHOLE = ((100.0, 5.0), (130.0, 15.0), (150.0, 25.0), (155.0, 30.0))


def test_energy_of_a_prompt_and_of_all() -> None:
    run = measured(*WHOLE)
    a, b, all_ = run.energy("a"), run.energy("b"), run.energy()
    assert a
    assert b
    assert all_
    assert (a.joules, a.cards, a.seconds, a.tokens) == (50.0, (35.0, 15.0), 2.0, 6)
    assert (b.joules, b.tokens, b.per_token) == (30.0, 4, 7.5)
    assert b.tokens_per_joule == pytest.approx(4 / 30)
    assert (all_.joules, all_.tokens, all_.per_token) == (80.0, 10, 8.0)
    assert all_.watts == pytest.approx(80 / 3)


def test_what_one_look_does_not_say_is_unknown_not_less() -> None:
    run = measured((100.0, 5.0), (130.0, None), (150.0, 25.0), (155.0, 30.0))
    assert run.energy("b") is None
    assert run.energy("a") is None
    assert run.energy() is None
    assert measured((100.0, 5.0), (90.0, 15.0), (150.0, 25.0), (155.0, 30.0)).energy() is None, "the driver began anew"
    assert measured(*WHOLE[:3]).energy() is None, "a run cut short has no look after its last window"
    assert measured(*WHOLE[:3]).energy("b"), "and the others have theirs"
    assert measured().energy() is None
    assert made.run((stream("a/0", (1, 3)),)).energy() is None
    assert energy([], 3) is None


def test_discarded_requests_take_their_energy_with_them() -> None:
    run = measured(*WHOLE).discard({"a/0": "JIT"})
    found = run.energy()
    assert found
    assert (found.joules, found.tokens) == (40.0, 6)


def test_tokens_that_are_not_told_leave_joules_without_a_rate() -> None:
    run = measured(*WHOLE)
    lame = replace(run.results[1], completion_tokens=None, chunks=((1, None), (2, None)))
    found = replace(run, results=(run.results[0], lame, run.results[2])).energy()
    assert found
    assert (found.joules, found.tokens, found.per_token, found.tokens_per_joule) == (80.0, None, None, None)


def test_a_window_of_which_a_prompt_is_left_out_has_no_rate() -> None:
    run = measured(*WHOLE)
    together = replace(run.windows[0], requests=("a/0", "b/0", "a/1"))
    looks = (run.looks[0], run.looks[3])
    found = replace(run, windows=(together,), looks=looks).only(["a"]).energy()
    assert found
    assert found.tokens is None


def test_a_run_keeps_it_and_old_runs_know_nothing() -> None:
    run = measured(*WHOLE)
    told = json.loads(json.dumps(run.to_json()))
    assert BenchRun.from_json(told) == run
    for name in ("meter", "looks"):
        del told[name]
    for window in told["windows"]:
        del window["energy"]
    assert BenchRun.from_json(told).energy() is None


def test_several_runs_keep_to_their_own_looks() -> None:
    first, second = measured(*WHOLE), measured(*((a + 1000, b) for a, b in WHOLE))
    found = pool([first, second]).energy()
    assert found
    assert (found.joules, found.tokens, found.seconds) == (160.0, 20, 6.0)
    cut = pool([replace(first, looks=first.looks[:3]), second])
    assert cut.energy() is None, "the first run's last window must not end at the second run's first look"


def test_the_table_names_source_and_what_is_left_out() -> None:
    shown = markdown(measured(*WHOLE))
    assert (
        "energy 8.00 J/token, 0.125 tokens/J · 27 W over 3.0 s, 2 GPUs of the unit · by NVML's energy counter" in shown
    )
    assert "J/tok" in shown
    assert "no CPU" in shown
    silent = markdown(measured(meter=Meter(None, "pynvml cannot be loaded")))
    assert "energy — (pynvml cannot be loaded)" in silent
    assert "J/tok" not in silent
    assert "energy" not in "".join(table(made.run((stream("a/0", (1, 3)),))).head)


def test_json_and_history() -> None:
    told = summary(measured(*WHOLE))["energy"]
    assert isinstance(told, dict)
    assert (told["source"], told["joules_per_token"], told["gpus"][0]) == (
        "counter", 8.0, {"index": 2, "uuid": "GPU-2", "joules": 55.0},
    )  # fmt: skip
    assert entry(measured(*WHOLE)).summary["joules_per_token"] == 8.0
    assert "joules_per_token" not in entry(measured()).summary


def test_cards_shared_with_others_are_said() -> None:
    shared = Meter("counter", "", (Card(2, "GPU-2", others=1), Card(3, "GPU-3")))
    assert [one.text for one in check(measured(*WHOLE, meter=shared)) if one.code == "energy"] == [
        "Processes of others hold GPU 2 too: what they drew is in the energy."
    ]
    assert not [one for one in check(measured(*WHOLE)) if one.code == "energy"]


def test_requests_too_short_for_the_counter_are_said() -> None:
    run = measured(*WHOLE)
    assert not [remark for remark in check(run) if remark.code == "energy"], "a second each is long enough"
    short = replace(run, looks=tuple(replace(look, at_s=look.at_s / 5) for look in run.looks))
    (said,) = [remark.text for remark in check(short) if remark.code == "energy"]
    assert said.startswith("NVML's energy counter moves each 0.1 s, and these requests took 0.2 s")
    assert "a prompt's joules may be off by 50 %, those of all by 17 %" in said
    power = replace(short, meter=replace(COUNTER, source="instant power"))
    assert not [remark for remark in check(power) if remark.code == "energy"], "power is summed up every 50 ms"


def test_a_comparison_says_what_a_speed_costs() -> None:
    cheap, dear = measured(*WHOLE), measured(*((a * 2, b * 2) for a, b in WHOLE))
    found = compare(cheap, dear)
    assert found.overall.joules == 2.0
    assert any(
        line.startswith("Energy: 8.00 J/token in A, 16.0 in B: 100 % more (27 and 53 W") for line in notes(found)
    )
    other = replace(dear, meter=replace(COUNTER, source="averaged power"))
    assert any("not measured alike" in line for line in notes(compare(cheap, other)))
    assert not any("Energy" in line for line in notes(compare(cheap, measured())))

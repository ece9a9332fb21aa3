"""The question of the whole program on a real engine: start a unit, know when it is ready, measure, swap to the other unit,
do the same there, compare. Counts and identities are asserted, never times.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.e2e.console import Console
from tests.e2e.host import KEY, UNITS, WRONG
from tests.e2e.measured import REPEAT, TOKENS, Measured
from tests.lab.host import LabHost

BASE, NGRAM = UNITS
PROMPTS, K = 5, 5


def events(measured: Measured) -> list[str]:
    return [line["event"] for line in measured.watch.lines]


def results(measured: Measured) -> list[Any]:
    return [one for one in measured.run["results"] if one["id"] not in measured.run["discarded"]]


def overall(measured: Measured) -> Any:
    """The last row of the run's own table."""
    return measured.run["summary"]["rows"][-1]


def counter(measured: Measured, name: str, labels: str = "") -> dict[str, float]:
    """What a counter gained over the measured windows, by its label text; read from the scrapes by other means than the
    program's own parser."""
    gained: dict[str, float] = {}
    row = re.compile(rf"^{re.escape(name)}{{([^}}]*{labels}[^}}]*)}} (\S+)$", re.MULTILINE)
    kept = {one["id"] for one in results(measured)}
    for window in measured.run["windows"]:
        if not set(window["requests"]) <= kept:
            continue
        for sign, place in ((-1.0, window["before"]), (1.0, window["after"])):
            for label, value in row.findall(measured.run["scrapes"][place]["text"]):
                gained[label] = gained.get(label, 0.0) + sign * float(value)
    return gained


def total(measured: Measured, name: str) -> float:
    return sum(counter(measured, name).values())


def steps_of(measured: Measured) -> tuple[int, int]:
    """Tokens after the first chunk, and chunks after the first, over all requests: from the stamps alone."""
    chunks = [[count for _, count in one["chunks"]] for one in results(measured)]
    return sum(counts[-1] - counts[0] for counts in chunks), sum(len(set(counts)) - 1 for counts in chunks)


def test_a_start_is_told_in_order(base: Measured, ngram: Measured) -> None:
    for measured in (base, ngram):
        told = list(dict.fromkeys(events(measured)))
        assert [event for event in told if event not in ("loaded", "phase", "verdict")] == [
            "started",
            "weights",
            "answering",
            "ready",
        ]
        last = measured.watch.lines[-1]
        assert last["started"] < last["answering"] <= last["ready"]
        assert (last["weights"]["done"], last["weights"]["total"]) == (5, 5)
        assert not last["late"]


def test_one_unit_stops_the_other(ngram: Measured, server: LabHost, console: Console) -> None:
    states = {unit["name"]: unit["state"]["active"] for unit in console.ask("units", "--json").json["units"]}
    assert states == {f"{BASE}.service": "inactive", f"{NGRAM}.service": "active", f"{WRONG}.service": "inactive"}


def test_every_token_is_counted(base: Measured, ngram: Measured) -> None:
    for measured in (base, ngram):
        assert measured.bench.status in (0, 5), measured.bench.err
        assert measured.run["why"] == "finished", measured.run["error"]
        assert len(measured.run["results"]) == PROMPTS * REPEAT
        assert {one["completion_tokens"] for one in measured.run["results"]} == {TOKENS}
        assert {one["chunks"][-1][1] for one in measured.run["results"]} == {TOKENS}
        assert total(measured, "vllm:generation_tokens_total") == len(results(measured)) * TOKENS
        assert total(measured, "vllm:request_success_total") == len(results(measured)) > 0


def test_no_prompt_was_in_the_cache(base: Measured, ngram: Measured) -> None:
    for measured in (base, ngram):
        assert total(measured, "vllm:prefix_cache_queries_total") > 0
        assert total(measured, "vllm:prefix_cache_hits_total") == 0


def test_stamps_and_counters_give_the_same_tokens_per_step(base: Measured, ngram: Measured) -> None:
    for measured in (base, ngram):
        tokens, steps = steps_of(measured)
        made = total(measured, "vllm:generation_tokens_total") - total(
            measured, "vllm:time_to_first_token_seconds_count"
        )
        counted = total(measured, "vllm:inter_token_latency_seconds_count")
        assert made / counted == pytest.approx(overall(measured)["tau"], rel=1e-3)
        # A server that is slow to write puts two steps into one chunk, so there may be fewer chunks than steps, never more.
        assert counted / 2 < steps <= counted
        assert tokens <= made
        assert tokens / steps > 0.98 * made / counted
    assert overall(base)["tau"] == pytest.approx(1), "one token a step"
    assert overall(ngram)["tau"] > 1.1


def test_acceptance_is_what_the_counters_say(base: Measured, ngram: Measured) -> None:
    told = overall(ngram)
    drafts, drafted, accepted = (
        total(ngram, f"vllm:spec_decode_num_{name}_total") for name in ("drafts", "draft_tokens", "accepted_tokens")
    )
    places = counter(ngram, "vllm:spec_decode_num_accepted_tokens_per_pos_total", "position")
    assert len(places) == K
    assert sum(places.values()) == accepted
    assert 0 < drafts <= drafted <= drafts * K
    assert told["acceptance_length"] == pytest.approx(1 + accepted / drafts)
    assert told["acceptance_rate"] == pytest.approx(accepted / drafted)
    assert told["coverage"] == pytest.approx(drafts / total(ngram, "vllm:inter_token_latency_seconds_count"))
    positions = told["per_position_rates"]
    assert positions == pytest.approx([value / drafts for value in places.values()], abs=1e-4)
    nothing = overall(base)
    assert nothing["acceptance_length"] is None, "a baseline has no acceptance, which is not 0"


def test_the_header_says_what_was_measured(base: Measured, ngram: Measured) -> None:
    for measured, method, k in ((base, None, None), (ngram, "ngram", K)):
        identity = measured.run["identity"]
        assert identity["invocation"] == measured.watch.lines[-1]["invocation"]
        assert (identity["method"], identity["k"], identity["version"], identity["model"]) == (
            method,
            k,
            "0.32.0",
            "tiny",
        )
        assert measured.run["spec"]["temperature"] == 0
    assert ngram.run["identity"]["async_scheduling"] is False, "n-gram switches it off in 0.32, and the log says so"


def test_two_runs_are_compared(base: Measured, ngram: Measured, console: Console) -> None:
    runs = {one["label"]: one["id"] for one in console.run("history", "runs", "--json").json["runs"]}
    compared = console.run("compare", str(runs[BASE]), str(runs[NGRAM]), "--json")
    (found,) = compared.json["comparisons"]
    assert compared.status == 5, compared.err  # one start each gives no verdict
    likeness = found["likeness"]
    texts = [{(one["prompt"], one["repeat"]): one["text"] for one in results(side)} for side in (base, ngram)]
    shared = texts[0].keys() & texts[1].keys()
    same = sum(texts[0][key] == texts[1][key] for key in shared)
    assert (likeness["same"], likeness["compared"]) == (same, len(shared))
    assert same == len(shared) or likeness["first"], "a difference at temperature 0 is shown"
    assert found["tau"] == pytest.approx(overall(ngram)["tau"], rel=0.02)
    assert "ne start each" in found["verdict"] or not found["comparable"]


def test_loads_are_remembered(base: Measured, ngram: Measured, console: Console) -> None:
    loads = console.run("history", "loads", "--json").json["loads"]
    assert {(load["unit"], load["outcome"], load["complete"]) for load in loads} == {
        (f"{unit}.service", "ready", True) for unit in UNITS
    }


def test_the_key_is_used_and_never_shown(base: Measured, ngram: Measured, server: LabHost, console: Console) -> None:
    log = console.ask("logs", "-n", "2000", "--unit", BASE, "--unit", NGRAM)
    assert log.status == 0, log.err
    assert "Application startup complete" in log.out
    said = [log, *(answer for measured in (base, ngram) for answer in (measured.watch, measured.bench))]
    assert not [answer for answer in said if KEY in answer.out + answer.err]
    assert KEY not in server.run("ps -eo args").stdout


def test_nothing_of_ours_stays(ngram: Measured, server: LabHost) -> None:
    assert "python3 -I" not in server.run("ps -eo args").stdout

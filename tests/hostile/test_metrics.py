"""Numbers that no server can mean, in the metrics: unknown is shown as unknown, and neither a feed nor a screen ends."""

from __future__ import annotations

import json
import random
import re

import pytest

from specconsole.engine import metrics
from specconsole.engine.health import Health
from specconsole.engine.history import EngineHistory
from specconsole.engine.metrics import Scrape, delta, parse
from specconsole.engine.scraped import scraped
from specconsole.engine.scrapes import Scrapes
from specconsole.engine.snapshot import EngineSnapshot
from specconsole.engine.spec import spec_counters
from specconsole.ui.rows.engine import engine_rows, speculation_row
from specconsole.ui.rows.engine_page import page_rows
from specconsole.verb import engine_page, output
from tests.engine import scraped as captures

MAD = (
    "NaN",
    "+Inf",
    "-Inf",
    "-1",
    "1e308",
    "-1e308",
    "1e400",
    "0",
    "9007199254740993",
    "0x10",
    "",
    "٣",
    "7 1700",
)
SAMPLE = re.compile(r"^([^#].*\s)(\S+)$", re.MULTILINE)
NO_NUMBER = re.compile(r"\b(nan|inf|NaN|None)\b")


@pytest.mark.parametrize("mad", ["+Inf", "-Inf", "1e308", "-1e308", "NaN"])
def test_a_sum_with_such_a_number_is_unknown(mad: str) -> None:
    scrape = parse(f'a_total{{engine="0"}} 1\na_total{{engine="1"}} {mad}\na_total{{engine="2"}} {mad}\n')
    assert scrape.value("a") is None
    assert scrape.mean("a") is None
    assert delta(parse('a_total{engine="0"} 1\n'), scrape, "a") is None
    assert scrape.value("a", engine="0") == 1


def test_the_largest_number_is_still_one() -> None:
    assert parse("a 1e18\nb -1e18\nc 1.1e18\n").value("a") == metrics.MOST
    assert parse("b -1e18\n").value("b") == -metrics.MOST
    assert parse("c 1.1e18\n").value("c") is None


def test_a_histogram_of_which_one_bucket_is_unknown_is_unknown() -> None:
    buckets = 'h_bucket{le="1"} 1\nh_bucket{le="+Inf"} %s\nh_sum 2\nh_count 3\n'
    assert parse(buckets % "3").histogram("h")
    assert parse(buckets % "NaN").histogram("h") is None


def test_positions_of_which_one_is_unknown_are_unknown() -> None:
    """Left out, the later ones would move up."""
    text = "".join(f"vllm:spec_decode_num_{one}_total 9\n" for one in ("drafts", "draft_tokens", "accepted_tokens"))
    place = 'vllm:spec_decode_num_accepted_tokens_per_pos_total{position="%d"} %s\n'
    spec = spec_counters(parse(text + place % (0, 5) + place % (1, "NaN") + place % (2, 1)))
    assert spec
    assert spec.per_position == ()


def test_one_engine_of_unknown_acceptance_has_none() -> None:
    text = (
        'vllm:spec_decode_num_draft_tokens_total{engine="0"} 9\nvllm:spec_decode_num_accepted_tokens_total{engine="0"} '
    )
    assert scraped(parse(text + "3\n")).acceptance == {"0": pytest.approx(1 / 3)}
    assert scraped(parse(text + "NaN\n")).acceptance == {}


def maddened(text: str, chance: random.Random) -> str:
    share = chance.choice((0.02, 0.2, 0.6))

    def mad(found: re.Match[str]) -> str:
        if chance.random() > share:
            return found[0]
        twice = f"{found[0]}\n" if chance.random() < 0.2 else ""
        return f"{twice}{found[1]}{chance.choice(MAD)}"

    return SAMPLE.sub(mad, text)


def seen(scrape: Scrape, scrapes: Scrapes, at: float) -> EngineSnapshot:
    return EngineSnapshot(
        Health.ANSWERING,
        at,
        at,
        kv_use=scrape.mean("vllm:kv_cache_usage_perc"),
        preemptions=scrape.value("vllm:num_preemptions"),
        spec=spec_counters(scrape),
        window=scrapes.window(),
    )


@pytest.mark.parametrize("seed", range(24))
def test_whatever_stands_there_is_drawn_and_told(seed: int) -> None:
    chance = random.Random(seed)
    text, past, scrapes = captures.text(chance.choice(captures.NAMES)), EngineHistory(50), Scrapes(10.0, 60.0)
    for turn in range(4):
        scrape = parse(maddened(text, chance) if turn else text)
        scraped(scrape)
        if not scrapes.add(turn * 2.0, scrape):
            scrapes.clear()
            continue
        snapshot = seen(scrape, scrapes, turn * 2.0)
        past.add(snapshot)
        rows = [*engine_rows(snapshot, 100, 12), speculation_row(snapshot, 100), *page_rows(snapshot, past, 120, 40)]
        shown = "\n".join("".join(text for text, _ in row) for row in rows)
        assert not NO_NUMBER.search(shown), shown
        json.dumps(output.plain(engine_page.facts(snapshot)), allow_nan=False)

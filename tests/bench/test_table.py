from __future__ import annotations

import csv
import io
from dataclasses import replace

from specconsole.bench import table
from specconsole.bench.run import Window
from tests.bench import h200, made
from tests.bench.made import stream

ROWS = (stream("a/0", (1, 4, 4)), stream("b/0", (1, 1, 1), sent_s=1.0))


def test_a_run_with_speculation() -> None:
    shown = table.table(made.run(ROWS, drafts=[4, 2, 2]))
    cells = [dict(zip(shown.header, row, strict=True)) for row in shown.rows]
    assert [row["prompt"] for row in cells] == ["a", "b", "overall"]
    assert cells[0]["TPOT ms"] == "2.500"
    assert cells[0]["τ"] == "4.000"
    assert cells[0]["server ms"] == "2.500"
    assert cells[2]["TPOT ms"] == "4.000"
    assert cells[2]["AL"] == "3.00"
    assert cells[2]["coverage"] == "100.0 %"
    assert cells[2]["by position (given the one before)"] == "1.00 0.50 0.50 (1.00 0.50 1.00)"
    assert any(line.startswith("AL:") for line in shown.definitions)


def test_a_baseline_has_no_columns_of_speculation() -> None:
    shown = table.table(made.run(ROWS))
    assert "AL" not in shown.header
    assert not any(line.startswith("AL:") for line in shown.definitions)
    assert "τ" in shown.header


def test_the_head_says_what_was_measured() -> None:
    head = " ".join(table.heading(made.run(ROWS, drafts=[1, 1, 1])))
    for words in (
        "vllm-spec.service", "gpu-1", "b" * 32, "vLLM 0.24.0", "ngram k=3", "runner V1", "async scheduling off",
        "temperature 0", "9 tokens each", "1 at once", "1970-01-01 00:16:40 UTC", "ignore_eos",
    ):  # fmt: skip
        assert words in head


def test_unknown_is_a_dash_and_tau_by_stamps_is_marked() -> None:
    run = replace(made.run(ROWS), windows=(Window(("a/0", "b/0"), 0, 2),))
    row = dict(zip(table.table(run).header, table.table(run).rows[0], strict=True))
    assert row["server ms"] == "—"
    assert row["τ"] == "4.000 s"
    empty = made.run((), why="failed")
    assert table.table(empty).rows[0][1:5] == ("0", "—", "—", "—")


def test_streams_together_are_told_apart_from_one_stream() -> None:
    run = made.run(ROWS)
    assert "together" not in " ".join(table.heading(run))
    assert not any("split by prompt" in line for line in table.table(run).definitions)
    several = replace(run, spec=replace(run.spec, concurrency=2))
    assert any("split by prompt" in line for line in table.table(several).definitions)
    assert "together 11.5 tok/s" in " ".join(table.heading(replace(run, spec=replace(run.spec, concurrency=2))))


def test_markdown_is_a_table_and_outside_text_is_not_its_markup() -> None:
    run = made.run(ROWS, drafts=[4, 2, 2])
    run = replace(run, identity=replace(run.identity, model="a|b*c_[x](y)<b>"))
    text = table.markdown(run)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == 5
    assert len({line.replace("\\|", "").count("|") for line in lines}) == 1
    assert "a\\|b\\*c\\_\\[x\\](y)\\<b\\>" in text
    assert "**" not in text


def test_csv_holds_unrounded_numbers_and_leaves_unknown_empty() -> None:
    rows = list(csv.DictReader(io.StringIO(table.to_csv(made.run(ROWS, drafts=[4, 2, 2])))))
    assert [row["prompt"] for row in rows] == ["a", "b", "overall"]
    assert float(rows[0]["tpot_s"]) == 0.0025
    assert float(rows[2]["acceptance_length"]) == 3
    assert rows[2]["per_position_rates"] == "1.0000 0.5000 0.5000"
    assert rows[0]["unit"] == "vllm-spec.service"
    plain = list(csv.DictReader(io.StringIO(table.to_csv(made.run(ROWS)))))
    assert plain[0]["acceptance_length"] == plain[0]["per_position_rates"] == plain[0]["method"] == ""


def test_the_summary_for_json() -> None:
    told = table.summary(h200.run("M5", "main-T0"))
    rows = told["rows"]
    assert isinstance(rows, list)
    overall = rows[-1]
    assert (overall["prompt"], round(overall["tpot_s"], 6), round(overall["tau"], 3)) == ("overall", 0.002459, 4.757)
    remarks = told["remarks"]
    assert isinstance(remarks, list)
    assert {"level", "code", "text"} == set(remarks[0])


def test_terminal_escapes_of_the_server_do_not_reach_the_head() -> None:
    run = made.run(ROWS)
    run = replace(run, identity=replace(run.identity, model="m\x1b[2J", unit="u\x07"))
    assert not any(letter in " ".join(table.heading(run)) for letter in "\x1b\x07")


def test_a_text_of_a_csv_is_no_formula() -> None:
    run = made.run(ROWS)
    evil = replace(
        run, identity=replace(run.identity, unit="=cmd|' /C calc'!A0", model="-1+1", version="@x", method=None)
    )
    (row, *_) = list(csv.DictReader(io.StringIO(table.to_csv(evil))))
    assert (row["unit"], row["model"], row["version"], row["method"]) == ("'=cmd|' /C calc'!A0", "'-1+1", "'@x", "")

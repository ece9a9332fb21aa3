"""When speculation pays, as rows: what was measured, what is needed, and what other k are predicted to do."""

from __future__ import annotations

from collections.abc import Iterator

from specconsole import text
from specconsole.bench import side
from specconsole.bench.breakeven import Measured, Prediction, predict
from specconsole.bench.compare import Comparison
from specconsole.bench.sentence import HOPELESS, odds, too_long
from specconsole.ui.rows.row import Row, cut
from specconsole.ui.rows.said import said_rows


def breakeven_rows(measured: Measured, rate: float | None, cells: int, *, sure: bool) -> Iterator[Row]:
    """Each figure as it was measured and as it is needed, and whether it pays.

    `rate`: the acceptance rate. `sure`: one arm is faster by the comparison's verdict; else this is no green, and no red.
    """
    undrafted = measured.undrafted_cost
    facts = (
        ("R", text.number(measured.step_cost, 3), "", "a step with speculation costs so many plain tokens"),
        ("without a draft", text.number(undrafted, 2), "", "the same of a step that drafted nothing"),
        ("τ", text.number(measured.tau, 3), text.number(measured.step_cost, 3), "tokens per step"),
        ("AL", text.number(measured.length, 2), text.number(measured.needed_length, 2), f"at {_coverage(measured)}"),
        ("accepted", text.percent(rate, 1), text.percent(measured.needed_rate, 1), "of the drafted tokens"),
        ("chance a token", text.UNKNOWN, text.number(measured.needed_chance, 2), "given the ones before"),
    )
    yield cut(((f" {'':<15} {'measured':>9}  {'needed':>9}", "title"),), cells)
    for name, have, need, meaning in facts:
        yield cut(((f" {name:<15} {have:>9}  {need:>9}  ", "text"), (meaning, "muted")), cells)
    if measured.hopeless:
        yield from said_rows("✖ ", "bad", HOPELESS, cells)
    elif measured.pays is not None and not sure:
        said = f"In these runs τ is {'' if measured.pays else 'not '}above R; what can be said of it stands in the first line."
        yield from said_rows("? ", "muted", said, cells)
    elif measured.pays is not None:
        said = "τ is above R: it pays." if measured.pays else "τ is not above R: it does not pay."
        yield from said_rows("✔ " if measured.pays else "✖ ", "good" if measured.pays else "bad", said, cells)


def _coverage(measured: Measured) -> str:
    assumed = ", taken as 1" if measured.coverage is None else ""
    return f"a coverage of {measured.covered * 100:.0f} %{assumed}"


def prediction_rows(found: Comparison, cells: int) -> Iterator[Row]:
    """Other k, marked as predictions; nothing where k is not known."""
    assert found.measured is not None
    made = [one for k in side.OTHER_K if k != found.measured.k and (one := predict(found.measured, k)) is not None]
    if not made:
        return
    yield cut(((" other k: a prediction from this one, not a measurement", "title"),), cells)
    for one in made:
        yield cut(_prediction(one, found.base_tpot_s), cells)
    if said := too_long(found.measured):
        yield from said_rows("▲ ", "warn", said, cells)


def _prediction(one: Prediction, base_s: float | None) -> Row:
    said = f" k {one.k:>2}   R {one.step_cost.low:.2f} to {one.step_cost.high:.2f}"
    if one.tau is None or one.ratio is None:
        return ((said, "text"),)
    said += f"   τ {one.tau.low:.2f} to {one.tau.high:.2f}"
    if base_s is not None:
        said += f"   TPOT {one.ratio.low * base_s * 1e3:.2f} to {one.ratio.high * base_s * 1e3:.2f} ms"
    return ((said + "   ", "text"), (odds(one.ratio.low, one.ratio.high), "muted"))

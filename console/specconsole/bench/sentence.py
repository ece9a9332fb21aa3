"""Break-even in sentences: what a step costs, whether it pays, what it would take, and what another k would do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from specconsole.bench.breakeven import Measured, Prediction, drafter, enough, experts, predict

HOPELESS = (
    "No acceptance can make this configuration pay: a step costs more than all its drafts could bring."
    " Another method is another R."
)


def sentences(measured: Measured) -> Iterator[str]:
    """Everything that follows from one measured configuration."""
    yield f"R = {measured.step_cost:.3f}: a step with speculation costs as much as {measured.step_cost:.3f} plain tokens."
    if measured.undrafted_cost is not None:
        yield f"A step without a draft costs {measured.undrafted_cost:.2f} plain tokens."
    if measured.tau is not None and measured.ratio is not None:
        yield _answer(measured.tau, measured.step_cost, measured.ratio)
    if measured.hopeless:
        yield HOPELESS
    elif text := _needed(measured):
        yield text


def _answer(tau: float, cost: float, ratio: float) -> str:
    relation = "above" if tau > cost else "not above"
    return f"τ = {tau:.3f} tokens per step is {relation} R: {_change(ratio)}."


def _change(ratio: float) -> str:
    return f"{abs(ratio - 1) * 100:.1f} % {'less' if ratio < 1 else 'more'} time per token"


def _needed(measured: Measured) -> str:
    if measured.step_cost <= 1:
        return "A step costs no more than a plain token: any accepted token is a gain."
    if measured.needed_length is None:
        return "Nothing was drafted: there is no acceptance to speak of."
    assumed = ", taken as 1" if measured.coverage is None else ""
    parts = [f"AL {measured.needed_length:.2f}"]
    if measured.needed_rate is not None:
        parts.append(f"an acceptance rate of {measured.needed_rate * 100:.0f} %")
    if measured.needed_chance is not None:
        parts.append(f"a chance of {measured.needed_chance:.2f} a token")
    have = f" (measured AL {measured.length:.2f})" if measured.length is not None else ""
    return f"To break even at this coverage ({measured.covered * 100:.0f} %{assumed}): {', '.join(parts)}{have}."


def other_drafters(measured: Measured, chances: Iterable[float]) -> Iterator[str]:
    """What a drafter with that chance a token would do at this cost."""
    for chance in chances:
        tau = drafter(measured, chance)
        if tau is not None:
            ratio = measured.step_cost / tau
            yield f"A draft with a chance of {chance:.2f} a token: τ {tau:.2f}, {_change(ratio)}, if its steps cost the same."


def drafters(measured: Measured, chances: Iterable[float] = (0.5, 0.6, 0.7, 0.8)) -> str:
    """What drafters of these chances a token would do at this cost, in one line; "" where k is not known."""
    told = [(chance, drafter(measured, chance)) for chance in chances]
    parts = [f"{chance:g}: τ {tau:.2f}, {_change(measured.step_cost / tau)}" for chance, tau in told if tau is not None]
    if not parts:
        return ""
    return f"Expected of another drafter whose steps cost the same, by the chance of a token given the ones before: {'; '.join(parts)}."


def other_lengths(measured: Measured, lengths: Iterable[int], base_tpot_s: float | None = None) -> Iterator[str]:
    """What other k would do, as predictions."""
    for k in lengths:
        found = predict(measured, k)
        if found is not None and k != measured.k:
            yield _prediction(found, base_tpot_s)


def too_long(measured: Measured) -> str:
    """Whether a shorter draft would do as well, as a prediction; "" where it would not, or where that is not known."""
    found, k = enough(measured), measured.k
    if found is None or k is None or found.growing >= k:
        return ""
    if found.fixed >= k:
        return (
            f"Prediction: k = {k} may be too large. If a step's extra cost grows with k, what is drafted beyond k = {found.growing}"
            f" gains less than 3 %; if none of it does, k = {k} is right. Measure k = {found.growing}."
        )
    nearer = f"; if that cost grows with k, beyond k = {found.growing}" if found.growing < found.fixed else ""
    return (
        f"Prediction: k = {k} is too large. Whatever a drafted token costs, what is drafted beyond k = {found.fixed} gains less than"
        f" 3 % ({_last(measured, found.fixed)}){nearer}."
    )


def _last(measured: Measured, k: int) -> str:
    """What the positions beyond a k bring."""
    beyond = [f"{chance * 100:.0f}" for chance in (measured.per_position or ())[k:]]
    where = f"position {k + 1} was" if len(beyond) == 1 else f"positions {k + 1} to {measured.k} were"
    return f"{where} accepted in {', '.join(beyond)} % of the drafts"


def _prediction(found: Prediction, base_tpot_s: float | None) -> str:
    text = f"Prediction for k = {found.k}: R {found.step_cost.low:.2f} to {found.step_cost.high:.2f}"
    if found.tau is not None and found.ratio is not None:
        text += f", τ {found.tau.low:.2f} to {found.tau.high:.2f}"
        if base_tpot_s is not None:
            low, high = found.ratio.low * base_tpot_s * 1e3, found.ratio.high * base_tpot_s * 1e3
            text += f", TPOT {low:.2f} to {high:.2f} ms"
        text += ": " + odds(found.ratio.low, found.ratio.high)
    return text + "."


def odds(low: float, high: float) -> str:
    """What a predicted range of TPOT over the baseline's means."""
    if high < 1:
        return "it would pay"
    return "it would not pay" if low >= 1 else "it may pay or not"


def moe(total: int, active: int, k: int) -> str:
    """How many experts a verified step may touch."""
    touched = experts(total, active, k + 1)
    return (
        f"Verifying {k + 1} tokens touches up to {touched:.1f} of {total} experts in a layer, {touched / active:.1f} times"
        f" the {active} of a plain token; real neighbours share experts, so it is less."
    )

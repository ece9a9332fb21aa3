"""`specconsole breakeven`: when speculation pays, from plain numbers of whatever benchmark."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from specconsole.bench.breakeven import Measured, drafter, enough, experts, predict
from specconsole.bench.sentence import moe, other_drafters, other_lengths, sentences, too_long
from specconsole.errors import UsageError
from specconsole.verb import output

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|us|s|tok/s)?\Z")
_FACTOR = {"ms": 1e-3, "us": 1e-6, "s": 1.0}
ROUNDED = 0.05
"""Tokens a step: figures that were rounded for print may be above what can be by so much."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Tell whether speculation pays and what it would take, from a baseline, one measured configuration and how many"
        " tokens a step brought."
    )
    parser.add_argument("--base", required=True, metavar="TIME", help="TPOT of the baseline: 13.6, 13.6ms or 74tok/s")
    parser.add_argument("--spec", required=True, metavar="TIME", help="TPOT with speculation, likewise")
    brought = parser.add_mutually_exclusive_group(required=True)
    brought.add_argument("--tau", type=number(1, 100), metavar="N", help="tokens per step over all steps")
    brought.add_argument("--step", metavar="TIME", help="mean step latency with speculation (ITL of vllm bench serve)")
    brought.add_argument(
        "--length", type=number(1, 100), metavar="AL", help="acceptance length; use --coverage with it"
    )
    brought.add_argument("--rate", type=number(0, 1), metavar="SHARE", help="acceptance rate; needs --k")
    parser.add_argument("--k", type=whole(1, 64), metavar="K", help="drafted tokens a step (num_speculative_tokens)")
    parser.add_argument("--coverage", type=number(0, 1), metavar="SHARE", help="steps that drafted / all steps (1)")
    parser.add_argument(
        "--positions", metavar="P1,P2…", help="acceptance by position: accepted at i / drafts, for other k"
    )
    parser.add_argument("--other-k", metavar="K,K…", default="", help="predict these k")
    parser.add_argument("--chance", metavar="P,P…", default="", help="drafters with this chance a token")
    parser.add_argument("--experts", metavar="N/K", help="experts of a layer / active ones, as 384/8; needs --k")
    parser.add_argument("--json", action="store_true", help="write JSON; its keys stand under schema 1")


def run(args: argparse.Namespace) -> int:
    """Say it; 0 whatever the answer."""
    base_s = seconds(args.base)
    lengths = listed("--other-k", args.other_k, whole(1, 64))
    chances = listed("--chance", args.chance, number(0, 1))
    measured = measured_by(args, base_s)
    possible(measured)
    for option, given in (("--other-k", lengths), ("--chance", chances)):
        if given and measured.k is None:
            raise UsageError(f"{option} needs --k.", hint="It is reckoned from the measured k: --k K, or --positions.")
    touched = experts_touched(args, measured)
    if args.json:
        output.write_json({**facts(measured, base_s, lengths, chances), "experts_touched": touched})
    else:
        for line in said(args, measured, base_s, lengths, chances):
            output.write_text(line)
    return 0


def measured_by(args: argparse.Namespace, base_s: float) -> Measured:
    """What was measured, as the arguments tell it. Raises UsageError."""
    spec_s = seconds(args.spec)
    places = tuple(listed("--positions", args.positions or "", number(0, 1)))
    if places and args.k is not None and len(places) != args.k:
        raise UsageError(f"--positions has {len(places)} values, --k says {args.k}.")
    k = args.k if args.k is not None else len(places) or None
    if args.experts and k is None:
        raise UsageError("--experts needs --k.", hint="A step verifies k + 1 tokens.")
    if args.rate is not None and k is None:
        raise UsageError("--rate needs --k.", hint="AL is 1 + k x rate.")
    length: float | None = args.length
    if args.rate is not None and k is not None:
        length = 1 + k * args.rate
    agreeing(args, places, length)
    covered = 1.0 if args.coverage is None else args.coverage
    if args.tau is not None:
        tau = args.tau
    elif args.step is not None:
        tau = tau_of(args, spec_s)
    else:
        assert length is not None  # one of the four is required
        tau = 1 + covered * (length - 1)
    if length is None and places:
        length = 1 + sum(places)
    elif length is None and covered > 0:
        length = 1 + (tau - 1) / covered
    return Measured(tau * spec_s / base_s, tau, k, args.coverage, length, None, places or None)


def tau_of(args: argparse.Namespace, spec_s: float) -> float:
    """Tokens a step, by the time of a step. Raises UsageError."""
    tau = seconds(args.step) / spec_s
    if tau < 1 - ROUNDED:
        raise UsageError(
            f"--step {args.step} is shorter than --spec {args.spec}, and a step brings one token at least: {tau:.3g} tokens a step"
            " cannot be.",
            hint="--step is the mean time of a step with speculation, --spec the mean time of a token.",
        )
    return max(tau, 1.0)


def agreeing(args: argparse.Namespace, places: tuple[float, ...], length: float | None) -> None:
    """Refuse inputs of which only one can be true. Raises UsageError, which names them."""
    told = f"--length {args.length:g}" if args.length is not None else f"--rate {args.rate:g}" if length else ""
    if any(later > earlier for earlier, later in pairwise(places)):
        raise UsageError(
            f"--positions {args.positions} rises, and a token is accepted only where the one before it was.",
            hint="Give accepted at position i / drafts, position 1 first.",
        )
    if length is not None and args.k is not None and length > 1 + args.k + ROUNDED:
        raise UsageError(
            f"{told} and --k {args.k} contradict each other: {args.k} drafted tokens make a length of {args.k + 1} at most."
        )
    by_place = 1 + sum(places) if places else None
    if by_place is not None and length is not None and not _alike(by_place, length):
        raise UsageError(
            f"{told} and --positions contradict each other: the positions make a length of {by_place:.3g}, not {length:.3g}."
        )
    drafted = length if length is not None else by_place
    if drafted is None:
        return
    told = told or "--positions"
    if args.coverage == 0 and drafted > 1:
        raise UsageError(f"--coverage 0 and {told} contradict each other: where no step drafted, nothing was accepted.")
    if args.tau is None:
        return
    most = 1 + (1.0 if args.coverage is None else args.coverage) * (drafted - 1)
    if not _alike(args.tau, most) and (args.tau > most or args.coverage is not None):
        raise UsageError(
            f"--tau {args.tau:g} and {told} contradict each other: {told} makes {most:.3g} tokens a step"
            f"{' at most' if args.coverage is None else f' with --coverage {args.coverage:g}'}."
        )


def _alike(one: float, other: float) -> bool:
    """The same but for rounding, and for what is accepted past an answer's end and never sent (up to 10 %)."""
    return abs(one - other) <= max(ROUNDED, 0.1 * other)


def possible(measured: Measured) -> None:
    """Refuse more tokens a step than its drafts could bring. Raises UsageError."""
    drafted = 0.0 if measured.coverage == 0 else measured.drafted
    if measured.tau is None or drafted is None or measured.tau <= 1 + drafted + ROUNDED:
        return
    raise UsageError(
        f"{measured.tau:.4g} tokens a step cannot be: {drafted:.3g} drafted tokens a step bring {1 + drafted:.4g} at most.",
        hint="τ counts tokens per step of one request; --coverage is steps that drafted / all steps.",
    )


def said(
    args: argparse.Namespace, measured: Measured, base_s: float, lengths: list[int], chances: list[float]
) -> Iterator[str]:
    """The answer in sentences."""
    yield from sentences(measured)
    if text := too_long(measured):
        yield text
    yield from other_drafters(measured, chances)
    yield from other_lengths(measured, lengths, base_s)
    if args.experts:
        yield moe(*experts_of(args.experts), measured.k or 0)


def facts(measured: Measured, base_s: float, lengths: list[int], chances: list[float]) -> dict[str, object]:
    """The answer as JSON; null is not known."""
    return {
        "step_cost": measured.step_cost,
        "tau": measured.tau,
        "pays": measured.pays,
        "tpot_ratio": measured.ratio,
        "needed": {
            "tau": measured.step_cost,
            "acceptance_length": measured.needed_length,
            "acceptance_rate": measured.needed_rate,
            "chance": measured.needed_chance,
        },
        "no_acceptance_suffices": measured.hopeless,
        "base_tpot_s": base_s,
        "enough_k": enough(measured),
        "predictions": [found for k in lengths if (found := predict(measured, k))],
        "drafters": [{"chance": chance, "tau": drafter(measured, chance)} for chance in chances],
    }


def experts_touched(args: argparse.Namespace, measured: Measured) -> dict[str, float] | None:
    """Experts of a layer that a plain token and a verified step touch, the latter at most; None where they are not told."""
    if not args.experts or measured.k is None:
        return None
    total, active = experts_of(args.experts)
    touched = experts(total, active, measured.k + 1)
    return {"total": total, "plain": active, "verified_at_most": touched, "factor_at_most": touched / active}


def seconds(words: str) -> float:
    """A time per token: "13.6" and "13.6ms" are milliseconds, "74tok/s" is its inverse. Raises UsageError."""
    found = _TIME.match(words.strip())
    value = float(found[1]) if found else 0.0
    if not found or value <= 0:
        raise UsageError(f"{words} is no time per token.", hint="Give milliseconds (13.6) or a speed (74tok/s).")
    return 1 / value if found[2] == "tok/s" else value * _FACTOR[found[2] or "ms"]


def experts_of(words: str) -> tuple[int, int]:
    """ "384/8" as numbers. Raises UsageError."""
    total, _, active = words.partition("/")
    if not (total.isdecimal() and active.isdecimal() and 0 < int(active) <= int(total)):
        raise UsageError(f"{words} is no number of experts.", hint="Give experts of a layer / active ones: 384/8.")
    return int(total), int(active)


def listed(option: str, words: str, kind: Callable[[str], float]) -> list:  # type: ignore[type-arg]
    """Numbers between commas. Raises UsageError."""
    try:
        return [kind(word) for word in words.split(",") if word.strip()]
    except (ValueError, argparse.ArgumentTypeError) as error:
        raise UsageError(f"{option} {words}: {error}") from error


def number(low: float, high: float) -> Callable[[str], float]:
    """A kind of argument: a number within bounds; a share may be written in percent."""

    def read(word: str) -> float:
        percent = high == 1 and word.strip().endswith("%")
        value = float(word.strip()[:-1]) / 100 if percent else float(word)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{word} is not from {low:g} to {high:g}")
        return value

    return read


def whole(low: int, high: int) -> Callable[[str], int]:
    """A kind of argument: a whole number within bounds."""

    def read(word: str) -> int:
        return int(number(low, high)(str(int(word))))

    return read

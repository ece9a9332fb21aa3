"""`specconsole breakeven`: when speculation pays, from plain numbers of whatever benchmark."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator

from specconsole.bench.breakeven import Measured, drafter, experts, predict
from specconsole.bench.sentence import moe, other_drafters, other_lengths, sentences
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
    measured = measured_by(args, base_s)
    possible(measured)
    touched = experts_touched(args, measured)
    lengths = listed("--other-k", args.other_k, whole(1, 64))
    chances = listed("--chance", args.chance, number(0, 1))
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
    covered = 1.0 if args.coverage is None else args.coverage
    if args.tau is not None:
        tau = args.tau
    elif args.step is not None:
        tau = seconds(args.step) / spec_s
    else:
        assert length is not None  # one of the four is required
        tau = 1 + covered * (length - 1)
    if length is None and places:
        length = 1 + sum(places)
    elif length is None and covered > 0:
        length = 1 + (tau - 1) / covered
    return Measured(tau * spec_s / base_s, tau, k, args.coverage, length, None, places or None)


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
    """A kind of argument: a number within bounds."""

    def read(word: str) -> float:
        value = float(word)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{word} is not from {low:g} to {high:g}")
        return value

    return read


def whole(low: int, high: int) -> Callable[[str], int]:
    """A kind of argument: a whole number within bounds."""

    def read(word: str) -> int:
        return int(number(low, high)(str(int(word))))

    return read

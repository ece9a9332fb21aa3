"""What weakens a run: client against server, identities that must hold, and signs of a client that could not keep up.

A run with no remark of level WRONG can be believed; WEAK ones say what to keep in mind, OPEN ones what could not be
checked; FACT ones are the checks that hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from specconsole.bench.acceptance import Counters, acceptance, known
from specconsole.bench.energy import COUNTER_S
from specconsole.bench.grid import kv_limited, prompt_tokens, room_of
from specconsole.bench.others import measured, others
from specconsole.bench.prompt import RANDOM
from specconsole.bench.run import BenchRun
from specconsole.bench.stats import ratio
from specconsole.bench.told import Told

AGREE = 0.02
"""Two measurements of one thing agree within this share."""
TAU_AGREE = 0.01
CACHE_SHARE = 0.05
BUNCHED = 0.02
CONTEXT_AGREE = 0.05
ENERGY_AGREE = 0.1
"""A request so long that a move of the counter is a smaller share of it is long enough."""
LATE_SHARE = 0.25
"""Of a step: ticks of our own that come later than this make single steps doubtful."""
JIT_TEXT = "JIT compilation during inference"
"""vLLM's log line for a kernel that was compiled while a request waited."""


class Level(Enum):
    """What a remark means for the run."""

    FACT = "fact"
    OPEN = "open"
    """It could not be checked."""
    WEAK = "weak"
    WRONG = "wrong"


@dataclass(frozen=True)
class Remark:
    """One check and its outcome."""

    level: Level
    code: str
    """A stable name: tokens, foreign, tau …"""
    text: str


def jit_stalls(run: BenchRun, stamps: Iterable[float]) -> dict[str, str]:
    """The requests under way at a JIT line's stamp (seconds since the epoch by the host's clock), to be discarded.

    A tenth of a second on either side counts too: lines of the log are stamped when they reach the journal.
    """
    slack, lines = 0.1, tuple(stamps)
    reason = "a kernel was compiled meanwhile (JIT)"
    return {
        one.id: reason
        for one in run.results
        if one.sent_at
        and any(one.sent_at - slack <= at <= one.sent_at + (one.end_s or one.last_s or 0.0) + slack for at in lines)
    }


def check(run: BenchRun) -> tuple[Remark, ...]:
    """All remarks on a run, the worst first."""
    if run.told is not None:
        return tuple(_told(run.told))
    counters = run.counters()
    found = [
        *_ended(run),
        *_failures(run),
        *_usage(run),
        *_lengths(run),
        *_forced(run),
        *_stamps(run),
        *_server(run, counters),
        *_tau(run, counters),
        *_cache(run, counters),
        *_warmth(run),
        *_client(run),
        *_energy(run),
        *_cell(run),
        *(Remark(Level.WEAK, "note", note) for note in run.notes),
    ]
    order = (Level.WRONG, Level.WEAK, Level.OPEN, Level.FACT)
    return tuple(sorted(found, key=lambda remark: order.index(remark.level)))


def _told(told: Told) -> Iterable[Remark]:
    """What can be said of another tool's figures; nothing of them could be checked here."""
    yield from (Remark(Level.WRONG, "told", f"{said}.") for said in told.wrong)
    yield from (Remark(Level.WEAK, "told", said) for said in (*told.unread, *told.weak))
    yield Remark(Level.OPEN, "told", f"Measured by {told.tool}: nothing of it could be cross-checked here.")


def _ended(run: BenchRun) -> Iterable[Remark]:
    if run.why in ("", "finished"):
        return
    words = {
        "cancelled": "The run was cancelled",
        "link lost": "The link broke during the run",
        "failed": "The run failed",
    }
    detail = f" ({run.error})" if run.error else ""
    done = f": {len(run.kept)} of {run.spec.total} requests count"
    yield Remark(Level.WRONG if run.why == "failed" else Level.WEAK, "ended", f"{words[run.why]}{detail}{done}.")


def _failures(run: BenchRun) -> Iterable[Remark]:
    reasons = Counter(one.error for one in run.results if one.error and one.error != "cancelled")
    for reason, count in reasons.most_common(3):
        yield Remark(Level.WRONG, "failed", f"{_requests(count)} failed: {reason}")
    for reason, count in Counter(run.discarded.values()).most_common():
        yield Remark(Level.WEAK, "discarded", f"{_requests(count)} discarded: {reason}.")


def _usage(run: BenchRun) -> Iterable[Remark]:
    if any(one.tokens is None for one in run.kept):
        yield Remark(Level.WRONG, "usage", "The server told no token counts: times per token are unknown.")
    elif any(not one.counted for one in run.kept):
        text = (
            "No token count on each chunk: the first chunk is taken for one token, and τ is not known from the stamps."
        )
        yield Remark(Level.WEAK, "usage", text)


def _lengths(run: BenchRun) -> Iterable[Remark]:
    short = [one for one in run.kept if one.tokens is not None and one.tokens != run.spec.max_tokens]
    if short and run.spec.ignore_eos:
        yield Remark(Level.WRONG, "lengths", f"{_requests(len(short))} ended before {run.spec.max_tokens} tokens.")
    inputs = {prompt: {one.prompt_tokens for one in run.of(prompt)} for prompt in run.prompt_ids}
    uneven = [prompt for prompt, lengths in inputs.items() if len(lengths) > 1]
    if uneven:
        yield Remark(Level.WEAK, "inputs", f"The same prompt had different lengths: {', '.join(uneven)}.")


def _forced(run: BenchRun) -> Iterable[Remark]:
    if not run.spec.ignore_eos or not run.kept:
        return
    forced = [one.forced for one in run.kept if one.forced is not None]
    if len(forced) < len(run.kept):
        yield Remark(Level.OPEN, "forced", "How many tokens were forced past a natural end is not known.")
    elif sum(forced):
        whole = sum(one.tokens or 0 for one in run.kept)
        text = f"{sum(forced)} of {whole} tokens were forced past a natural end: they flatter n-gram."
        yield Remark(Level.WEAK, "forced", text)
    else:
        yield Remark(Level.FACT, "forced", "No answer came to a natural end before its limit.")


def _stamps(run: BenchRun) -> Iterable[Remark]:
    if any(one.ttft_s is not None and one.ttft_s <= 0 for one in run.kept):
        yield Remark(Level.WRONG, "ttft", "A first token came in no time: these stamps cannot be true.")
    wide = [one for one in run.kept if one.counted and one.first_tokens > 1]
    if wide:
        text = f"{_requests(len(wide))} had several tokens in the first chunk; TPOT counts those after it."
        yield Remark(Level.FACT, "first", text)


def _server(run: BenchRun, counters: Counters | None) -> Iterable[Remark]:
    if counters is None or not known(counters):
        yield Remark(
            Level.WEAK, "metrics", f"No counters from the server: {_no_data(run)}. Nothing could be cross-checked."
        )
        return
    if counters.restarted:
        yield Remark(Level.WRONG, "restarted", "The server restarted during the run.")
        return
    yield from _foreign(run)
    yield from _tokens(run, counters)
    if counters.preemptions:
        text = f"{counters.preemptions:.0f} preemptions: the KV cache was too small for these streams."
        yield Remark(Level.WEAK, "preempted", text)


def _foreign(run: BenchRun) -> Iterable[Remark]:
    found = others(run)
    if found.seen:
        text = f"Others used the engine: {found.words}. Times and acceptance are not ours alone."
        yield Remark(Level.WRONG, "foreign", text)


def _tokens(run: BenchRun, counters: Counters) -> Iterable[Remark]:
    mine, made = measured(run), counters.generation_tokens
    if made is None:
        return
    tokens = sum(one.tokens or 0 for one in mine)
    if any(one.tokens is None or not one.ok for one in mine):
        yield Remark(Level.WEAK, "tokens", f"The server counts {made:.0f} tokens; ours are not all known.")
    elif made == tokens:
        yield Remark(Level.FACT, "tokens", f"Tokens: {tokens} here, {made:.0f} at the server.")
    else:
        text = f"Tokens differ: {tokens} here, {made:.0f} at the server."
        if made > tokens and not others(run).seen:
            text += " Somebody whose request had begun before used the engine too, or one of the two counts wrong."
        yield Remark(Level.WRONG, "tokens", text)


def _no_data(run: BenchRun) -> str:
    errors = [scrape.error for scrape in run.scrapes if scrape.error]
    told = [scrape.values.no_data for scrape in run.scrapes if scrape.text is not None and scrape.values.no_data]
    return (errors or told or ["they were not read"])[0]


def _tau(run: BenchRun, counters: Counters | None) -> Iterable[Remark]:
    timing = run.timing()
    here = timing.tau
    # With discarded or failed requests in the windows the two would speak of different streams.
    alike = counters is not None and {one.id for one in measured(run)} == {one.id for one in run.kept}
    there = acceptance(counters).tau if counters and alike else None
    if here is not None and there is not None:
        yield _both_taus(here, there)
    steps = ratio(timing.step_s, timing.tpot_s)
    tau = there if there is not None else here
    if steps is not None and tau is not None:
        agree = abs(steps - tau) <= TAU_AGREE * tau
        text = f"Step latency / TPOT is {steps:.3f}, τ is {tau:.3f}."
        yield Remark(Level.FACT if agree else Level.WEAK, "identity", text)
    server = counters.server_tpot_s if counters and alike else None
    means = [one.tpot_s for one in run.kept if one.tpot_s is not None]
    if server is not None and means and run.spec.concurrency == 1:
        client = sum(means) / len(means)
        agree = abs(client - server) <= AGREE * server
        text = f"Mean TPOT is {client * 1000:.3f} ms here and {server * 1000:.3f} ms at the server."
        yield Remark(Level.FACT if agree else Level.WEAK, "server", text)


def _both_taus(here: float, there: float) -> Remark:
    """A server that cannot keep up sends several steps as one chunk; fewer tokens in a chunk than in a step cannot be."""
    text = f"τ is {here:.3f} by the stamps and {there:.3f} by the counters"
    if abs(here - there) <= TAU_AGREE * there:
        return Remark(Level.FACT, "tau", f"{text}.")
    if here > there:
        text += ": some chunks hold several steps, so step latencies are too long; TPOT, and τ by the counters, hold"
        return Remark(Level.WEAK, "tau", f"{text}.")
    return Remark(Level.WRONG, "tau", f"{text}: they cannot both be true.")


def _cache(run: BenchRun, counters: Counters | None) -> Iterable[Remark]:
    share = ratio(counters.cache_hits, counters.cache_queries) if counters else None
    if share is not None:
        level = Level.WEAK if share > CACHE_SHARE else Level.FACT
        yield Remark(level, "cache", f"{share * 100:.0f} % of the prompt tokens came from the prefix cache.")
    if run.cache == "prefix":
        text = "This server has no cache_salt: each prompt began with eight words of its own to pass the prefix cache."
        yield Remark(Level.FACT, "prefix", text)


def _warmth(run: BenchRun) -> Iterable[Remark]:
    rounds = len(run.warmup.tpots_s)
    if run.spec.warmup == 0:
        yield Remark(Level.WEAK, "cold", "No warm-up: first requests may hold compilations.")
    elif run.warmup.agreed is False and run.spec.warmup is None:
        yield Remark(Level.WEAK, "warm-up", f"No two of {rounds} warm-up rounds in turn agreed within 5 %.")
    elif run.warmup.agreed:
        yield Remark(Level.FACT, "warm-up", f"Warmed up: rounds {rounds - 1} and {rounds} agreed within 5 %.")


def _client(run: BenchRun) -> Iterable[Remark]:
    health, step = run.health, run.timing().step_p50_s
    if run.tunnel:
        text = "Stamped on this machine, through the tunnel, since the host has no Python: TTFT holds the network's delay, steps its jitter."
        yield Remark(Level.WEAK, "tunnel", text)
    if run.direct:
        text = f"Driven over the link, not by a unit of the host ({run.direct}): a broken link ends such a run."
        yield Remark(Level.FACT, "direct", text)
    if health.bunched is not None and health.bunched > BUNCHED:
        text = f"{health.bunched * 100:.0f} % of the chunks came bunched: single steps cannot be trusted; TPOT can."
        yield Remark(Level.WEAK, "bunched", text)
    if health.kernel:
        yield Remark(Level.FACT, "kernel", "Stamped by the kernel on arrival.")
    elif health.late_p99_s is not None and step is not None and health.late_p99_s > LATE_SHARE * step:
        whose = "this machine's" if run.tunnel else "the host's"
        text = (
            f"The load generator's own ticks were up to {health.late_p99_s * 1000:.1f} ms late: {whose} CPUs were busy."
        )
        yield Remark(Level.WEAK, "late", text)


def _energy(run: BenchRun) -> Iterable[Remark]:
    shared = [card for card in run.meter.cards if card.others]
    if shared:
        names = ", ".join(str(card.index) for card in shared)
        text = f"Processes of others hold GPU {names} too: what they drew is in the energy."
        yield Remark(Level.WEAK, "energy", text)
    gone = run.looks[-1].at_s - run.looks[0].at_s if len(run.looks) > 1 else 0.0
    each = gone / max(len(run.looks) - 1, 1)
    if run.meter.source == "counter" and 0 < each < COUNTER_S / ENERGY_AGREE:
        text = (
            f"NVML's energy counter moves each {COUNTER_S:g} s, and these requests took {each:.2g} s: a prompt's joules may be off by"
            f" {COUNTER_S / each * 100:.0f} %, those of all by {COUNTER_S / gone * 100:.0f} %. Longer answers (--max-tokens) tell them better."
        )
        yield Remark(Level.WEAK, "energy", text)


def _cell(run: BenchRun) -> Iterable[Remark]:
    if kv_limited(run):
        fitting = room_of(run).fitting(replace(run.spec, context=0), prompt_tokens(run))
        text = f"The KV cache holds {fitting} requests of this length at once, not {run.spec.concurrency}: the others waited."
        yield Remark(Level.WEAK, "kv-limited", text)
    asked, found = run.spec.context, prompt_tokens(run)
    if asked and found is not None and abs(found - asked) > CONTEXT_AGREE * asked:
        yield Remark(Level.WEAK, "context", f"The longest prompt had {found:,} tokens, not the {asked:,} asked for.")
    if run.spec.prompt_set == RANDOM and run.identity.speculation:
        yield Remark(Level.WEAK, "random", "Random words: what speculation gains on them says nothing of real text.")


def _requests(count: int) -> str:
    return "1 request" if count == 1 else f"{count} requests"

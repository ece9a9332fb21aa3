"""A run as rows: per prompt and overall, with the head that says what was measured and the definitions that go below."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from specconsole.bench.acceptance import Acceptance, acceptance
from specconsole.bench.check import Remark, check
from specconsole.bench.energy import Energy
from specconsole.bench.grid import in_flight, kv_limited
from specconsole.bench.run import BenchRun
from specconsole.bench.stats import Timing
from specconsole.bench.told import Told
from specconsole.text import UNKNOWN, number, one_line, percent

OVERALL = "overall"
DEFINITIONS = (
    "TTFT: first token (content, reasoning or tool delta, or first growth of usage) less the request's write; median.",
    "TPOT: time from first to last chunk / tokens after the first chunk, both summed over requests.",
    "step: time between two chunks with tokens, which is one engine step of one request; not a time per token.",
    "tok/s: tokens of one stream / time from its request to its last chunk.",
    "server: mean of the server's own request_time_per_output_token_seconds.",
    "τ: tokens per step over all steps, (generation_tokens - requests) / inter_token_latency_seconds_count, or (s) by the stamps.",
)
SPECULATION = (
    "AL: 1 + accepted / drafts, over steps that drafted. coverage: drafts / all steps. accepted: accepted / drafted tokens.",
    "share: accepted / generated tokens. by position: accepted at i / drafts; then in brackets / accepted at i - 1.",
    "The counters take accepted tokens past the end of an answer too, so AL and shares are a little high.",
)
ENERGY = (
    "J/tok: joules of the unit's GPUs over the measured requests (prefill and decode) / all tokens made, first ones included;"
    " no warm-up, no CPU, memory, fans or power supply, no other GPUs."
)
TOGETHER = "Several streams ran at once, so the server's counters cannot be split by prompt."
QUANTILES = "Quantiles are interpolated linearly between the closest ranks. — is not known."


@dataclass(frozen=True)
class Row:
    """The figures of one prompt, or overall."""

    name: str
    timing: Timing
    acceptance: Acceptance
    server_tpot_s: float | None
    energy: Energy | None = None

    @property
    def joules(self) -> float | None:
        """Joules a token."""
        return self.energy.per_token if self.energy else None

    @property
    def tau(self) -> float | None:
        """By the counters where they say, else by the stamps."""
        return self.acceptance.tau if self.acceptance.tau is not None else self.timing.tau


def rows(run: BenchRun) -> tuple[Row, ...]:
    """One row for each prompt that has results, and one overall."""
    return (*(_row(run, prompt) for prompt in run.prompt_ids), _row(run, None))


def _row(run: BenchRun, prompt: str | None) -> Row:
    counters = run.counters(prompt)
    figures = acceptance(counters) if counters else Acceptance()
    server = counters.server_tpot_s if counters else None
    return Row(prompt or OVERALL, run.timing(prompt), figures, server, run.energy(prompt))


Value = float | int | str | Sequence[float | None] | None


@dataclass(frozen=True)
class Column:
    """One column: its head, its cell for people (times in ms), its value for files (times in s, shares as fractions)."""

    head: str
    key: str
    cell: Callable[[Row], str]
    value: Callable[[Row], Value]


def _ms(key: str, head: str, pick: Callable[[Row], float | None], digits: int = 2) -> Column:
    def cell(row: Row) -> str:
        seconds = pick(row)
        return number(None if seconds is None else seconds * 1000, digits)

    return Column(head, key, cell, pick)


def _plain(key: str, head: str, pick: Callable[[Row], float | None], digits: int = 2) -> Column:
    return Column(head, key, lambda row: number(pick(row), digits), pick)


def _share(key: str, head: str, pick: Callable[[Row], float | None]) -> Column:
    return Column(head, key, lambda row: percent(pick(row), 1), pick)


def _tau(row: Row) -> str:
    by_stamps = row.acceptance.tau is None and row.timing.tau is not None
    return number(row.tau, 3) + (" s" if by_stamps else "")


def _positions(row: Row) -> str:
    plain, given = row.acceptance.per_position, row.acceptance.conditional
    if plain is None or given is None:
        return UNKNOWN
    return " ".join(f"{value:.2f}" for value in plain) + " (" + " ".join(number(value, 2) for value in given) + ")"


TIMES = (
    Column("prompt", "prompt", lambda row: one_line(row.name, 40), lambda row: row.name),
    Column("n", "requests", lambda row: str(row.timing.requests), lambda row: row.timing.requests),
    _ms("ttft_p50_s", "TTFT ms", lambda row: row.timing.ttft_s, 1),
    _ms("tpot_s", "TPOT ms", lambda row: row.timing.tpot_s, 3),
    _ms("server_tpot_s", "server ms", lambda row: row.server_tpot_s, 3),
    _ms("step_p50_s", "step p50", lambda row: row.timing.step_p50_s),
    _ms("step_p99_s", "step p99", lambda row: row.timing.step_p99_s),
    _plain("tokens_per_second", "tok/s", lambda row: row.timing.stream_tok_s, 1),
    Column("τ", "tau", _tau, lambda row: row.tau),
)
JOULES = (Column("J/tok", "joules_per_token", lambda row: joules(row.joules), lambda row: row.joules),)
"""Beside `TIMES` where the energy is known."""
GAINS = (
    _plain("acceptance_length", "AL", lambda row: row.acceptance.length),
    _share("coverage", "coverage", lambda row: row.acceptance.coverage),
    _share("acceptance_rate", "accepted", lambda row: row.acceptance.rate),
    _share("accepted_share", "share", lambda row: row.acceptance.share),
    Column("by position (given the one before)", "per_position_rates", _positions, lambda row: row.acceptance.per_position),
)  # fmt: skip
MORE = (
    *JOULES,
    Column("tok/J", "tokens_per_joule", lambda row: joules(_inverse(row)), lambda row: _inverse(row)),
    Column("W", "watts", lambda row: number(_watts(row)), lambda row: _watts(row)),
    _ms("step_mean_s", "step mean", lambda row: row.timing.step_s),
    _ms("ttft_p99_s", "TTFT p99", lambda row: row.timing.ttft_p99_s),
    Column("tokens", "tokens", lambda row: number(row.timing.tokens), lambda row: row.timing.tokens),
    Column("given", "conditional_rates", lambda row: _joined(row.acceptance.conditional), lambda row: row.acceptance.conditional),
)  # fmt: skip


def _inverse(row: Row) -> float | None:
    return row.energy.tokens_per_joule if row.energy else None


def _watts(row: Row) -> float | None:
    return row.energy.watts if row.energy else None


def joules(value: float | None) -> str:
    """Three digits that count: 0.485, 2.48, 31.8, 318."""
    if value is None:
        return UNKNOWN
    return number(value, 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3)


def _joined(values: Sequence[float | None] | None) -> str:
    return " ".join("" if value is None else f"{value:.4f}" for value in values or ())


@dataclass(frozen=True)
class Table:
    """Cells for people, with what stands above and below."""

    head: tuple[str, ...]
    """Lines above: what was measured, how, and when."""
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...]
    """Columns whose cells stand right."""
    notes: tuple[str, ...]
    """Remarks on the run, the worst first."""
    definitions: tuple[str, ...]


def table(run: BenchRun) -> Table:
    """The run for people; columns of speculation only where the server speculates."""
    found = rows(run)
    drafted = any(row.acceptance.coverage is not None for row in found)
    times = times_of(found)
    columns = times + (GAINS if drafted else ())
    cells = tuple(tuple(column.cell(row) for column in columns) for row in found)
    return Table(
        head=heading(run),
        header=tuple(column.head for column in columns),
        rows=cells,
        right=tuple(range(1, len(times) + 4)),
        notes=tuple(_remark(remark) for remark in check(run)),
        definitions=(
            *DEFINITIONS,
            *((ENERGY,) if len(times) > len(TIMES) else ()),
            *(SPECULATION if drafted else ()),
            *((TOGETHER,) if run.spec.concurrency > 1 else ()),
            QUANTILES,
        ),
    )


def times_of(found: Sequence[Row]) -> tuple[Column, ...]:
    """The columns of times, and joules a token where any row knows them."""
    return TIMES + JOULES if any(row.joules is not None for row in found) else TIMES


def heading(run: BenchRun) -> tuple[str, ...]:
    """What was measured: unit and start, model and engine, speculation and scheduling, requests."""
    who, spec = run.identity, run.spec
    if run.told is not None:
        return _heading_of(run, run.told)
    at = datetime.fromtimestamp(run.started, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC") if run.started else UNKNOWN
    label = one_line(spec.label)
    together = run.timing().total_tok_s if spec.concurrency > 1 else None
    flight = in_flight(run) if spec.concurrency > 1 else None
    streams = f" ({number(flight, 1)} in flight)" if flight is not None else ""
    streams += f", together {number(together, 1)} tok/s" if together is not None else ""
    eos = (
        "every answer runs to its limit, also past a natural end (ignore_eos)"
        if spec.ignore_eos
        else "answers may end early"
    )
    size = f"{len(spec.prompts)} prompts x {spec.rounds}, {spec.max_tokens} tokens each"
    lines = (
        (f"{one_line(who.unit) or 'unit not known'} on {one_line(who.host) or UNKNOWN}", f"invocation {who.invocation or UNKNOWN}", label),
        (one_line(who.model or UNKNOWN), f"vLLM {one_line(who.version or UNKNOWN)}", one_line(who.arm),
         f"runner {who.runner or UNKNOWN}", f"async scheduling {_on_off(who.async_scheduling)}"),
        (f"temperature {spec.temperature:g}", size, f"context {spec.context:,}" if spec.context else "", f"{spec.concurrency} at once{streams}", spec.api,
         f"KV cache {number(run.kv_tokens)} tokens", at),
        power(run),
        (f"{eos[0].upper()}{eos[1:]}.",),
    )  # fmt: skip
    return tuple(" · ".join(part for part in line if part) for line in lines)


def _heading_of(run: BenchRun, told: Told) -> tuple[str, ...]:
    """The same of a run that another tool measured: what its file tells."""
    who, spec, timing = run.identity, run.spec, told.timing
    at = datetime.fromtimestamp(run.started, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC") if run.started else UNKNOWN
    streams = UNKNOWN if "concurrency" in told.untold else str(spec.concurrency)
    lines = (
        (f"{one_line(who.unit) or 'a file'}{f' on {one_line(who.host)}' if who.host else ''}, measured by {one_line(told.tool)}", one_line(spec.label)),
        (one_line(who.model or UNKNOWN), one_line(who.arm)),
        (f"{timing.requests} requests, {number(timing.tokens)} tokens", f"{streams} at once",
         f"{number(told.input_tokens)} tokens a prompt", at),
    )  # fmt: skip
    return tuple(" · ".join(part for part in line if part) for line in lines)


def power(run: BenchRun) -> tuple[str, ...]:
    """The energy overall: joules a token and its inverse, watts, of which GPUs, by what; or why it is not known."""
    found, meter = run.energy(), run.meter
    if found is None:
        why = meter.why or ("a GPU did not answer" if meter.source and run.why else "")
        return (f"energy {UNKNOWN} ({one_line(why)})",) if why else ()
    cards = f"{len(meter.cards)} GPUs" if len(meter.cards) != 1 else "1 GPU"
    each = f"energy {joules(found.per_token)} J/token, {joules(found.tokens_per_joule)} tokens/J"
    return (
        each,
        f"{number(found.watts)} W over {number(found.seconds, 1)} s, {cards} of the unit",
        f"by {meter.words}",
    )


def _on_off(value: bool | None) -> str:
    return UNKNOWN if value is None else "on" if value else "off"


def _remark(remark: Remark) -> str:
    marks = {"wrong": "✗", "weak": "!", "open": "?", "fact": "✓"}
    return f"{marks[remark.level.value]} {one_line(remark.text)}"


def markdown(run: BenchRun) -> str:
    """The run as Markdown, for a report or a ticket."""
    return markdown_of(table(run))


def markdown_of(made: Table) -> str:
    """Any table as Markdown."""
    rule = ["---:" if place in made.right else "---" for place in range(len(made.header))]
    lines = [*(f"{escape(line)}  " for line in made.head), "", _pipe(made.header), _pipe(rule)]
    lines += [_pipe(row) for row in made.rows]
    lines += [
        "",
        *(f"- {escape(note)}" for note in made.notes),
        "",
        *(f"{escape(line)}  " for line in made.definitions),
    ]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Outside text that Markdown shall not read as its own."""
    return "".join("\\" + letter if letter in "\\`*_|<>[]#" else letter for letter in text)


def _pipe(cells: Sequence[str]) -> str:
    plain = [cell if set(cell) <= set("-:") and cell else escape(cell) for cell in cells]
    return "| " + " | ".join(plain) + " |"


def summary(run: BenchRun) -> dict[str, object]:
    """The figures of each row under the names of the CSV columns, and the remarks: for JSON beside the raw run."""
    columns = TIMES + MORE + GAINS
    return {
        "rows": [{column.key: column.value(row) for column in columns} for row in rows(run)],
        "remarks": [{"level": one.level.value, "code": one.code, "text": one.text} for one in check(run)],
        "total_tokens_per_second": run.timing().total_tok_s,
        "energy": _energy(run),
    }


def _energy(run: BenchRun) -> dict[str, object]:
    found, meter = run.energy(), run.meter
    return {
        "source": meter.source,
        "why": meter.why or None,
        "joules": found.joules if found else None,
        "seconds": found.seconds if found else None,
        "watts": found.watts if found else None,
        "joules_per_token": found.per_token if found else None,
        "tokens_per_joule": found.tokens_per_joule if found else None,
        "gpus": [
            {"index": card.index, "uuid": card.uuid, "joules": found.cards[place] if found else None}
            for place, card in enumerate(meter.cards)
        ],
        "excludes": ["warm-up", "CPU", "memory", "fans", "power supply", "GPUs not held by the unit"],
    }


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""


def to_csv(run: BenchRun) -> str:
    """The run as CSV: one line a prompt and one overall, numbers unrounded, unknown ones empty.

    Several numbers of one cell stand with a blank between them. A text that a spreadsheet would take for a formula stands behind an apostrophe.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = TIMES + MORE + GAINS
    who, spec = run.identity, run.spec
    fixed = {
        "unit": who.unit, "invocation": who.invocation, "model": who.model, "version": who.version, "method": who.method,
        "k": who.k, "temperature": spec.temperature, "concurrency": spec.concurrency, "label": spec.label, "started": run.started,
        "prompts": spec.prompt_set, "context": spec.context or None, "in_flight": in_flight(run), "kv_limited": kv_limited(run),
    }  # fmt: skip
    writer.writerow([*(column.key for column in columns), *fixed])
    for row in rows(run):
        values = [column.value(row) for column in columns]
        writer.writerow([_cell(value) for value in (*values, *fixed.values())])
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, str) and value[:1] in _FORMULA and value:
        return f"'{value}"
    if isinstance(value, (list, tuple)):
        return _joined(value)
    return "" if value is None else value

"""Measured configurations as people keep them: a table with a header, or notes of two or more runs; read, pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from specconsole.bench.sweep import Arm
from specconsole.text import one_line

_MOST = 500
_MARKS = ",;\t|"
_COLUMNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("k", re.compile(r"k|depth|(?:num_?)?(?:spec(?:ulative)?|draft)_?tokens?")),
    ("load", re.compile(r"(?:max_?)?concurrency|batch(?:_?size)?|streams|clients|num_?(?:requests|seqs)")),
    ("base", re.compile(r"(?:baseline|base|no_?spec\w*|vanilla|plain)(?:_(?:output_?)?(?:tok\w*|tps|throughput)\w*)?")),
    ("spec", re.compile(r"(?:spec\w*|eagle\w*|mtp\w*|n_?gram\w*|draft\w*)_(?:output_?)?(?:tok\w*|tps|throughput)\w*")),
    ("length", re.compile(r"(?:mean_?)?acc(?:e?pt)?\w*_?len\w*|al|tau")),
    ("rate", re.compile(r"(?:avg_?|mean_?)?(?:draft_?)?accept\w*(?:_?(?:pct|percent|rate))?")),
    ("tpot_s", re.compile(r"(?:mean_?|median_?)?tpot\w*|ms_per_tok\w*")),
    ("tok_s", re.compile(r"\w*(?:tok\w*_?(?:per_?)?_?s(?:ec)?|tps|throughput)\w*")),
    ("wall_s", re.compile(r"(?:wall|total)_?(?:time)?(?:_?s(?:ec\w*)?)?|seconds")),
    ("tokens", re.compile(r"(?:output|generated)_?tokens")),
    ("name", re.compile(r"config\w*|name|method|variant|run|unit")),
)
_BASE = re.compile(
    r"\b(?:base(?:line)?|vanilla|without|w/o|no[ _-]?spec\w*|without spec\w*|non-spec\w*|plain|autoregressive)\b|\bAR\b",
    re.IGNORECASE,
)
_SPEC = re.compile(
    r"\b(?:spec(?:ulative|ulation)?\w*|eagle\w*|mtp|n-?gram\w*|draft\w*|medusa|suffix|k ?= ?\d)", re.IGNORECASE
)


def table(text: str) -> tuple[Arm, ...]:
    """Read a table whose header names its columns."""
    lines = [line for line in text.split("\n")[:_MOST] if line.strip()]
    barred = any(line.lstrip().startswith("|") for line in lines)
    while lines and not (lines[0].lstrip()[:1] == "|" if barred else any(mark in lines[0] for mark in _MARKS)):
        del lines[0]  # a title
    if not lines:
        return ()
    mark = max(_MARKS, key=lines[0].count)
    rows = [[cell.strip(' "*') for cell in line.strip("| ").split(mark)] for line in lines]
    if not rows:
        return ()
    header = [_column(cell) for cell in rows[0]]
    percent = ["pct" in cell.lower() or "%" in cell or "percent" in cell.lower() for cell in rows[0]]
    millis = ["ms" in cell.lower() for cell in rows[0]]
    found = []
    for row in rows[1:]:
        values: dict[str, float | str] = {}
        for name, cell, share, ms in zip(header, row, percent, millis, strict=False):
            if name == "name":
                values[name] = one_line(cell, 80)
            elif name and (number := _number(cell)) is not None:
                scale = 0.01 if name == "rate" and (share or number > 1) else 0.001 if name == "tpot_s" and ms else 1.0
                values.setdefault(name, number * scale)
        if len(values) > 1:
            found += _wide(values) if "base" in values and "spec" in values else [_arm(values)]
    return tuple(found)


def _wide(values: Mapping[str, float | str]) -> list[Arm]:
    """A row that holds both arms of one load."""
    load = values.get("load")
    at = int(load) if isinstance(load, float) else None
    pair = [value if isinstance(value, float) else None for value in (values["base"], values["spec"])]
    return [Arm("baseline", 0, pair[0], load=at, baseline=True), Arm("speculation", None, pair[1], load=at)]


def _column(cell: str) -> str:
    word = re.sub(r"[^a-z0-9]+", "_", cell.strip().lower().replace("/", "_")).strip("_")
    return next((name for name, pattern in _COLUMNS if pattern.fullmatch(word)), "")


def _number(cell: str) -> float | None:
    found = re.fullmatch(r"\s*(-?\d{1,15}(?:\.\d{1,15})?)\s*(?:%|ms|tok/s|x)?\s*", cell.replace(",", ""))
    return float(found[1]) if found else None


def _arm(values: Mapping[str, float | str]) -> Arm:
    name = str(values.get("name", ""))
    k = values.get("k")
    whole = int(k) if isinstance(k, float) and k == int(k) else None
    if whole is None and "k" not in values and (found := re.search(r"k ?= ?(\d{1,3})", name)):
        whole = int(found[1])

    def real(key: str) -> float | None:
        value = values.get(key)
        return value if isinstance(value, float) else None

    tokens = real("tokens")
    return Arm(
        name or (f"k={whole}" if whole is not None else ""),
        whole,
        real("tok_s"),
        real("tpot_s"),
        real("wall_s"),
        real("length"),
        real("rate"),
        int(tokens) if tokens is not None else None,
        load=int(load) if (load := real("load")) is not None else None,
        baseline=whole == 0 or (whole is None and bool(_BASE.search(name))),
    )


_VALUE = r"(-?\d[\d,]*(?:\.\d+)?)"
_FIELDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("tok_s", re.compile(rf"(?:output|decode speed|generation|throughput)[^:\n]{{0,30}}:\s*{_VALUE} ?tok\w*/s", re.IGNORECASE)),
    ("tok_s", re.compile(rf"{_VALUE} ?(?:tok(?:en)?s?/s(?:ec)?|tps|t/s)\b", re.IGNORECASE)),
    ("tpot_s", re.compile(rf"{_VALUE} ?ms ?(?:/|per) ?(?:output )?tok", re.IGNORECASE)),
    ("tpot_s", re.compile(rf"tpot(?: \([^)\n]{{0,30}}\))?\s*[:=]?\s*{_VALUE} ?ms", re.IGNORECASE)),
    ("length", re.compile(rf"(?:acc?e?pt\w*|acceptance) len(?:gth)?\s*[:=]?\s*{_VALUE}", re.IGNORECASE)),
    ("drafts", re.compile(rf"(?:draft proposals|number of drafts|num_drafts)\s*[:=]\s*{_VALUE}", re.IGNORECASE)),
    ("drafted", re.compile(rf"(?:draft[ _]tokens(?: generated)?|drafted(?:[ _]tokens)?)\s*[:=]\s*{_VALUE}", re.IGNORECASE)),
    ("accepted", re.compile(rf"accepted(?:[ _]tokens)?\s*[:=]\s*{_VALUE}", re.IGNORECASE)),
    ("decode_s", re.compile(rf"decode time\s*[:=]\s*{_VALUE} ?s", re.IGNORECASE)),
    ("tokens", re.compile(rf"(?:output|generated)[ _]tokens?\s*[:=]\s*{_VALUE}", re.IGNORECASE)),
    ("tokens", re.compile(rf"{_VALUE} (?:output|generated) tokens?\b", re.IGNORECASE)),
    ("rate", re.compile(rf"acceptance rate\s*[:=]\s*{_VALUE} ?%", re.IGNORECASE)),
    ("wall_s", re.compile(rf":\s*{_VALUE} ?s(?:ec\w*)?\s*$", re.IGNORECASE)),
)  # fmt: skip
_POSITION = re.compile(
    rf"(?:acceptance(?: rate)? at (?:token|position)|position) (\d{{1,3}})\s*[:=]\s*{_VALUE}", re.IGNORECASE
)
_TITLE = re.compile(r"[^:\d]*\w[^:]{0,60}:?\s*")


def notes(text: str) -> tuple[Arm, ...]:
    """Read notes of runs: a line each, or a title with lines of figures below."""
    arms: list[Arm] = []
    shared: dict[str, float] = {}
    places: dict[int, float] = {}
    title = ""
    for line in text.splitlines()[: _MOST * 4]:
        line = line.strip()[:500]
        if not line:
            continue
        if found := _POSITION.search(line):
            places[int(found[1])] = float(found[2].replace(",", ""))
            continue
        values = dict(_figures(line))
        named = _named(line)
        if not values:
            title = line.rstrip(":").strip() if _TITLE.fullmatch(line) or _SPEC.search(line) else title
        elif named is not None:
            arms.append(_noted(named, line, values))
        elif title and (
            (arms and arms[-1].name == title) or values.keys() & {"decode_s", "tok_s", "tokens", "tpot_s", "wall_s"}
        ):
            if not arms or arms[-1].name != title:
                arms.append(_noted(title, title, {}))
            arms[-1] = replace(arms[-1], **_whole(values))  # type: ignore[arg-type]
        else:
            shared.update(values)
    return tuple(_shared(arms, shared, places))


def _figures(line: str) -> Iterator[tuple[str, float]]:
    seen: set[str] = set()
    for name, pattern in _FIELDS:
        if name not in seen and (found := pattern.search(line)):
            if name == "wall_s" and seen:
                continue
            seen.add(name)
            value = float(found[1].replace(",", ""))
            yield name, value / 1000 if name == "tpot_s" else value / 100 if name == "rate" else value


def _named(line: str) -> str | None:
    """A line that names its own arm before its figures."""
    head = re.split(r"[:\[,|]|\d+(?:\.\d+)? ?tok", line)[0].strip()
    if re.match(r"(?:total|number of|mean|acceptance|first|decode|output|avg)\b", head, re.IGNORECASE):
        return None
    return one_line(head, 80) if _BASE.search(head) or _SPEC.search(head) else None


def _noted(name: str, line: str, values: Mapping[str, float]) -> Arm:
    k = re.search(r"\b(?:[kK]|num_(?:spec|speculative|draft)_tokens|spec_tokens|draft_tokens) ?[=:] ?(\d{1,3})\b", line)
    base = bool(_BASE.search(name))
    return Arm(one_line(name, 80), int(k[1]) if k else 0 if base else None, baseline=base, **_whole(values))  # type: ignore[arg-type]


def _whole(values: Mapping[str, float]) -> dict[str, float | int]:
    return {
        name: int(value) if name in ("drafts", "drafted", "accepted", "tokens") else value
        for name, value in values.items()
        if math.isfinite(value)
    }


def _drafts(arm: Arm) -> bool:
    return bool(_SPEC.search(arm.name)) or arm.drafts is not None or arm.length is not None


def _shared(arms: list[Arm], shared: Mapping[str, float], places: Mapping[int, float]) -> Iterator[Arm]:
    """Figures that stand by themselves are those of the one arm that drafts; the arm named first is else the baseline."""
    drafting = [arm for arm in arms if not arm.baseline]
    if arms and not any(arm.baseline for arm in arms):
        first = next((arm for arm in arms if not _drafts(arm)), None)
        arms = [replace(arm, baseline=True, k=0) if arm is first else arm for arm in arms]
        drafting = [arm for arm in arms if not arm.baseline]
    for arm in arms:
        if len(drafting) == 1 and arm is drafting[0]:
            extra = {
                name: value
                for name, value in _whole(shared).items()
                if name not in ("tokens", "wall_s") and getattr(arm, name) is None
            }
            arm = replace(arm, **extra, per_position=tuple(places[place] for place in sorted(places)) or None)  # type: ignore[arg-type]
        yield arm

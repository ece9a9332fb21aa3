"""What an experiment asks of every arm: one cell or several, read from a plan's [bench], told to the host, and read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from specconsole import toml
from specconsole.bench.grid import Axes, cells, size
from specconsole.bench.prompt import DEFAULT, RANDOM, draw
from specconsole.bench.spec import BenchSpec
from specconsole.errors import ConfigError, UsageError
from specconsole.text import one_line

PATH = ("bench",)
COUNTS = ("repeat", "max_tokens", "sample")
AXES = ("prompts", "concurrency", "context", "temperature")
"""What may be a list: each combination is a cell."""
KEYS = (*COUNTS, *AXES, "seed", "allow_random", "warmup", "api")


def read(file: toml.File, table: Mapping[str, Any]) -> tuple[BenchSpec, ...]:
    """The cells of a plan's [bench], the longest contexts and the most streams last. Raises ConfigError."""
    file.only(table, KEYS, PATH)
    values: dict[str, Any] = {
        key: file.get(table, key, "count", PATH) for key in COUNTS if key in table and key != "sample"
    }
    if "warmup" in table and table["warmup"] != "auto":
        values["warmup"] = file.get(table, "warmup", "count", PATH)
    if "api" in table:
        values["api"] = file.one_of(table, "api", ("chat", "completions"), PATH)
    names = _several(file, table, "prompts", "texts", "a text", [DEFAULT])
    if RANDOM in names and not file.get(table, "allow_random", "yes", PATH, False):
        raise _random(file)
    try:
        sets = [draw(name, file.get(table, "sample", "count", PATH), _seed(file, table)) for name in names]
        base = BenchSpec(prompts=sets[0].prompts, prompt_set=names[0], **values)
        return cells(_axes(file, table), sets, base)
    except UsageError as error:
        raise file.wrong(PATH, f"[bench]: {error}") from None


def _axes(file: toml.File, table: Mapping[str, Any]) -> Axes:
    contexts = _several(
        file, {"context": _sizes(table.get("context", 0))}, "context", "counts", "a number of tokens", [0]
    )
    temperatures = _several(file, table, "temperature", "numbers", "a number from 0 to 2", [0])
    concurrency = _several(file, table, "concurrency", "counts", "a whole number above 0", [1])
    if 0 in concurrency:
        raise file.wrong(
            (*PATH, "concurrency"), '"concurrency" must be a whole number above 0, or a list of them, not 0.'
        )
    return Axes(tuple(concurrency), tuple(contexts), tuple(float(value) for value in temperatures))


def _several(
    file: toml.File, table: Mapping[str, Any], key: str, kind: str, called: str, default: list[Any]
) -> list[Any]:
    """The values of an axis, each once: one alone, or a list."""
    given = table.get(key, default)
    found = given if isinstance(given, list) else [given]
    if not found or not toml.KINDS[kind][0](found):
        raise file.wrong((*PATH, key), f'"{key}" must be {called}, or a list of them, not {given!r}.')
    return list(dict.fromkeys(found))


def _sizes(given: Any) -> list[Any]:
    """Sizes such as "32k" as numbers; what is none stays as it is, and is refused as such."""
    return [_size(one) for one in (given if isinstance(given, list) else [given])]


def _size(given: Any) -> Any:
    try:
        return size(given) if isinstance(given, str) else given
    except ValueError:
        return given


def _seed(file: toml.File, table: Mapping[str, Any]) -> int:
    seed = table.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise file.wrong((*PATH, "seed"), f'"seed" must be a whole number, not {seed!r}.')
    return seed


def _random(file: toml.File) -> ConfigError:
    said = "random words say nothing of speculation: what a drafter is right about is the order of real text."
    return file.wrong(
        (*PATH, "prompts"), said, "Give a file, or allow_random = true to measure with them all the same."
    )


# -- to the host and back --


def to_json(specs: Sequence[BenchSpec]) -> dict[str, Any]:
    """As `from_json` reads it: each set of prompts once, however many cells ask it."""
    plain = [spec.to_json() for spec in specs]
    return {
        "prompts": {one["prompt_set"]: one["prompts"] for one in plain},
        "cells": [{**one, "prompts": one["prompt_set"]} for one in plain],
    }


def from_json(asked: Mapping[str, Any]) -> tuple[BenchSpec, ...]:
    """The cells again; raises KeyError or TypeError where the value is none."""
    return tuple(BenchSpec.from_json({**one, "prompts": asked["prompts"][one["prompts"]]}) for one in asked["cells"])


# -- in words --


def called(spec: BenchSpec, specs: Sequence[BenchSpec]) -> str:
    """What tells a cell from the others, in words; "" where it is the only one."""
    parts = (
        (_vary(specs, "prompt_set"), one_line(spec.prompt_set, 32)),
        (_vary(specs, "temperature"), f"temperature {spec.temperature:g}"),
        (_vary(specs, "context"), f"context {spec.context:,}" if spec.context else "prompts as they are"),
        (_vary(specs, "concurrency"), f"{spec.concurrency} at once"),
    )
    return ", ".join(said for varies, said in parts if varies)


def names(about: Mapping[str, Any]) -> tuple[str, ...]:
    """What tells the cells of an experiment apart, of what its plan keeps for the console; () where it keeps none."""
    specs = from_json(about["asked"]) if about.get("asked") else ()
    return tuple(called(spec, specs) for spec in specs)


def _vary(specs: Sequence[BenchSpec], name: str) -> bool:
    return len({getattr(spec, name) for spec in specs}) > 1


def axes(specs: Sequence[BenchSpec]) -> str:
    """What is varied, in words: "context as it is, 32,000; streams at once 1, 8"."""
    found = {
        "prompts": [one_line(name, 32) for name in dict.fromkeys(spec.prompt_set for spec in specs)],
        "temperature": [f"{one:g}" for one in sorted({spec.temperature for spec in specs})],
        "context": [f"{one:,}" if one else "as it is" for one in sorted({spec.context for spec in specs})],
        "streams at once": [str(one) for one in sorted({spec.concurrency for spec in specs})],
    }
    return "; ".join(f"{name} {', '.join(values)}" for name, values in found.items() if len(values) > 1)

"""vLLM's page of metrics as a template: its series, how they behave, and the page again with other values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

Values = tuple[float | None, ...]
"""The value of each series of a page in its order; None: the series is not on the page yet."""

_SERIES = re.compile(r"^([A-Za-z_:][\w:]*)(\{.*\})? (\S+)$")
_LE = re.compile(r'le="([^"]+)"')


@dataclass(frozen=True)
class Series:
    """One line of the page."""

    name: str
    labels: str
    """With braces; "" for none."""
    kind: str
    """counter, gauge, histogram or summary."""

    @property
    def counts(self) -> bool:
        """It only ever grows."""
        return self.kind != "gauge"

    @property
    def edge(self) -> float | None:
        """The upper edge of a histogram's bucket."""
        match = _LE.search(self.labels) if self.name.endswith("_bucket") else None
        return float(match[1]) if match else None


class Page:
    """The page of one server."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = [line for line in text.splitlines() if line.startswith("#") or _SERIES.match(line)]

    @cached_property
    def series(self) -> list[Series]:
        """All series in their order."""
        kind, found = "", []
        for line in self._lines:
            if line.startswith("# TYPE "):
                kind = line.rsplit(" ", 1)[1]
            elif match := _SERIES.match(line):
                found.append(Series(match[1], match[2] or "", kind))
        return found

    @cached_property
    def own(self) -> Values:
        """The values that stand on it."""
        return tuple(float(match[3]) for line in self._lines if (match := _SERIES.match(line)))

    @cached_property
    def by_name(self) -> Mapping[str, list[int]]:
        """The places of a name's series."""
        places: dict[str, list[int]] = {}
        for place, series in enumerate(self.series):
            places.setdefault(series.name, []).append(place)
        return places

    def render(self, values: Values, shift: float) -> str:
        """The page with these values; moments of the recording (births of series, start) are moved by `shift` s."""
        places = iter(enumerate(self.series))
        lines: list[str] = []
        for line in self._lines:
            if line.startswith("#"):
                lines.append(line)
                continue
            place, series = next(places)
            value = values[place]
            if value is not None:
                moment = series.name.endswith("_created") or series.name == "process_start_time_seconds"
                lines.append(f"{series.name}{series.labels} {number(value + shift if moment else value)}")
        return "\n".join(lines) + "\n"

    def observe(self, extra: dict[int, float], name: str, value: float) -> None:
        """Count one observation of a histogram into what is added to the page."""
        for suffix, amount in (("_count", 1.0), ("_sum", value)):
            self.add(extra, name + suffix, amount)
        for place in self.by_name.get(f"{name}_bucket", ()):
            edge = self.series[place].edge
            if edge is not None and value <= edge:
                extra[place] = extra.get(place, 0.0) + 1

    def add(self, extra: dict[int, float], name: str, amount: float, labels: str = "") -> None:
        """Add to the series of a name whose labels hold some text."""
        for place in self.by_name.get(name, ()):
            if labels in self.series[place].labels:
                extra[place] = extra.get(place, 0.0) + amount

    # -- what a request counts --

    def first_token(self, extra: dict[int, float], tokens: int, prompt_tokens: int, ttft_s: float) -> None:
        """A request's prompt was read and its first chunk sent."""
        self.add(extra, "vllm:generation_tokens_total", tokens)
        self.observe(extra, "vllm:iteration_tokens_total", tokens)
        self.add(extra, "vllm:prompt_tokens_total", prompt_tokens)
        self.add(extra, "vllm:prefix_cache_queries_total", prompt_tokens)
        self.observe(extra, "vllm:time_to_first_token_seconds", ttft_s)

    def step(self, extra: dict[int, float], tokens: int, step_s: float) -> None:
        """A step of a request gave so many tokens."""
        self.add(extra, "vllm:generation_tokens_total", tokens)
        self.observe(extra, "vllm:iteration_tokens_total", tokens)
        self.observe(extra, "vllm:inter_token_latency_seconds", step_s)

    def draft(self, extra: dict[int, float], accepted: int) -> None:
        """A step had a draft, of which so many tokens were accepted."""
        positions = self.by_name["vllm:spec_decode_num_accepted_tokens_per_pos_total"]
        self.add(extra, "vllm:spec_decode_num_drafts_total", 1)
        self.add(extra, "vllm:spec_decode_num_draft_tokens_total", len(positions))
        self.add(extra, "vllm:spec_decode_num_accepted_tokens_total", accepted)
        for place in positions[:accepted]:
            extra[place] = extra.get(place, 0.0) + 1

    def end(self, extra: dict[int, float], whole_s: float, tpot_s: float, prompt_tokens: int, tokens: int) -> None:
        """A request ended."""
        self.add(extra, "vllm:request_success_total", 1, 'finished_reason="length"')
        self.observe(extra, "vllm:e2e_request_latency_seconds", whole_s)
        self.observe(extra, "vllm:request_time_per_output_token_seconds", tpot_s)
        self.observe(extra, "vllm:request_prompt_tokens", prompt_tokens)
        self.observe(extra, "vllm:request_generation_tokens", tokens)


def number(value: float) -> str:
    """A value as the page's maker writes it: exponents from a million on, with all digits."""
    text = repr(float(value))
    whole, dot, rest = text.partition(".")
    if value <= 0 or not dot or "e" in text or len(whole) <= 6:
        return text
    digits = f"{whole[0]}.{whole[1:]}{rest}".rstrip("0.")
    return f"{digits}e+0{len(whole) - 1}"

"""What a run asks of the server: frozen, checked, and turned into request bodies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specconsole.bench.prompt import Prompt
from specconsole.errors import UsageError

PATHS = {"chat": "/v1/chat/completions", "completions": "/v1/completions"}
MOST_STREAMS = 512
MOST_CONTEXT = 4_000_000


@dataclass(frozen=True)
class BenchSpec:
    """One run: prompts, lengths, sampling, streams at once."""

    prompts: tuple[Prompt, ...]
    repeat: int = 3
    """Requests for each prompt; more where the streams would not all be busy (`rounds`)."""
    max_tokens: int = 256
    temperature: float = 0.0
    concurrency: int = 1
    """Streams at once; each takes the next request when its last one ended."""
    warmup: int | None = None
    """Rounds of warm-up; None: until two in turn agree within 5 % TPOT, at most five."""
    ignore_eos: bool = True
    """Every answer has `max_tokens` tokens; those past a natural end are forced, which flatters n-gram."""
    api: str = "chat"
    """chat (with the model's template) or completions (without)."""
    model: str | None = None
    """The served name; None: the first that the server lists."""
    prompt_set: str = "default"
    label: str = ""
    context: int = 0
    """Tokens that each prompt is brought to by text before it; 0: sent as it is."""
    drawn_from: int | None = None
    """How many prompts the set had; None in runs that did not keep it."""
    seed: int | None = None
    """What the sample was drawn with; None: no sample."""
    digest: str = ""
    """Of the prompts' names and texts."""

    def __post_init__(self) -> None:
        faults = (
            (not self.prompts, "There is no prompt to send."),
            (not 1 <= self.repeat <= 250, "--repeat is a number from 1 to 250."),
            (self.max_tokens < 2, "--max-tokens is 2 or more: one token has no time per token."),
            (not 0 <= self.temperature <= 2, "--temperature is a number from 0 to 2; vLLM refuses others."),
            (not 1 <= self.concurrency <= MOST_STREAMS, f"--concurrency is a number from 1 to {MOST_STREAMS}."),
            (self.warmup is not None and not 0 <= self.warmup <= 50, "--warmup is auto or a number from 0 to 50."),
            (not 0 <= self.context <= MOST_CONTEXT, f"--context is a number of tokens from 0 to {MOST_CONTEXT:,}."),
            (self.api not in PATHS, "--api is chat or completions."),
        )
        for wrong, text in faults:
            if wrong:
                raise UsageError(text)

    @property
    def path(self) -> str:
        """Where the requests go."""
        return PATHS[self.api]

    @property
    def rounds(self) -> int:
        """Requests for each prompt: `repeat`, or as many as give every stream at least `repeat` requests."""
        return max(self.repeat, -(-self.repeat * self.concurrency // len(self.prompts)))

    @property
    def total(self) -> int:
        """How many requests are measured."""
        return self.rounds * len(self.prompts)

    def tokens_of(self, prompt_tokens: int | None = None) -> int | None:
        """Tokens that a request holds in the KV cache at its end; None where its prompt's length is not known."""
        before = self.context or prompt_tokens
        return None if before is None else before + self.max_tokens

    def body(self, prompt: Prompt) -> dict[str, Any]:
        """The request for a prompt; the load generator adds model and cache mark.

        Never min_tokens, min_p, logit_bias or logprobs: with speculation versions ignore, refuse or stop drafting on them.
        """
        if self.api == "chat":
            asked: dict[str, Any] = {"messages": [{"role": "user", "content": prompt.text}]}
        else:
            asked = {"prompt": prompt.text}
        if self.model:
            asked["model"] = self.model
        return asked | {
            "stream": True,
            "stream_options": {"include_usage": True, "continuous_usage_stats": True},
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "ignore_eos": self.ignore_eos,
        }

    def requests(self) -> list[dict[str, Any]]:
        """Every request in the order of sending: all prompts, then all again, so that drift meets each prompt alike."""
        return [
            {
                "id": f"{prompt.id}/{turn}",
                "prompt": prompt.id,
                "repeat": turn,
                "slot": [turn % 250, place],
                "body": self.body(prompt),
                **({"context": self.context} if self.context else {}),
            }
            for turn in range(self.rounds)
            for place, prompt in enumerate(self.prompts)
        ]

    def to_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "prompts": [{"id": one.id, "category": one.category, "text": one.text} for one in self.prompts],
            **{name: getattr(self, name) for name in _PLAIN},
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> BenchSpec:
        """The spec again; raises KeyError or TypeError where the value is none."""
        prompts = tuple(Prompt(one["id"], one["text"], one.get("category", "")) for one in value["prompts"])
        return BenchSpec(prompts, **{name: value[name] for name in _PLAIN if name in value})


_PLAIN = (
    "repeat", "max_tokens", "temperature", "concurrency", "warmup", "ignore_eos", "api", "model", "prompt_set", "label",
    "context", "drawn_from", "seed", "digest",
)  # fmt: skip

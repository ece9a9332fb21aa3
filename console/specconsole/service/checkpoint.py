"""A model's or drafter's folder, by its config.json: sizes, vocabulary, and whether it is a drafter."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Checkpoint:
    """What is known of a folder of weights; None: its config does not say."""

    path: str
    missing: str = ""
    """Why it cannot be loaded: no such folder, no config.json in it; "" when it can be read."""
    architectures: tuple[str, ...] = ()
    model_type: str | None = None
    """Of the language model, where the config nests it."""
    hidden_size: int | None = None
    vocab_size: int | None = None
    draft_vocab_size: int | None = None
    layers: int | None = None
    n_predict: int | None = None
    """Layers that predict further tokens (MTP), or tokens that the drafter was trained to predict."""
    target_hidden_size: int | None = None
    """Of a drafter: the hidden size of the model that it was trained for, where the config says so."""
    target: str | None = None
    """Of a drafter: the model that it was trained for, where the config says so."""
    bytes: int | None = None
    """Of all weight files."""

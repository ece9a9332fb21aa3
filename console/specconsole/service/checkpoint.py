"""A model's or drafter's folder, by its config.json: sizes, vocabulary, and whether it is a drafter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specconsole.text import one_line


@dataclass(frozen=True)
class Checkpoint:
    """What is known of a folder of weights; None: its config does not say."""

    path: str
    missing: str = ""
    """Why it cannot be loaded: no such folder, no config.json in it; "" when it is there."""
    unread: str = ""
    """Why nothing is known of it; "" when its config was read."""
    architectures: tuple[str, ...] = ()
    model_type: str | None = None
    text_type: str | None = None
    """model_type of the language model, where the config nests it; else the same."""
    hidden_size: int | None = None
    vocab_size: int | None = None
    draft_vocab_size: int | None = None
    """Of a drafter: the tokens that it can propose, fewer than it reads."""
    layers: int | None = None
    n_predict: int | None = None
    """Layers that predict further tokens, or tokens that a drafter was trained to predict."""
    mtp_weights: bool | None = None
    """The tensors of these layers are in the checkpoint; None: not known."""
    target_hidden_size: int | None = None
    """Of a drafter: the hidden size of the model that it was trained for, where the config says so."""
    target: str | None = None
    """Of a drafter: the model that it was trained for, where the config says so."""
    kind: str = ""
    """What it drafts as: eagle3, eagle, mtp, medusa, mlp_speculator, dflash, dspark; "" for an ordinary model."""
    bytes: int | None = None
    """Of all weight files."""

    @property
    def known(self) -> bool:
        """Its config was read."""
        return not (self.missing or self.unread)

    @property
    def called(self) -> str:
        """Its name, a cached snapshot as its repository."""
        parts = self.path.rstrip("/").split("/")
        cached = [part for part in parts if part.startswith("models--")]
        return cached[-1].removeprefix("models--").replace("--", "/") if cached else parts[-1]


def of(told: Mapping[str, Any]) -> Checkpoint:
    """Take what `remote/checkpoint.py` tells; a repository that is in no cache is not known."""
    fields: dict[str, Any] = {
        name: told.get(name) for name in Checkpoint.__dataclass_fields__ if told.get(name) is not None
    }
    fields["path"] = one_line(str(told.get("path", "")))
    for name in ("missing", "unread", "kind", "model_type", "text_type", "target"):
        if name in fields:
            fields[name] = one_line(str(fields[name]), 200)
    fields["architectures"] = tuple(one_line(str(one), 80) for one in told.get("architectures") or ())
    if told.get("cached") is False:
        fields["unread"] = "it is in no cache of this host"
    return Checkpoint(**fields)

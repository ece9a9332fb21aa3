"""What a folder of weights says of itself: config.json, sizes of files, names of tensors; Python 3.8, standard library.

Read, never loaded: no weight is touched but the head of a safetensors file, which lists its tensors.
"""

from __future__ import annotations

import os
import re
import struct
from typing import Any, Dict, Iterable, List, Optional

from specconsole.remote import outside

CONFIG = "config.json"
MISTRAL = "params.json"
UNMOUNTED = "it is not there, and nothing lies beside it: is it mounted?"
LARGEST_CONFIG = 4 << 20
LARGEST_INDEX = 64 << 20
"""Bytes; the index of a model with 100,000 tensors has 10 MB."""
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
_NESTED = ("text_config", "language_config", "llm_config", "transformer_layer_config", "model")
_PREDICTS = ("n_predict", "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
_TARGETS = ("target_model", "target_model_name_or_path", "base_model_name_or_path", "verifier_name_or_path")
_LAYER = re.compile(r"\blayers\.(\d+)\.")


def read(folder: str) -> Dict[str, Any]:
    """Everything that is to be told of a folder; `missing` says why it is no checkpoint."""
    told: Dict[str, Any] = {"path": folder}
    if not os.path.isdir(folder):
        return {**told, **_absent(folder)}
    try:
        config = load(os.path.join(folder, CONFIG), LARGEST_CONFIG)
    except FileNotFoundError:
        if os.path.exists(os.path.join(folder, MISTRAL)):
            return {**told, "unread": "it is in Mistral's own format"}
        return {**told, "missing": "no config.json in it"}
    except (OSError, ValueError) as error:
        return {**told, "unread": "%s: %s" % (type(error).__name__, error)}
    told.update(describe(config, name_of(folder)))
    told["bytes"] = weight_bytes(folder)
    if told.get("n_predict"):
        told["mtp_weights"] = mtp_weights(tensors(folder), told.get("layers"))
    return told


def _absent(path: str) -> Dict[str, Any]:
    """Why there is no folder: a file may be a whole model, and where nothing lies beside it a mount may be missing."""
    if os.path.exists(path):
        return {"unread": "it is a single file"}
    try:
        beside = os.listdir(os.path.dirname(path.rstrip("/")))
    except OSError:
        beside = []
    return {"missing": "no such folder"} if beside else {"unread": UNMOUNTED}


def name_of(folder: str) -> str:
    """What a folder is called: a cached snapshot by its repository."""
    path = folder.rstrip("/")
    parent = os.path.dirname(path)
    if os.path.basename(parent) == "snapshots":
        path = os.path.dirname(parent)
    return os.path.basename(path)


def load(path: str, largest: int) -> Any:
    """A JSON file; raises OSError, ValueError, also for one that is too large."""
    data = outside.regular(path, largest + 1)
    if len(data) > largest:
        raise ValueError("larger than %d bytes" % largest)
    return outside.parse(data.decode("utf-8", "replace"))


def describe(config: Any, name: str = "") -> Dict[str, Any]:
    """The few values of a config.json that tell what fits together; those that it does not have are None."""
    if not isinstance(config, dict):
        return {"unread": "config.json holds no object"}
    inner = _text_config(config)
    architectures = config.get("architectures")
    listed = [one for one in architectures if isinstance(one, str)] if isinstance(architectures, list) else []
    return {
        "architectures": listed[:4],
        "model_type": _text(config.get("model_type")),
        "text_type": _text(inner.get("model_type")) or _text(config.get("model_type")),
        "hidden_size": _count(config, inner, "hidden_size"),
        "vocab_size": _count(config, inner, "vocab_size"),
        "draft_vocab_size": _count(config, inner, "draft_vocab_size"),
        "layers": _count(config, inner, "num_hidden_layers"),
        "n_predict": next((n for key in _PREDICTS for n in [_count(config, inner, key)] if n is not None), None),
        "target_hidden_size": _count(config, inner, "target_hidden_size"),
        "target": _target(config),
        "kind": kind(config, listed, name),
    }


def kind(config: Dict[str, Any], architectures: Iterable[str], name: str = "") -> str:
    """What a config drafts as: eagle3, eagle, mtp, medusa, mlp_speculator, dflash, dspark; "" for an ordinary model."""
    said = " ".join(
        [*architectures, str(config.get("model_type", "")), str(config.get("speculators_model_type", ""))]
    ).lower()
    for word in ("eagle3", "dspark", "dflash", "medusa", "mlp_speculator", "eagle"):
        if word in said:
            return word
    if config.get("draft_vocab_size") and config.get("target_hidden_size"):
        return "eagle3"
    if re.search(r"mtp\b|mtpmodel", said) or "nextn" in said:
        return "mtp"
    low = name.lower()
    if "eagle3" in low or "eagle-3" in low:
        return "eagle3"
    return "eagle" if "eagle-" in low or low.startswith("eagle") else ""


def _text_config(config: Dict[str, Any]) -> Dict[str, Any]:
    """The language model's part, where a config nests it."""
    thinker = config.get("thinker_config")
    places = [thinker, config] if isinstance(thinker, dict) else [config]
    for place in places:
        for name in _NESTED:
            inner = place.get(name)
            if isinstance(inner, dict) and ("hidden_size" in inner or "model_type" in inner):
                return inner
    return config


def _count(config: Dict[str, Any], inner: Dict[str, Any], key: str) -> Optional[int]:
    for place in (inner, config):
        value = place.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _text(value: Any) -> Optional[str]:
    return value[:200] if isinstance(value, str) and value else None


def _target(config: Dict[str, Any]) -> Optional[str]:
    """The model that a drafter says it was trained for."""
    speculators = config.get("speculators_config")
    verifier = speculators.get("verifier") if isinstance(speculators, dict) else None
    if isinstance(verifier, dict) and _text(verifier.get("name_or_path")):
        return _text(verifier["name_or_path"])
    return next((_text(config[key]) for key in _TARGETS if _text(config.get(key))), None)


def weight_bytes(folder: str) -> Optional[int]:
    """Bytes of all weight files in a folder, links followed; None where there is none or it cannot be read."""
    total = 0
    try:
        for name in os.listdir(folder):
            if name.endswith(WEIGHTS):
                total += os.stat(os.path.join(folder, name)).st_size
    except OSError:
        return None
    return total or None


def tensors(folder: str) -> Optional[List[str]]:
    """The names of a checkpoint's tensors, from its index or its one file's head; None where neither tells."""
    try:
        index = load(os.path.join(folder, "model.safetensors.index.json"), LARGEST_INDEX)
        return list(index["weight_map"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    try:
        path = os.path.join(folder, "model.safetensors")
        (length,) = struct.unpack("<Q", outside.regular(path, 8))
        return list(outside.parse(outside.regular(path, 8 + length)[8:])) if length <= LARGEST_INDEX else None
    except (OSError, ValueError, TypeError, struct.error):
        return None


def mtp_weights(names: Optional[List[str]], layers: Optional[int]) -> Optional[bool]:
    """Whether the tensors of layers that predict further tokens are there: often they are lost by quantisation."""
    if names is None:
        return None
    if any("mtp" in name or "nextn" in name for name in names):
        return True
    if layers is None:
        return None
    return any(int(found.group(1)) >= layers for name in names for found in [_LAYER.search(name)] if found)

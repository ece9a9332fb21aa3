"""What folders of weights say of themselves, and the bounded search for drafters."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from specconsole.remote import checkpoint, drafters

QWEN = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 5120, "vocab_size": 151936}
KIMI = {
    "architectures": ["KimiK25ForConditionalGeneration"],
    "model_type": "kimi_k25",
    "text_config": {
        "model_type": "kimi_k2",
        "hidden_size": 7168,
        "vocab_size": 163840,
        "num_hidden_layers": 61,
        "num_nextn_predict_layers": 0,
    },
}
EAGLE3 = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "hidden_size": 5120,
    "vocab_size": 151936,
    "draft_vocab_size": 32000,
}


def folder(path: Path, config: object, **files: bytes) -> Path:
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps(config))
    for name, data in files.items():
        (path / name.replace("__", ".")).write_bytes(data)
    return path


def test_the_language_model_tells_where_a_config_nests_it() -> None:
    told = checkpoint.describe(KIMI)
    assert (told["model_type"], told["text_type"]) == ("kimi_k25", "kimi_k2")
    assert (told["hidden_size"], told["vocab_size"], told["layers"], told["n_predict"]) == (7168, 163840, 61, 0)
    assert told["kind"] == ""


@pytest.mark.parametrize(
    ("config", "name", "kind"),
    [
        (EAGLE3, "x", "eagle3"),
        ({"architectures": ["Eagle3DeepseekV2ForCausalLM"], "model_type": "kimi_k2"}, "x", "eagle3"),
        ({"speculators_model_type": "eagle3", "transformer_layer_config": {"hidden_size": 4096}}, "x", "eagle3"),
        ({"architectures": ["LlamaForCausalLM"], "draft_vocab_size": 32000, "target_hidden_size": 4096}, "x", "eagle3"),
        ({"architectures": ["LlamaForCausalLM"], "model_type": "llama"}, "Kimi-K2.5-eagle3", "eagle3"),
        ({"architectures": ["LlamaForCausalLM"], "model_type": "llama"}, "EAGLE-LLaMA3-8B", "eagle"),
        ({"model_type": "eagle"}, "x", "eagle"),
        ({"model_type": "medusa"}, "x", "medusa"),
        ({"model_type": "mlp_speculator"}, "x", "mlp_speculator"),
        ({"architectures": ["Qwen3DSparkModel"]}, "x", "dspark"),
        ({"architectures": ["DFlashDraftModel"]}, "x", "dflash"),
        ({"architectures": ["MiniMaxM3MTP"], "model_type": "minimax_m3_mtp"}, "x", "mtp"),
        (QWEN, "Qwen3-32B", ""),
        ({"model_type": "deepseek_v3", "num_nextn_predict_layers": 1}, "DeepSeek-V3", ""),
    ],
)
def test_a_drafter_is_known_by_its_config(config: dict[str, Any], name: str, kind: str) -> None:
    assert checkpoint.describe(config, name)["kind"] == kind


def test_the_model_that_a_drafter_was_trained_for() -> None:
    config = {
        "speculators_config": {"verifier": {"name_or_path": "Qwen/Qwen3-32B"}},
        "speculators_model_type": "eagle3",
    }
    assert checkpoint.describe(config)["target"] == "Qwen/Qwen3-32B"


def test_a_folder_tells_its_bytes_and_why_it_is_none(tmp_path: Path) -> None:
    told = checkpoint.read(str(folder(tmp_path / "a", QWEN, model__safetensors=b"x" * 300, notes__txt=b"y" * 99)))
    assert (told["bytes"], told["hidden_size"]) == (300, 5120)
    assert checkpoint.read(str(tmp_path / "none"))["missing"] == "no such folder"
    assert checkpoint.read(str(tmp_path / "a" / "notes.txt"))["unread"] == "it is a single file"
    mistral = tmp_path / "mistral"
    mistral.mkdir()
    assert checkpoint.read(str(mistral / "m"))["unread"] == checkpoint.UNMOUNTED
    assert checkpoint.read(str(tmp_path / "no" / "m"))["unread"] == checkpoint.UNMOUNTED
    (mistral / "params.json").write_text("{}")
    assert "Mistral" in checkpoint.read(str(mistral))["unread"]
    (tmp_path / "empty").mkdir()
    assert checkpoint.read(str(tmp_path / "empty"))["missing"] == "no config.json in it"
    (tmp_path / "empty" / "config.json").write_text("{")
    assert "missing" not in checkpoint.read(str(tmp_path / "empty"))
    assert checkpoint.read(str(tmp_path / "empty"))["unread"]
    assert checkpoint.describe([1])["unread"]


def index(*names: str) -> bytes:
    return json.dumps({"weight_map": dict.fromkeys(names, "a.safetensors")}).encode()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("model.layers.0.mlp", "model.layers.61.eh_proj"), True),
        (("mtp.fc.weight",), True),
        (("model.layers.0.mlp", "model.layers.60.mlp"), False),
    ],
)
def test_the_weights_of_layers_to_draft_with_are_there_or_lost(
    tmp_path: Path, names: tuple[str, ...], expected: bool
) -> None:
    config = {"model_type": "deepseek_v3", "num_hidden_layers": 61, "num_nextn_predict_layers": 1}
    path = folder(tmp_path / "m", config)
    (path / "model.safetensors.index.json").write_bytes(index(*names))
    assert checkpoint.read(str(path))["mtp_weights"] is expected


def test_one_file_tells_its_tensors_by_its_head(tmp_path: Path) -> None:
    head = json.dumps({"mtp.fc": {}}).encode()
    path = folder(tmp_path / "m", QWEN, model__safetensors=struct.pack("<Q", len(head)) + head + b"\0" * 50)
    assert checkpoint.tensors(str(path)) == ["mtp.fc"]
    assert checkpoint.tensors(str(tmp_path)) is None
    assert checkpoint.mtp_weights(None, 3) is None


def said(capsys: pytest.CaptureFixture[str], **arguments: object) -> list[dict[str, Any]]:
    assert drafters.main(arguments) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def cached(hub: Path, name: str, config: object, revision: str = "a1") -> Path:
    repository = hub / f"models--{name.replace('/', '--')}"
    path = folder(repository / "snapshots" / revision, config)
    (repository / "refs").mkdir(exist_ok=True)
    (repository / "refs" / "main").write_text(revision)
    (repository / "blobs").mkdir(exist_ok=True)
    return path


def test_drafters_are_found_beside_the_model_and_in_the_cache(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder(tmp_path / "models" / "Qwen3-32B", QWEN)
    beside = folder(tmp_path / "models" / "drafts" / "one", EAGLE3)
    hub = tmp_path / "hub"
    deep = cached(hub, "org/Qwen3-eagle3", {"architectures": ["LlamaForCausalLM"], "model_type": "llama"})
    folder(tmp_path / "models" / "a" / "b" / "c" / "d" / "too-deep", EAGLE3)
    lines = said(capsys, search=[str(tmp_path / "models"), str(hub)], hubs=[str(hub)])
    assert {line["found"]["path"] for line in lines if "found" in line} == {str(beside), str(deep)}
    assert {line["found"]["kind"] for line in lines if "found" in line} == {"eagle3"}
    assert lines[-1]["end"]["cut"] == ""


def test_a_search_ends_when_it_has_seen_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(30):
        folder(tmp_path / str(number), QWEN)
    assert said(capsys, search=[str(tmp_path)], most=10)[-1]["end"]["cut"] == "folders"
    assert said(capsys, search=[str(tmp_path)], seconds=0)[-1]["end"]["cut"] == "time"


def test_a_search_sees_each_folder_once_and_never_the_whole_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    folder(tmp_path / "e", EAGLE3)
    lines = said(capsys, search=[str(tmp_path / "e"), str(tmp_path), "/", "/root"])
    assert len([line for line in lines if "found" in line]) == 1
    assert lines[-1]["end"]["folders"] <= 3


def test_a_repository_is_looked_up_in_the_caches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cached(tmp_path, "Qwen/Qwen3-32B", QWEN)
    known, unknown, odd, _ = said(capsys, look=["Qwen/Qwen3-32B", "Qwen/None", "../x"], hubs=[str(tmp_path)])
    assert known["hidden_size"] == 5120
    assert known["path"].endswith("snapshots/a1")
    assert unknown["cached"] is False
    assert odd["unread"]


def test_packages_are_told_by_their_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lib/python3.12/site-packages/arctic_inference-0.1.1.dist-info").mkdir(parents=True)
    lines = said(capsys, site=str(tmp_path), packages=["arctic_inference", "vllm"])
    assert lines[0] == {"packages": {"arctic_inference": "0.1.1", "vllm": None}}

"""What speculation each vLLM release knows: methods, keys, flags and limits; data only.

Read in the source of the releases in `SAMPLED`. A boundary is the first or last of them that has a thing: between two of
them it may have come or gone anywhere, and what falls there is a warning, never a refusal.
"""

from __future__ import annotations

SAMPLED = (
    *("0.6.0", "0.6.6", "0.7.0", "0.7.3", "0.8.0", "0.8.2", "0.8.3", "0.8.4", "0.8.5", "0.9.0", "0.9.1", "0.9.2"),
    *("0.10.0", "0.10.1", "0.10.2", "0.11.0", "0.11.1", "0.11.2", "0.12.0", "0.13.0", "0.14.0", "0.14.1", "0.16.0"),
    *("0.17.1", "0.18.0", "0.18.1", "0.19.1", "0.20.2", "0.21.0", "0.22.1", "0.23.0", "0.24.0", "0.25.1", "0.26.0"),
    *("0.27.1", "0.28.0", "0.29.0", "0.30.0", "0.31.0", "0.32.0", "0.33.0"),
)

METHODS: dict[str, tuple[str, str, str]] = {
    # name: first, last ("": still there), what it drafts with
    "ngram": ("0.8.2", "", "prompt"),
    "ngram_gpu": ("0.18.0", "", "prompt"),
    "suffix": ("0.11.1", "", "prompt"),
    "eagle": ("0.8.2", "", "drafter"),
    "eagle3": ("0.8.5", "", "drafter"),
    "draft_model": ("0.8.2", "", "drafter"),
    "medusa": ("0.8.2", "0.32.0", "drafter"),
    "mlp_speculator": ("0.8.2", "0.32.0", "drafter"),
    "dflash": ("0.20.2", "", "drafter"),
    "dspark": ("0.25.1", "", "either"),
    "custom_class": ("0.22.1", "", "drafter"),
    "extract_hidden_states": ("0.17.1", "", "prompt"),
    "mtp": ("0.11.0", "", "layers"),
    "deepseek_mtp": ("0.9.0", "", "layers"),
    "ernie_mtp": ("0.10.2", "", "layers"),
    "qwen3_next_mtp": ("0.10.2", "", "layers"),
    "mimo_mtp": ("0.11.0", "", "layers"),
    "longcat_flash_mtp": ("0.11.0", "", "layers"),
    "glm4_moe_mtp": ("0.11.1", "", "layers"),
    "pangu_ultra_moe_mtp": ("0.11.1", "", "layers"),
    "exaone_moe_mtp": ("0.14.0", "", "layers"),
    "step3p5_mtp": ("0.16.0", "", "layers"),
    "glm_ocr_mtp": ("0.16.0", "", "layers"),
    "glm4_moe_lite_mtp": ("0.16.0", "", "layers"),
    "nemotron_h_mtp": ("0.17.1", "", "layers"),
    "qwen3_5_mtp": ("0.17.1", "", "layers"),
    "hy_v3_mtp": ("0.20.2", "", "layers"),
    "exaone4_5_mtp": ("0.20.2", "", "layers"),
    "gemma4_mtp": ("0.22.1", "", "layers"),
    "mimo_v2_mtp": ("0.22.1", "", "layers"),
    "minimax_m3_mtp": ("0.24.0", "", "layers"),
    "bailing_hybrid_mtp": ("0.25.1", "", "layers"),
    "inkling_mtp": ("0.26.0", "", "layers"),
    "kimi_k3_mtp": ("0.27.1", "", "layers"),
    "dots3_note_mtp": ("0.28.0", "", "layers"),
    "bailing_hybrid_v3_mtp": ("0.28.0", "", "layers"),
    "qwen4_exp_mtp": ("0.29.0", "", "layers"),
    "hy_v4_mtp": ("0.29.0", "", "layers"),
    "glm5_next_mtp": ("0.30.0", "", "layers"),
    "step5_mtp": ("0.33.0", "", "layers"),
}
"""`method` of --speculative-config. prompt: needs no model; layers: the model's own, or a model's; drafter: a model."""

UNSERVED: dict[str, tuple[str, str, str]] = {
    "draft_model": (
        "0.10.0",
        "0.14.1",
        "NotImplementedError: Speculative decoding with draft model is not supported yet.",
    ),
}
"""Methods that a range of releases names and refuses when the engine starts: first, last, its text."""

KEYS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("method", "model", "num_speculative_tokens", "draft_tensor_parallel_size", "quantization", "max_model_len"),
        ("0.8.2", ""),
    ),
    **dict.fromkeys(("revision", "code_revision", "prompt_lookup_max", "prompt_lookup_min"), ("0.8.2", "")),
    **dict.fromkeys(
        ("acceptance_method", "posterior_threshold", "posterior_alpha", "disable_mqa_scorer"), ("0.8.2", "0.9.2")
    ),
    "disable_logprobs": ("0.8.2", "0.11.0"),
    "disable_by_batch_size": ("0.8.2", "0.16.0"),
    "speculative_token_tree": ("0.9.0", "0.21.0"),
    **dict.fromkeys(("enforce_eager", "disable_padded_drafter_batch"), ("0.11.0", "")),
    **dict.fromkeys(
        (
            *("suffix_decoding_max_tree_depth", "suffix_decoding_max_cached_requests"),
            *("suffix_decoding_max_spec_factor", "suffix_decoding_min_token_prob"),
        ),
        ("0.11.1", ""),
    ),
    "parallel_drafting": ("0.16.0", ""),
    **dict.fromkeys(("use_local_argmax_reduction", "draft_load_config"), ("0.17.1", "")),
    "rejection_sample_method": ("0.18.0", ""),
    "moe_backend": ("0.19.1", ""),
    "synthetic_acceptance_rate": ("0.19.1", "0.19.1"),
    **dict.fromkeys(("synthetic_acceptance_rates", "synthetic_acceptance_length"), ("0.20.2", "")),
    "draft_sample_method": ("0.21.0", ""),
    "attention_backend": ("0.22.1", ""),
    "num_speculative_tokens_per_batch_size": ("0.24.0", ""),
    "use_heterogeneous_vocab": ("0.25.1", ""),
    "kv_cache_dtype": ("0.26.0", ""),
    **dict.fromkeys(("enable_adaptive_verification", "dspark_draft_topk"), ("0.28.0", "")),
    "index_share_for_mtp_iteration": ("0.29.0", ""),
    "disable_eagle_block_drop": ("0.30.0", ""),
    **dict.fromkeys(
        (
            *("disable_lookahead_block_hashes", "draft_lm_head_quantization", "xpress_topc", "fly_window_size"),
            *("fly_entropy_threshold", "fly_entropy_top_k"),
        ),
        ("0.33.0", ""),
    ),
}
"""Keys of --speculative-config: first and last release."""

REJECTION: dict[str, tuple[str, str]] = {
    "strict": ("0.18.0", "0.19.1"),
    "probabilistic": ("0.18.0", "0.19.1"),
    "synthetic": ("0.19.1", ""),
    "standard": ("0.20.2", ""),
    "block": ("0.25.1", ""),
    "fly": ("0.33.0", ""),
}
"""Values of rejection_sample_method."""

OLD_FLAGS = (
    *("speculative-model", "num-speculative-tokens", "speculative-draft-tensor-parallel-size"),
    *("speculative-max-model-len", "speculative-disable-by-batch-size", "speculative-disable-mqa-scorer"),
    *("speculative-model-quantization", "ngram-prompt-lookup-max", "ngram-prompt-lookup-min"),
    *("spec-decoding-acceptance-method", "typical-acceptance-sampler-posterior-threshold"),
    *("typical-acceptance-sampler-posterior-alpha", "disable-logprobs-during-spec-decoding"),
)
"""Flags of speculation up to 0.8.2; `unrecognized arguments` from 0.8.3 on."""
OLD_FLAGS_UNTIL = "0.8.2"
CONFIG_SINCE = "0.8.2"
DOTTED_SINCE = "0.9.0"
NEW_FLAGS = ("spec-method", "spec-model", "spec-tokens")
NEW_FLAGS_SINCE = "0.22.1"

EAGLE3_TARGETS: dict[str, tuple[str, str]] = {
    # part of the language model's model_type: last release that refuses it, first that is known to take it
    "llama": ("", "0.8.5"),
    "qwen": ("0.10.0", "0.10.2"),
    "minicpm": ("0.10.0", "0.11.1"),
    "gpt_oss": ("0.10.2", "0.12.0"),
    "hunyuan_vl": ("0.11.0", "0.16.0"),
    "hunyuan_v1_dense": ("0.11.0", "0.16.0"),
    "afmoe": ("0.11.0", "0.16.0"),
    "deepseek_v2": ("0.16.0", "0.18.0"),
    "deepseek_v3": ("0.16.0", "0.18.0"),
    "kimi_k2": ("0.17.1", "0.18.0"),
}
EAGLE3_LISTED_UNTIL = "0.16.0"
"""Up to here a model type of no row is refused for certain; later lists have more, and from 0.22 the model's class decides."""

ASYNC: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("0.10.0", "0.11.0", ()),
    ("0.11.1", "0.14.1", ("eagle", "eagle3", "mtp")),
    ("0.16.0", "0.17.1", ("eagle", "eagle3", "mtp", "draft_model", "extract_hidden_states")),
    ("0.18.0", "0.19.1", ("eagle", "eagle3", "mtp", "draft_model", "extract_hidden_states", "ngram_gpu")),
    ("0.20.2", "0.24.0", ("eagle", "eagle3", "mtp", "draft_model", "extract_hidden_states", "ngram_gpu", "dflash")),
    (
        "0.25.1",
        "0.32.0",
        ("eagle", "eagle3", "mtp", "draft_model", "extract_hidden_states", "ngram_gpu", "dflash", "dspark"),
    ),
)
"""First and last release, and the methods that async scheduling works with; it is on by default from `ASYNC_DEFAULT`."""
ASYNC_DEFAULT = "0.14.0"

RUNNER_V1: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "0.29.0",
        "0.30.0",
        ("ngram", "ngram_gpu", "draft_model", "suffix", "medusa", "mlp_speculator", "custom_class"),
    ),
    ("0.31.0", "0.31.0", ("ngram", "ngram_gpu", "suffix", "medusa", "mlp_speculator", "custom_class")),
    ("0.32.0", "0.32.0", ("suffix", "medusa", "mlp_speculator", "custom_class")),
    ("0.33.0", "0.33.0", ("suffix", "custom_class")),
)
"""Methods that the V2 runner does not have, in releases where it is the default of every model."""
RUNNER_V2_LISTED = ("0.22.1", "0.28.0")
"""Releases in which the V2 runner is the default of some models."""

SAMPLING: tuple[tuple[str, str, str, str], ...] = (
    (
        "0.8.0",
        "0.11.0",
        "requests with min_p, penalties or logprobs run without drafts, and nothing says so",
        "vLLM 0.8.0 to 0.11.0, the V1 model runner: such requests are left out of drafting",
    ),
    (
        "0.11.1",
        "0.13.0",
        "min_p, logit_bias and min_tokens are ignored, without an error",
        (
            "vLLM 0.11.1 to 0.16.0: `min_p, logit_bias, and min_tokens parameters won't currently work with speculative decoding"
            " enabled.`"
        ),
    ),
    (
        "0.14.0",
        "0.16.0",
        "requests with min_tokens, min_p or logit_bias are answered with 400",
        (
            "vLLM 0.14.0 to 0.16.0: `The min_tokens, min_p, and logit_bias sampling parameters are not yet supported with"
            " speculative decoding.`"
        ),
    ),
    (
        "0.17.1",
        "",
        "requests with min_p or logit_bias are answered with 400",
        (
            "vLLM 0.17.1 and later: `The min_p and logit_bias sampling parameters are not yet supported with speculative"
            " decoding.`"
        ),
    ),
)
"""First and last release, what happens to parameters, and its text."""

MTP_FAMILIES = (
    *(
        "deepseek_v3",
        "deepseek_v32",
        "deepseek_v4",
        "glm_moe_dsa",
        "deepseek_mtp",
        "pangu_ultra_moe",
        "kimi_k3",
        "mimo",
    ),
    *("mimo_v2", "mimo_v2_flash", "glm4_moe", "glm4_moe_lite", "glm_ocr", "ernie4_5_moe", "nemotron_h"),
    *("nemotron_h_puzzle", "qwen3_next", "qwen4_exp", "qwen4_exp_text", "bailing_hybrid", "bailing_moe_v3"),
    *("exaone_moe", "exaone4_5", "qwen3_5", "qwen3_5_moe", "qwen3_5_text", "qwen3_5_moe_text", "intern_s2_preview"),
    *("interns2_mobius", "longcat_flash", "step3p5", "step3p7", "step5", "hy_v3", "hy_v4", "inkling_mm_model"),
    *("inkling_model", "gemma4_assistant", "gemma4_unified_assistant", "minimax_m3_vl", "glm5_next", "dots3_note"),
)
"""model_type of models whose own layers some release can draft with, where the checkpoint has them."""

ARCHITECTURES: dict[str, str] = {"KimiK25ForConditionalGeneration": "0.16.0"}
"""Models that came with a release: the first that knows them."""

GONE: dict[str, tuple[str, str]] = {
    # option: last release that is known to take it ("": not known), first that is known not to
    **dict.fromkeys(OLD_FLAGS, (OLD_FLAGS_UNTIL, "0.8.3")),
    "disable-log-requests": ("0.10.2", "0.32.0"),
    "use-v2-block-manager": ("0.10.2", "0.32.0"),
    "num-scheduler-steps": ("0.9.2", "0.32.0"),
    "multi-step-stream-outputs": ("0.9.2", "0.32.0"),
    "enable-reasoning": ("0.9.2", "0.32.0"),
    "swap-space": ("0.11.0", "0.32.0"),
    "rope-scaling": ("0.11.0", "0.32.0"),
    "rope-theta": ("0.11.0", "0.32.0"),
    "max-seq-len-to-capture": ("0.10.2", "0.32.0"),
    "cuda-graph-sizes": ("0.11.0", "0.32.0"),
    "override-neuron-config": ("0.9.2", "0.32.0"),
    "preemption-mode": ("0.9.2", "0.32.0"),
    "num-lookahead-slots": ("0.9.2", "0.32.0"),
    "disable-frontend-multiprocessing": ("0.11.0", "0.32.0"),
    "lora-extra-vocab-size": ("0.10.2", "0.32.0"),
    "calculate-kv-scales": ("0.11.0", "0.32.0"),
    "enable-lora-bias": ("0.10.2", "0.32.0"),
    "disable-async-output-proc": ("0.9.2", "0.32.0"),
    "override-pooler-config": ("0.10.2", "0.32.0"),
    "enable-prompt-adapter": ("0.8.5", "0.32.0"),
    "max-prompt-adapters": ("0.8.5", "0.32.0"),
    "disable-mm-preprocessor-cache": ("0.10.0", "0.32.0"),
    "enable-multimodal-encoder-data-parallel": ("0.10.2", "0.32.0"),
    "tokenizer-pool-size": ("0.9.0", "0.32.0"),
    "qlora-adapter-name-or-path": ("0.9.0", "0.32.0"),
    "num-redundant-experts": ("0.10.2", "0.32.0"),
    "scheduler-delay-factor": ("0.10.2", "0.32.0"),
    "logits-processor-pattern": ("0.10.2", "0.32.0"),
    "full-cuda-graph": ("0.10.2", "0.32.0"),
    "worker-use-ray": ("0.8.5", "0.32.0"),
    "engine-use-ray": ("0.6.0", "0.32.0"),
}
"""Options that vLLM has dropped; it refuses them: `error: unrecognized arguments`."""

"""Make a tiny Llama with random weights and a tokenizer of its own; runs inside the vLLM environment: tiny_model.py DEST.

2,048 byte-level BPE tokens learnt from Python's own standard library, 4 layers of 256, in four safetensors shards, so
that a start shows a shard bar. With greedy decoding a random model soon repeats itself, which n-gram accepts a lot of.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"


def main(dest: str) -> None:
    """Write model and tokenizer to a folder."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    learner = ByteLevelBPETokenizer()
    corpus = sorted(str(path) for path in Path(sysconfig.get_path("stdlib")).glob("*.py"))[:120]
    learner.train(corpus, vocab_size=2048, special_tokens=["<s>", "</s>"])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=learner._tokenizer, bos_token="<s>", eos_token="</s>")
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(dest)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=2048, hidden_size=256, intermediate_size=688, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=2048, bos_token_id=0, eos_token_id=1, tie_word_embeddings=False,
    )  # fmt: skip
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(dest, max_shard_size="2MB")


if __name__ == "__main__":
    main(sys.argv[1])

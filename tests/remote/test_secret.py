"""Secrets in command lines do not leave the host; what only looks like one does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.remote.secret import mask, mask_argv

SECRET = "sesame-4711"
NAMES = ["--api-key", "--hf-token", "--hf_token", "--ssl-keyfile-password", "--client.secret", "-token", "--auth"]


@pytest.mark.parametrize("name", NAMES)
def test_values_of_telling_options(name: str) -> None:
    assert SECRET not in " ".join(mask_argv(["serve", name, SECRET, "--port", "1"]))
    assert SECRET not in " ".join(mask_argv(["serve", f"{name}={SECRET}", "--port", "1"]))
    assert mask_argv(["serve", name, SECRET, "--port", "1"])[-2:] == ["--port", "1"]


def test_an_option_that_takes_several() -> None:
    assert mask_argv(["--api-key", "one", "two three", "--port", "1"]) == ["--api-key", "***", "***", "--port", "1"]


@pytest.mark.parametrize(
    "text",
    [
        f"HF_TOKEN={SECRET}",
        f"docker run -e VLLM_API_KEY={SECRET} image",
        f"sh -c 'vllm serve --api-key {SECRET} --port 1'",
        f'vllm serve --api-key "{SECRET} more" x',
        f'{{"api_key": "{SECRET}", "port": 1}}',
        f"curl -H Authorization: Bearer {SECRET}",
        f"https://user:{SECRET}@host/x",
        "pull with hf_abcdefghijklmnopqrstuv now",
        "key sk-abcdefghijklmnopqrst0123",
        "AKIAABCDEFGHIJKLMNOP",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    ],
)
def test_secrets_inside_text(text: str) -> None:
    masked = mask(text)
    assert "***" in masked
    assert not any(word in masked for word in (SECRET, "hf_abc", "sk-abc", "AKIA", "eyJ"))


@pytest.mark.parametrize(
    "argv",
    [
        ["vllm", "serve", "/models/kimi", "--tokenizer", "auto", "--max-num-batched-tokens", "8192"],
        ["--long-prefill-token-threshold", "4"],
        ["--return-tokens-as-token-ids", "--port", "8000"],
        ["--ssl-keyfile", "/etc/key.pem"],
        ["--served-model-name", "kimi", "max_tokens=5", "tokenizer=slow"],
        ["--speculative-config", '{"method":"ngram","num_speculative_tokens":5}'],
    ],
)
def test_what_is_no_secret_stays(argv: list[str]) -> None:
    assert mask_argv(argv) == argv


@given(st.lists(st.text(max_size=30), max_size=8))
def test_any_words_are_taken(argv: list[str]) -> None:
    assert len(mask_argv(argv)) == len(argv)


@given(
    st.sampled_from(NAMES), st.text(st.characters(exclude_characters="-", min_codepoint=33), min_size=4, max_size=30)
)
def test_no_value_of_a_telling_option_is_left(name: str, value: str) -> None:
    secret = "q7#" + value
    assert secret not in mask_argv(["x", name, secret])[2]

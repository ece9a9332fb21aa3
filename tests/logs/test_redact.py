"""No secret gets out, in whatever form a log, a command line or a document holds it; and nothing else changes."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from specconsole.logs.entry import Entry
from specconsole.logs.record import LogRecord
from specconsole.logs.redact import MASK, mask, mask_all, mask_argv, mask_value
from specconsole.logs.refine import Refinery
from tests.logs.journald import capture

KEY = "s3cr3t-Key.42"

CASES = [
    ("args: Namespace(host=None, api_key='{0}', port=8000)", "args: Namespace(host=None, api_key='***', port=8000)"),
    ("Namespace(api_key=None, hf_token='{0}')", "Namespace(api_key=None, hf_token='***')"),
    ("non-default args: {{'api_key': ['{0}', '{0}b'], 'port': 1}}", "non-default args: {{'api_key': ['***'], 'port': 1}}"),
    ("vllm serve m --api-key {0} --port 8000", "vllm serve m --api-key *** --port 8000"),
    ("vllm serve m --api-key={0} --port 8000", "vllm serve m --api-key=*** --port 8000"),
    ("vllm serve m --api_key '{0}' --port 8000", "vllm serve m --api_key '***' --port 8000"),
    ("vllm serve m --api-key {0} {0}b2 --port 8000", "vllm serve m --api-key *** *** --port 8000"),
    ("['serve', '--api-key', '{0}', '{0}', '--port', '1']", "['serve', '--api-key', '***', '***', '--port', '1']"),
    ("['serve', '--api-key={0}', '--port', '1']", "['serve', '--api-key=***', '--port', '1']"),
    ('["serve", "--hf-token", "{0}"]', '["serve", "--hf-token", "***"]'),
    ("VLLM_API_KEY={0} HF_TOKEN={0} vllm serve", "VLLM_API_KEY=*** HF_TOKEN=*** vllm serve"),
    ('Environment="VLLM_API_KEY={0}" HUGGING_FACE_HUB_TOKEN={0}', 'Environment="VLLM_API_KEY=***" HUGGING_FACE_HUB_TOKEN=***'),
    ("environ({{'OPENAI_API_KEY': '{0}', 'HOME': '/root'}})", "environ({{'OPENAI_API_KEY': '***', 'HOME': '/root'}})"),
    ("Authorization: Bearer {0}", "Authorization: Bearer ***"),
    ("curl -H 'Authorization: Bearer {0}' http://x", "curl -H 'Authorization: Bearer ***' http://x"),
    ("{{'authorization': 'Bearer {0}'}}", "{{'authorization': '***'}}"),
    ("[(b'host', b'x'), (b'authorization', b'Bearer {0}')]", "[(b'host', b'x'), (b'authorization', b'***')]"),
    ("x-api-key: {0}", "x-api-key: ***"),
    ("https://user:{0}@hub.example/path?x=1", "https://user:***@hub.example/path?x=1"),
    ("GET /v1/models?api_key={0}&x=1 HTTP/1.1", "GET /v1/models?api_key=***&x=1 HTTP/1.1"),
    ("https://s3.example/o?X-Amz-Signature={0}&X-Amz-Date=20261129", "https://s3.example/o?X-Amz-Signature=***&X-Amz-Date=20261129"),
    ("aws_secret_access_key = {0}", "aws_secret_access_key = ***"),
    ("AWS_SECRET_ACCESS_KEY={0}", "AWS_SECRET_ACCESS_KEY=***"),
    ("ssl_keyfile_password='{0}', ssl_keyfile='/etc/k.pem'", "ssl_keyfile_password='***', ssl_keyfile='/etc/k.pem'"),
    ("cut off inside: api_key='{0}", "cut off inside: api_key='***'"),
]  # fmt: skip

HARMLESS = [
    "api_key=None, hf_token=None, api_key='', api_key=[]",
    "eos_token='</s>', pad_token_id=0, num_batched_tokens=8192, tokenizer='x'",
    "Avg prompt throughput: 12.1 tokens/s, Avg generation throughput: 74.3 tokens/s",
    "use --api-key or VLLM_API_KEY to protect the server",
    "ssl_keyfile='/etc/ssl/key.pem', key_cache=1, num_key_value_heads=8",
    "Basic authentication is used; the basic idea-of-it works; Bearer of news",
    "disk-0123456789abcdef task-0123456789abcdef sk-learn",
    "hf_overrides={}, hf_config_path=None, hf_transfer",
    "http://127.0.0.1:8000/v1 tcp://192.0.2.2:49119 user@host.example",
    "Reach me at http://host:80/a@b",
    "secretary, passwordless login, tokenize",
]


@pytest.mark.parametrize(("before", "after"), CASES)
def test_each_form_is_masked_and_the_rest_stays(before: str, after: str) -> None:
    assert mask(before.format(KEY)) == after.format(KEY)
    assert mask(after.format(KEY)) == after.format(KEY)


LINES = (
    [case[0].format(KEY) for case in CASES] + HARMLESS + ["", "İ" * 40, "é\nb", "Worker_TP3: 12 tokens", "a://b", "c@d"]
)


@given(st.lists(st.sampled_from(LINES), max_size=12))
def test_lines_masked_together_are_masked_as_each_alone(texts: list[str]) -> None:
    assert mask_all(texts) == [mask(text) for text in texts]


@pytest.mark.parametrize("text", HARMLESS)
def test_other_text_stays(text: str) -> None:
    assert mask(text) == text


@pytest.mark.parametrize(
    "token",
    [
        "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "sk-abcdefghijklmnopqrstuv", "sk-proj-1234567890abcdef", "AKIAIOSFODNN7EXAMPLE",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "glpat-abcdefghij0123456789", "nvapi-abcdefghijklmnop0123456789",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghij",
    ],
)  # fmt: skip
def test_known_shapes_need_no_name(token: str) -> None:
    assert mask(f"Requesting with {token}, again: {token}.") == f"Requesting with {MASK}, again: {MASK}."


def test_a_private_key_is_masked() -> None:
    text = "-----BEGIN PRIVATE KEY-----\nMIIEvQ\nabc\n-----END PRIVATE KEY----- after"
    assert mask(text) == f"-----BEGIN PRIVATE KEY-----{MASK}-----END PRIVATE KEY----- after"


def test_recorded_logs_hold_none_and_stay() -> None:
    for run in ("E3-moe30b-eagle3-k3", "engine-dies-after-weights", "bad-spec", "cpu-ngram-0.32"):
        text = capture(run).decode()
        assert mask(text) == text


def test_command_lines() -> None:
    argv = [
        "env",
        f"HF_TOKEN={KEY}",
        "vllm",
        "serve",
        "m",
        "--api-key",
        KEY,
        KEY,
        "--port",
        "8000",
        f"--api-key={KEY}",
        f"https://u:{KEY}@h/",
    ]
    assert mask_argv(argv) == [
        "env", "HF_TOKEN=***", "vllm", "serve", "m", "--api-key", "***", "***", "--port", "8000", "--api-key=***", "https://u:***@h/",
    ]  # fmt: skip


def test_documents() -> None:
    value = {
        "api_key": [KEY],
        "env": {"HF_TOKEN": KEY, "hf_token": None},
        "list": [f"api_key={KEY}", 5],
        "eos_token": "</s>",
    }
    assert mask_value(value) == {
        "api_key": "***", "env": {"HF_TOKEN": "***", "hf_token": None}, "list": ["api_key=***", 5], "eos_token": "</s>",
    }  # fmt: skip


# What vLLM may be started with as a key, quoted or not; what needs quotes is drawn apart.
PLAIN = st.text(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+/~!$%^*:=", min_size=8, max_size=40
).filter(lambda key: not key.startswith("-"))
ANY = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=8, max_size=30).filter(
    lambda key: not key.isspace() and not key.startswith("-")
)
NAMES = st.sampled_from(
    ["api_key", "hf_token", "VLLM_API_KEY", "HF_TOKEN", "password", "client_secret", "aws_secret_access_key"]
)

UNQUOTED: list[Callable[[str, str], str]] = [
    lambda name, key: f"{name}={key} next=1",
    lambda name, key: f"{name}: {key}",
    lambda name, key: f"serve --{name.lower().replace('_', '-')} {key} --port 1",
    lambda name, key: f"serve --{name.lower().replace('_', '-')}={key} --port 1",
]
QUOTED: list[Callable[[str, str], str]] = [
    lambda name, key: f"Namespace(a=1, {name}={key!r}, b=2)",
    lambda name, key: f"non-default args: { ({name: key, 'b': 2})!r}",
    lambda name, key: f"non-default args: { ({name: [key, key], 'b': 2})!r}",
    lambda name, key: f"argv {['serve', '--' + name.lower().replace('_', '-'), key, '--port']!r}",
    lambda name, key: "config " + json.dumps({name: key, "b": 2}),
    lambda name, key: "config " + json.dumps({name: [key]}, ensure_ascii=False),
    lambda name, key: "nested " + json.dumps({"message": json.dumps({name: key})}),
    lambda name, key: f"headers {[(name.encode(), key.encode())]!r}",
]


def secrets_in(text: str, key: str) -> bool:
    """Whether the key, or any spelling of it that can be turned back, stands in a text."""
    spellings = {
        key,
        repr(key)[1:-1],
        json.dumps(key)[1:-1],
        json.dumps(key, ensure_ascii=False)[1:-1],
        repr(key.encode())[2:-1],
    }
    return any(spelling in text for spelling in spellings)


@given(st.sampled_from(UNQUOTED), NAMES, PLAIN)
def test_no_plain_key_survives(form: Callable[[str, str], str], name: str, key: str) -> None:
    text = form(name, key)
    assume(key not in form(name, ""))
    assert not secrets_in(mask(text), key)
    assert mask(mask(text)) == mask(text)


@given(st.sampled_from(QUOTED), NAMES, ANY)
def test_no_quoted_key_survives(form: Callable[[str, str], str], name: str, key: str) -> None:
    text = form(name, key)
    assume(not secrets_in(form(name, ""), key))
    assert not secrets_in(mask(text), key)
    assert mask(mask(text)) == mask(text)


ESCAPE = st.sampled_from(["\x1b[1m", "\x1b[0;36m", "\x1b]0;t\x07", ""])


@given(
    st.sampled_from(UNQUOTED[:2] + QUOTED[:2]),
    NAMES,
    PLAIN,
    ESCAPE,
    st.integers(0, 60),
    st.sampled_from(["", "bar 1/2\r", "\r"]),
)
def test_no_key_survives_escapes_and_carriage_returns(
    form: Callable[[str, str], str], name: str, key: str, escape: str, at: int, front: str
) -> None:
    text = form(name, key)
    assume(not secrets_in(form(name, ""), key))
    text = front + text[:at] + escape + text[at:] + escape
    for line in (text, text.encode(), f"(APIServer pid=1) INFO 02-05 14:07:01 [a.py:1] {text}", text + "\rrest"):
        assert not [record for record in records(line) if secrets_in(record.text, key)]


@pytest.mark.parametrize(
    "text", ["--api-key\r{0}", "api_key:\r{0}", "'api_key':\r'{0}'", '{{"api_key": \r"{0}"}}', "bar\rHF_TOKEN=\r {0}"]
)
def test_a_carriage_return_between_name_and_key_parts_them_not(text: str) -> None:
    assert not [record for record in records(text.format(KEY), f"(A pid=1) {text.format(KEY)}") if KEY in record.text]


@given(st.sampled_from(UNQUOTED + QUOTED[:6]), NAMES, PLAIN)
def test_no_key_survives_json_logging_and_tracebacks(form: Callable[[str, str], str], name: str, key: str) -> None:
    text = form(name, key)
    assume(not secrets_in(form(name, ""), key))
    logged = json.dumps({"levelname": "INFO", "message": text, "processName": "APIServer", "process": 1})
    lines = [logged, "Traceback (most recent call last):", f'  File "x.py", line 1, in {text}', f"ValueError: {text}"]
    assert not [record for record in records(*lines) if secrets_in(record.text, key)]


def records(*lines: str | bytes) -> list[LogRecord]:
    refinery = Refinery()
    return refinery.feed([Entry(0.0, "u", line) for line in lines]) + refinery.end()

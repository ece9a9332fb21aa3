"""Warm-up, the cache rule and the counters around a run, as the load generator does them by itself."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from specconsole.remote import drive, drive_rule
from specconsole.remote.drive_input import Input
from specconsole.remote.drive_scrape import generated, keep
from tests.bench.driven import drive as run_drive
from tests.bench.driven import request
from tests.bench.scripted import CHUNKED, DONE, END, ScriptedServer, chunk, reply, usage


class Scripted(drive.Run):
    """A run whose warm-up rounds have these TPOTs, without a server."""

    def __init__(self, tpots: list[float | None], **arguments: Any) -> None:
        self.tpots = tpots
        source = Input.__new__(Input)
        source.key, source.requests, source.cancelled = "", [request()["request"]], False
        super().__init__(arguments, source)

    def run_batch(
        self, requests: list[dict[str, Any]], before: int, energy: int | None = None
    ) -> tuple[list[dict[str, Any]], int]:
        self.scrapes += 1
        tpot = self.tpots.pop(0)
        chunks = [[0, 1], [int(tpot * 1e9), 2]] if tpot else [[0, 1]]
        return [{"chunks": chunks, "error": ""}], 1

    def take_scrape(self, at_least: float | None = None) -> int:
        self.scrapes += 1
        return self.scrapes - 1


def warmed(tpots: list[float | None], monkeypatch: pytest.MonkeyPatch, **arguments: Any) -> dict[str, Any]:
    said: list[dict[str, Any]] = []
    monkeypatch.setattr(drive, "emit", lambda event, **values: said.append({"event": event, **values}))
    run = Scripted(tpots, **arguments)
    assert run.warm(run.source.requests)
    return said[-1]


@pytest.mark.parametrize(
    ("tpots", "rounds", "agreed"),
    [
        ([0.008, 0.00205, 0.002], 3, True),
        ([0.002, 0.0021], 2, True),
        ([0.0021, 0.002], 2, True),
        ([0.002, 0.00211, 0.002, 0.0023, 0.002], 5, False),
        ([None, None, 0.002, None, 0.002], 5, False),
    ],
)
def test_warm_up_ends_when_two_rounds_in_turn_agree_within_5_percent(
    tpots: list[float | None], rounds: int, agreed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = warmed([*tpots, 9.0], monkeypatch)
    assert (last["event"], last["rounds"], last["agreed"]) == ("warmed", rounds, agreed)


def test_a_number_of_warm_ups_is_done_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert warmed([0.002, 0.002, 0.002, 0.002], monkeypatch, warmup=4)["rounds"] == 4
    assert warmed([0.002], monkeypatch, warmup=1)["agreed"] is None


def test_prefixes_never_repeat_and_have_one_length() -> None:
    slots = list(itertools.product((0, 1, 15, 16, 4095), (0, 1, 255), (0, 1, 16, 4095)))
    words = [drive_rule.prefix(slot) for slot in slots]
    assert len(set(words)) == len(slots)
    assert {len(text.split()) for text in words} == {8}
    assert len(set(drive_rule.WORDS)) == 16


def test_which_version_has_what() -> None:
    chat, plain = "/v1/chat/completions", "/v1/completions"
    assert [drive_rule.has_salt(v, chat) for v in ("0.8.5", "0.9.0", "0.10.2rc1", None)] == [False, True, True, False]
    assert [drive_rule.has_salt(v, plain) for v in ("0.9.2", "0.10.0")] == [False, True]
    assert [drive_rule.has_token_ids(v) for v in ("0.10.1.1", "0.10.2", "0.24.0+cu130")] == [False, True, True]


def counting(server: ScriptedServer, tokens: int) -> None:
    """Let /metrics tell what the posts so far generated, the last of them only at the second look."""
    looks = itertools.count()

    def text() -> str:
        late = next(looks) % 2 == 0 and bool(server.posts)
        made = tokens * (len(server.posts) - late)
        return (
            f'vllm:generation_tokens_total{{engine="0",model_name="m"}} {made}\n'
            f'vllm:generation_tokens_created{{engine="0"}} 1.7e+09\nvllm:e2e_request_latency_seconds_bucket{{le="1"}} 3\n'
        )

    server.metrics = text


def test_each_request_of_one_stream_is_a_window_of_its_own() -> None:
    with ScriptedServer([reply((1, 3, 4))]) as server:
        counting(server, 8)
        driven = run_drive({"endpoint": server.endpoint, "warmup": 2}, request(), request(repeat=1))
    windows = driven.named("window")
    assert [window["requests"] for window in windows] == [["warm-up 1/1"], ["warm-up 2/1"], ["p/0"], ["p/1"]]
    texts = [scrape["text"] for scrape in driven.named("scrape")]
    values = [generated(text.encode()) for text in texts]
    # The counter is read again until it holds what the client got.
    gained = [(values[w["after"]] or 0) - (values[w["before"]] or 0) for w in windows]
    assert gained == [8, 8, 8, 8]
    assert not any("_created" in text or "_bucket" in text for text in texts)


def test_salts_differ_and_prompts_stay() -> None:
    with ScriptedServer([reply((1, 1))]) as server:
        run_drive({"endpoint": server.endpoint, "warmup": 2, "concurrency": 2, "run": 3}, request(), request(repeat=1))
    salts = [body["cache_salt"] for _, _, body in server.posts]
    assert len(set(salts)) == len(salts) == 6
    assert all(len(salt) <= 128 and not set("@/\\\0") & set(salt) for salt in salts)
    assert {body["messages"][0]["content"] for _, _, body in server.posts} == {"Say a."}


def test_an_older_version_gets_prefixes_and_no_fields_it_does_not_know() -> None:
    with ScriptedServer([reply((1, 1))]) as server:
        server.documents["/version"] = (200, '{"version": "0.8.5"}')
        run_drive({"endpoint": server.endpoint, "warmup": 1, "run": 1}, request(), request(repeat=1))
    bodies = [body for _, _, body in server.posts]
    contents = [body["messages"][0]["content"] for body in bodies]
    assert len(set(contents)) == 3
    assert all(text.endswith(".\n\nSay a.") for text in contents)
    assert contents[1] == drive_rule.prefix((1, 0, 0)) + "Say a."
    assert not any("cache_salt" in body or "return_token_ids" in body for body in bodies)


def test_an_engine_that_refuses_the_salt_gets_prefixes() -> None:
    answer = b'{"error": {"message": "Parameter \'cache_salt\' is not supported with this instance of vLLM."}}'
    refusal = [b"HTTP/1.1 400 X\r\ncontent-length: %d\r\n\r\n%s" % (len(answer), answer)]
    with ScriptedServer([refusal, reply((1, 1))]) as server:
        driven = run_drive({"endpoint": server.endpoint, "warmup": 1}, request())
    assert driven.named("result")[-1]["error"] == ""
    assert "cache_salt" not in server.posts[-1][2]
    assert driven.named("note")


def test_a_failed_warm_up_ends_the_run() -> None:
    refusal = [b"HTTP/1.1 401 X\r\ncontent-length: 25\r\n\r\n" + b'{"error": "Unauthorized"} ']
    with ScriptedServer([refusal]) as server:
        driven = run_drive({"endpoint": server.endpoint}, request())
    assert (driven.events[-1]["why"], driven.events[-1]["error"]) == ("failed", "HTTP 401: Unauthorized")
    assert len(server.posts) == 1


def test_no_requests_is_a_failure() -> None:
    driven = run_drive({"endpoint": {"port": 1}})
    assert driven.events[-1]["error"] == "no requests were given"


def test_without_metrics_the_run_goes_on() -> None:
    with ScriptedServer([reply((1, 1))]) as server:
        driven = run_drive({"endpoint": server.endpoint, "warmup": 0}, request())
    assert [scrape["text"] for scrape in driven.named("scrape")] == [None, None]
    assert driven.named("scrape")[0]["error"] == "HTTP 404"
    assert driven.named("result")[0]["error"] == ""


def with_ids(ids: list[int]) -> list[bytes]:
    choice = {"index": 0, "delta": {"content": "a"}, "token_ids": ids, "finish_reason": "length"}
    told = {"choices": [choice], "usage": {"completion_tokens": len(ids)}}
    return [CHUNKED, chunk(b"data: " + json.dumps(told).encode() + b"\n\n"), chunk(usage(len(ids)) + DONE), END]


@pytest.mark.parametrize(("ids", "forced"), [([1, 2, 3], 0), ([1, 9, 3, 9, 5], 3), ([1, 2, 9], 0)])
def test_tokens_past_a_natural_end_are_counted(ids: list[int], forced: int) -> None:
    with ScriptedServer([with_ids(ids)]) as server:
        server.tokenize = lambda text: [9] if text == "<|im_end|>" else [1, 2, 3]
        driven = run_drive({"endpoint": server.endpoint, "warmup": 0}, request())
    assert driven.named("result")[0]["forced"] == forced


def test_without_a_tokenizer_they_are_unknown() -> None:
    with ScriptedServer([with_ids([1, 9, 3])]) as server:
        driven = run_drive({"endpoint": server.endpoint, "warmup": 0}, request())
        assert driven.named("result")[0]["forced"] is None
        server.tokenize = lambda _: [1, 2, 3]  # a vocabulary with an end that is not among ours
        assert run_drive({"endpoint": server.endpoint, "warmup": 0}, request()).named("result")[0]["forced"] is None


def test_generated_sums_engines() -> None:
    text = b'vllm:generation_tokens_total{engine="0"} 1.5e+03\nvllm:generation_tokens_total{engine="1"} 2\n'
    assert generated(text) == 1502
    assert generated(b"up 1\n") is None
    assert keep(b"# HELP x\npython_info 1\n") == ""


def test_the_clients_own_health() -> None:
    def stream(*stamps: int) -> dict[str, Any]:
        return {"chunks": [[stamp, n + 1] for n, stamp in enumerate(stamps)]}

    assert drive_rule.bunched([stream(0, 10, 20, 30), stream(0, 1, 10, 20, 30)]) == pytest.approx(1 / 7)
    assert drive_rule.bunched([stream(0)]) is None


def test_energy_is_looked_at_around_each_window_and_its_absence_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Meter:
        looks = itertools.count(1)

        def look(self) -> list[float]:
            return [float(next(self.looks))]

        settled = look

    said: list[dict[str, Any]] = []
    monkeypatch.setattr(drive, "emit", lambda event, **values: said.append({"event": event, **values}))
    with ScriptedServer([reply((1, 1))]) as server:
        source = Input.__new__(Input)
        source.key, source.cancelled = "", False
        source.requests = [request(repeat=turn)["request"] for turn in range(2)]
        run = drive.Run({"endpoint": server.endpoint, "warmup": 1, "unit": "vllm.service"}, source)
        run.meter = Meter()  # type: ignore[assignment]
        assert run.warm(source.requests)
        run.measure(source.requests)
    told = [(one["event"], one.get("energy", one.get("index"))) for one in said if one["event"] in ("window", "energy")]
    assert told == [("window", None), ("energy", 0), ("window", 0), ("energy", 1), ("window", 1), ("energy", 2)]

    with ScriptedServer([reply((1, 1))]) as server:
        driven = run_drive({"endpoint": server.endpoint, "warmup": 0, "unit": "nothing.service"}, request())
        plain = run_drive({"endpoint": server.endpoint, "warmup": 0}, request())
    (power,) = driven.named("power")
    assert power["source"] is None
    assert power["why"]
    assert [window["energy"] for window in driven.named("window")] == [None]
    assert not driven.named("energy")
    assert not plain.named("power")

"""The history as a file: the same records on the other side, once, without secrets; and nothing of a hostile file."""

from __future__ import annotations

import gzip
import json
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specconsole.errors import UsageError
from specconsole.history import exchange, file
from specconsole.history.entry import Experiment, Load, Run, Swap
from specconsole.history.store import Store
from specconsole.logs.redact import mask_value

LOAD = Load("gpu-1", "a.service", "i1", 1000.0, "ready", ready=1060.5, phases={"weights": 20.0}, cold=True, fingerprint={"gpus": ["H200"]})  # fmt: skip
SWAP = Swap("gpu-1", "s1", "a.service", "swap", 900.0, "b.service", 990.0, "committed", "commit", "a serves", ({"name": "stop"},))  # fmt: skip
RUN = Run(
    "gpu-1", "a.service", 2000.0, "night", {"tpot_s": 0.0136, "arm": "baseline"},
    {"results": [1, 2, 3], "prompt_tokens": 5}, "i1", {"argv": ["vllm", "serve", "--api-key=sk-abcdefghijklmnop"]},
)  # fmt: skip
NIGHT = Experiment(
    "gpu-1", "e1", "a.service", "night", 800.0, 3000.0, "finished", "", "baseline", ("a.service", "b.service"),
    ({"arm": "ngram k=5", "said": "does not pay, 9.0 % more time per token", "ratio": 1.09},), ("One answer.",),
    ({"arm": "baseline", "state": "done", "runs": [{"unit": "a.service", "invocation": "i1", "number": 0}]}, {"arm": "ngram", "state": "failed", "why": "oom", "runs": []}),
    'order = "A-B-A"\n[env]\nHF_TOKEN = "hf_abcdefghijklmnopqrst"\n',
)  # fmt: skip


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    both = Store(tmp_path / "a" / "history.db"), Store(tmp_path / "b" / "history.db")
    yield both
    for store in both:
        store.close()


def filled(store: Store) -> Store:
    store.put_load(LOAD)
    store.put_swap(SWAP)
    store.put_run(RUN)
    store.put_experiment(NIGHT)
    return store


def accept(_run: Run) -> None:
    """Every body will do."""


@pytest.mark.parametrize("name", ["history.jsonl", "history.jsonl.gz"])
def test_everything_comes_over_once_and_without_secrets(stores: tuple[Store, Store], tmp_path: Path, name: str) -> None:
    here, there = filled(stores[0]), stores[1]
    path = tmp_path / name
    assert file.save(here, path, mask_value) == 4
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    raw = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
    assert b"abcdefghijklmnop" not in raw
    assert file.merge(there, path, accept) == file.Merged({"loads": 1, "swaps": 1, "runs": 1, "experiments": 1}, 4)
    assert file.merge(there, path, accept) == file.Merged({"loads": 0, "swaps": 0, "runs": 0, "experiments": 0}, 4)
    assert [replace(load, id=None) for load in there.loads()] == [LOAD]
    assert [replace(swap, id=None) for swap in there.swaps()] == [SWAP]
    (night,) = there.experiments()
    assert (replace(night, id=None, plan=""), night.steps) == (replace(NIGHT, plan=""), NIGHT.steps)
    kept = there.run(1)
    assert kept is not None
    assert (kept.summary, kept.body, kept.label) == (RUN.summary, RUN.body, RUN.label)
    assert file.merge(here, path, accept).new == {"loads": 0, "swaps": 0, "runs": 0, "experiments": 0}, (
        "back where it came from"
    )


def test_a_part_and_no_file_of_the_users_is_written_over(stores: tuple[Store, Store], tmp_path: Path) -> None:
    here = filled(stores[0])
    here.put_load(replace(LOAD, host="gpu-2", invocation="i2"))
    assert file.save(here, tmp_path / "part", mask_value, "gpu-2") == 1
    with pytest.raises(UsageError, match="exists already"):
        file.save(here, tmp_path / "part", mask_value)
    with pytest.raises(UsageError, match="cannot be written"):
        file.save(here, tmp_path / "no" / "part", mask_value)


def written(*records: Any, head: Any = None) -> list[bytes]:
    return [json.dumps(one).encode() + b"\n" for one in (head or {exchange.MARK: 1}, *records)]


def plain(entry: exchange.Entry, **changes: Any) -> dict[str, Any]:
    lines = list(exchange.write([entry], lambda value: value))
    return {**json.loads(lines[1]), **changes}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([b"not json\n"], "no exported history"),
        ([b"[1]\n"], "no exported history"),
        ([], ""),
        (written(head={exchange.MARK: 2}), "form 2"),
        (written(head={exchange.MARK: True}), "no exported history"),
        ([*written(), b'{"kind": "run", "ho'], "Line 2 is no JSON"),
        ([*written(), b"[" * 100_000], "Line 2 is no JSON"),
        (written([1]), "Line 2 holds no record"),
        (written({"kind": "lode"}), "unknown kind"),
        (written({"kind": "load", "host": "h"}), "Line 2: a load without"),
        (written(plain(LOAD, started="now")), "a number is none"),
        (written(plain(LOAD, started=1e300)), "outside of all calendars"),
        (written(plain(LOAD, started=float("nan"))), "a number is none"),
        (written(plain(LOAD, host="x" * 1000)), "too long"),
        (written(plain(LOAD, outcome="great")), "none of those"),
        (written(plain(LOAD, outcome={})), "none of those"),
        (written(plain(LOAD, cold=1)), "true or false"),
        (written(plain(LOAD, phases={"weights": "long"})), "a number is none"),
        (written(plain(LOAD, shards=-1)), "a count is none"),
        (written(plain(SWAP, steps={"a": 1})), "a list is none"),
        (written(plain(SWAP, action="format")), "none of those"),
        (written(plain(RUN, summary={"tpot_s": {"a": 1}})), "more than texts and numbers"),
        (written(plain(NIGHT, outcome="won")), "none of those"),
        (written(plain(NIGHT, verdicts=[{"said": ["x"]}])), "more than texts and numbers"),
        (written(plain(NIGHT, steps=[{"runs": [3]}])), "a table is none"),
        (written(plain(RUN, body=[1])), "a table is none"),
        (written(plain(RUN, fingerprint={"a": "b" * (1 << 21)})), "too long"),
    ],
)  # fmt: skip
def test_a_wrong_line_is_refused(lines: list[bytes], said: str) -> None:
    if not said:
        assert list(exchange.read(lines)) == []
        return
    with pytest.raises(UsageError, match=said):
        list(exchange.read(lines))


def test_a_file_is_taken_whole_or_not_at_all(stores: tuple[Store, Store], tmp_path: Path) -> None:
    path = tmp_path / "cut"
    path.write_bytes(b"".join([*written(plain(LOAD)), b'{"kind": "run", "ho']))
    with pytest.raises(UsageError, match="Line 3"):
        file.merge(stores[1], path, accept)
    assert stores[1].totals() == {"loads": 0, "swaps": 0, "runs": 0, "experiments": 0}


def test_a_body_that_is_no_run_is_refused(stores: tuple[Store, Store], tmp_path: Path) -> None:
    def refuse(_run: Run) -> None:
        raise UsageError("This benchmark run is damaged.")

    path = tmp_path / "bad"
    path.write_bytes(b"".join(written(plain(RUN))))
    assert file.merge(stores[1], path, refuse).refused == (f"{path}, line 2: This benchmark run is damaged.",)
    assert stores[1].totals()["runs"] == 0


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("tpot_s", -0.5, "never below 0"), ("acceptance_rate", 7.0, "a share"), ("tau", 0.2, "one token at least"),
        ("requests", -4, "never below 0"), ("tpot_s", "abc", "is no number"), ("coverage", -0.1, "a share"),
        ("concurrency", 0, "1 at least"),
    ],
)  # fmt: skip
def test_a_figure_that_cannot_be_is_refused_and_the_rest_is_taken(
    stores: tuple[Store, Store], tmp_path: Path, name: str, value: Any, why: str
) -> None:
    path = tmp_path / "odd"
    bad = plain(RUN, summary={**RUN.summary, name: value})
    path.write_bytes(b"".join(written(bad, plain(LOAD), {"kind": "lode"}, plain(RUN))))
    merged = file.merge(stores[1], path, accept)
    assert (merged.read, merged.new["runs"], merged.new["loads"]) == (2, 1, 1)
    assert merged.refused[0].startswith(f'{path}, line 2: a run whose "summary" is refused: "{name}" is ')
    assert why in merged.refused[0]
    assert merged.refused[1] == f"{path}, line 4: a record of an unknown kind."


def test_nothing_is_said_in_words_of_the_language() -> None:
    for record, said in (
        ({"kind": "load", "host": "h", "unit": "u.service", "started": 1.0}, 'without "invocation", "outcome"'),
        (plain(RUN, summary={"tpot_s": float("nan")}), "a number is none: NaN, or infinite"),
    ):
        with pytest.raises(UsageError, match=said):
            list(exchange.read(written(record)))


def test_no_end_of_a_packed_file_is_no_crash(stores: tuple[Store, Store], tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(b"".join(written(plain(LOAD))))[:-12])
    with pytest.raises(UsageError, match="cannot be read"):
        file.merge(stores[1], path, accept)
    path.write_bytes(b"\x1f\x8b" + b"\x00" * 40)
    with pytest.raises(UsageError, match="cannot be read"):
        file.merge(stores[1], path, accept)


def test_what_grows_without_end_is_refused(
    stores: tuple[Store, Store], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "LONGEST_LINE", 1 << 16)
    monkeypatch.setattr(file, "MOST_BYTES", 1 << 20)
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(gzip.compress(b"".join(written()) + b" " * (1 << 24)))
    with pytest.raises(UsageError, match="longer than"):
        file.merge(stores[1], bomb, accept)
    bomb.write_bytes(gzip.compress(b"".join(written()) + b"\n" * (1 << 21)))
    with pytest.raises(UsageError, match="more than"):
        file.merge(stores[1], bomb, accept)


def test_control_characters_do_not_get_in() -> None:
    ((_, load),) = exchange.read(written(plain(LOAD, reason="\x1b]0;owned\x07out of memory\x00")))
    assert isinstance(load, Load)
    assert load.reason == "out of memory\ufffd"

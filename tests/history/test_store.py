"""The history file: kept private, shared by two consoles, migrated, and never in the way."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from specconsole.history.entry import Experiment, Load, Run, Swap, digest
from specconsole.history.memory import Memory
from specconsole.history.schema import STEPS
from specconsole.history.store import HistoryUnavailable, Store

LOAD = Load("root@gpu", "vllm-a.service", "abc", started=1000.0, outcome="loading", fingerprint={"gpu": "H200"})
RUN = Run("root@gpu", "vllm-a.service", 2000.0, "", {"tpot_s": 0.0136}, {"requests": [{"stamps": [1, 2, 3] * 500}]})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "history.db"


def test_the_file_and_its_folder_are_private(path: Path) -> None:
    store = Store(path)
    store.put_load(LOAD)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}, modes
    store.close()


def test_a_run_comes_back_whole_and_lists_are_short(path: Path) -> None:
    store = Store(path)
    number = store.put_run(RUN)
    assert store.run(number) == replace(RUN, id=number)
    assert store.runs() == (replace(RUN, id=number, body={}),)
    assert store.run(number + 1) is None
    store.close()


def test_one_start_is_one_row_and_stages_only_go_forward(path: Path) -> None:
    store = Store(path)
    first = store.put_load(LOAD)
    store.put_load(replace(LOAD, outcome="ready", answering=1050.0, ready=1051.0, shards=16, weights_s=20.0))
    late = replace(LOAD, outcome="answering", started=1000.0, answering=1090.0, complete=False, weights_s=1.0)
    assert store.put_load(late) == first
    (kept,) = store.loads()
    assert (kept.outcome, kept.answering, kept.ready, kept.shards, kept.weights_s) == (
        "ready",
        1050.0,
        1051.0,
        16,
        20.0,
    )
    assert kept.complete
    store.close()


def test_a_failed_start_keeps_its_reason(path: Path) -> None:
    store = Store(path)
    store.put_load(LOAD)
    store.put_load(replace(LOAD, outcome="failed", ended=1100.0, reason="exit-code: out of memory"))
    assert store.loads()[0].reason == "exit-code: out of memory"
    store.close()


def test_lists_filter_and_show_the_newest_first(path: Path) -> None:
    store = Store(path)
    for number, unit in enumerate(("a", "b", "a")):
        store.put_load(replace(LOAD, unit=unit, invocation=str(number), started=1000.0 + number))
    assert [load.invocation for load in store.loads(unit="a")] == ["2", "0"]
    assert [load.invocation for load in store.loads(limit=1)] == ["2"]
    assert store.loads(host="elsewhere") == ()
    store.close()


def test_two_consoles_write_at_once(path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from specconsole.history.store import Store; from specconsole.history.entry import Load\n"
        "store = Store(Path(sys.argv[1]))\n"
        "for i in range(50): store.put_load(Load('h', 'u', sys.argv[2] + str(i), float(i), 'ready'))\n"
    )
    source = str(Path(__file__).resolve().parents[2] / "console")
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(path), name], env={**os.environ, "PYTHONPATH": source})
        for name in ("x", "y")
    ]
    assert [process.wait() for process in processes] == [0, 0]
    store = Store(path)
    assert len(store.loads(limit=1000)) == 100
    store.close()


def test_a_file_of_an_older_version_is_migrated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(path)
    store.put_load(LOAD)
    store.close()
    monkeypatch.setattr("specconsole.history.store.STEPS", (*STEPS, "ALTER TABLE loads ADD COLUMN extra TEXT"))
    store = Store(path)
    assert [load.invocation for load in store.loads()] == ["abc"]
    store.close()
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA user_version").fetchone()[0] == len(STEPS) + 1
    db.close()


def test_a_file_of_a_newer_version_is_left_alone(path: Path) -> None:
    Store(path).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(HistoryUnavailable, match="version 99"):
        Store(path)


async def test_a_damaged_file_is_said_once_and_kept(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not a database at all" * 100)
    said: list[HistoryUnavailable] = []
    memory = Memory(path, said.append)
    assert await memory.put_load(LOAD) is None
    assert await memory.loads() == ()
    assert len(said) == 1
    assert str(path) in said[0].title
    assert path.read_bytes().startswith(b"not a database")
    await memory.close()


async def test_damage_that_comes_while_it_is_open_is_said_once(path: Path) -> None:
    said: list[HistoryUnavailable] = []
    memory = Memory(path, said.append)
    number = await memory.put_run(RUN)
    assert number
    db = sqlite3.connect(path)
    with db:
        db.execute("UPDATE runs SET body = x'0011'")
    db.close()
    assert await memory.run(number) is None
    assert len(said) == 1
    await memory.close()


async def test_a_folder_that_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    memory = Memory(blocked / "state" / "history.db")
    assert await memory.put_run(RUN) is None
    assert memory.trouble is not None
    await memory.close()


def test_a_run_is_kept_once(path: Path) -> None:
    store = Store(path)
    first = store.put_run(RUN)
    assert store.put_run(replace(RUN, summary={})) == first
    assert store.put_run(replace(RUN, started=2001.0)) != first
    assert store.totals() == {"loads": 0, "swaps": 0, "runs": 2, "experiments": 0}
    store.close()


def test_runs_that_an_older_version_kept_twice_become_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specconsole.history.store.STEPS", STEPS[:3])
    Store(path).close()
    db = sqlite3.connect(path)
    rows = [(1, '{"number": 3}'), (2, '{"number": 3}'), (3, '{"number": 4}'), (4, "{}")]
    with db:
        db.executemany(
            "INSERT INTO runs (id, host, unit, started, summary, body) VALUES (?, 'h', 'u', 5.0, ?, x'00')", rows
        )
    db.close()
    monkeypatch.setattr("specconsole.history.store.STEPS", STEPS)
    store = Store(path)
    assert [run.id for run in store.runs()] == [4, 3, 1]
    store.close()


def test_equal_environments_have_equal_names() -> None:
    assert digest({"a": 1, "b": [2]}) == digest(json.loads('{"b": [2], "a": 1}'))
    assert digest({"a": 1}) != digest({"a": 2})


def test_a_swap_is_one_row_and_its_end_is_not_forgotten(path: Path) -> None:
    store = Store(path)
    begun = Swap(
        "gpu-1", "abc", "ngram.service", "swap", 1000.0, "base.service", step="watch", steps=({"name": "watch"},)
    )
    first = store.put_swap(begun)
    ended = replace(begun, outcome="committed", ended=1060.0, step="commit", reason="ngram.service serves")
    assert store.put_swap(ended) == first
    assert store.put_swap(begun) == first, "a console that came late"
    assert store.swaps() == (replace(ended, id=first),)
    assert store.swaps("gpu-2") == ()
    assert store.put_swap(replace(begun, host="gpu-2")) != first
    store.close()


def test_an_experiment_is_one_row_found_by_any_of_its_units_and_its_end_is_not_forgotten(path: Path) -> None:
    store = Store(path)
    night = Experiment("gpu-1", "e1", "a.service", "night", 100.0, units=("a.service", "b.service"))
    first = store.put_experiment(night)
    ended = replace(night, ended=200.0, outcome="finished", serves="ngram", answer=("It pays.",))
    assert store.put_experiment(ended) == first
    assert store.put_experiment(night) == first
    (kept,) = store.experiments("gpu-1", "b.service")
    assert replace(kept, id=None) == ended
    assert store.experiments("gpu-1", "c.service") == ()
    store.close()


def test_the_runs_of_an_experiment_are_found_by_start_and_number() -> None:
    def run(ident: int, invocation: str, number: int, host: str = "gpu-1") -> Run:
        return Run(host, "a.service", 1.0, "", {"number": number}, {}, invocation, id=ident)

    steps = [
        {"runs": [{"unit": "a.service", "invocation": start, "number": number}]}
        for start, number in (("i2", 1), ("i1", 0))
    ]
    night = Experiment("gpu-1", "e1", "a.service", "night", 1.0, steps=({"state": "failed"}, *steps))
    known = [run(7, "i1", 0), run(8, "i2", 1), run(9, "i2", 0), run(10, "i1", 0, "gpu-2")]
    assert night.runs_among(known) == (8, 7)


def test_what_waits_beside_the_file_stays_small(path: Path) -> None:
    store = Store(path)
    for number in range(300):
        store.put_load(replace(LOAD, invocation=str(number), started=float(number)))
    waiting = path.with_name("history.db-wal").stat().st_size
    store.close()
    assert waiting < 100 * 4096

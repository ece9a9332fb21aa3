"""The SQLite file: one connection, WAL so that two consoles can use it, migrations, private to its owner.

Every call blocks for a few milliseconds; `history.memory` moves it off the event loop.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import sqlite3
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from specconsole.errors import SpecConsoleError
from specconsole.history.entry import Experiment, Load, Run, Swap, digest
from specconsole.history.schema import STEPS
from specconsole.paths import private_dir
from specconsole.remote import outside
from specconsole.text import reason

T = TypeVar("T")
LOAD_FIELDS = (
    "host", "unit", "invocation", "started", "outcome", "answering", "ready", "ended", "reason", "cause", "shards", "weights_s", "complete", "cold", "cached",
)  # fmt: skip
SWAP_FIELDS = (
    "host", "swap", "unit", "origin", "action", "started", "ended", "outcome", "step", "reason",
)  # fmt: skip
EXPERIMENT_TEXTS = (
    "host", "experiment", "unit", "name", "started", "ended", "outcome", "reason", "serves", "plan",
)  # fmt: skip
EXPERIMENT_LISTS = ("units", "verdicts", "answer", "steps")
BUSY_S = 5.0
WAL_PAGES = 64
"""So many pages of 4 KiB may wait beside the file: SQLite's own 1000 were more than what a month of it says."""


class HistoryUnavailable(SpecConsoleError):
    """The file cannot be used: damaged, read-only, of a newer version, or on a full disk."""


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def _way_out(error: Exception) -> str:
    """What to do; a new file helps only where the old one is at fault."""
    said = str(error)
    if isinstance(error, OSError) or (
        isinstance(error, sqlite3.OperationalError) and re.search("disk|open|readonly", said)
    ):
        if getattr(error, "errno", None) in _NO_ROOM or "full" in said:
            return "Make room on that disk, or set XDG_STATE_HOME to another one; until then nothing is remembered."
        return "Make its folder writable for you, or set XDG_STATE_HOME; until then nothing is remembered."
    return "Nothing else depends on it; move it away to begin a new one."


class Store:
    """The history file, open."""

    def __init__(self, path: Path) -> None:
        """Open or make it and bring it to this version.

        Raises:
            HistoryUnavailable: see there.
        """
        self.path = path
        self._db = self._guard(self._open)

    def _guard(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except (sqlite3.Error, OSError, ValueError, OverflowError, zlib.error) as error:
            raise HistoryUnavailable(
                f"The history file {self.path} cannot be used.",
                f"{reason(error)}.",
                _way_out(error),
            ) from error

    def _open(self) -> sqlite3.Connection:
        folder = os.open(private_dir(self.path.parent), os.O_RDONLY)
        try:
            # The change to WAL answers "locked" at once, whatever the timeout: two consoles that start together take turns.
            fcntl.flock(folder, fcntl.LOCK_EX)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite gives -wal and -shm the same mode
            return self._connect()
        finally:
            os.close(folder)

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            db.row_factory = sqlite3.Row
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
            migrate(db)
        except BaseException:
            db.close()
            raise
        return db

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def put_load(self, load: Load) -> int:
        """Remember a load, or what is now known of the same start; returns its id.

        A stage that was seen is never forgotten: a console that came late does not wipe out an earlier stamp.
        """
        values: dict[str, Any] = {name: getattr(load, name) for name in LOAD_FIELDS}
        values |= {"phases": _json(load.phases)} | _environment(load.fingerprint)
        names = ", ".join(values)
        marks = ", ".join(f":{name}" for name in values)
        # Stages only go forward, so the later outcome is the one with the higher rank; what was ready once, was.
        rank = "CASE {0}.outcome WHEN 'loading' THEN 0 WHEN 'answering' THEN 1 WHEN 'ready' THEN 3 ELSE 2 END"
        newer = f"{rank.format('excluded')} >= {rank.format('loads')}"
        sql = (
            f"INSERT INTO loads ({names}) VALUES ({marks}) ON CONFLICT (host, unit, invocation) DO UPDATE SET "  # noqa: S608  names are ours
            f"outcome = CASE WHEN {newer} THEN excluded.outcome ELSE outcome END, "
            f"reason = CASE WHEN {newer} THEN excluded.reason ELSE reason END, "
            f"cause = CASE WHEN {newer} AND excluded.cause != '' THEN excluded.cause ELSE cause END, "
            "answering = coalesce(answering, excluded.answering), ready = coalesce(ready, excluded.ready), "
            "ended = coalesce(excluded.ended, ended), shards = coalesce(excluded.shards, shards), "
            "weights_s = CASE WHEN complete THEN coalesce(weights_s, excluded.weights_s) ELSE excluded.weights_s END, "
            "phases = CASE WHEN length(excluded.phases) >= length(phases) THEN excluded.phases ELSE phases END, "
            "cold = coalesce(excluded.cold, cold), cached = coalesce(excluded.cached, cached), "
            "complete = max(complete, excluded.complete) RETURNING id"
        )
        return int(self._guard(lambda: self._db.execute(sql, values).fetchall())[0]["id"])

    def loads(self, host: str | None = None, unit: str | None = None, limit: int = 100) -> tuple[Load, ...]:
        """The latest loads, newest first."""
        rows = self._guard(lambda: self._select("*", "loads", host, unit, limit))
        return tuple(_load(row) for row in rows)

    def put_swap(self, swap: Swap) -> int:
        """Remember a swap, or what is now known of the same one; an end that was seen is never forgotten."""
        values: dict[str, Any] = {name: getattr(swap, name) for name in SWAP_FIELDS}
        values["steps"] = json.dumps(list(swap.steps), separators=(",", ":"))
        return self._put_told("swap", values, ("ended", "outcome", "step", "reason", "steps"))

    def _put_told(self, kind: str, values: Mapping[str, Any], newer: Sequence[str]) -> int:
        """Keep what a host's record told, by host and the id there; an end that was seen is never forgotten."""
        names, marks = ", ".join(values), ", ".join(f":{name}" for name in values)
        changes = ", ".join(f"{name} = excluded.{name}" for name in newer)
        sql = (
            f"INSERT INTO {kind}s ({names}) VALUES ({marks}) ON CONFLICT (host, {kind}) DO UPDATE SET {changes} "  # noqa: S608  names are ours
            "WHERE excluded.outcome IS NOT NULL OR outcome IS NULL"
        )
        self._guard(lambda: self._db.execute(sql, values))
        mine = f"SELECT id FROM {kind}s WHERE host = :host AND {kind} = :{kind}"  # noqa: S608  names are ours
        return int(self._guard(lambda: self._db.execute(mine, values).fetchall())[0]["id"])

    def swaps(self, host: str | None = None, unit: str | None = None, limit: int = 100) -> tuple[Swap, ...]:
        """The latest swaps, newest first."""
        rows = self._guard(lambda: self._select("*", "swaps", host, unit, limit))
        return tuple(_swap(row) for row in rows)

    def put_experiment(self, experiment: Experiment) -> int:
        """Remember an experiment, or what is now known of the same one; an end that was seen is never forgotten."""
        values: dict[str, Any] = {name: getattr(experiment, name) for name in EXPERIMENT_TEXTS}
        values |= {
            name: json.dumps(list(getattr(experiment, name)), separators=(",", ":")) for name in EXPERIMENT_LISTS
        }
        newer = [name for name in values if name not in ("host", "experiment", "started")]
        return self._put_told("experiment", values, newer)

    def experiments(self, host: str | None = None, unit: str | None = None, limit: int = 100) -> tuple[Experiment, ...]:
        """The latest experiments, newest first; of a unit those that measured it."""
        measured = "EXISTS (SELECT 1 FROM json_each(units) WHERE value = :unit)"
        rows = self._guard(lambda: self._select("*", "experiments", host, unit, limit, measured))
        return tuple(_experiment(row) for row in rows)

    def put_run(self, run: Run) -> int:
        """Remember a run; returns its id. The same one (its start, its number in it, its moment) is kept once, as it was first."""
        values: dict[str, Any] = {
            name: getattr(run, name) for name in ("host", "unit", "invocation", "started", "label")
        }
        values |= _environment(run.fingerprint)
        number = run.summary.get("number")
        values["number"] = number if isinstance(number, int) else 0
        values["summary"] = _json(run.summary)
        values["body"] = zlib.compress(_json(run.body).encode(), 6)
        names, marks = ", ".join(values), ", ".join(f":{name}" for name in values)
        once = "host = :host AND unit = :unit AND invocation = :invocation AND started = :started AND number = :number"
        sql = f"INSERT INTO runs ({names}) VALUES ({marks}) ON CONFLICT DO NOTHING"  # noqa: S608  names are ours
        self._guard(lambda: self._db.execute(sql, values))
        found = self._guard(lambda: self._db.execute(f"SELECT id FROM runs WHERE {once}", values).fetchall())  # noqa: S608
        return int(found[0]["id"])

    def runs(self, host: str | None = None, unit: str | None = None, limit: int = 100) -> tuple[Run, ...]:
        """The latest runs, newest first, without their bodies."""
        columns = "id, host, unit, invocation, started, label, summary, fingerprint"
        rows = self._guard(lambda: self._select(columns, "runs", host, unit, limit))
        return tuple(_run(row, {}) for row in rows)

    def run(self, number: int) -> Run | None:
        """One run whole; None when there is none of that id."""

        def read() -> Run | None:
            rows = self._db.execute("SELECT * FROM runs WHERE id = ?", (number,)).fetchall()
            return _run(rows[0], outside.parse(zlib.decompress(rows[0]["body"]))) if rows else None

        return self._guard(read)

    def totals(self) -> dict[str, int]:
        """How many loads, swaps, runs and experiments there are."""

        def count() -> dict[str, int]:
            return {
                name: int(self._db.execute(f"SELECT count(*) FROM {name}").fetchone()[0])  # noqa: S608  names are ours
                for name in ("loads", "swaps", "runs", "experiments")
            }

        return self._guard(count)

    def _select(
        self, columns: str, table: str, host: str | None, unit: str | None, limit: int, of: str = "unit = :unit"
    ) -> list[sqlite3.Row]:
        sql = (
            f"SELECT {columns} FROM {table} WHERE (:host IS NULL OR host = :host) AND (:unit IS NULL OR {of}) "  # noqa: S608
            "ORDER BY started DESC, id DESC LIMIT :limit"
        )
        return self._db.execute(sql, {"host": host, "unit": unit, "limit": limit}).fetchall()


def migrate(db: sqlite3.Connection) -> None:
    """Bring a file to this version, each step whole or not at all, also when two consoles open it at once."""
    while (version := _version(db)) < len(STEPS):
        db.execute("BEGIN IMMEDIATE")
        try:
            if _version(db) == version:  # else the other console did it meanwhile
                for statement in STEPS[version].split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {version + 1}")
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise
    if version > len(STEPS):
        raise ValueError(f"it is of version {version}, and this specconsole knows versions up to {len(STEPS)}")


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"))


def _environment(fingerprint: Mapping[str, Any]) -> dict[str, str]:
    return {"fingerprint": _json(fingerprint), "environment": digest(fingerprint)}


def _load(row: sqlite3.Row) -> Load:
    values = {name: row[name] for name in LOAD_FIELDS}
    values["complete"] = bool(values["complete"])
    values |= {name: None if values[name] is None else bool(values[name]) for name in ("cold", "cached")}
    return Load(**values, phases=_phases(row["phases"]), fingerprint=outside.parse(row["fingerprint"]), id=row["id"])


def _swap(row: sqlite3.Row) -> Swap:
    values = {name: row[name] for name in SWAP_FIELDS}
    return Swap(**values, steps=tuple(outside.parse(row["steps"])), id=row["id"])


def _experiment(row: sqlite3.Row) -> Experiment:
    values: dict[str, Any] = {name: row[name] for name in EXPERIMENT_TEXTS}
    values |= {name: tuple(outside.parse(row[name])) for name in EXPERIMENT_LISTS}
    return Experiment(**values, id=row["id"])


def _phases(text: str) -> dict[str, float]:
    values = outside.parse(text)
    return {name: float(seconds) for name, seconds in values.items() if isinstance(seconds, (int, float))}


def _run(row: sqlite3.Row, body: Mapping[str, Any]) -> Run:
    plain = {name: row[name] for name in ("host", "unit", "invocation", "started", "label", "id")}
    return Run(**plain, summary=outside.parse(row["summary"]), body=body, fingerprint=outside.parse(row["fingerprint"]))

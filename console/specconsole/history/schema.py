"""The tables, as steps: step N brings a file of version N - 1 (PRAGMA user_version) to version N. Never edit one that shipped."""

from __future__ import annotations

STEPS: tuple[str, ...] = (
    """
    CREATE TABLE loads (
        id INTEGER PRIMARY KEY,
        host TEXT NOT NULL,
        unit TEXT NOT NULL,
        invocation TEXT NOT NULL,
        started REAL NOT NULL,
        outcome TEXT NOT NULL,
        answering REAL,
        ready REAL,
        ended REAL,
        reason TEXT NOT NULL DEFAULT '',
        shards INTEGER,
        weights_s REAL,
        complete INTEGER NOT NULL DEFAULT 1,
        fingerprint TEXT NOT NULL DEFAULT '{}',
        environment TEXT NOT NULL DEFAULT '',
        UNIQUE (host, unit, invocation)
    );
    CREATE INDEX loads_by_time ON loads (host, unit, started);
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        host TEXT NOT NULL,
        unit TEXT NOT NULL,
        invocation TEXT NOT NULL DEFAULT '',
        started REAL NOT NULL,
        label TEXT NOT NULL DEFAULT '',
        summary TEXT NOT NULL,
        body BLOB NOT NULL,
        fingerprint TEXT NOT NULL DEFAULT '{}',
        environment TEXT NOT NULL DEFAULT ''
    );
    CREATE INDEX runs_by_time ON runs (host, unit, started);
    """,
    """
    ALTER TABLE loads ADD COLUMN phases TEXT NOT NULL DEFAULT '{}';
    ALTER TABLE loads ADD COLUMN cold INTEGER;
    ALTER TABLE loads ADD COLUMN cached INTEGER
    """,
    """
    CREATE TABLE swaps (
        id INTEGER PRIMARY KEY,
        host TEXT NOT NULL,
        swap TEXT NOT NULL,
        unit TEXT NOT NULL,
        origin TEXT NOT NULL DEFAULT '',
        action TEXT NOT NULL,
        started REAL NOT NULL,
        ended REAL,
        outcome TEXT,
        step TEXT NOT NULL DEFAULT '',
        reason TEXT NOT NULL DEFAULT '',
        steps TEXT NOT NULL DEFAULT '[]',
        UNIQUE (host, swap)
    );
    CREATE INDEX swaps_by_time ON swaps (host, unit, started)
    """,
    """
    ALTER TABLE runs ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
    UPDATE runs SET number = coalesce(json_extract(summary, '$.number'), 0);
    DELETE FROM runs WHERE id NOT IN (SELECT min(id) FROM runs GROUP BY host, unit, invocation, started, number);
    CREATE UNIQUE INDEX runs_once ON runs (host, unit, invocation, started, number)
    """,
    """
    CREATE TABLE experiments (
        id INTEGER PRIMARY KEY,
        host TEXT NOT NULL,
        experiment TEXT NOT NULL,
        unit TEXT NOT NULL,
        name TEXT NOT NULL,
        started REAL NOT NULL,
        ended REAL,
        outcome TEXT,
        reason TEXT NOT NULL DEFAULT '',
        serves TEXT NOT NULL DEFAULT '',
        plan TEXT NOT NULL DEFAULT '',
        units TEXT NOT NULL DEFAULT '[]',
        verdicts TEXT NOT NULL DEFAULT '[]',
        answer TEXT NOT NULL DEFAULT '[]',
        steps TEXT NOT NULL DEFAULT '[]',
        UNIQUE (host, experiment)
    );
    CREATE INDEX experiments_by_time ON experiments (host, started)
    """,
    "ALTER TABLE loads ADD COLUMN cause TEXT NOT NULL DEFAULT ''",
)

"""What a bundle tells beside its log is read as it was collected, and what is damaged in it is not made good."""

from __future__ import annotations

import json

import pytest

from specconsole.errors import UsageError
from specconsole.explain.collected import MOST, Collected, collected
from specconsole.service.check import Check, Level

HEAD = {"bundle": 1, "host": "gpu-9", "made": 1_750_000_125.0}
SHM = {
    "name": "/dev/shm",
    "level": "ok",
    "found": "1 B used.",
    "works": "w",
    "fails": "",
    "fix": "specconsole lint gpu-9",
}
LOAD = {"host": "gpu-9", "unit": "a.service", "invocation": "i", "started": 1.75e9, "outcome": "ready", "id": 4}
SWAP = {"host": "gpu-9", "swap": "s", "unit": "a.service", "action": "start", "started": 1.75e9}


def read(doctor: object = None, history: object = None, **head: object) -> Collected:
    files = {"bundle.json": HEAD | head, "doctor.json": doctor, "history.json": history}
    return collected({name: json.dumps(value).encode() for name, value in files.items() if value is not None})


def test_checks_and_history_come_back_as_they_were() -> None:
    found = read({"checks": [SHM]}, {"loads": [LOAD], "swaps": [SWAP]}, typed="-p 2222 gpu-9")
    assert found.checks == (Check("/dev/shm", Level.OK, "1 B used.", "w", "", "specconsole lint gpu-9"),)
    assert [(load.unit, load.outcome) for load in found.loads] == [("a.service", "ready")]
    assert [(swap.swap, swap.action) for swap in found.swaps] == [("s", "start")]
    assert (found.host, found.made, found.damaged) == ("-p 2222 gpu-9", HEAD["made"], 0)
    assert read(host="two words").host == "'two words'"


@pytest.mark.parametrize("broken", ["x", 3, {}, {"level": "fine"}, {"name": 3, "found": None, "level": ["ok"]}])
def test_a_damaged_check_is_not_known(broken: object) -> None:
    (found,) = read({"checks": [broken]}).checks
    assert found.level is Level.UNKNOWN
    assert found.found == "This check of the bundle is damaged."


def test_text_of_a_check_is_harmless() -> None:
    (found,) = read({"checks": [SHM | {"found": "\x1b[31mred"}]}).checks
    assert "\x1b" not in found.found


def test_a_damaged_record_is_counted_and_the_others_are_read() -> None:
    found = read(history={"loads": [LOAD | {"started": "x"}, LOAD, 7], "swaps": "none"})
    assert (len(found.loads), found.swaps, found.damaged) == (1, (), 2)


@pytest.mark.parametrize("made", [None, True, "now"])
def test_what_is_no_bundle_is_refused(made: object) -> None:
    with pytest.raises(UsageError, match="no bundle"):
        read(made=made)


def test_of_a_bundle_without_end_some_is_believed() -> None:
    found = read({"checks": [SHM | {"found": "x" * 100_000}] * (MOST + 5)}, host="h" * 5000)
    assert len(found.checks) == MOST
    assert len(found.checks[0].found) == 4000
    assert len(found.host) <= 200


def test_damaged_records_of_each_kind_are_counted() -> None:
    assert read(history={"loads": [7], "swaps": [SWAP | {"started": "x"}, SWAP]}).damaged == 2


@pytest.mark.parametrize("broken", [b"{", b"[]", b"\xff", b"3"])
def test_a_file_that_is_no_object_holds_nothing(broken: bytes) -> None:
    found = collected({"bundle.json": json.dumps(HEAD).encode(), "doctor.json": broken, "history.json": broken})
    assert (found.checks, found.loads, found.swaps, found.damaged) == ((), (), (), 0)

"""What the evidence after a stop says: GPU memory, /dev/shm, failures that repeat."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from specconsole.remote import swap_judge as judge
from specconsole.remote.swap_judge import GIB, MIB, Entry, cleaned, removable, signature, steady

NOBODY: frozenset[int] = frozenset()


def row(used: int | None, *holders: tuple[int, int | None], index: int = 0, **more: Any) -> dict[str, Any]:
    processes = [{"pid": pid, "name": "python", "memory": memory, "unit": "other.service"} for pid, memory in holders]
    return {
        "index": index,
        "uuid": f"GPU-{index}",
        "memory_used": used,
        "memory_total": 96 * GIB,
        "processes": processes,
        **more,
    }


def state(value: dict[str, Any], floors: dict[str, int] | None = None, ours: frozenset[int] = NOBODY, wanted: float | None = 0.9, **more: bool) -> str:  # fmt: skip
    (card,) = judge.judge([value], floors or {}, ours, wanted, **more)
    return card.state


def test_an_empty_card_is_clear() -> None:
    assert state(row(0)) == judge.CLEAR
    assert state(row(600 * MIB), {"GPU-0": 600 * MIB}) == judge.CLEAR


def test_memory_that_nobody_holds_is_waited_for() -> None:
    assert state(row(20 * GIB)) == judge.WAIT
    assert state(row(900 * MIB), {"GPU-0": 100 * MIB}) == judge.WAIT
    assert state(row(900 * MIB)) == judge.CLEAR  # floor not known: so much may be the driver's


def test_when_waiting_is_over_only_room_counts() -> None:
    assert state(row(20 * GIB), ends=True) == judge.HELD
    assert state(row(3 * GIB), ends=True) == judge.CLEAR


def test_a_process_of_the_unit_is_waited_for_whatever_its_size() -> None:
    assert state(row(90 * GIB, (7, 90 * GIB)), ours=frozenset({7})) == judge.OURS
    assert state(row(0, (7, None)), ours=frozenset({7})) == judge.OURS


def test_others_may_stay_where_the_next_unit_fits() -> None:
    assert state(row(2 * GIB, (9, 2 * GIB))) == judge.CLEAR
    assert state(row(20 * GIB, (9, 20 * GIB))) == judge.HELD
    assert state(row(20 * GIB, (9, 20 * GIB)), wanted=None) == judge.CLEAR


def test_a_holder_is_named_with_what_is_asked_for() -> None:
    (card,) = judge.judge([row(20 * GIB, (9, 20 * GIB))], {}, NOBODY, 0.9)
    for word in ("GPU 0", "python pid 9", "other.service", "20.0 GiB", "86.4 GiB", "76.0 GiB is free"):
        assert word in card.text


def test_what_cannot_be_read_is_not_known_and_never_zero() -> None:
    assert state(row(None)) == judge.UNKNOWN
    assert state(row(0, error="GPU is lost")) == judge.UNKNOWN


def test_a_process_whose_size_the_driver_hides_is_no_unexplained_memory() -> None:
    assert state(row(5 * GIB, (9, None))) == judge.CLEAR
    assert state(row(50 * GIB, (9, None))) == judge.HELD


def test_three_readings_that_agree() -> None:
    def reading(*used: int) -> list[judge.Card]:
        return judge.judge([row(value, index=place) for place, value in enumerate(used)], {}, NOBODY, 0.9)

    assert not steady([reading(0), reading(0)])
    assert steady([reading(0), reading(MIB), reading(0)])
    assert not steady([reading(500 * MIB), reading(300 * MIB), reading(100 * MIB)]), "it still falls"
    assert not steady([reading(0), reading(9 * GIB), reading(0)])
    assert steady([reading(9 * GIB), reading(0), reading(0), reading(0)])


def test_floors_leave_out_what_processes_hold() -> None:
    rows = [row(3 * GIB, (9, 2 * GIB)), row(None, index=1), row(5, index=2, error="lost")]
    assert judge.floors_of(rows) == {"GPU-0": GIB}


# -- /dev/shm --

SINCE = 1_000_000
MINE = Entry("psm_ab12", device=5, inode=77, ctime_ns=SINCE + 5, size=4096, uid=0)
UIDS = frozenset({0})


def test_a_ring_buffer_of_the_unit_goes() -> None:
    assert removable(MINE, MINE, held=False, since_ns=SINCE, uids=UIDS) == (True, "")


@pytest.mark.parametrize(
    ("then", "now", "held", "why"),
    [
        (None, MINE, False, "no process of the unit"),
        (MINE, replace(MINE, inode=78), False, "another file"),
        (MINE, replace(MINE, ctime_ns=SINCE + 6), False, "changed"),
        (MINE, replace(MINE, size=8192), False, "changed"),
        (MINE, MINE, True, "still holds"),
        (replace(MINE, ctime_ns=SINCE - 1), replace(MINE, ctime_ns=SINCE - 1), False, "older than"),
        (replace(MINE, uid=1000), replace(MINE, uid=1000), False, "another user"),
        (replace(MINE, name="model-00001.safetensors"), replace(MINE, name="model-00001.safetensors"), False, "name"),
        (MINE, replace(MINE, links=2), False, "plain file"),
        (MINE, replace(MINE, regular=False), False, "plain file"),
    ],
)
def test_whatever_is_not_proven_stays(then: Entry | None, now: Entry, held: bool, why: str) -> None:
    may, said = removable(then, now, held, SINCE, UIDS)
    assert not may
    assert why in said


# -- failures --


def test_the_cause_is_the_first_exception_that_is_no_consequence() -> None:
    log = [
        "(EngineCore pid=5) ERROR 11-29 14:07:00 [core.py:1231] Traceback (most recent call last):",
        "(EngineCore pid=5) ERROR 11-29 14:07:00 [core.py:1231] ValueError: Free memory on device cuda:0 (49.53/139.8 GiB)",
        "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.",
    ]
    assert judge.cause_of(log) == "ValueError: Free memory on device cuda:0 (49.53/139.8 GiB)"
    assert judge.cause_of(["INFO all is well", log[2]]) == ""


def test_the_same_failure_with_other_numbers_is_the_same() -> None:
    first = signature("exit-code", 1, "ValueError: Free memory on device cuda:0 (49.53/139.8 GiB)")
    assert first == signature("exit-code", 1, "ValueError: Free memory on device cuda:3 (12.00/139.8 GiB)")
    assert first != signature("exit-code", 1, "ImportError: no module named x")


def test_cards_that_say_the_same_say_it_once() -> None:
    cards = [judge.Card(n, judge.CLEAR, 0, f"GPU {n}: {'held' if n == 3 else '0 MiB used'}") for n in range(6)]
    assert judge.together(cards) == "GPU 0, 1, 2, 4, 5: 0 MiB used; GPU 3: held"
    assert judge.together(cards[:3]) == "GPU 0 to 2: 0 MiB used"
    assert (judge.numbers([4]), judge.numbers([0, 1])) == ("4", "0, 1")
    assert (judge.many(1, "entry", "entries"), judge.many(0, "entry", "entries")) == ("1 entry", "0 entries")


def test_every_entry_that_a_unit_had_is_accounted_for() -> None:
    removed = [{"name": "psm_1", "size": 80 * MIB}]
    left = [{"name": "psm_2", "size": 1, "why": "a process still holds it"}, {"name": "staged", "size": 9}]
    own = ["psm_1", "psm_2", "psm_3", "psm_4"]
    assert cleaned(own, removed, left) == (
        "its 4 entries of /dev/shm: 1 removed (80 MiB), 2 went with its processes, 1 left alone; 1 of others left alone"
    )
    assert cleaned(["psm_3"], [], []) == "its 1 entry of /dev/shm: 1 went with its processes; 0 of others left alone"
    assert cleaned([], [], left) == "it had no entry of /dev/shm; 2 of others left alone"

"""The step after a stop: nothing of the unit is left, and the next one has the room that it needs; Python 3.8.

What counts: processes (by cgroup, by what was in it before, by title and parent, by the pids that NVML names), the port,
and the memory of every GPU, three readings in a row. A process in the driver's teardown is in state D for seconds: that
is waited for. One in D for minutes is not ended by any signal: only a reboot helps, and that is said.
"""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, List, Optional, Sequence, Tuple

from specconsole.remote import swap_judge, swap_record
from specconsole.remote.swap_judge import Card
from specconsole.remote.swap_process import Process
from specconsole.remote.swap_run import Run, StepFailed
from specconsole.remote.swap_step import wanted

GONE_S = 20.0
"""How long processes may take to go by themselves before they count as left behind: 2.6 s were measured for one GPU."""
MEMORY_S = 120.0
"""How long memory that nobody holds is waited for: the driver gives back 90 GB a GPU within seconds."""
STUCK_S = 180.0
"""In state D for so long, a process does not come back."""
ASK_S = 600.0
READINGS_S = 1.0
Identity = Tuple[int, int]


def verify(run: Run) -> None:
    """Wait until the host is free for the next unit. Raises StepFailed, naming what is not."""
    known = [one for before in run.before.values() for one in before.processes]
    _processes_gone(run, known)
    _ports_closed(run)
    _memory_free(run, known)


def _left(run: Run, known: Sequence[Process]) -> Tuple[List[Process], FrozenSet[Identity]]:
    """What lives on, and which of it is certainly the stopped units': of their cgroup now, or in it before the stop."""
    found = {one.identity: one for one in run.world.still(known)}
    for unit in [run.target] if run.story.back else run.stops:
        found.update((one.identity, one) for one in run.processes(unit))
    certain = frozenset(found)
    found.update((one.identity, one) for one in run.orphans() if one.identity not in found)
    return sorted(found.values(), key=lambda one: one.pid), certain


def _processes_gone(run: Run, known: Sequence[Process]) -> None:
    began = run.world.monotonic()
    while True:
        left, certain = _left(run, known)
        if not left:
            run.note("no process is left")
            return
        spent = run.world.monotonic() - began
        stuck = [one for one in left if one.state == "D"]
        run.now(
            "%s left%s for %.0f s"
            % (swap_judge.many(len(left), "process", "processes"), " (in the driver)" if stuck else "", spent)
        )
        if stuck and spent > STUCK_S:
            raise StepFailed(
                "pid %d (%s) is in state D for %.0f s: the driver holds it" % (stuck[0].pid, stuck[0].argv, spent),
                ["no signal ends it; reboot the host"],
            )
        if not stuck and spent > GONE_S:
            _end_orphans(run, left, certain)
            began = run.world.monotonic()
        run.pause()


def _end_orphans(run: Run, left: Sequence[Process], certain: FrozenSet[Identity]) -> None:
    """Offer to end exactly what was left behind, and do so when told to; never without."""
    memory = _memory_of(run, left)
    lines = [dict(one.line(), memory=memory.get(one.pid)) for one in left]
    answer = str(run.plan.get("orphans") or "ask")
    shown = certain | {(int(one[0]), int(one[1])) for one in run.plan.get("orphans_shown") or []}
    if any(one.identity not in shown for one in left):
        answer = "ask"  # nobody was shown these, and they are not certainly the unit's
    count = swap_judge.many(len(left), "process was", "processes were")
    text = "%s left behind: %s" % (count, ", ".join("%d %s" % (o.pid, o.argv) for o in left))
    if answer == "ask":
        answer = _ask(run, lines, text)
    else:
        run.note(text, processes=lines)
    if answer != "end":
        kill = "kill -9 " + " ".join(str(one.pid) for one in left)
        raise StepFailed(text + "; they were not to be ended", [kill])
    survivors = run.world.end(left)
    if any(one.state != "D" for one in survivors):
        raise StepFailed("pid %d could not be ended" % survivors[0].pid)
    run.note("ended %s" % ", ".join(str(one.pid) for one in left if one not in survivors))


def _ask(run: Run, lines: Sequence[Dict[str, Any]], text: str) -> str:
    """Ask the operator; without an answer in time it is a no."""
    limit = float(run.plan.get("ask_s") or ASK_S)
    until = run.world.monotonic() + limit
    run.answers.pop("orphans", None)
    run.write("ask", what="orphans", text=text, processes=list(lines), until=round(run.world.now() + limit, 1))
    while run.world.monotonic() < until:
        if "orphans" in run.answers:
            break
        run.now("waits for an answer: end them?", what="orphans")
        run.pause()
    answer = run.answers.get("orphans", "none in time")
    run.write("answer", what="orphans", text=answer)
    return answer


def _memory_of(run: Run, left: Sequence[Process]) -> Dict[int, int]:
    found: Dict[int, int] = {}
    for row in run.world.read_gpus():
        for one in row.get("processes") or []:
            if one.get("memory") is not None:
                found[one["pid"]] = found.get(one["pid"], 0) + int(one["memory"])
    return {one.pid: found[one.pid] for one in left if one.pid in found}


def _ports_closed(run: Run) -> None:
    until = run.world.monotonic() + GONE_S
    for unit in [run.target] if run.story.back else run.stops:
        endpoint = unit.get("endpoint") or {}
        while True:
            owners = run.world.listeners(endpoint)
            if owners == set():
                break
            if run.world.monotonic() > until:
                pids = ", ".join("pid %d" % pid for pid in sorted(owners or ())) or "somebody"
                raise StepFailed("%s still listens on port %s" % (pids, endpoint.get("port")))
            run.pause()


def _memory_free(run: Run, known: Sequence[Process]) -> None:
    mine = frozenset(one.pid for one in known)
    known_floors = swap_record.floors(run.record.path, run.world)
    readings: List[List[Card]] = []
    began = run.world.monotonic()
    driver: Optional[str] = None
    while True:
        rows = run.world.read_gpus()
        if not rows and driver is None:
            driver = run.world.gpus_why or "no driver"
            run.note("GPU memory is not checked: %s" % driver)
            return
        ends = run.world.monotonic() - began > MEMORY_S
        cards = swap_judge.judge(rows, known_floors, mine, wanted(run), ends)
        readings.append(cards)
        if swap_judge.steady(readings):
            _told(run, cards, rows)
            return
        bad = [card for card in cards if card.state not in (swap_judge.CLEAR, swap_judge.UNKNOWN)]
        held = [card for card in bad if card.state == swap_judge.HELD]
        if held and _lasting(readings):
            raise StepFailed(swap_judge.together(held))
        if bad and run.world.monotonic() - began > 2 * MEMORY_S:
            raise StepFailed(swap_judge.together(bad))
        run.now(swap_judge.together(bad or cards))
        run.pause(READINGS_S)


def _lasting(readings: Sequence[Sequence[Card]]) -> bool:
    """Whether the last three readings agree that somebody holds what is needed, and nothing of ours is left."""
    last = readings[-3:]
    return len(last) == 3 and all(
        any(card.state == swap_judge.HELD for card in cards)
        and not any(card.state in (swap_judge.OURS, swap_judge.WAIT) for card in cards)
        for cards in last
    )


def _told(run: Run, cards: Sequence[Card], rows: Sequence[Dict[str, Any]]) -> None:
    run.note("three readings agree: %s" % swap_judge.together(cards))
    floors = swap_judge.floors_of(rows)
    if floors and not any(card.state == swap_judge.UNKNOWN for card in cards):
        run.write("floor", gpus=floors)

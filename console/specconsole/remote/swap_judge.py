"""What the evidence of a stop says: GPU memory, entries of /dev/shm, failures that repeat; pure functions; Python 3.8."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple

MIB, GIB = 1 << 20, 1 << 30
STEADY = 32 * MIB
"""Two readings that differ by less are the same."""
FLOOR_SLACK = 256 * MIB
NO_FLOOR_SLACK = GIB
"""Where no floor was learnt, so much may be used by nobody: what a driver or a display keeps is below it."""
CLEAR, OURS, WAIT, HELD, UNKNOWN = "clear", "ours", "wait", "held", "unknown"

Row = Dict[str, Any]


@dataclass(frozen=True)
class Card:
    """What one reading says of one GPU after a stop."""

    index: int
    state: str
    """clear; ours (a process of the unit is still on it); wait (memory that nobody holds: the driver is not done);
    held (others hold so much that the next unit does not fit); unknown (it cannot be read)."""
    used: Optional[int]
    text: str


def judge(
    rows: Sequence[Row], floors: Mapping[str, int], ours: FrozenSet[int], wanted: Optional[float], ends: bool = False
) -> List[Card]:
    """Judge each GPU: `rows` as the probe reads them, `floors` by uuid where learnt, `ours` the pids of the stopped unit.

    `wanted`: the share of the memory that the next unit asks for; None: nothing is started next. Utilisation is no
    evidence: a card goes on showing 100 % for a while after its last process. `ends`: waiting is over, so memory
    that nobody holds is judged by whether the next unit fits.
    """
    return [_card(row, floors.get(str(row.get("uuid"))), ours, wanted, ends) for row in rows]


def _card(row: Row, floor: Optional[int], ours: FrozenSet[int], wanted: Optional[float], ends: bool) -> Card:
    index, used, total = int(row.get("index", 0)), row.get("memory_used"), row.get("memory_total")
    if row.get("error") or used is None:
        return Card(
            index, UNKNOWN, None, "GPU %d: cannot be read: %s" % (index, row.get("error") or "no memory reading")
        )
    holders: List[Row] = row.get("processes") or []
    mine = [one for one in holders if one["pid"] in ours]
    if mine:
        return Card(index, OURS, used, "GPU %d: %s" % (index, _named(mine)))
    named = sum(one["memory"] or 0 for one in holders)
    nobody = max(used - named - (floor or 0), 0)
    silent = [
        one for one in holders if one["memory"] is None
    ]  # the driver does not say how much (MIG, other namespaces)
    slack = NO_FLOOR_SLACK if floor is None else FLOOR_SLACK
    if nobody > slack and not silent and not ends:
        known = "floor not known" if floor is None else "floor %s" % size(floor)
        return Card(index, WAIT, used, "GPU %d: %s used by no process (%s)" % (index, size(nobody), known))
    if wanted is not None and total and total - used < wanted * total:
        who = _named(holders) or "memory of no visible process"
        ask = "the next unit asks for %s of %s, %s is free" % (size(wanted * total), size(total), size(total - used))
        return Card(index, HELD, used, "GPU %d: held by %s; %s" % (index, who, ask))
    left = "at its floor" if floor is not None else "floor not known, nothing that is not named"
    return Card(index, CLEAR, used, "GPU %d: %s used%s, %s" % (index, size(used), _beside(holders), left))


def _named(holders: Sequence[Row]) -> str:
    return ", ".join(
        "%s pid %d%s %s"
        % (
            one.get("name") or "a process that is not visible",
            one["pid"],
            " of %s" % one["unit"] if one.get("unit") else "",
            size(one["memory"]) if one.get("memory") is not None else "(size not told)",
        )
        for one in holders
    )


def _beside(holders: Sequence[Row]) -> str:
    return " (%s)" % _named(holders) if holders else ""


def floors_of(rows: Sequence[Row]) -> Dict[str, int]:
    """What stays used on each GPU beyond the processes that are named: its floor, once none of vLLM's is left."""
    return {
        str(row["uuid"]): max(row["memory_used"] - sum(one["memory"] or 0 for one in row.get("processes") or []), 0)
        for row in rows
        if row.get("uuid") and row.get("memory_used") is not None and not row.get("error")
    }


def steady(readings: Sequence[Sequence[Card]], times: int = 3) -> bool:
    """Whether the last readings are all clear (or cannot be read) and hardly differ."""
    last = readings[-times:]
    if len(last) < times or any(card.state not in (CLEAR, UNKNOWN) for cards in last for card in cards):
        return False
    columns: Dict[int, List[int]] = {}
    for cards in last:
        for card in cards:
            if card.used is not None:
                columns.setdefault(card.index, []).append(card.used)
    return all(max(column) - min(column) < STEADY for column in columns.values())


def together(cards: Sequence[Card]) -> str:
    """What the cards say, once for all that say the same."""
    said: Dict[str, List[int]] = {}
    for card in cards:
        said.setdefault(card.text.partition(": ")[2], []).append(card.index)
    return "; ".join("GPU %s: %s" % (numbers(which), text) for text, which in said.items())


def numbers(which: Sequence[int]) -> str:
    """GPUs by number: 0, 3 or 0 to 7."""
    whole = len(which) > 2 and list(which) == list(range(which[0], which[-1] + 1))
    return "%d to %d" % (which[0], which[-1]) if whole else ", ".join(map(str, which))


def many(count: int, one: str, more: str) -> str:
    """A count with its noun."""
    return "%d %s" % (count, one if count == 1 else more)


def size(count: float) -> str:
    """Bytes for people."""
    return "%.1f GiB" % (count / GIB) if count >= GIB else "%.0f MiB" % (count / MIB)


# -- /dev/shm --


def cleaned(own: Sequence[str], removed: Sequence[Row], left: Sequence[Row]) -> str:
    """What became of each entry that the unit had, and how many others lie there."""
    kept = len({one["name"] for one in left} & set(own))
    gone = len(own) - len(removed) - kept
    said = ["%d removed (%s)" % (len(removed), size(sum(one["size"] for one in removed)))] if removed else []
    said += ["%d went with its processes" % gone] if gone > 0 else []
    said += ["%d left alone" % kept] if kept else []
    mine = "its %s of /dev/shm: %s" % (many(len(own), "entry", "entries"), ", ".join(said))
    others = "%d of others left alone" % (len(left) - kept)
    return "%s; %s" % (mine if own else "it had no entry of /dev/shm", others)


NAMES = re.compile(r"(?:psm_|sem\.mp-|sem\.loky-|loky-|nccl-|torch_|vllm_|VLLM_|cuda\.shm\.)")
"""How entries begin that vLLM, multiprocessing, loky, NCCL and torch make."""


@dataclass(frozen=True)
class Entry:
    """A file of /dev/shm at one moment."""

    name: str
    device: int
    inode: int
    ctime_ns: int
    size: int
    uid: int
    regular: bool = True
    links: int = 1


def removable(then: Optional[Entry], now: Entry, held: bool, since_ns: int, uids: FrozenSet[int]) -> Tuple[bool, str]:
    """Whether an entry may be removed after the stop, and why not.

    `then`: the entry as a process of the unit had it mapped for writing or open for writing before the stop; None: none
    had. A mapping alone proves nothing: vLLM maps weights that people staged there, too. So the entry must also be
    younger than the unit's start (`since_ns`), belong to a user of its processes, and have a name that these libraries
    give.
    """
    if then is None:
        return False, "no process of the unit had it open for writing"
    if (then.device, then.inode) != (now.device, now.inode):
        return False, "it is another file than before the stop"
    if then.ctime_ns != now.ctime_ns or then.size != now.size:
        return False, "it has changed since"
    if not now.regular or now.links != 1:
        return False, "it is no plain file with one name"
    if held:
        return False, "a process still holds it"
    if now.ctime_ns < since_ns:
        return False, "it is older than the unit's start"
    if now.uid not in uids:
        return False, "it belongs to another user"
    if not NAMES.match(now.name):
        return False, "its name is none that vLLM's libraries give"
    return True, ""


# -- failures that repeat --

_GENERIC = (
    "Engine core initialization failed",
    "WorkerProc initialization failed",
    "EngineDeadError",
    "died unexpectedly",
)
_CAUSE = re.compile(r"(?:^|\s)((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt)\b:? ?.*)$")


def cause_of(lines: Sequence[str]) -> str:
    """The first exception of a log that is no mere consequence; "" when there is none."""
    for line in lines:
        found = _CAUSE.search(line.rstrip())
        if found and ":" in found.group(1) and not any(word in line for word in _GENERIC):
            return found.group(1).strip()[:300]
    return ""


def signature(result: str, status: Optional[int], cause: str) -> str:
    """What two equal failures share: systemd's result, the exit status, and the cause without its numbers."""
    return "%s/%s/%s" % (result, status, re.sub(r"\d+(?:\.\d+)?|0x[0-9a-f]+", "#", cause))

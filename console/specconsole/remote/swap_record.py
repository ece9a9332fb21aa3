"""The record of swaps on the host: one JSON line an event, fsynced before the act that it announces; Python 3.8.

`/var/lib/specconsole/swaps.jsonl` is the one file that stays on a host, since journals can be volatile. Each line has `v`,
`id` (of the swap), `n` (its number in the swap), `at` (seconds since the epoch), `up` (the boot clock), `boot` and `event`:

    begin    plan                                  what was confirmed; secrets masked, no key
    step     step, state, back, why                state: begin, done, skipped, failed; back: while rolling back
    note     step, text, …                         evidence, in words; further keys for programs
    started  unit, invocation, back                our own start of a unit, as systemd numbers it
    floor    gpus                                  bytes by GPU uuid that stay used when none of vLLM's processes is left
    ask      what, …, until                        the runner waits for an answer; answer: what was said
    turn     why, foreign                          from here on it rolls back
    end      outcome, why, advice                  nothing more will be done

`read` and `stories` are used on both sides of the link.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, Dict, Iterable, List, Optional, Tuple

from specconsole.remote import outside
from specconsole.remote.secret import mask
from specconsole.remote.swap_ground import GROUND, Ground

VERSION = 1
HOME = "/var/lib/specconsole"
PATH = HOME + "/swaps.jsonl"
RUN = "/run/specconsole"
READ_BYTES = 4 << 20
"""The end of the record that is read: some hundred swaps."""

Event = Dict[str, Any]


class Record:
    """The record of one swap, open for writing; there is one writer, since the unit's name is the lock."""

    def __init__(self, ident: str, path: str = PATH, mirror: str = "", count: int = 0, ground: Ground = GROUND) -> None:
        self.ident = ident
        self.path = path
        self.mirror = mirror
        """A copy in /run: what is told there survives a full /var, and ExecStopPost reads it."""
        self.count = count
        self.trouble = ""
        """Why the last line could not be written where it stays; "" while it can."""
        self.ground = ground
        self.boot = ground.boot_id()

    def write(self, event: str, **values: Any) -> Event:
        """Append an event and force it to the disk. A full disk is kept as `trouble` and never stops a swap half way."""
        line: Event = {"v": VERSION, "id": self.ident, "n": self.count, "at": round(self.ground.now(), 3)}
        line.update(up=round(self.ground.uptime(), 3), boot=self.boot, event=event)
        line.update(values)
        self.count += 1
        if self.mirror:
            try:
                self.ground.keep(self.mirror, _packed(line))
            except OSError:
                pass
        self.put(line)
        return line

    def put(self, line: Event) -> None:
        """Append a whole event where it stays, or keep the trouble."""
        try:
            self.ground.keep(self.path, _packed(line))
            self.trouble = ""
        except OSError as error:
            self.trouble = "%s: %s" % (self.path, error.strerror or error)


def _packed(line: Event) -> bytes:
    return json.dumps(line, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"


def read(path: str = PATH, limit: int = READ_BYTES, ground: Ground = GROUND) -> List[Event]:
    """The events at the end of a record, oldest first; torn and foreign lines are left out. Raises OSError."""
    skipped = max(ground.size(path) - limit, 0)
    lines = ground.read(path, skipped, limit).split(b"\n")
    return events(lines[1:] if skipped else lines)


def events(lines: Iterable[bytes]) -> List[Event]:
    """The events among lines."""
    found = []
    for line in lines:
        try:
            event = outside.parse(line)
        except ValueError:
            continue
        if isinstance(event, dict) and event.get("v") == VERSION and isinstance(event.get("id"), str):
            found.append(event)
    return found


@dataclass(frozen=True)
class Step:
    """One step of a swap, as far as it went."""

    name: str
    back: bool
    state: str
    """begin, done, skipped or failed."""
    began: float
    """Seconds since the epoch."""
    ended: Optional[float] = None
    why: str = ""
    notes: Tuple[Event, ...] = ()


@dataclass(frozen=True)
class Story:
    """What the record says of one swap; `fold` makes it, event by event."""

    id: str = ""
    began: float = 0.0
    last: float = 0.0
    """When the last event was written."""
    boot: str = ""
    count: int = 0
    """How many events: the next one's number."""
    plan: Event = field(default_factory=dict)
    steps: Tuple[Step, ...] = ()
    back: bool = False
    """It rolls, or has rolled, back."""
    turned: str = ""
    """Why it rolls back."""
    foreign: bool = False
    """Somebody else's systemctl was the reason."""
    started: Tuple[Tuple[str, str], ...] = ()
    """Our own starts, as pairs of unit key and invocation."""
    ask: Optional[Event] = None
    """The question that waits for an answer."""
    outcome: Optional[str] = None
    """committed, rolled_back, unchanged, failed, handed_over, interrupted; None: it is not over."""
    why: str = ""
    advice: Tuple[str, ...] = ()

    @property
    def step(self) -> Optional[Step]:
        """The step that it is in, or was in last."""
        return self.steps[-1] if self.steps else None

    @property
    def unproven(self) -> str:
        """Why it is not proven that the unit that serves in the end generates; "" where it is, or where none was asked."""
        proofs = [step for step in self.steps if step.name == "prove" and step.back == self.back]
        notes = proofs[-1].notes if proofs else ()
        return next((str(note.get("text", "")) for note in notes if note.get("proven") is False), "")

    def begun(self, name: str, back: bool = False) -> bool:
        """Whether a step was begun."""
        return any(step.name == name and step.back == back and step.state != "skipped" for step in self.steps)

    def done(self, name: str, back: bool = False) -> bool:
        """Whether a step was done."""
        return any(step.name == name and step.back == back and step.state == "done" for step in self.steps)


def fold(story: Story, event: Event) -> Story:
    """Take an event into the story; one that is already in it, or that nobody knows, changes nothing but the count."""
    number = int(event.get("n", 0))
    if number < story.count:
        return story
    at = float(event.get("at") or 0.0)
    changes: Dict[str, Any] = {"count": number + 1, "last": at}
    kind = event.get("event")
    if kind == "begin":
        changes.update(id=event["id"], began=at, boot=str(event.get("boot", "")), plan=event.get("plan") or {})
    elif kind == "step":
        changes["steps"] = _stepped(story.steps, event, at)
    elif kind == "note" and story.steps:
        last = story.steps[-1]
        changes["steps"] = (*story.steps[:-1], replace(last, notes=(*last.notes, event)))
    elif kind == "started":
        pair = (str(event.get("unit")), str(event.get("invocation")))
        changes["started"] = (*story.started, pair)
    elif kind == "ask":
        changes["ask"] = event
    elif kind == "answer":
        changes["ask"] = None
    elif kind == "turn":
        changes.update(back=True, turned=str(event.get("why", "")), foreign=bool(event.get("foreign")), ask=None)
    elif kind == "end":
        changes.update(outcome=str(event.get("outcome")), why=str(event.get("why", "")), ask=None)
        changes["advice"] = tuple(str(line) for line in event.get("advice") or ())
        changes["steps"] = _closed(story.steps, "done" if changes["outcome"] == "committed" else "failed", at)
    return replace(story, **changes)


def _stepped(steps: Tuple[Step, ...], event: Event, at: float) -> Tuple[Step, ...]:
    name, state, back = str(event.get("step")), str(event.get("state")), bool(event.get("back"))
    why = str(event.get("why", ""))
    last = steps[-1] if steps else None
    if state in ("begin", "skipped") or last is None or (last.name, last.back) != (name, back):
        return (*steps, Step(name, back, state, at, None if state == "begin" else at, why))
    return (*steps[:-1], replace(last, state=state, ended=at, why=why))


def _closed(steps: Tuple[Step, ...], state: str, at: float) -> Tuple[Step, ...]:
    """The steps of a swap that is over: the last one, which the end itself or a death cut short, goes on no more."""
    if not steps or steps[-1].state != "begin":
        return steps
    return (*steps[:-1], replace(steps[-1], state=state, ended=at))


def stories(found: Iterable[Event]) -> List[Story]:
    """The stories of a record, oldest first; one whose beginning is not among the events is left out."""
    by_id: Dict[str, Story] = {}
    for event in found:
        ident = event["id"]
        if ident in by_id or event.get("event") == "begin":
            by_id[ident] = fold(by_id.get(ident, Story()), event)
    return list(by_id.values())


def floors(path: str = PATH, ground: Ground = GROUND) -> Dict[str, int]:
    """What earlier swaps of this host saw stay used on each GPU when nothing was left on it: the latest of each."""
    found: Dict[str, int] = {}
    try:
        known = read(path, ground=ground)
    except OSError:
        return found
    for event in known:
        if event.get("event") == "floor" and isinstance(event.get("gpus"), dict):
            found.update(event["gpus"])
    return found


def masked(value: Any) -> Any:
    """A value for the record with whatever looks like a secret masked, however deep it lies."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {key: masked(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked(item) for item in value]
    return value

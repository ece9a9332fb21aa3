"""What the steps of a swap share: the plan, the record, the units, the operator's orders, and how a step fails; Python 3.8.

The runner works alone: it needs no console, and what a console says comes as lines of a file that it looks into.
"""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass, field
from typing import Any, Dict, FrozenSet, List, Optional, Sequence, Tuple

from specconsole.remote import outside
from specconsole.remote.swap_engine import Engine
from specconsole.remote.swap_judge import Entry
from specconsole.remote.swap_process import Process
from specconsole.remote.swap_record import Record, Story, fold, masked
from specconsole.remote.swap_shm import Key
from specconsole.remote.swap_unit import Ref, State, SystemctlFailed, Systemd
from specconsole.remote.swap_world import World

TICK_S = 1.0
HOOK_S = 60.0


class StepFailed(Exception):
    """A step did not do what it is for; the text says why, `advice` what a person may do."""

    def __init__(self, why: str, advice: Sequence[str] = ()) -> None:
        super().__init__(why)
        self.advice = tuple(advice)


class Stale(StepFailed):
    """The host is no more as the plan saw it; nothing was changed, and it should be planned again."""


class Cancelled(StepFailed):
    """The operator said so."""


class Foreign(StepFailed):
    """Somebody else's systemctl came between."""


@dataclass
class Before:
    """What was taken down of a unit right before its stop."""

    processes: List[Process] = field(default_factory=list)
    entries: Dict[Key, Entry] = field(default_factory=dict)
    since_ns: int = 0
    """Seconds since the epoch, in nanoseconds, at which its main process started."""

    @property
    def uids(self) -> FrozenSet[int]:
        """Whose processes they were."""
        return frozenset(one.uid for one in self.processes)


class Run:
    """One swap under way."""

    def __init__(
        self,
        plan: Dict[str, Any],
        record: Record,
        folder: str = "",
        key: str = "",
        systemd: Optional[Systemd] = None,
        world: Optional[World] = None,
    ) -> None:
        self.plan = plan
        self.record = record
        self.folder = folder
        self.key = key
        """What the console has found for the target."""
        self.keys: Dict[str, str] = {}
        """Each unit's own, by its name."""
        self.world = world or World()
        self.systemd = systemd or Systemd(self.world.call)
        self.story = Story()
        self.before: Dict[str, Before] = {}
        self.down: Dict[str, Ref] = {}
        """Units that we have stopped and that must stay so."""
        self.ours: Dict[str, str] = {}
        """The invocation of each unit that we have started, as systemd numbers it now."""
        self.restarts: Dict[str, int] = {}
        self.preflight_holders: FrozenSet[Tuple[int, int]] = frozenset()
        self.log_offset: Dict[str, int] = {}
        self._orders = 0
        self.cancelled = False
        self.answers: Dict[str, str] = {}
        self.hooked = ""
        """The command of the plan that was run last: before or after."""

    # -- what the plan says --

    @property
    def target(self) -> Dict[str, Any]:
        """The unit that shall serve (of a stop: the one that shall not)."""
        return dict(self.plan["target"])

    @property
    def back_to(self) -> Optional[Dict[str, Any]]:
        """The unit to return to."""
        return self.plan.get("back_to") or None

    @property
    def stops(self) -> List[Dict[str, Any]]:
        """The units to stop first."""
        return list(self.plan.get("stops") or [])

    @property
    def subject(self) -> Dict[str, Any]:
        """The unit that is started in the present direction."""
        return (self.back_to or self.target) if self.story.back else self.target

    def engine(self, unit: Dict[str, Any]) -> Engine:
        """A unit's server."""
        return Engine(self.world, unit.get("endpoint") or {}, self.keys.get(str(unit["name"])) or self.key)

    def learn_key(self, unit: Dict[str, Any], state: State) -> None:
        """Take a running server's key from the server itself; the console's is for where that shows none."""
        if not self.keys.get(str(unit["name"])):
            self.keys[str(unit["name"])] = self.world.api_key(self.processes(unit, state))

    def show(self, unit: Dict[str, Any]) -> State:
        """A unit's state; asked again for a while, since systemd may be busy (a reload). Raises StepFailed."""
        for left in (4, 3, 2, 1, 0):
            try:
                return self.systemd.show(Ref.of(unit))
            except SystemctlFailed as error:
                if not left:
                    raise StepFailed("systemd does not answer: %s" % error) from error
                self.world.sleep(TICK_S)
        raise AssertionError

    # -- what is told --

    def write(self, event: str, **values: Any) -> None:
        """Write into the record, and into the journal for people."""
        line = self.record.write(event, **masked(values))
        self.story = fold(self.story, line)
        text = line.get("text") or line.get("why") or line.get("outcome") or line.get("state") or ""
        where = line.get("step") or (self.story.step.name if self.story.step else "")
        self.world.say("%s%s: %s %s" % ("roll back, " if self.story.back else "", where or event, event, text))
        if self.record.trouble:
            self.world.say("the record could not be written: %s" % self.record.trouble)

    def note(self, text: str, **values: Any) -> None:
        """Tell evidence."""
        self.write("note", text=text, **values)

    def now(self, text: str, **values: Any) -> None:
        """Tell how it stands this second: for whoever looks on, not for the record."""
        if not self.folder:
            return
        step = self.story.step
        value = {"at": round(self.world.now(), 3), "step": step.name if step else "", "text": text}
        value.update(back=self.story.back, **masked(values))
        try:
            self.world.put(os.path.join(self.folder, "now"), json.dumps(value).encode())
        except OSError:
            pass  # nobody depends on it

    # -- what comes from outside --

    def pause(self, seconds: float = TICK_S, check: bool = True) -> None:
        """Wait a moment, then look at the operator's orders and at what others did. Raises Cancelled, Foreign."""
        self.world.sleep(seconds)
        self.take_orders()
        if self.cancelled and not self.story.back:
            raise Cancelled("cancelled by the operator")
        if check and not self.story.back:
            self.check_foreign()

    def take_orders(self) -> None:
        """Read what the console has said since."""
        if not self.folder:
            return
        try:
            data = self.world.read(os.path.join(self.folder, "orders"), self._orders)
        except OSError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._orders += len(whole)
        for line in whole.splitlines():
            try:
                order = outside.parse(line)
            except ValueError:
                continue
            if order.get("order") == "cancel":
                self.cancelled = True
            elif order.get("order") == "answer":
                self.answers[str(order.get("what"))] = str(order.get("answer"))

    def check_foreign(self) -> None:
        """Find units that somebody else started or stopped. Raises Foreign.

        A unit that we stopped must stay down, one that we did not start must not come up: two of them would share the
        GPUs, and whoever started it did not know of us.
        """
        for unit in [*self.down.values(), *(Ref.of(one) for one in self.plan.get("others") or [])]:
            try:
                state = self.systemd.show(unit)
            except SystemctlFailed:
                continue
            if state.up and unit.key not in self.ours and state.active != "deactivating":
                who = "somebody else started %s" % unit.key
                raise Foreign("%s (invocation %s, not ours)" % (who, state.invocation[:8] or "?"))

    def hook(self, name: str) -> None:
        """Run the plan's command of that name, as it was shown. Raises StepFailed when it fails."""
        argv = [str(word) for word in (self.plan.get("hooks") or {}).get(name) or []]
        if not argv:
            return
        self.hooked = name
        status, out, err = self.systemd.run(argv, HOOK_S, None)
        lines = (err or out).strip().splitlines()
        said = ": " + lines[-1][:200] if lines else ""
        if status != 0:
            raise StepFailed("the command %s (%s) ended with status %d%s" % (argv[0], name, status, said))
        self.note("%s (%s) was run%s" % (argv[0], name, said), hook=name)

    # -- processes --

    def processes(self, unit: Dict[str, Any], state: Optional[State] = None) -> List[Process]:
        """A unit's processes: of its cgroup, and of its container where it runs one."""
        state = state or self.show(unit)
        return self.world.processes(state.cgroup, bool(unit.get("container")))

    def orphans(self) -> List[Process]:
        """Engines and workers whose server is dead: without a parent, and of no unit that runs."""
        return [one for one in self.world.strays() if not self._runs(one.unit)]

    def _runs(self, unit: str) -> bool:
        """Whether a process without a parent is the main process of a unit that runs, which is no leftover."""
        if not unit.endswith(".service") or Ref(unit).key in self.down:
            return False
        try:
            return self.systemd.show(Ref(unit)).up
        except SystemctlFailed:
            return True

    def others(self, rows: Sequence[Dict[str, Any]], ours: FrozenSet[int]) -> List[Dict[str, Any]]:
        """The processes on the GPUs that are not ours, each with its GPU."""
        return [
            dict(one, gpu=row.get("index"), unit=one.get("unit") or self.world.unit_of(one["pid"]))
            for row in rows
            for one in row.get("processes") or []
            if one["pid"] not in ours
        ]


def command(verb: str, unit: Dict[str, Any]) -> str:
    """The systemctl line that a person would type, and may paste: a name in it is one word of a shell's."""
    user = unit.get("user")
    name = shlex.quote(str(unit["name"]))
    return "systemctl %s%s %s" % ("--user --machine=%s@ " % shlex.quote(str(user)) if user else "", verb, name)

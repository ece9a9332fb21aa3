"""The runner of an experiment: a transient unit that sequences swaps and runs, each a unit of its own; Python 3.8.

A console has prepared all of it: each arm's unit, what is asked of it, how long a load may take. What is asked is one cell or
several, one after the other of the same start. An arm that fails is written down and passed over, a cell that fails too.
Whatever was measured lies on the disk; a reboot ends it, and a console may let it go on: with the cells that are left.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Dict, List, Optional, Tuple

from specconsole.remote import drive_folder, experiment_rule, outside, transient
from specconsole.remote.experiment_folder import (
    events_of,
    home_of,
    measured,
    plan_of,
    record_of,
    requests_of,
    run_of,
    settled,
    stamps_of,
)
from specconsole.remote.swap_begin import PROPERTIES as SWAP_PROPERTIES
from specconsole.remote.swap_post import known
from specconsole.remote.swap_record import PATH, RUN, Record, masked
from specconsole.remote.swap_unit import Ref, SystemctlFailed, Systemd
from specconsole.remote.swap_world import World

TICK_S = 1.0
ALIVE_S = 10.0
HEAT = ("nvidia-smi", "--query-gpu=index,temperature.gpu,power.draw,clocks.sm", "--format=csv,noheader,nounits")


class ArmFailed(Exception):
    """An arm could not be measured; the text says why."""


class CellFailed(Exception):
    """One combination of what is asked could not be measured; the text says why."""


class RequestsFailed(CellFailed):
    """The run came to its end, and no request of it was answered: what a later try may find otherwise."""


class Cancelled(Exception):
    """The operator said so."""


class Experiment:
    """One experiment under way."""

    def __init__(self, ident: str, world: World) -> None:
        self.ident = ident
        self.world = world
        self.folder = os.path.join(RUN, ident)
        self.plan = plan_of(ident, world)
        self.found = events_of(ident, world)
        self.record = Record(ident, record_of(ident), "", len(self.found), world)
        self.key = self.content(os.path.join(self.folder, "key")).decode("utf-8", "replace").strip()
        self.systemd = Systemd(world.call)
        self.tries = sum(event["event"] == "begin" for event in self.found)

    def write(self, event: str, **values: Any) -> None:
        """Write down, and into the journal for people."""
        line = self.record.write(event, **masked(values))
        self.found.append(line)
        words = [str(values.get(name)) for name in ("number", "arm", "state", "text", "why") if values.get(name)]
        self.world.say("%s %s" % (event, " ".join(words)))

    def now(self, text: str, **values: Any) -> None:
        """Tell how it stands, for whoever looks on."""
        line = {"at": round(self.world.now(), 3), "text": text, **values}
        try:
            self.world.put(os.path.join(self.folder, "now"), json.dumps(line).encode())
        except OSError:
            pass  # nobody depends on it

    def content(self, path: str) -> bytes:
        """What is in a file; b"" where there is none."""
        try:
            return self.world.read(path)
        except OSError:
            return b""

    def cancelled(self) -> bool:
        """Whether a console has said so."""
        return b"cancel" in self.content(os.path.join(self.folder, "orders"))

    def perform(self) -> str:
        """Do what is left, and return the outcome."""
        self.write("begin", resumed=self.tries > 0)
        outcome, why = "finished", ""
        over = settled(self.found)
        try:
            for number, step in enumerate(self.plan["steps"]):
                if number not in over:
                    self.step(number, step)
        except Cancelled:
            outcome, why = "cancelled", "cancelled by the operator"
            self.write("turn", why=why)
        arm, said = self.choice(outcome)
        self.write("choice", arm=arm, why=said)
        try:
            self.serve(arm, last=True)
        except ArmFailed as failure:
            outcome, why = "failed", "%s does not serve in the end: %s" % (arm, failure)
        self.write("end", outcome=outcome, why=why)
        return outcome

    def step(self, number: int, step: Dict[str, Any]) -> None:
        """Measure one arm, from its swap to its last stamp; raises Cancelled."""
        if self.cancelled():
            raise Cancelled
        said = {"number": number, "arm": step["arm"]}
        self.write("step", **said, state="begin")
        try:
            how = self.serve(step["arm"], fresh=number > 0)
            invocation = self.invocation(step["arm"])
            self.write("step", **said, state="swapped", text=how, invocation=invocation)
            self.soak(float(self.plan.get("soak_s") or 0))
            self.write("step", **said, state="soaked", heat=self.heat())
            self.cells(number, step, invocation)
            self.write("step", **said, state="done", heat=self.heat())
        except ArmFailed as failure:
            self.write("step", **said, state="failed", why=str(failure))

    # -- swap --

    def serve(self, arm: str, fresh: bool = False, last: bool = False) -> str:
        """See that the unit of an arm serves; `fresh`: of a start of its own, so one that serves is started again.

        Without a way back: the next arm takes its place all the same, and the last one returns to the baseline.
        """
        target = self.plan["units"][self.plan["arms"][arm]]
        up = {name: state for name, state in self.states() if state.up}
        name = str(target["name"])
        if name in up and set(up) == {name} and not fresh and up[name].active == "active":
            return "%s serves already" % name
        action = "restart" if set(up) == {name} else "swap"
        stops = [dict(self.plan["units"][one], seen={"up": True, "invocation": up[one].invocation}) for one in up]
        base = self.plan["units"][self.plan["arms"]["baseline"]]
        plan = dict(
            self.plan["swap"],
            action=action,
            boot=self.world.boot_id(),
            target=dict(target, seen={}),
            stops=stops,
            others=[dict(one, seen={}) for key, one in self.plan["units"].items() if key not in up and key != name],
            back_to=dict(base, seen={}) if last and name != base["name"] else None,
            rollback=last and name != base["name"],
            load_deadline_s=self.plan["deadlines"][name],
        )
        ident = "%s-s%d" % (self.ident, self.record.count)
        self.begin("swap", ident, {"plan": json.dumps(plan).encode(), "key": self.key.encode()}, SWAP_PROPERTIES)
        end = self.swapped(ident)
        if end.get("outcome") != "committed":
            raise ArmFailed("the swap ended as %s: %s" % (end.get("outcome"), end.get("why")))
        return str(end.get("why"))

    def invocation(self, arm: str) -> str:
        """The start of an arm's unit that runs now, as systemd numbers it."""
        name = self.plan["arms"][arm]
        return str(dict(self.states())[name].invocation)

    def states(self) -> List[Tuple[str, Any]]:
        """How the units of the plan stand."""
        try:
            return [(name, self.systemd.show(Ref.of(unit))) for name, unit in self.plan["units"].items()]
        except SystemctlFailed as error:
            raise ArmFailed("systemd does not answer: %s" % error) from error

    def begin(self, kind: str, ident: str, files: Dict[str, bytes], properties: Any) -> None:
        """Start a unit of ours; one that ends just now is waited for."""
        for _ in range(60):
            if transient.running(kind, self.world.call) is None:
                break
            self.world.sleep(TICK_S)
        try:
            folder = transient.lay(ident, files, self.world)
        except OSError as error:
            raise ArmFailed("%s: %s" % (error.filename or RUN, error.strerror or error)) from error
        why = transient.start(kind, ident, folder, properties, self.world)
        if why:
            raise ArmFailed("the %s was not begun: %s" % (kind, why))

    def swapped(self, ident: str) -> Dict[str, Any]:
        """Wait for the end of a swap, however long its load takes."""
        mirror, asked = os.path.join(RUN, ident, "record"), self.world.monotonic()
        while True:
            lives = True
            if self.world.monotonic() - asked > ALIVE_S:
                asked = self.world.monotonic()
                lives = transient.running("swap", self.world.call) == ident
            found = known(ident, PATH, mirror, self.world)  # after the question whether anybody still writes
            if found and found[-1]["event"] == "end":
                self.closed("swap", ident)
                return found[-1]
            if not lives:
                raise ArmFailed("the swap ended without a word")
            step = next((one.get("step") for one in reversed(found) if one.get("step")), "")
            self.now(
                "swap: %s" % step,
                detail=_json(self.content(os.path.join(RUN, ident, "now"))).get("text") or "",
                swap=ident,
            )
            self.world.sleep(TICK_S)

    def closed(self, kind: str, ident: str) -> None:
        """Wait until a unit of ours is gone, its ExecStopPost included."""
        for _ in range(120):
            if transient.running(kind, self.world.call) != ident:
                return
            self.world.sleep(TICK_S / 2)

    # -- run --

    def soak(self, seconds: float) -> None:
        """Let clocks and heat settle."""
        until = self.world.monotonic() + seconds
        while self.world.monotonic() < until:
            if self.cancelled():
                raise Cancelled
            self.now("soaking", left_s=round(until - self.world.monotonic()))
            self.world.sleep(min(TICK_S, max(until - self.world.monotonic(), 0)))

    def heat(self) -> List[List[Optional[float]]]:
        """A row a GPU: index, degrees, watts, MHz; [] without nvidia-smi."""
        status, out, _ = self.world.call(HEAT, 20.0, None)
        return [[_number(word) for word in line.split(",")] for line in out.splitlines()] if status == 0 else []

    def cells(self, number: int, step: Dict[str, Any], invocation: str) -> None:
        """Measure what is left of a step, all of one start; raises ArmFailed where that start ends, or no cell is measured."""
        over, why = measured(self.found), ""
        left = [cell for cell in range(len(step["runs"])) if (number, cell) not in over]
        for cell in left:
            if self.cancelled():
                raise Cancelled
            said = {"number": number, "arm": step["arm"], "cell": cell, "text": self.plan["cells"][cell]}
            said["invocation"] = invocation
            self.write("cell", **said, state="begin")
            try:
                doubt = self.measure(number, cell, step)
                self.same(step["arm"], invocation)
                self.write("cell", **said, state="done", why=doubt)
            except (CellFailed, ArmFailed) as failure:
                why = str(failure)
                self.write("cell", **said, state="failed", why=why, again=isinstance(failure, RequestsFailed))
                self.same(step["arm"], invocation)  # what is left belongs to this start, or to none
        over = measured(self.found)
        if not any((number, cell) in over for cell in range(len(step["runs"]))):
            raise ArmFailed(why)

    def same(self, arm: str, invocation: str) -> None:
        """See that an arm's unit still runs as it was started; raises ArmFailed."""
        if self.invocation(arm) != invocation:
            raise ArmFailed("%s was stopped or started anew while it was measured" % self.plan["arms"][arm])

    def measure(self, number: int, cell: int, step: Dict[str, Any]) -> str:
        """Run the benchmark of one cell, and keep its lines on the disk; how many of its requests failed, "" for none.

        Raises CellFailed.
        """
        ident = run_of(self.ident, number, cell, self.tries)
        requests = self.world.read(os.path.join(home_of(self.ident), requests_of(cell)))
        turn = experiment_rule.turn_of(self.ident, self.tries, cell)
        files = {
            "key": json.dumps({"key": self.key}).encode() + b"\n",
            "about": b"{}",
            "input": requests + b'{"go":true}\n',
            "arguments": json.dumps(dict(step["runs"][cell], run=turn)).encode(),
            "brief": json.dumps({"of": self.ident}).encode(),
        }
        self.begin("drive", ident, files, ("TimeoutStopSec=60",))
        why = self.driven(ident, number, cell, step)
        self.closed("drive", ident)
        error = drive_folder.error_of(drive_folder.folder_of(ident), self.world)
        self.fetch(ident, number, cell)
        if why == "cancelled" and self.cancelled():
            raise Cancelled
        if why != "finished":
            raise CellFailed("the run ended as %s%s" % (why, ": " + error if error else ""))
        failed, ended, first = experiment_rule.failures(self.stamps(number, cell))
        if failed == ended:
            raise RequestsFailed("all %d requests failed: %s" % (ended, first) if ended else "no request was sent")
        return "%d of %d requests failed: %s" % (failed, ended, first) if failed else ""

    def stamps(self, number: int, cell: int) -> List[bytes]:
        """The lines of a cell of a step that are kept."""
        return self.content(stamps_of(self.ident, number, cell)).splitlines()

    def driven(self, ident: str, number: int, cell: int, step: Dict[str, Any]) -> str:
        """Wait for the end of a run; the word with which it ended."""
        folder, asked, ordered = drive_folder.folder_of(ident), self.world.monotonic(), False
        while True:
            why = drive_folder.how_ended(folder, self.world)
            if why is not None:
                return why
            if self.cancelled() and not ordered:
                ordered = True
                self.world.add(os.path.join(folder, "orders"), b'{"cancel": true}\n')
            if self.world.monotonic() - asked > ALIVE_S:
                asked = self.world.monotonic()
                gone = transient.running("drive", self.world.call) != ident
                if gone and drive_folder.how_ended(folder, self.world) is None:
                    raise CellFailed("the load generator ended without a word")
            self.now("measuring", arm=step["arm"], detail=self.plan["cells"][cell], number=number, run=ident)
            self.world.sleep(TICK_S)

    def fetch(self, ident: str, number: int, cell: int) -> None:
        """Keep the lines of a run on the disk, and take its folder away."""
        source = os.path.join(drive_folder.folder_of(ident), "stamps")
        try:
            self.world.copy(source, stamps_of(self.ident, number, cell))
        except OSError as error:
            raise CellFailed("the run could not be kept: %s" % (error.strerror or error)) from error
        drive_folder.remove(ident, self.world)

    # -- end --

    def choice(self, outcome: str) -> Tuple[str, str]:
        """The arm that serves in the end, and why."""
        if self.plan.get("end") != "winner" or outcome != "finished":
            return "baseline", "as planned" if outcome == "finished" else outcome
        cells: List[List[Tuple[str, experiment_rule.Start]]] = [[] for _ in self.plan["steps"][0]["runs"]]
        for number, cell in sorted(measured(self.found)):
            start = experiment_rule.start_of(self.stamps(number, cell))
            if start is not None:
                cells[cell].append((str(self.plan["steps"][number]["arm"]), start))
        return experiment_rule.winner(cells, float(self.plan.get("margin") or 0.02))


def main(arguments: Dict[str, Any]) -> int:
    """Run the experiment that lies ready; 0: it came to its end."""
    return run(arguments, World())


def run(arguments: Dict[str, Any], world: World) -> int:
    """As `main`, in a world."""
    experiment = Experiment(outside.name(arguments["id"]), world)
    try:
        return 0 if experiment.perform() in ("finished", "cancelled") else 1
    except (OSError, ValueError, LookupError, TypeError, subprocess.SubprocessError) as error:
        experiment.write("end", outcome="failed", why="%s: %s" % (type(error).__name__, error))
        raise


def _json(data: bytes) -> Dict[str, Any]:
    try:
        found = outside.parse(data or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _number(word: str) -> Optional[float]:
    try:
        return float(word)
    except ValueError:
        return None

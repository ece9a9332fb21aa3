"""What is so on a lab host, read past SSH, beside what a console says of it: the oracle of long runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from specconsole.host.base import LinkKind
from specconsole.load.timeline import Stage
from specconsole.ui.app import SpecConsole
from specconsole.ui.freshness import Feed, judge
from tests.lab.host import LabHost

GRACE_S = 20.0
"""So long after a change the console may still say what was so before: a silent link is found dead within 5 s."""
SLOW_S = 45.0
"""So long it may take to find out that a server answers, or that a start is over: polls, a token, a redial among them."""
LAG_S = 1.0
"""A loop that was so late has seen nothing meanwhile; the grace begins anew."""
_ASK = (
    "timeout 2 bash -c 'exec 3<>/dev/tcp/127.0.0.1/8000 && printf \"GET /health HTTP/1.0\\r\\n\\r\\n\" >&3 && head -c 12 <&3'"
    " 2>/dev/null; echo; systemctl show -p Id,ActiveState,InvocationID "
)


@dataclass(frozen=True)
class Truth:
    """The host at one moment."""

    answers: bool
    """Something answers /health with 200 at port 8000."""
    units: tuple[tuple[str, str, str], ...]
    """Name, active state and invocation of each unit; () while the host is down."""

    @property
    def serving(self) -> str:
        """The unit that serves; "" for none, or where it cannot be told."""
        active = [name for name, state, _ in self.units if state == "active"]
        return active[0] if self.answers and len(active) == 1 else ""


DOWN = Truth(False, ())


def look(host: LabHost, units: Iterable[str]) -> Truth:
    """Read it; a host that is down is no error."""
    try:
        done = host.run(_ASK + " ".join(units), check=False)
    except (AssertionError, OSError):
        return DOWN
    head, _, rest = done.stdout.partition("\n")
    found = []
    for block in rest.strip().split("\n\n"):
        values = dict(line.split("=", 1) for line in block.strip().splitlines() if "=" in line)
        if "Id" in values:
            found.append((values["Id"], values.get("ActiveState", ""), values.get("InvocationID", "")))
    return Truth(head.endswith("200"), tuple(found))


@dataclass
class Oracle:
    """Holds the truth against the console, moment for moment; each thing that is wrong for too long is told once."""

    host: LabHost
    units: tuple[str, ...]
    tell: Callable[[str], None]
    """Called with what is wrong."""
    checks: int = 0
    """How often a console was found right where it could have been wrong."""
    _since: dict[str, float] = field(default_factory=dict)
    """Since when each thing has been wrong, by the moment of this loop."""
    _told: set[str] = field(default_factory=set)

    def forget(self) -> None:
        """Begin anew: another console, or a loop that stood still."""
        self._since.clear()
        self._told.clear()

    async def watch(self, console: SpecConsole, story: Iterable[str]) -> None:
        """Look and compare for ever, every second or so."""
        loop = asyncio.get_running_loop()
        while True:
            asked = loop.time()
            await asyncio.sleep(1.0)
            if loop.time() - asked > 1.0 + LAG_S:
                self.forget()
            truth = await asyncio.to_thread(look, self.host, self.units)
            wrong = contradictions(console, truth) if console.is_running else {}
            now = loop.time()
            self.checks += 1
            self._since = {key: self._since.get(key, now) for key in wrong}
            self._told &= wrong.keys()
            for key, allowed_s in wrong.items():
                if now - self._since[key] > allowed_s and key not in self._told:
                    self._told.add(key)
                    self.tell(f"for {now - self._since[key]:.0f} s: {key}; before that: {', '.join(list(story)[-8:])}")


def contradictions(console: SpecConsole, truth: Truth) -> dict[str, float]:
    """What the console says that is not so, each with the seconds that this may last."""
    link = console.link
    up = link is not None and link.kind is LinkKind.UP
    wrong: dict[str, float] = {}
    if up and truth.units:
        wrong |= _of_units(console, truth)
    wrong |= _of_server(console, truth, up=up)
    if not up and link is not None and link.kind is not LinkKind.CLOSED:
        stale = {name: judge(feed, link, console.now).stale for name, feed in console.feeds.items()}
        wrong |= {
            f"{name} is not called stale while the link is {link.kind.value}": 1.0
            for name, is_so in stale.items()
            if not is_so
        }
    return wrong


def _of_units(console: SpecConsole, truth: Truth) -> dict[str, float]:
    wrong: dict[str, float] = {}
    if console.feeds.get("units", Feed()).problem:
        return {f"units: {console.feeds['units'].problem}": SLOW_S}
    known = {unit.key: unit.state for unit in console.units}
    for name, active, invocation in truth.units:
        said = known.get(name)
        if said is None:
            wrong[f"{name} is missing"] = SLOW_S
        elif said.active != active:
            wrong[f"{name} is {active} and called {said.active}"] = GRACE_S
        elif active == "active" and said.invocation != invocation:
            wrong[f"{name} is at its start {invocation} and {said.invocation} is told"] = GRACE_S
        for start in console.starts:
            ready = start.attempt.stage in (Stage.ANSWERING, Stage.READY)
            same = start.unit.key == name and start.attempt.invocation == invocation
            if same and start.attempt.stage is Stage.LOADING and truth.serving == name:
                wrong[f"{name} answers and its start {invocation} is called loading"] = SLOW_S
            elif same and ready and start.attempt.answering_at is None:
                wrong[f"the start of {name} is {start.attempt.stage.value} and nobody knows since when"] = GRACE_S
            elif same and start.attempt.stage is Stage.LOADING and active in ("inactive", "failed"):
                wrong[f"{name} is {active} and its start {invocation} is called loading"] = SLOW_S
    return wrong


def _of_server(console: SpecConsole, truth: Truth, *, up: bool) -> dict[str, float]:
    server = console.server
    green = server[0] if server is not None and server[1].ink == "good" else ""
    if green and not truth.answers:
        return {f"{green} is called {server[1].word if server else ''} and nothing answers": GRACE_S}
    if green and truth.serving and truth.serving != green:
        return {f"{green} is called serving, and it is {truth.serving} that serves": GRACE_S}
    if up and truth.serving and not green:
        word = server[1].word if server else "not known"
        return {f"{truth.serving} answers and is called {word}": SLOW_S}
    return {}

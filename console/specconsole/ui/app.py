"""The console's app: it owns the live data of one host and hands it to the screens."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.reactive import var
from textual.screen import Screen

from specconsole.clock import Clock
from specconsole.engine.snapshot import EngineSnapshot
from specconsole.gpu.fault import Fault, FaultWatch
from specconsole.gpu.history import Column, History
from specconsole.gpu.history import key as gpu_key
from specconsole.gpu.sample import Fleet
from specconsole.host.base import Host, Link
from specconsole.logs.buffer import LogBuffer
from specconsole.logs.record import LogRecord
from specconsole.service.unit import Unit
from specconsole.text import one_line
from specconsole.ui import derived, keys, memory, theme
from specconsole.ui.fault import FaultLog
from specconsole.ui.feeding import Source, follow
from specconsole.ui.feeds import Feeds
from specconsole.ui.freshness import Feed, judge, log_feed
from specconsole.ui.local_time import LocalTime
from specconsole.ui.palette import Commands
from specconsole.ui.screens.dashboard import DashboardScreen
from specconsole.ui.unit_word import running_unit
from specconsole.ui.widgets.header import Served
from specconsole.ui.widgets.units import Chosen

T = TypeVar("T")

TICK_S = 1.0
"""Ages and the clock are drawn this often."""
INTERVALS_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""The intervals between samples that + and - choose from."""
DEFAULT_THEME = "dark"


class SpecConsole(App[None]):
    """The console on one host. `feeds` brings the data; everything shown is one of the reactives below."""

    TITLE = "specconsole"
    DEFAULT_MODE = "dashboard"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "f24"  # the table has the palette's keys; this one is on no keyboard
    COMMANDS: ClassVar = {Commands}
    BINDINGS: ClassVar = keys.bindings(keys.Place.APP)
    CSS = """
    Toast { background: $panel; color: $foreground; }
    """

    host_name: var[str] = var("")
    """What the user typed to get here."""
    read_only: var[bool] = var(False)
    """Nothing that changes the host is offered."""
    link: var[Link | None] = var(None)
    """The state of the link; None before it is known."""
    feeds: var[dict[str, Feed]] = var({})
    """The state of each source: gpus, units, log, engine."""
    now: var[float] = var(0.0)
    """Monotonic seconds of the last tick."""
    clock_text: var[str] = var("")
    """The time of day."""
    fleet: var[Fleet | None] = var(None)
    """The newest sample of the host."""
    history: var[Mapping[str, Column]] = var({})
    """Utilisation so far by GPU key."""
    faults: var[tuple[Fault, ...]] = var(())
    """What is wrong with any GPU now."""
    units: var[tuple[Unit, ...]] = var(())
    """All units that were found."""
    units_at: var[float | None] = var(None)
    """Monotonic seconds of their last reading."""
    unit: var[Unit | None] = var(None)
    """The unit that runs, whose engine is asked."""
    selected: var[str] = var("")
    """The key of the unit whose log is shown."""
    answers: var[tuple[str, bool] | None] = var(None)
    """Which unit's engine is asked, and whether it answers; None: not known now."""
    served: var[Served] = var(Served())
    """What runs, for the header."""
    engine: var[EngineSnapshot | None] = var(None)
    """What the running unit's server said last."""
    buffer: var[LogBuffer | None] = var(None)
    """The log of all units."""
    log_end: var[int] = var(0)
    """The number after the newest log record."""
    last_lines: var[dict[str, float]] = var({})
    """Monotonic seconds at which the last log record of each unit came."""

    def __init__(
        self,
        host: Host,
        feeds: Feeds,
        *,
        clock: Clock,
        state: Path | None = None,
        theme_name: str = "",
        keymap: Mapping[str, str] | None = None,
        interval_s: float = 1.0,
        zone: tzinfo | None = None,
    ) -> None:
        super().__init__()
        self.add_mode("dashboard", self._dashboard)
        self.host, self.sources, self.clock = host, feeds, clock
        self.logs = LogBuffer()
        self.interval_s = interval_s
        self.stamp = LocalTime(zone)
        self._state = state
        self._faults = FaultLog(state)
        self._notices: list[str] = []
        self._history, self._fault_watch = History(), FaultWatch()
        self._engine_of: tuple[object, ...] = ()
        self._log_of: frozenset[str] = frozenset()
        self._set_up_keys(keymap or {})
        self._set_up_themes(theme_name)

    def _set_up_keys(self, wanted: Mapping[str, str]) -> None:
        checked = keys.keymap(wanted)
        self._notices += checked.problems
        self.set_keymap(dict(checked.keys))

    def _set_up_themes(self, wanted: str) -> None:
        found = theme.load_all()
        self._notices += found.problems
        for one in found.good:
            self.register_theme(one)
        self.theme_names = tuple(sorted((one.name for one in found.good), key=lambda n: (n != DEFAULT_THEME, n)))
        chosen = wanted or memory.load(self._state).get("theme", "")
        if wanted and wanted not in self.available_themes:
            self._notices.append(f"There is no theme {wanted}; there are {', '.join(self.theme_names)}.")
        for name in (chosen, DEFAULT_THEME):
            if name in self.available_themes:
                self.theme = name
                break

    def _dashboard(self) -> Screen[Any]:
        """The dashboard, bound to the live data."""
        me = SpecConsole
        return DashboardScreen(self.stamp).data_bind(
            me.host_name,
            me.read_only,
            me.link,
            me.feeds,
            me.now,
            me.clock_text,
            me.fleet,
            me.history,
            me.faults,
            me.units,
            me.units_at,
            me.unit,
            me.selected,
            me.answers,
            me.served,
            me.engine,
            me.buffer,
            me.log_end,
            me.last_lines,
        )

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own tokens and all else that a theme may leave out."""
        return theme.defaults(self.current_theme)

    def on_mount(self) -> None:
        """Say who and where before anything else is painted."""
        self.host_name = self.host.name
        self.buffer = self.logs
        self.tick()
        self.link = self.host.link

    def on_ready(self) -> None:
        """Start what brings data once the screen stands; what it imports must not delay the first paint."""
        for notice in self._notices:
            self.tell(notice, "warning")
        self.set_interval(TICK_S, self.tick)
        self.call_after_refresh(_settle_garbage)
        self.sources.sample(self.interval_s, ())
        self.follow("link", self.sources.links, self._take_link)
        self.follow("gpus", self.sources.fleets, self._take_fleet)
        self.follow("units", self.sources.units, self._take_units)

    def follow(self, name: str, open_source: Callable[[], Any], take: Callable[[Any], None]) -> None:
        """Follow a source as a worker of its own group; a second one of that name takes the place of the first."""
        source = Source(name, open_source, take, lambda why: self._failed(name, why))
        work = follow(source, self.clock, self._faults, lambda said: self.tell(said, "error"))
        self.run_worker(work, name=name, group=name, exclusive=True)

    def tick(self) -> None:
        """Let ages and the clock go on."""
        self.now = self.clock.monotonic()
        self.clock_text = self.stamp(self.clock.now())
        self.read_only = self.host.read_only
        self._derive()

    def tell(self, said: str, severity: str = "information") -> None:
        """Show a notice; its text is never markup."""
        level: Any = severity
        self.notify(one_line(said), severity=level, markup=False, timeout=8)

    def _came(self, name: str, interval_s: float | None) -> None:
        self.feeds = {**self.feeds, name: Feed(self.clock.monotonic(), interval_s)}

    def _failed(self, name: str, why: str) -> None:
        before = self.feeds.get(name, Feed())
        self.feeds = {**self.feeds, name: Feed(before.at, before.interval_s, why)}

    def _take_link(self, link: Link) -> None:
        self.now = max(self.now, self.clock.monotonic())
        self.link = link
        self._derive()

    def _take_fleet(self, fleet: Fleet) -> None:
        with self.batch_update():
            self._history.add(fleet)
            self.history = {gpu_key(gpu): self._history.column(gpu, "util") for gpu in fleet.gpus}
            self.faults = self._fault_watch.feed(fleet)
            self.fleet = fleet
            self._came("gpus", fleet.interval_s)

    def _take_units(self, units: tuple[Unit, ...]) -> None:
        self.units_at = self.clock.monotonic()
        self.units = units
        self._came("units", None)
        if not any(unit.key == self.selected for unit in units):
            chosen = running_unit(units) or next(iter(units), None)
            self.select(chosen.key if chosen else "")
        self._follow_engine(running_unit(units))
        self._follow_logs(units)
        self.sources.sample(self.interval_s, units)
        self._derive()

    def _follow_engine(self, unit: Unit | None) -> None:
        self.unit = unit
        asked = () if unit is None else (unit.key, unit.serving.endpoint, unit.serving.served_names)
        if asked == self._engine_of:
            return
        self._engine_of, self.engine = asked, None
        self.workers.cancel_group(self, "engine")
        self.feeds = {name: feed for name, feed in self.feeds.items() if name != "engine"}
        if unit is not None:
            self.follow("engine", lambda: self.sources.engine(unit), self._take_engine)

    def _take_engine(self, engine: EngineSnapshot) -> None:
        self.engine = engine
        self._came("engine", max(1.0, self.interval_s))
        self._derive()

    def _follow_logs(self, units: tuple[Unit, ...]) -> None:
        """A log a unit: so that each has a past, and none is opened anew when another unit comes or goes."""
        wanted = {unit.key: unit for unit in units}
        for key in self._log_of - wanted.keys():
            self.workers.cancel_group(self, log_feed(key))
        for key in wanted.keys() - self._log_of:
            source, take = partial(self.sources.log, wanted[key]), partial(self._take_log, key)
            self.follow(log_feed(key), source, take)
        self._log_of = frozenset(wanted)

    def _take_log(self, key: str, records: list[LogRecord]) -> None:
        self.logs.append(records)
        if records:
            self.last_lines = {**self.last_lines, key: self.clock.monotonic()}
        self._came(log_feed(key), None)
        self.log_end = self.logs.next

    def _derive(self) -> None:
        stale = judge(self.feeds.get("engine", Feed()), self.link, self.now).stale
        self.answers = derived.answers(self.unit, self.engine, stale=stale)
        self.served = derived.served(self.unit, self.engine)

    def select(self, key: str) -> None:
        """Choose the unit whose log is shown."""
        self.selected = key

    def on_chosen(self, message: Chosen) -> None:
        """A unit was chosen in the units pane."""
        self.select(message.key)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing that changes a read-only host is offered."""
        return not keys.hidden(action, self.read_only) and super().check_action(action, parameters)

    def handle_bindings_clash(self, clashed_bindings: set[Binding], node: DOMNode) -> None:  # noqa: ARG002  Textual's
        """Say which commands fight for a key, once."""
        said = "One key for several commands: " + ", ".join(sorted(b.id or b.action for b in clashed_bindings))
        if said not in self._notices:
            self._notices.append(said)
            self.tell(said, "warning")

    def action_help(self) -> None:
        """Explain the keys and the pane in focus."""
        from specconsole.ui.screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen.about(self.screen))

    def action_next_theme(self) -> None:
        """Go on to the next theme."""
        at = self.theme_names.index(self.theme) if self.theme in self.theme_names else -1
        self.choose_theme(self.theme_names[(at + 1) % len(self.theme_names)])

    def choose_theme(self, name: str) -> None:
        """Use a theme from now on."""
        self.theme = name
        said = memory.save(self._state, {**memory.load(self._state), "theme": name})
        self.tell(said or "Theme: " + name, "warning" if said else "information")

    def action_rate(self, direction: int) -> None:
        """Sample the host faster or slower."""
        at = min(range(len(INTERVALS_S)), key=lambda i: abs(INTERVALS_S[i] - self.interval_s))
        self.interval_s = INTERVALS_S[min(max(at - direction, 0), len(INTERVALS_S) - 1)]
        self.sources.sample(self.interval_s, self.units)
        self.tell("A sample every " + f"{self.interval_s:g} s" + " from now on, where the cards allow it.")

    def on_unmount(self) -> None:
        """Give back files."""
        self._faults.close()
        self.logs.close()


def _settle_garbage() -> None:
    """A full collection takes 30 to 40 ms of the loop; what start-up made stays for good, so it is not looked at again."""
    gc.collect()
    gc.freeze()

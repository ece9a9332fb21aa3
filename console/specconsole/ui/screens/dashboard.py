"""The dashboard: header, units, GPUs, engine, log, footer; right at every size from 60x20 on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container
from textual.reactive import var

from specconsole.engine.snapshot import EngineSnapshot
from specconsole.gpu.fault import Fault
from specconsole.gpu.history import Trend
from specconsole.gpu.sample import Fleet
from specconsole.history.entry import Load
from specconsole.load.timeline import LoadTimeline
from specconsole.service.unit import Unit
from specconsole.ui import keys
from specconsole.ui.arrangement import Arrangement
from specconsole.ui.layout import Plan, plan
from specconsole.ui.loading import Loading
from specconsole.ui.local_time import LocalTime
from specconsole.ui.log.reading import LogReading
from specconsole.ui.rows.engine import wanted as engine_wanted
from specconsole.ui.rows.load import wanted as load_wanted
from specconsole.ui.rows.unit_word import StateWord
from specconsole.ui.screens.logging import LoggingScreen
from specconsole.ui.widgets.engine import EnginePane
from specconsole.ui.widgets.footer import Footer
from specconsole.ui.widgets.gpus import GpusPane
from specconsole.ui.widgets.load import LoadPane, beside, leads, led
from specconsole.ui.widgets.pane import Pane
from specconsole.ui.widgets.rows import Covered
from specconsole.ui.widgets.units import UnitsPane


class Top(Container, Covered):
    """The upper panes: side by side, or one above the other."""


class DashboardScreen(LoggingScreen, inherit_bindings=False):
    """All of a host at one glance. Its reactives are bound to the app's of the same name."""

    CSS_PATH = "dashboard.tcss"
    BINDINGS: ClassVar = keys.bindings(keys.Place.DASHBOARD, keys.Place.MAIN)
    AUTO_FOCUS = "LogPane"

    zoomed: var[bool] = var(False, bindings=True)
    """The pane in focus has the whole screen."""
    fleet: var[Fleet | None] = var(None)
    """The newest sample of the host."""
    history: var[Mapping[str, Trend]] = var({})
    """The newest samples by GPU key."""
    selected_gpu: var[str] = var("")
    """The key of the selected GPU."""
    faults: var[tuple[Fault, ...]] = var(())
    """What is wrong with any GPU now."""
    units: var[tuple[Unit, ...]] = var(())
    """All units."""
    units_at: var[float | None] = var(None)
    """Monotonic seconds of their last reading."""
    unit: var[Unit | None] = var(None)
    """The unit that runs."""
    server: var[tuple[str, StateWord] | None] = var(None)
    """The key of the unit whose engine is asked, and how that is."""
    loads: var[Mapping[str, tuple[Load, ...]]] = var({})
    """What this machine remembers of the units' loads, by key."""
    engine: var[EngineSnapshot | None] = var(None)
    """What the running unit's server said last."""
    attempt: var[LoadTimeline | None] = var(None)
    """The present start of the running unit."""
    starts: var[tuple[Loading, ...]] = var(())
    """The starts of all units that run, and of those that ended since the console came."""

    def __init__(self, stamp: LocalTime, reading: LogReading, arrangement: Arrangement) -> None:
        super().__init__(stamp, reading)
        self._arrangement = arrangement
        self._laid_out: tuple[Plan, Pane | None] | None = None
        """What the panes' places were made of last."""

    def compose(self) -> ComposeResult:
        """Header, panes, footer."""
        me = DashboardScreen
        yield self.header()
        with Top(id="top"):
            units = UnitsPane()
            yield units.data_bind(
                me.link, me.feeds, me.now, me.units, me.units_at, me.selected, me.server, me.loads, me.starts
            )
            gpus = GpusPane()
            yield gpus.data_bind(me.link, me.feeds, me.now, me.fleet, me.history, me.faults, me.selected_gpu)
        yield LoadPane().data_bind(me.link, me.feeds, me.now, me.starts, me.selected, me.attempt)
        yield EnginePane().data_bind(me.link, me.feeds, me.now, me.engine, me.unit, me.attempt)
        yield self.log_view()
        yield Footer()

    def on_mount(self) -> None:
        """Lay out anew when there are more or fewer units or GPUs."""
        self.watch(self, "units", self._lay_out)
        self.watch(self, "fleet", self._lay_out)
        for name in ("attempt", "unit", "engine", "starts", "selected"):
            self.watch(self, name, self._choose)
            self.watch(self, name, self._lay_out)
        self.zoomed = self._arrangement.zoomed
        self.watch(self, "zoomed", self._lay_out, init=False)
        self._pane().focus()

    def on_resize(self, _event: events.Resize) -> None:
        """Lay out for the new size."""
        self._lay_out()

    def _lay_out(self) -> None:
        width, height = self.size
        if not width or not height:
            return
        gpus = len(self.fleet.gpus) if self.fleet else 0
        shares = plan(width, height - 2, len(self.units), gpus, self._low_rows())
        whole = self._pane() if self.zoomed else None
        if (shares, whole) == self._laid_out:
            return  # as for most samples: to set it all anew took 7 % of an idle dashboard's CPU
        self._laid_out = (shares, whole)
        self.set_class(shares.stacked, "-stacked")
        top, units = self.query_one("#top"), self.query_one(UnitsPane)
        top.styles.height = shares.units_height + (shares.gpus_height if shares.stacked else 0)
        units.styles.height = shares.units_height
        units.styles.width = "1fr" if shares.stacked else shares.units_width
        for pane in (LoadPane, EnginePane):
            self.query_one(pane).styles.height = shares.engine_height
        self._zoom(whole)

    def _zoom(self, whole: Pane | None) -> None:
        """Leave room for none but the pane that has the whole screen; the others keep their place in the order of focus."""
        self.set_class(self.zoomed, "-zoomed")
        for pane in self.query(Pane):
            pane.set_class(whole is not None and pane is not whole, "-aside")
        top = self.query_one("#top")
        top.set_class(whole is not None and whole.parent is not top, "-aside")
        if whole is not None:
            whole.styles.width = whole.styles.height = top.styles.height = "1fr"

    def _pane(self) -> Pane:
        """The pane that the user is in; load and engine share one place."""
        here = [pane for pane in self.query(Pane) if pane.display and self._arrangement.holds(pane.NAME)]
        return here[0] if here else self.log_pane

    @on(events.DescendantFocus)
    def _focus_moved(self, event: events.DescendantFocus) -> None:
        pane = next((node for node in event.widget.ancestors_with_self if isinstance(node, Pane)), None)
        if pane is not None and not self._arrangement.holds(pane.NAME):
            self._arrangement.pane = pane.NAME
            if self.zoomed:
                self._lay_out()

    def action_zoom(self) -> None:
        """Give the pane in focus the whole screen, or show all panes again."""
        self.zoomed = self._arrangement.zoomed = not self.zoomed

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """All panes can be shown again only while one has the whole screen and the log has nothing to clear."""
        if action == "unzoom":
            return self.zoomed and not super().check_action("log_clear", ())
        return super().check_action(action, parameters)

    def action_unzoom(self) -> None:
        """Show all panes again."""
        self.action_zoom()

    def _low_rows(self) -> int:
        """Rows that the pane between GPUs and log would fill, by what is so now: never by what was, or two screens differ."""
        cells, loading = self.size.width, led(self.starts, self.selected, self.attempt)
        if loading is not None and self._load_leads():
            return load_wanted(loading, cells, beside(self.starts, loading))
        return engine_wanted(self.engine, cells) if self.engine is not None else 1

    def _load_leads(self) -> bool:
        """The load is what to look at: that of the running unit, or of another one that was selected."""
        loading = led(self.starts, self.selected, self.attempt)
        chosen = loading is not None and loading.goes_on and loading.unit.key == self.selected
        other = self.unit is None or self.selected != self.unit.key
        return (chosen and other) or leads(self.attempt, self.unit, self.engine, loading)

    def _choose(self) -> None:
        """Show the load or the engine, whichever there is to look at; the focus stays in that place."""
        load, engine = self.query_one(LoadPane), self.query_one(EnginePane)
        shown, hidden = (load, engine) if self._load_leads() else (engine, load)
        if not shown.display:
            shown.display = True
            shown.call_after_refresh(shown.redraw)  # what came while it had no size was not drawn
        if hidden.has_focus:
            shown.focus()
        hidden.display = False

"""The history: loads, swaps, runs and experiments, filtered as one types; runs are marked here for a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, getters, on
from textual.app import ComposeResult
from textual.reactive import var

from specconsole import text
from specconsole.history.entry import Experiment, Run
from specconsole.logs.effort import TooSlow
from specconsole.logs.pattern import Pattern
from specconsole.ui import keys
from specconsole.ui.feed.history import Remembered
from specconsole.ui.local_time import LocalTime
from specconsole.ui.rows.history import KINDS, Item, item_row, items, unit_cells
from specconsole.ui.rows.row import Row, apart, cut, plain
from specconsole.ui.screens.kept import KeptScreen
from specconsole.ui.screens.live import LiveScreen
from specconsole.ui.screens.trend import TrendScreen
from specconsole.ui.widgets.footer import Footer
from specconsole.ui.widgets.listing import Listing
from specconsole.ui.widgets.log_prompt import LogPrompt
from specconsole.ui.widgets.rows import Rows

if TYPE_CHECKING:
    from specconsole.ui.app import SpecConsole

MOST_SHOWN = 30
"""Characters of a filter that are shown when it is closed."""


class HistoryScreen(LiveScreen, inherit_bindings=False):
    """What this machine remembers; its reactives are bound to the app's of the same name."""

    CSS_PATH = "history.tcss"
    AUTO_FOCUS = "Listing"
    NAME = "history"
    BINDINGS: ClassVar = keys.bindings(keys.Place.HISTORY)

    remembered: var[Remembered | None] = var(None)
    """The lists; None before they were read."""
    remember_error: var[str] = var("")
    """Why they could not be read, in a sentence."""
    picked: var[tuple[int, ...]] = var(())
    """The marked runs, by id."""
    kind: var[str] = var("")
    """What the list is narrowed to, one of `KINDS`."""
    everywhere: var[bool] = var(False)
    """All hosts, not only this one."""
    wanted: var[Pattern | None] = var(None)
    """What an entry must hold; None: anything."""

    listing = getters.query_one(Listing)
    prompt = getters.query_one(LogPrompt)

    def __init__(self, stamp: LocalTime, host: str) -> None:
        super().__init__()
        self._stamp, self._host = stamp, host
        self.items: list[Item] = []
        """What is listed now."""

    @property
    def _owner(self) -> SpecConsole:
        return cast("SpecConsole", self.app)

    def compose(self) -> ComposeResult:
        """Header, what is listed, the list, the line to type in, footer."""
        yield self.header()
        yield Rows(id="standing")
        yield Listing(self._row, id="entries")
        yield LogPrompt()
        yield Footer()

    def on_mount(self) -> None:
        """List whenever something of it changes."""
        for name in ("remembered", "remember_error", "picked", "kind", "everywhere", "wanted"):
            self.watch(self, name, self._list)

    def _list(self) -> None:
        """Make the list anew; the cursor stays on its entry."""
        if not self.is_mounted:
            return
        key = here.key if (here := self.here) is not None else None
        host = None if self.everywhere else self._host
        found = items(self.remembered, host, self.kind) if self.remembered else []
        pattern = self.wanted
        if pattern is not None:
            found = _with(found, pattern)
        self.items = found
        at = next((place for place, item in enumerate(found) if item.key == key), 0)
        self.listing.fill(len(found), at)
        self.query_one("#standing", Rows).show([self._standing(self.size.width)])
        self.refresh_bindings()

    def on_resize(self, _event: events.Resize) -> None:
        """Draw for the new size."""
        self._list()

    @property
    def here(self) -> Item | None:
        """The entry under the cursor."""
        at = self.listing.at
        return self.items[at] if at < len(self.items) else None

    def _row(self, place: int, cells: int) -> Row:
        item = self.items[place]
        runs = self._runs_of(item)
        marked = bool(runs) and set(runs) <= set(self.picked)
        here = place == self.listing.at
        units = unit_cells(self.items, cells)
        return item_row(item, self._stamp.day, cells, here=here, marked=marked, hosts=self.everywhere, units=units)

    def _standing(self, cells: int) -> Row:
        if self.remember_error:
            return cut(((f" ✖ {text.one_line(self.remember_error)}", "bad"),), cells)
        if self.remembered is None:
            return ((" reading the history…", "busy"),)
        whose = "all hosts" if self.everywhere else text.one_line(self._host, 30)
        left: Row = ((f" {self.kind or 'loads, swaps, runs, experiments'}", "strong"), (f" of {whose}", "text"))
        if self.wanted is not None and self.wanted.text:
            slow = self.wanted.problem == "too slow"
            ink = "bad" if slow or self.wanted.problem == "invalid" else "accent"
            said = f"  with {text.one_line(self.wanted.text, MOST_SHOWN)}{' too slow' if slow else ''}"
            left = (*left, (said, ink))
        marks = f"◆ {len(self.picked)} marked  " if self.picked else ""
        return apart(
            left,
            ((marks, "accent"), (f"{len(self.items):,} {'entry' if len(self.items) == 1 else 'entries'} ", "muted")),
            cells,
        )

    @on(Listing.Moved)
    def _moved(self) -> None:
        self.refresh_bindings()

    # -- what can be asked for --

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What there is nothing for is not offered."""
        here = self.here if self.is_mounted else None
        if action == "mark":
            return here is not None and bool(self._runs_of(here))
        if action == "compare":
            return len(self.picked) > 1 or (here is not None and bool(self._runs_of(here)))
        if action in ("open_entry", "trend"):
            return here is not None
        if action == "unfilter":
            return True
        return super().check_action(action, parameters)

    def action_mark(self) -> None:
        """Mark the run under the cursor, or the runs of the experiment, or take the marks away."""
        if (here := self.here) is not None and (runs := self._runs_of(here)):
            self._owner.mark_all(runs)
            self.listing.action_step(1)

    def action_compare(self) -> None:
        """Lay the marked runs side by side, or those that the entry under the cursor stands for."""
        if (here := self.here) is not None:
            self._owner.compare_with(here.entry)

    def _runs_of(self, item: Item) -> tuple[int, ...]:
        """The runs that an entry stands for: itself, or those of an experiment."""
        entry = item.entry
        if isinstance(entry, Experiment):
            return entry.runs_among(self.remembered.runs if self.remembered else ())
        return (entry.id,) if isinstance(entry, Run) and entry.id is not None else ()

    def action_open_entry(self) -> None:
        """Show the entry whole."""
        if (here := self.here) is not None:
            self._owner.open_kept(KeptScreen(here, self._stamp))

    def action_trend(self) -> None:
        """Show the unit of the entry over time."""
        if (here := self.here) is not None:
            self._owner.open_kept(TrendScreen(here.entry.host, here.entry.unit, self._stamp))

    def action_kind(self) -> None:
        """Only one kind, then the next, then all."""
        self.kind = KINDS[(KINDS.index(self.kind) + 1) % len(KINDS)]

    def action_hosts(self) -> None:
        """Of all hosts, or of this one alone."""
        self.everywhere = not self.everywhere

    def action_again(self) -> None:
        """Read the history anew."""
        self._owner.remember_again()

    def action_ask(self, what: str) -> None:
        """Open the line to type in."""
        begun = {"filter": self.wanted.text if self.wanted else "", "save": self._new_file()}
        self.prompt.ask(what, begun.get(what, ""))

    def _new_file(self) -> str:
        """A name that tells when it was saved; one that is taken is refused, never written over."""
        return f"specconsole-history-{self._stamp.file(self._owner.clock.now())}.jsonl.gz"

    async def action_unfilter(self) -> None:
        """Drop the filter, then the marks, then go back."""
        if self.wanted is not None and self.wanted.text:
            self.wanted = None
        elif self.picked:
            self._owner.picked = ()
        else:
            await self._owner.action_back()

    def action_copy_list(self) -> None:
        """Copy what is listed to the terminal's clipboard."""
        rows = [self._row(place, 400) for place in range(len(self.items))]
        if not rows:
            self.notify("There is nothing to copy yet.", markup=False)
            return
        self.app.copy_to_clipboard("\n".join(plain(row).strip() for row in rows))
        self.notify("The list is on the clipboard, where the terminal allows it.", markup=False)

    @on(LogPrompt.Typed)
    def _typed(self, message: LogPrompt.Typed) -> None:
        if message.what == "filter":
            self.wanted = message.pattern
        elif message.finished and message.pattern.text.strip():
            self._owner.save_history(message.pattern.text.strip(), merge=message.what == "load")
        if message.finished:
            self._close()

    @on(LogPrompt.Dropped)
    def _dropped(self, message: LogPrompt.Dropped) -> None:
        if message.what == "filter":
            self.wanted = None
        self._close()

    def _close(self) -> None:
        self.prompt.close()
        self.listing.focus()
        self._list()


def _with(found: list[Item], pattern: Pattern) -> list[Item]:
    """Those that hold a pattern; all of them where it is no expression, or takes too long."""
    if not pattern.text or pattern.problem in ("invalid", "too slow"):
        return found
    try:
        return [item for item in found if pattern.holds(item.words)]
    except TooSlow:
        return found

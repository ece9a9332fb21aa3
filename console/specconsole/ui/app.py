"""The console's app: screens, themes and commands over the live data of one host."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Mapping, Sequence
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding
from textual.dom import DOMNode
from textual.driver import Driver
from textual.events import Event, Key, Paste, Resize
from textual.filter import LineFilter, Monochrome, NoColor
from textual.widgets import Input

from specconsole.host.base import Host, LinkKind
from specconsole.text import clean
from specconsole.ui import keys, memory, modes
from specconsole.ui.arrangement import Arrangement
from specconsole.ui.fault import FaultLog
from specconsole.ui.local_time import LocalTime
from specconsole.ui.log.reading import LogReading
from specconsole.ui.paint import theme
from specconsole.ui.paint.ascii import AsciiFilter
from specconsole.ui.paint.colourless import Colourless
from specconsole.ui.paint.terminal import ANEW, lasting, stop_job
from specconsole.ui.palette import Commands, Palette, offered, why_not
from specconsole.ui.part.replaying import ReplayApp
from specconsole.ui.rows.gpu import neighbour
from specconsole.ui.screens.live import LiveScreen

if TYPE_CHECKING:
    from rich.console import RenderableType

    from specconsole.clock import Clock
    from specconsole.ui.feed.host import Feeds
    from specconsole.ui.widgets.gpus import GpuChosen
    from specconsole.ui.widgets.units import Chosen

INTERVALS_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""The intervals between samples that + and - choose from."""
DEFAULT_THEME, COLOURLESS_THEME = "dark", "mono"
"""The theme of a first start, and the one that paints no colour: NO_COLOR begins with it."""
_COLOURLESS = Colourless()
PASTED = 4096
"""Characters of a paste that a line takes: the palette searched a megabyte for half a minute, and no key was heard."""
STANDS_S = 0.02
"""After so long it is looked again whether a screen stands."""


class SpecConsole(ReplayApp):
    """The console on one host: its screens, themes and commands; the data is `LiveApp`'s."""

    TITLE = "specconsole"
    DEFAULT_MODE = "dashboard"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "f24"  # the table has the palette's keys; this one is on no keyboard
    COMMANDS: ClassVar = {Commands}
    BINDINGS: ClassVar = keys.bindings(keys.Place.APP)
    CSS = """
    Toast { background: $panel; color: $foreground; padding: 0 1; margin-top: 0; width: auto; max-width: 60; }
    ToastRack { margin-bottom: 2; }
    Input > .input--placeholder { color: $ink-muted; }
    """

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
        ascii_only: bool = False,
    ) -> None:
        super().__init__(host, feeds, clock=clock, faults=FaultLog(state), stamp=LocalTime(zone), interval_s=interval_s)
        reading, self._arrangement = LogReading(), Arrangement.remembered(memory.load(state))
        for name, make in modes.screens(self.stamp, reading, self._arrangement, lambda: self.own_host).items():
            self.add_mode(name, partial(self._made, make))
        self._state = state
        self._spelling: list[LineFilter] = [AsciiFilter()] if ascii_only else []
        self._notices: list[str] = []
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
        self._weak = found.weak
        chosen = wanted or (COLOURLESS_THEME if self.no_color else memory.load(self._state).get("theme", ""))
        if wanted and wanted not in self.available_themes:
            self._notices.append(f"There is no theme {wanted}; there are {', '.join(self.theme_names)}.")
        for name in (chosen, DEFAULT_THEME):
            if name in self.available_themes:
                self.theme = name
                self._notices += filter(None, [found.weak.get(name)])
                break

    def _made(self, make: Callable[[], LiveScreen]) -> LiveScreen:
        return self._bound(make())

    def _bound(self, screen: LiveScreen) -> LiveScreen:
        """A screen, bound to the live data."""
        screen.follow(self)
        return screen

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What is done to every line that a widget draws."""
        filters = [one for one in super().get_line_filters() if not isinstance(one, Monochrome | NoColor)]
        if self.no_color or self.theme == COLOURLESS_THEME:
            filters.append(_COLOURLESS)
        return [*filters, *self._spelling]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own tokens and all else that a theme may leave out."""
        return theme.defaults(self.current_theme)

    def on_ready(self) -> None:
        """Say what is wrong with the user's own files, once there is a screen to say it on."""
        for notice in self._notices:
            self.tell(notice, "warning")
        # As a function: a coroutine that a screen which ends never begins would be warned of.
        self.set_timer(modes.AHEAD_S, lambda: self.run_worker(_at_leisure, group="ahead"))  # type: ignore[arg-type]

    def on_gpu_chosen(self, message: GpuChosen) -> None:
        """A GPU was chosen in the GPUs pane, or is to be opened."""
        from specconsole.ui.screens.gpu import GpuScreen

        self.selected_gpu = message.key
        if message.opened and not isinstance(self.screen, GpuScreen):
            self.push_screen(self._bound(GpuScreen()))

    def action_other_gpu(self, by: int) -> None:
        """Show the GPU beside the one that is shown."""
        self.selected_gpu = neighbour(self.fleet.gpus if self.fleet is not None else (), self.selected_gpu, by)

    def action_engine(self) -> None:
        """Show all of the engine."""
        from specconsole.ui.screens.engine import EngineScreen

        if not isinstance(self.screen, EngineScreen):
            self.push_screen(self._bound(EngineScreen()))

    def on_chosen(self, message: Chosen) -> None:
        """A unit was chosen in the units pane."""
        self.select(message.key)

    def get_driver_class(self) -> type[Driver]:
        """The driver of this platform, on a terminal that may go away."""
        return lasting(super().get_driver_class())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing that changes a read-only host is offered, and no retry where the link stands."""
        if action == "retry" and (self.link is None or self.link.kind not in (LinkKind.LOST, LinkKind.REFUSED)):
            return False
        return not keys.hidden(action, bool(self.withheld)) and super().check_action(action, parameters)

    def on_key(self, event: Key) -> None:
        """A key that is not offered here says why, where it does nothing else."""
        if event.key in self.screen.active_bindings:
            return
        if (meant := self._withheld_by(event.key)) is not None:
            self.tell(f"{meant.help}: {self.withheld}.", "warning")
        elif (
            event.is_printable
            and isinstance(self.screen, LiveScreen)
            and (other := self._elsewhere(event.key)) is not None
        ):
            self.tell(f"{other.help}: {why_not(self, other)}.")

    def _withheld_by(self, key: str) -> keys.Command | None:
        """What a key would do here if the host might be changed."""
        bound = (one for _, known in self.screen._modal_binding_chain for one in known.key_to_bindings.get(key, ()))
        hidden = (one for one in bound if keys.hidden(one.action, bool(self.withheld)))
        return next((keys.BY_ID[one.id] for one in hidden if one.id), None)

    def _elsewhere(self, key: str) -> keys.Command | None:
        """What a key does on another screen or pane, or once there is something to do it with."""
        chain = self.screen._modal_binding_chain
        here = {one.id for _, known in chain for bound in known.key_to_bindings.values() for one in bound}
        found = [
            one for one in keys.COMMANDS if key in self._keymap.get(one.id, one.keys).split(",") and offered(self, one)
        ]
        return min(found, key=lambda one: one.id not in here, default=None)

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

    def action_command_palette(self) -> None:
        """Find a command by its name."""
        if not any(isinstance(one, Palette) for one in self.screen_stack):
            self.push_screen(Palette())  # the library's id would be there twice while the last one is taken down

    def action_interrupt(self) -> None:
        """Copy what is selected; where nothing is, leave."""
        if selected := self.screen.get_selected_text():
            self.copy_to_clipboard(selected)
            self.screen.clear_selection()
        else:
            self.exit()

    def exit(self, result: None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """Leave, as soon as the screen on show stands: in Textual 8.2.8 nothing can be mounted by an app that is to end."""
        if self._exit or (self._is_mounted and self.screen.is_mounted):
            super().exit(result, return_code, message)
        else:
            asyncio.get_running_loop().call_later(STANDS_S, self.exit, result, return_code, message)

    async def on_event(self, event: Event) -> None:
        """Make harmless what is pasted; what is typed hidden is not drawn, and not for us to change."""
        if isinstance(event, Paste) and not event.is_forwarded:
            line = next(iter(event.text.splitlines()), "")
            event.text = line[:PASTED]
            if isinstance(self.focused, Input) and not self.focused.password:
                event.text = clean(event.text)
                if len(line) > PASTED:
                    self.tell(f"Of {len(line):,} pasted characters {PASTED:,} were taken.", "warning")
        await super().on_event(event)

    def on_resize(self, event: Resize) -> None:
        """The size that it has already: the terminal had another one meanwhile, or somebody else had the terminal."""
        if event.size == self.size and self.screen_stack:
            self.action_redraw()

    def action_redraw(self) -> None:
        """Paint the whole screen anew."""
        if self._driver is not None:
            self._driver.write(ANEW)
        self.screen.refresh()

    def action_suspend_process(self) -> None:
        """Stop as every program of the terminal's stops, until the shell's `fg`."""
        if self._driver is not None and not stop_job(self._driver):
            self.tell("No shell waits behind this console: it goes on here. q leaves it.", "warning")

    def action_retry(self) -> None:
        """Try to reach the host now."""
        self.host.retry()

    def action_next_theme(self) -> None:
        """Go on to the next theme."""
        at = self.theme_names.index(self.theme) if self.theme in self.theme_names else -1
        self.choose_theme(self.theme_names[(at + 1) % len(self.theme_names)])

    def on_unmount(self) -> None:
        """Keep how the dashboard was left, and nothing in memory: a program may have another console after this one."""
        super().on_unmount()
        gc.unfreeze()
        if self._arrangement.kept != Arrangement.remembered(memory.load(self._state)).kept:
            self._keep(self._arrangement.kept)

    def _keep(self, values: Mapping[str, str]) -> str:
        """Remember something for the next start; returns why that failed, or ""."""
        return memory.save(self._state, {**memory.load(self._state), **values})

    def choose_theme(self, name: str) -> None:
        """Use a theme from now on."""
        self.theme = name
        said = self._keep({"theme": name})
        self.tell(said or "Theme: " + name, "warning" if said else "information")
        if weak := self._weak.get(name):
            self.tell(weak, "warning")

    def action_rate(self, direction: int) -> None:
        """Sample the host faster or slower."""
        at = min(range(len(INTERVALS_S)), key=lambda i: abs(INTERVALS_S[i] - self.interval_s))
        self.interval_s = INTERVALS_S[min(max(at - direction, 0), len(INTERVALS_S) - 1)]
        self.sources.sample(self.interval_s, self.units)
        self.tell("A sample every " + f"{self.interval_s:g} s" + " from now on, where the cards allow it.")


async def _at_leisure() -> None:
    """What can wait until the panes have come to life.

    A full collection takes 30 to 80 ms of the loop: at the first paint it held up the host's first answers. What start-up
    made stays for good, so it is not looked at again.
    """
    await modes.ahead()
    gc.collect()
    gc.freeze()
    gc.enable()  # off while the console starts

"""What a command is, and where it works; the table of all of them is `ui/commands.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Place(Enum):
    """Where a command works; the value says it in the help."""

    APP = "everywhere"
    MAIN = "dashboard and log screen"
    DASHBOARD = "dashboard"
    UNITS = "units"
    GPUS = "GPUs"
    ENGINE = "engine"
    LOG = "log"
    PROMPT = "line to type in"
    SHEET = "every page"
    BENCH = "benchmark"
    DOCTOR = "doctor"
    SWAP = "swap"
    EXPERIMENT = "experiment"
    LOAD_PANE = "load pane"
    LOAD = "load"
    UNIT = "unit"
    LINT = "lint"
    GPU = "GPU"
    ENGINE_PAGE = "engine page"
    COMPARE = "compare"
    HISTORY = "history"
    LISTING = "list"
    DIALOG = "every dialog"
    QUESTION = "question"
    PLAN = "plan"
    LIST = "list to choose from"
    RECORD = "record of the log"
    ASKED = "password or code"
    HELP = "help"


AROUND: Mapping[Place, tuple[Place, ...]] = {
    Place.APP: (Place.APP,),
    Place.MAIN: (Place.MAIN, Place.APP),
    Place.DASHBOARD: (Place.DASHBOARD, Place.MAIN, Place.APP),
    Place.UNITS: (Place.UNITS, Place.DASHBOARD, Place.MAIN, Place.APP),
    Place.GPUS: (Place.GPUS, Place.DASHBOARD, Place.MAIN, Place.APP),
    Place.ENGINE: (Place.ENGINE, Place.DASHBOARD, Place.MAIN, Place.APP),
    Place.LOG: (Place.LOG, Place.DASHBOARD, Place.MAIN, Place.APP),
    Place.PROMPT: (Place.PROMPT,),
    Place.SHEET: (Place.SHEET, Place.APP),
    Place.BENCH: (Place.BENCH, Place.SHEET, Place.APP),
    Place.DOCTOR: (Place.DOCTOR, Place.SHEET, Place.APP),
    Place.SWAP: (Place.SWAP, Place.SHEET, Place.APP),
    Place.EXPERIMENT: (Place.EXPERIMENT, Place.SHEET, Place.APP),
    Place.LOAD_PANE: (Place.LOAD_PANE, Place.DASHBOARD, Place.MAIN, Place.APP),
    Place.LOAD: (Place.LOAD, Place.SHEET, Place.APP),
    Place.UNIT: (Place.UNIT, Place.SHEET, Place.APP),
    Place.LINT: (Place.LINT, Place.SHEET, Place.APP),
    Place.GPU: (Place.GPU, Place.SHEET, Place.APP),
    Place.ENGINE_PAGE: (Place.ENGINE_PAGE, Place.SHEET, Place.APP),
    Place.COMPARE: (Place.COMPARE, Place.SHEET, Place.APP),
    Place.HISTORY: (Place.HISTORY, Place.APP),
    Place.LISTING: (Place.LISTING, Place.HISTORY, Place.APP),
    Place.DIALOG: (Place.DIALOG,),
    Place.QUESTION: (Place.QUESTION, Place.DIALOG),
    Place.PLAN: (Place.PLAN, Place.DIALOG),
    Place.LIST: (Place.LIST, Place.DIALOG),
    Place.RECORD: (Place.RECORD, Place.DIALOG),
    Place.ASKED: (Place.ASKED,),
    Place.HELP: (Place.HELP,),
}
"""A place and the places around it, whose keys work there too."""


@dataclass(frozen=True)
class Command:
    """One thing that a user can ask for."""

    id: str
    keys: str
    """Textual's names, separated by commas; the first one is shown."""
    label: str
    """One or two words, for the footer."""
    help: str
    """What it does, for the help screen and the palette."""
    action: str
    """Textual's action, with its namespace where it is not the place's own."""
    place: Place = Place.APP
    footer: int | None = None
    """Rank in the footer: higher ones go first when room is short; None: not in the footer."""
    mutating: bool = False
    """It changes the host, or makes it work: not offered on a read-only host."""
    shadows: str = ""
    """The id of a command of a place around, whose key it takes on purpose and whose work it does as well."""
    first: bool = False
    """It works whatever is in focus, in every dialog too."""

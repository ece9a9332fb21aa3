"""Write docs/keys.md from the table of commands: ./dev keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from specconsole.ui.keys import COMMANDS, Place, shown_key

PAGE = Path(__file__).resolve().with_name("keys.md")
INTRODUCTION = """\
# Keys

Made from the table of commands (`console/specconsole/ui/commands.py`) by `./dev keys`; what the footer, `?` and the palette
(`:`) show comes from the same table.

To give a command other keys, put its id and Textual's names of the keys into `~/.config/specconsole/settings.toml`:

    [keymap]
    "app.theme" = "f5"
    "log.search" = "slash,ctrl+f"

Ids stay for good. A key that no terminal sends, an id that does not exist, and a key that another command of the same place
has are told at start, and our own key stays.
"""


def keys_of(keys: str) -> str:
    """All keys of a command, as people write them."""
    return " ".join(f"`{shown_key(key)}`" for key in keys.split(","))


def lines() -> Iterator[str]:
    """The page, line by line."""
    yield INTRODUCTION
    for place in Place:
        mine = [command for command in COMMANDS if command.place is place]
        if not mine:
            continue
        yield f"## {place.value[0].upper()}{place.value[1:]}\n"
        yield "| key | what it does | id |"
        yield "|---|---|---|"
        for command in mine:
            changes = " (changes the host)" if command.mutating else ""
            yield f"| {keys_of(command.keys)} | {command.help}{changes} | `{command.id}` |"
        yield ""


def page() -> str:
    """The whole page."""
    return "\n".join(lines()).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""Frozen values changed for every line of a flood: a copy for a tenth of what `dataclasses.replace` costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import replace as changed  # so that names and types of fields are checked
else:

    def changed(value: Any, /, **changes: Any) -> Any:
        """Copy a frozen dataclass with some fields changed; it must have neither slots nor a `__post_init__`.

        `replace` reads each field by name and sets it past the class's own lock, 10 us for the 29 of a start.
        """
        made = object.__new__(type(value))
        vars(made).update(vars(value))
        vars(made).update(changes)
        return made


__all__ = ["changed"]

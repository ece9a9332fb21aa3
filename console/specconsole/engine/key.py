"""An API key as a value that cannot be shown by accident."""

from __future__ import annotations

from specconsole.errors import ConfigError


class ApiKey:
    """Holds a key for requests; neither repr, str, a traceback's locals nor a pickle show it."""

    __slots__ = ("_value", "source")

    def __init__(self, value: str, source: str = "") -> None:
        """Keep a key. Raises ConfigError where it would end the header that it is sent in, or cannot be sent."""
        if not sendable(value):
            raise ConfigError(
                f"The API key from {source or 'somewhere'} holds what no HTTP header can carry.",
                hint="A key is one line of ASCII without blanks at its ends.",
            )
        self._value = value
        self.source = source
        """Where it came from, in words: "the profile's command", "the unit's environment"."""

    def reveal(self) -> str:
        """The key itself, for the one place that sends it."""
        return self._value

    def __repr__(self) -> str:
        return f"ApiKey(*** from {self.source or 'somewhere'})"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ApiKey) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> str:
        raise TypeError("an API key is not written anywhere")


def sendable(value: str) -> bool:
    """Tell whether a header can carry it: a line break in it would begin another header, or another request."""
    return value.isascii() and value.isprintable() and value == value.strip() != ""

"""What a program of ours said on a host, taken with care: the host may not be ours any more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from specconsole.errors import CommandFailed
from specconsole.text import one_line


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Turn what cannot be read of a host's words into one sentence; raises CommandFailed.

    Our programs speak their own protocol. Another version of them, a full disk or somebody who took the host over may
    say anything else, and none of it may end the console with a traceback.
    """
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        said = one_line(f"{type(error).__name__}: {error}", 200)
        raise CommandFailed(f"{name} says what this console cannot read.", said) from error

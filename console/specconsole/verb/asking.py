"""Questions on the terminal, asked beside the event loop: the link wants to be kept up while somebody thinks."""

from __future__ import annotations

import asyncio
import sys

from specconsole.errors import UsageError
from specconsole.text import clean


async def ask(question: str) -> str:
    """Ask on the terminal; an end of input is an empty answer."""
    sys.stderr.write(clean(question))
    sys.stderr.flush()
    return await asyncio.to_thread(sys.stdin.readline)


async def confirmed(question: str, look: str = "--dry-run") -> bool:
    """Ask, and tell whether the answer was yes; the default is no. Raises UsageError where nobody can be asked.

    `look`: how to see it without doing it.
    """
    if not sys.stdin.isatty():
        raise UsageError("Nobody can be asked here.", hint=f"Confirm with --yes, or look with {look}.")
    return (await ask(f"{question} [y/N] ")).strip().lower() in ("y", "yes")

"""The codes by which a terminal changes from one style to another: it keeps a style until another one is asked for."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_KINDS = frozenset("123456789")


class Style(NamedTuple):
    """How a terminal paints; the codes that bring it about."""

    kinds: tuple[str, ...] = ()
    """Bold, faint, italic, underlined and so on, sorted."""
    front: str = ""
    back: str = ""


PLAIN = Style()


@lru_cache(4096)
def change(before: Style | None, then: Style) -> str:
    """The shortest code that leads from one style to another; "" where they are the same. None: from whatever it is."""
    if before == then:
        return ""
    anew = ";".join(filter(None, ("0", *then.kinds, then.front, then.back))) if then != PLAIN else ""
    if before is None or set(before.kinds) - set(then.kinds):
        return f"\x1b[{anew}m"
    more = [kind for kind in then.kinds if kind not in before.kinds]
    more += [then.front or "39"] if then.front != before.front else []
    more += [then.back or "49"] if then.back != before.back else []
    return min(f"\x1b[{';'.join(more)}m", f"\x1b[{anew}m", key=len)


@lru_cache(4096)
def after(style: Style, codes: str) -> Style | None:
    """The style after some codes, as they stand between `ESC [` and `m`; None: one of them is not known here."""
    words = codes.split(";")
    at = 0
    while at < len(words):
        word = words[at].lstrip("0")
        size = {"5": 3, "2": 5}.get(words[at + 1] if at + 1 < len(words) else "", 0) if word in ("38", "48") else 1
        if not size or at + size > len(words):
            return None
        whole = ";".join(words[at : at + size])
        if not word:
            style = PLAIN
        elif word in _KINDS:
            style = style._replace(kinds=tuple(sorted({*style.kinds, word})))
        elif re.fullmatch(r"3[0-8]|9[0-7]", word):
            style = style._replace(front=whole)
        elif re.fullmatch(r"4[0-8]|10[0-7]", word):
            style = style._replace(back=whole)
        elif word in ("39", "49"):
            style = style._replace(front="") if word == "39" else style._replace(back="")
        else:
            return None
        at += size
    return style

"""JSON, names and files from outside, read so that no text ends the reader or leads elsewhere; Python 3.8, standard library.

`json.loads` raises RecursionError, which is no ValueError, for a few kilobytes of brackets; what it still takes at 900
levels ends the next function that walks through the value. Before 3.11 a long row of digits took it minutes.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
from typing import Any, Dict, List, Union

DEEPEST = 100
"""Lists and objects within each other; what servers, journals and our own files say has fewer than 20."""
_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,99}\Z")
MOST_DIGITS = 4300
"""Of a whole number, as later versions of Python have it themselves."""


def parse(text: Union[str, bytes]) -> Any:
    """Read a document. Raises ValueError: it is no JSON, or is nested deeper than `DEEPEST`."""
    try:
        value = json.loads(text, **_MORE)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if _opened(text) > DEEPEST and is_deep(value):
        raise ValueError("nested too deeply")
    return value


def name(text: object) -> str:
    """What somebody calls a run, a swap or an experiment, as one part of a path. Raises ValueError: it could be more."""
    if not _NAME.match(str(text)):
        raise ValueError("%.80r is no name of a run, a swap or an experiment" % str(text))
    return str(text)


def regular(path: str, limit: int) -> bytes:
    """The beginning of a file that others chose. Raises OSError, also where a read could wait for ever (a FIFO)."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        data = more = os.read(handle, limit)
        while more and len(data) < limit:
            more = os.read(handle, limit - len(data))
            data += more
        return data
    finally:
        os.close(handle)


def _opened(text: Union[str, bytes]) -> int:
    """The most levels that it can have, told in no time."""
    if isinstance(text, str):
        return text.count("[") + text.count("{")
    return text.count(b"[") + text.count(b"{")


def is_deep(value: Any) -> bool:
    """Tell whether lists and objects lie more than `DEEPEST` within each other, without walking down by recursion."""
    level: List[Any] = [value]
    for _ in range(DEEPEST):
        inner: List[Any] = []
        for one in level:
            if isinstance(one, dict):
                inner += [item for item in one.values() if isinstance(item, (dict, list))]
            elif isinstance(one, list):
                inner += [item for item in one if isinstance(item, (dict, list))]
        if not inner:
            return False
        level = inner
    return True


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError("a number of %d digits" % len(digits))
    return int(digits)


_MORE: Dict[str, Any] = {} if hasattr(sys, "set_int_max_str_digits") else {"parse_int": _whole}

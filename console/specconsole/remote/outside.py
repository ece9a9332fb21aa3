"""JSON, names and files from outside, read so that no text ends the reader or leads elsewhere; Python 3.8, standard library.

`json.loads` raises RecursionError, which is no ValueError, for a few kilobytes of brackets; what it still takes at 900
levels ends the next function that walks through the value. A long row of digits took it minutes before 3.11, and makes
it refuse the whole document since.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
from typing import Any, Dict, List, Optional, Union

DEEPEST = 100
"""Lists and objects within each other; what servers, journals and our own files say has fewer than 20."""
_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,99}\Z")
MOST_DIGITS = 4300
"""Of a whole number, as later versions of Python have it themselves; a longer one is no number of anything."""
_LONG = re.compile("[0-9]{%d}" % (MOST_DIGITS + 1))
_LONG_BYTES = re.compile(_LONG.pattern.encode())


def parse(text: Union[str, bytes]) -> Any:
    """Read a document; a number of too many digits is None. Raises ValueError: it is no JSON, or deeper than `DEEPEST`."""
    try:
        try:
            value = _value(text) if isinstance(text, str) else json.loads(text, **_MORE)
        except ValueError:
            if not (_LONG.search(text) if isinstance(text, str) else _LONG_BYTES.search(text)):
                raise
            value = json.loads(text, parse_int=_whole)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not _is_flat(value) and _opened(text) > DEEPEST and is_deep(value):
        raise ValueError("nested too deeply")
    return value


def _value(text: str) -> Any:
    """As `json.loads`, which looks for blanks around each line of a log by expressions, as long as it reads it."""
    if text[:1] == "{" and text[-1:] == "}":
        value, end = _DECODER.raw_decode(text)
        if end == len(text):
            return value
    return json.loads(text, **_MORE)


def _is_flat(value: Any) -> bool:
    """Whether it is an object of texts alone, as nearly every line of a log is; told sooner than brackets are counted."""
    return type(value) is dict and _TEXT.issuperset(map(type, value.values()))


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


def _whole(digits: str) -> Optional[int]:
    return int(digits) if len(digits) <= MOST_DIGITS else None


_TEXT = frozenset((str,))
_MORE: Dict[str, Any] = {} if hasattr(sys, "set_int_max_str_digits") else {"parse_int": _whole}
_DECODER = json.JSONDecoder(**_MORE)

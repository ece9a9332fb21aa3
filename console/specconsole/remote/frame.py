"""The frames between the console and the lease: one JSON line, then as many raw bytes as its "n" says.

Console to lease ("op"):
  start  id, argv or program + arguments, window, input (False: no standard input)
  in     id, n: bytes for the child's standard input; eof: id, close it
  more   id, fd ("out", "err"), by: the reader has room for so many more bytes
  stop   id: SIGTERM to the child's group, SIGKILL after 2 s
  ping   stamp: comes back as pong
Lease to console:
  hello  v, pid, python: the first frame, after the magic line
  pong   stamp, time: the host's clock in seconds
  began      id, pid: the child runs
  out, err   id, n: what the child printed
  took   id, by: so many bytes of input have reached the child
  exit   id, status (negative: a signal): after all that it printed
  fail   id, error, errno: it could not be started
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Tuple

from specconsole.remote import outside

VERSION = 1
MAGIC = b"specconsole-lease-1"
"""The line before the first frame: what a login shell prints before it is noise."""
PIECE = 65536
"""The largest payload of a frame from the lease: a pipe's own size."""
LONGEST_HEADER = 4 * 1024 * 1024
"""A header line longer than this is no header. A start frame carries argv, up to the kernel's own limit of 2 MiB."""

Header = Dict[str, Any]
Frame = Tuple[Header, bytes]


class NoFrame(ValueError):
    """What came is no frame."""


def pack(header: Header, payload: bytes = b"") -> bytes:
    """Make a frame."""
    if payload:
        header = dict(header, n=len(payload))
    return json.dumps(header, separators=(",", ":")).encode() + b"\n" + payload


class Splitter:
    """Cuts a byte stream into frames, however the stream is chunked."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> List[Frame]:
        """Take what came and return the frames that are whole now; raises NoFrame."""
        self._rest += data
        frames: List[Frame] = []
        at = 0
        while True:
            end = self._rest.find(b"\n", at)
            if end < 0:
                break
            header = _header(bytes(self._rest[at:end]))
            size = header.get("n", 0)
            if end + 1 + size > len(self._rest):
                break
            frames.append((header, bytes(self._rest[end + 1 : end + 1 + size])))
            at = end + 1 + size
        del self._rest[:at]
        if not frames and len(self._rest) > LONGEST_HEADER and b"\n" not in self._rest:
            raise NoFrame("a header line without end")
        return frames


def _header(line: bytes) -> Header:
    try:
        header = outside.parse(line)
    except ValueError:
        header = None
    if not isinstance(header, dict) or not isinstance(header.get("n", 0), int) or header.get("n", 0) < 0:
        raise NoFrame("no frame: %r" % line[:80])
    return header

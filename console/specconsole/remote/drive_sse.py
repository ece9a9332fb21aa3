"""What a kept stream says: HTTP framing, server-sent events, tokens; pure functions over (stamp, bytes) pieces.

An event's stamp is that of the read which completed it. Tokens come from usage (`continuous_usage_stats`), never from
counting chunks: with speculation one chunk carries several.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Tuple

from specconsole.remote import outside

TEXT_LIMIT = 32768
"""Characters of answer kept, for comparing answers."""
IDS_LIMIT = 16384
LONGEST_MARK = 1 << 16
"""Bytes of a chunk's size line, or of what follows the last chunk."""
MOST_COUNT = 1 << 53


def is_count(value: Any) -> bool:
    """A whole number that counts something, as JSON has it."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_COUNT


def head_end(data: bytes) -> int:
    """Where the body begins, after interim answers (1xx); -1: the head is not whole."""
    start = 0
    while True:
        end = data.find(b"\r\n\r\n", start)
        if end < 0:
            return -1
        if not data[start : start + 12].startswith((b"HTTP/1.1 1", b"HTTP/1.0 1")):
            return end + 4
        start = end + 4


def parse_head(head: bytes) -> Tuple[int, Dict[str, str]]:
    """Status and headers (names in lower case) of the last head in these bytes. Raises ValueError."""
    last = head.rstrip(b"\r\n").split(b"\r\n\r\n")[-1].decode("latin-1")
    first, *lines = last.split("\r\n")
    words = first.split(" ", 2)
    if len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdecimal():
        raise ValueError("no HTTP answer: %r" % first[:60])
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return int(words[1]), headers


class Body:
    """Undoes the transfer encoding of a body, fed in pieces of any size."""

    def __init__(self, headers: Dict[str, str]) -> None:
        self.chunked = "chunked" in headers.get("transfer-encoding", "").lower()
        length = headers.get("content-length", "")
        self.left = int(length) if length.isdecimal() and not self.chunked else None
        self.whole = self.left == 0
        self._raw = b""
        self._chunk = 0
        """Bytes of the present chunk still to come, its CRLF not counted."""

    def feed(self, data: bytes) -> bytes:
        """Return the body bytes in this piece. Raises ValueError where the framing is broken."""
        if self.chunked:
            return self._dechunk(data)
        if self.left is None:
            return data
        data = data[: self.left]
        self.left -= len(data)
        self.whole = self.left == 0
        return data

    def _dechunk(self, data: bytes) -> bytes:
        raw, out = self._raw + data, []
        at = 0
        while not self.whole:
            if self._chunk > 0:
                part = raw[at : at + self._chunk]
                out.append(part)
                self._chunk -= len(part)
                at += len(part)
                if self._chunk > 0:
                    break
                self._chunk = -1
            if self._chunk < 0:  # the CRLF after a chunk
                if len(raw) - at < 2:
                    break
                if raw[at : at + 2] != b"\r\n":
                    raise ValueError("broken chunk in the answer")
                at, self._chunk = at + 2, 0
            line = raw.find(b"\r\n", at)
            if line < 0:
                if len(raw) - at > LONGEST_MARK:
                    raise ValueError("broken chunk in the answer")
                break
            size = int(raw[at:line].split(b";")[0].strip() or b"x", 16)
            if size < 0:
                raise ValueError("broken chunk in the answer")
            if size == 0:
                self.whole = raw.find(b"\r\n\r\n", line) >= 0  # an empty line, after trailers if there are any
                if not self.whole and len(raw) - at > LONGEST_MARK:
                    raise ValueError("broken chunk in the answer")
                break
            at, self._chunk = line + 2, size
        self._raw = raw[at:]
        return b"".join(out)


def body_end(data: bytes) -> bool:
    """Tell whether these bytes hold a whole answer with a length or chunks."""
    end = head_end(data)
    if end < 0:
        return False
    try:
        body = Body(parse_head(data[:end])[1])
        body.feed(data[end:])
    except ValueError:
        return True  # broken framing never becomes whole; the parser will say so
    return body.whole


class Events:
    """Splits a body into the data of its events, fed in pieces of any size."""

    def __init__(self) -> None:
        self._rest: List[bytes] = []
        self._data: List[bytes] = []

    def feed(self, body: bytes) -> List[bytes]:
        """Return the data of the events which this piece completes; comments and other fields are skipped."""
        found = []
        *lines, rest = body.split(b"\n")
        if lines:
            lines[0] = b"".join(self._rest) + lines[0]
            self._rest = []
        self._rest.append(rest)  # joined once: a line that never ends comes in as many pieces as it likes
        for line in lines:
            line = line[:-1] if line.endswith(b"\r") else line
            if not line:
                if self._data:
                    found.append(b"\n".join(self._data))
                    self._data = []
            elif line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
        return found


class Answer:
    """What a stream said, read event by event."""

    def __init__(self) -> None:
        self.chunks: List[Tuple[int, Optional[int]]] = []
        """Of the events that carry tokens: nanoseconds since the request was sent, and the tokens so far."""
        self.usage: Optional[Dict[str, Any]] = None
        self.finish: Optional[str] = None
        self.text: List[str] = []
        self.ids: List[int] = []
        self.error = ""
        self.ended = False
        self.events = 0
        self._tokens = 0

    def feed(self, since_ns: int, data: bytes) -> None:
        """Take one event's data."""
        if data.strip() == b"[DONE]":
            self.ended = True
            return
        self.events += 1
        try:
            event = outside.parse(data)
        except ValueError:
            self.error = self.error or "an event is no JSON: %r" % data[:80]
            return
        if not isinstance(event, dict):
            return
        if "error" in event:
            self.error = self.error or error_text(event)
            return
        self._take(since_ns, event)

    def _take(self, since_ns: int, event: Dict[str, Any]) -> None:
        choices = event.get("choices")
        choices = choices if isinstance(choices, list) else []
        choice = choices[0] if choices and isinstance(choices[0], dict) else {}
        usage = event.get("usage")
        count = usage.get("completion_tokens") if isinstance(usage, dict) else None
        count = count if is_count(count) else None
        if isinstance(usage, dict):
            self.usage = {**(self.usage or {}), **_counts(usage)}
        finish = choice.get("finish_reason")
        self.finish = finish[:100] if finish and isinstance(finish, str) else self.finish
        said = self._words(choice)
        ids = choice.get("token_ids")
        if isinstance(ids, list):
            self.ids += [one for one in ids[: max(IDS_LIMIT - len(self.ids), 0)] if is_count(one)]
        grew = count is not None and count > self._tokens and bool(choices)
        if grew:
            self._tokens = int(count or 0)
        # Text before the count moves is still the first sign of a token.
        if grew or (said and (count is None or not self.chunks)):
            self.chunks.append((since_ns, None if count is None else self._tokens))

    def _words(self, choice: Dict[str, Any]) -> bool:
        """Keep the text; tell whether this choice says anything (content, reasoning or a tool call)."""
        delta = choice.get("delta")
        parts: Iterable[Any] = [choice.get("text")]
        tools = None
        if isinstance(delta, dict):
            # 0.11.1 to 0.14.1 send reasoning under both names.
            parts = [delta.get("reasoning") or delta.get("reasoning_content"), delta.get("content")]
            tools = delta.get("tool_calls")
        said = [part for part in parts if isinstance(part, str) and part]
        self.text += said
        return bool(said) or bool(tools)


def _counts(usage: Dict[str, Any]) -> Dict[str, Any]:
    """Of a usage what counts, one level down too (`prompt_tokens_details`)."""
    found: Dict[str, Any] = {name: value for name, value in usage.items() if is_count(value)}
    for name, value in usage.items():
        if isinstance(value, dict):
            found[name] = {inner: count for inner, count in value.items() if is_count(count)}
    return found


def error_text(document: Any) -> str:
    """The message in an error document, in any of vLLM's forms."""
    if isinstance(document, dict):
        for key in ("error", "message", "detail"):
            value = document.get(key)
            if isinstance(value, dict):
                return error_text(value)
            if value:
                return str(value)[:500]
    return str(document)[:500]


def read(pieces: Iterable[Tuple[int, bytes]], sent_ns: int) -> Dict[str, Any]:
    """Read a kept stream to the end; never raises: what cannot be read is said in `error`."""
    answer, events = Answer(), Events()
    status: Optional[int] = None
    headers_ns: Optional[int] = None
    body: Optional[Body] = None
    head, plain = b"", b""
    error = ""
    try:
        for stamp, data in pieces:
            if body is None:
                head += data
                end = head_end(head)
                if end < 0:
                    continue
                status, headers = parse_head(head[:end])
                headers_ns, body, data = stamp - sent_ns, Body(headers), head[end:]
                if headers.get("content-encoding", "identity").lower() != "identity":
                    raise ValueError("the answer is compressed, though identity was asked for")
            part = body.feed(data)
            if status != 200:
                plain += part[: 65536 - len(plain)]
                continue
            for event in events.feed(part):
                answer.feed(stamp - sent_ns, event)
    except ValueError as broken:
        error = str(broken)
    if status is not None and status != 200:
        error = error or "HTTP %d: %s" % (status, _document_error(plain))
    error = error or answer.error
    if not error and not answer.ended:
        error = "the stream ended without [DONE]" if status else "no answer"
    text = "".join(answer.text)
    return {
        "status": status,
        "error": error,
        "headers_ns": headers_ns,
        "chunks": [list(chunk) for chunk in answer.chunks],
        "usage": answer.usage,
        "finish": answer.finish,
        "text": text[:TEXT_LIMIT],
        "text_cut": len(text) > TEXT_LIMIT,
        "token_ids": answer.ids,
        "events": answer.events,
    }


def _document_error(plain: bytes) -> str:
    try:
        return error_text(outside.parse(plain))
    except ValueError:
        return plain[:200].decode(errors="replace").strip() or "no text"

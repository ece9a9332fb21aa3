"""From raw entries to records: joined, masked, peeled, attributed, assembled, folded, numbered."""

from __future__ import annotations

from specconsole.logs.assemble import Assembler, Message
from specconsole.logs.attribute import Names
from specconsole.logs.entry import Entry
from specconsole.logs.fold import Fold
from specconsole.logs.peel import Peeled, peel
from specconsole.logs.record import LINE, LogRecord
from specconsole.logs.redact import mask, mask_all
from specconsole.text import clean, one_line, short_numbers, strip_escapes

LONGEST = 1 << 20
"""Bytes of a line that journald cut and we join; a writer that never ends its line gives a record for each such piece."""
_LONG = 300


class Refinery:
    """One log on its way from a source to those who read it; records count up by one, nothing is lost.

    Args:
        first_seq: the number of the first record.
        fold: sum up our own polls; a replayed file has none.
    """

    def __init__(self, first_seq: int = 1, *, fold: bool = True) -> None:
        self.next_seq = first_seq
        self._names = Names()
        self._assembler = Assembler()
        self._fold = Fold() if fold else None
        self._cut: dict[tuple[str, int | None], Entry] = {}

    def feed(self, entries: list[Entry]) -> list[LogRecord]:
        """Take entries in the order of the log and return the records that are whole."""
        lines = [line for entry in entries if (whole := self._joined(entry)) for line in self._lines(whole)]
        return self._records(self._assembler.feed(lines))

    def age(self) -> list[LogRecord]:
        """A batch has ended: return the records that waited through the whole of it."""
        return self._records(self._assembler.age())

    def flush(self) -> list[LogRecord]:
        """Return what waits for more lines; a quiet moment has come. Folded polls still wait for their minute."""
        cut, self._cut = self._cut, {}
        lines = [line for entry in cut.values() for line in self._lines(entry)]
        return self._records(self._assembler.feed(lines) + self._assembler.flush())

    def end(self) -> list[LogRecord]:
        """Return all that is left, the folded polls too; the log has ended."""
        records = self.flush()
        return records + self._numbered(self._fold.flush() if self._fold else [])

    def _joined(self, entry: Entry) -> Entry | None:
        """A line that journald cut at its longest length is put together again; None: the rest is still to come."""
        key = (entry.unit, entry.pid)
        if not entry.cut and not self._cut:
            return entry
        begun = self._cut.pop(key, None)
        if begun:
            entry = entry._replace(message=_bytes(begun.message) + _bytes(entry.message), at=begun.at)
        if entry.cut and len(entry.message) < LONGEST:
            self._cut[key] = entry
            return None
        return entry

    def _lines(self, entry: Entry) -> list[tuple[Entry, Peeled]]:
        started = self._names.invocation(entry)
        if started != entry.invocation:
            entry = entry._replace(invocation=started)
        if entry.kind is not LINE:
            text = entry.message if isinstance(entry.message, str) else entry.message.decode(errors="replace")
            return [(entry, Peeled(text, entry.level, entry.kind, source=entry.source, pid=entry.pid))]
        return [(entry, self._names.complete(entry, line)) for line in peel(_readable(entry.message))]

    def _records(self, messages: list[Message]) -> list[LogRecord]:
        if self._fold is None:
            return self._numbered([(message, 0) for message in messages])
        return self._numbered([pair for message in messages for pair in self._fold.feed(message)])

    def _numbered(self, shown: list[tuple[Message, int]]) -> list[LogRecord]:
        """Make records of messages, each with the number of others that it stands for."""
        first, self.next_seq = self.next_seq, self.next_seq + len(shown)
        texts = mask_all([message.text for message, _ in shown])
        return [
            _record(seq, text, message, folded)
            for seq, (text, (message, folded)) in enumerate(zip(texts, shown, strict=True), first)
        ]


def _record(seq: int, text: str, message: Message, folded: int) -> LogRecord:
    entry, line = message.entry, message.first
    return LogRecord(
        seq, entry.at, entry.unit, text if text.isascii() and text.isprintable() else clean(text), message.level,
        line.kind, _word(line.process) if line.process else None, line.rank, line.pid, _word(line.source),
        message.cursor, entry.invocation, entry.message_id, entry.arrived, folded,
    )  # fmt: skip


def _word(text: str) -> str:
    return text if text.isprintable() else one_line(text)


def _readable(message: bytes | str) -> bytes | str:
    """A line that can be peeled, whatever stands in it."""
    if len(message) >= _LONG:
        message = short_numbers(message.decode(errors="replace") if isinstance(message, bytes) else message)
    return _masked(message)


def _masked(message: bytes | str) -> bytes | str:
    """Mask before a line is split at carriage returns or read as JSON: a piece alone may not show what it is.

    A line without either is masked once it is assembled.
    """
    if isinstance(message, bytes):
        if b"\r" not in message and b'{"' not in message:
            return message
        message = message.decode(errors="replace")
    return mask(strip_escapes(message)) if "\r" in message or '{"' in message else message


def _bytes(message: bytes | str) -> bytes:
    return message if isinstance(message, bytes) else message.encode()

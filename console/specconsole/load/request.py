"""Records of single requests, which hold what users and the model said: no evidence of a start, whatever the words; pure."""

from __future__ import annotations

import re

from specconsole.logs.record import Kind, LogRecord

_BEGINS = ("Received ", "Request ", "Generated response ", "Convert to OpenAI request ")
_REQUEST = re.compile(
    r"Received (?:messages )?request |Request \S{1,200} (?:details|JSON body): |Request \S{1,200} failed \((?:bad request|input error)\)"
    r"|Generated response |Convert to OpenAI request "
)
"""With --enable-log-requests and --enable-log-outputs, from 0.6 (prompts at INFO) to 0.33 (prompts at DEBUG)."""


def of_request(record: LogRecord) -> bool:
    """Whether a record tells of one request: who asked and how it went, its prompt, its parameters, what was answered."""
    if record.kind is Kind.ACCESS:
        return True
    return record.text.startswith(_BEGINS) and _REQUEST.match(record.text) is not None

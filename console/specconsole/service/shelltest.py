"""What a shell's test says, where its operands are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from specconsole.service.shellword import UNKNOWN
from specconsole.text import whole_number

_NUMERIC = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}


def outcome(words: Sequence[str], variables: Mapping[str, str]) -> bool | None:
    """Whether a command succeeds: tests by what they say, others are taken to; None: it cannot be known."""
    if not words or words[0] in ("true", ":"):
        return True
    if words[0] == "false":
        return False
    if words[0] not in ("[", "[[", "test"):
        return True
    operands = [word for word in words[1:] if word not in ("]", "]]")]
    negated = operands[:1] == ["!"]
    said = _test(operands[negated:], variables, pattern=words[0] == "[[")
    return said if said is None else said is not negated


def _test(operands: Sequence[str], variables: Mapping[str, str], *, pattern: bool) -> bool | None:
    if operands[:1] == ["-v"] and len(operands) == 2:
        return operands[1] in variables
    if any(UNKNOWN in operand for operand in operands):
        return None
    if pattern and operands in (["-n"], ["-z"]):  # [[ keeps an empty operand that was not quoted
        operands = [*operands, ""]
    match operands:
        case [] | [""]:
            return False
        case [_]:
            return True
        case ["-n", text]:
            return text != ""
        case ["-z", text]:
            return text == ""
        case [left, "=" | "==", right]:
            return fnmatchcase(left, right) if pattern else left == right
        case [left, "!=", right]:
            return not fnmatchcase(left, right) if pattern else left != right
        case [left, operator, right] if operator in _NUMERIC:
            one, other = whole_number(left), whole_number(right)
            return None if one is None or other is None else _NUMERIC[operator](one, other)
    return None

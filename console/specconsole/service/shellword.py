"""A shell's words: quotes, variables, arrays and defaults; what only running it would tell becomes `UNKNOWN`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

UNKNOWN = "\ufffc"
"""Stands in a word for what cannot be known without running the script."""

_OPERATORS = re.compile(r"\n|;;&?|;&?|&&|&>>?|&|\|\|?&?|[()]|\d*(?:<<<|<<-?|>>|>\||[<>]&?)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_DEFAULT = re.compile(r"([A-Za-z_]\w*|\d+)(:?[-=+?])(.*)\Z", re.DOTALL)
_ARRAY = re.compile(r"([A-Za-z_]\w*)\[[@*]\]\Z")


class Text:
    """A position in a script."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self, count: int = 1) -> str:
        """What comes next."""
        return self.text[self.at : self.at + count]

    def take(self, count: int = 1) -> str:
        """What comes next, and go past it."""
        taken = self.peek(count)
        self.at += count
        return taken

    def until(self, closing: str) -> str:
        """Take up to a closing bracket, minding nesting; without one, all."""
        opening, depth, start = {")": "(", "}": "{"}[closing], 1, self.at
        while self.at < len(self.text):
            char = self.take()
            depth += (char == opening) - (char == closing)
            if not depth:
                return self.text[start : self.at - 1]
        return self.text[start:]

    def to(self, closing: str) -> str:
        """Take up to a character and past it; without one, all."""
        end = self.text.find(closing, self.at)
        end = len(self.text) if end < 0 else end
        inside = self.text[self.at : end]
        self.at = end + 1
        return inside

    def line_end(self) -> int:
        """Where this line ends."""
        end = self.text.find("\n", self.at)
        return len(self.text) if end < 0 else end

    def operator(self) -> str:
        """The operator that comes next: a separator, a pipe, a redirect; "" for none."""
        found = _OPERATORS.match(self.text, self.at)
        return found[0] if found else ""


class Words:
    """Variables, arrays and arguments, and what words become with them."""

    def __init__(self, variables: Mapping[str, str], arguments: Sequence[str], *, complete: bool) -> None:
        """`complete`: a variable that is not there is empty; else it is UNKNOWN."""
        self.variables = dict(variables)
        self.arrays: dict[str, list[str]] = {}
        self.arguments = list(arguments)
        self.unset = "" if complete else UNKNOWN

    def array(self, text: Text) -> list[str]:
        """Take the items of an array up to its closing bracket."""
        items: list[str] = []
        while text.at < len(text.text) and text.peek() != ")":
            if text.peek() in (" ", "\t", "\n"):
                text.take()
            elif text.peek(2) == "\\\n":
                text.take(2)
            elif text.peek() == "#":
                text.at = text.line_end()
            else:
                items += self.fields(text)
        text.take()
        return items

    def joined(self, text: Text) -> str:
        """Take the next word as one text, as in assignments and redirects."""
        while text.peek() in (" ", "\t"):
            text.take()
        return " ".join(self.fields(text, splitting=False))

    def fields(self, text: Text, *, splitting: bool = True) -> list[str]:
        """Take one word of the script, which becomes none, one or several."""
        fields: list[str] = []
        open_field = False
        while text.at < len(text.text) and text.peek() not in (" ", "\t") and not text.operator():
            quoted, pieces = self._piece(text)
            if not quoted and splitting:
                pieces = [part for piece in pieces for part in piece.split()]
            for index, piece in enumerate(pieces):
                if open_field and index == 0:
                    fields[-1] += piece
                else:
                    fields.append(piece)
                open_field = True
        return fields

    def _piece(self, text: Text) -> tuple[bool, list[str]]:
        """A part of a word: whether it is safe from splitting, and its texts."""
        char = text.take()
        if char == "'":
            return True, [text.to("'")]
        if char == '"':
            return True, self._double(text)
        if char == "\\":
            escaped = text.take()
            return True, ["" if escaped == "\n" else escaped]
        if char == "$" and text.peek() == "'":
            text.take()
            return True, [text.to("'")]
        if char == "$":
            return False, self._dollar(text)
        if char == "`":
            text.to("`")
            return False, [UNKNOWN]
        return True, [char]

    def _double(self, text: Text) -> list[str]:
        parts, vanishes = [""], False
        while text.at < len(text.text) and (char := text.take()) != '"':
            if char == "\\" and text.peek() in tuple('$`"\\\n'):
                escaped = text.take()
                parts[-1] += "" if escaped == "\n" else escaped
            elif char == "$":
                pieces = self._dollar(text)
                vanishes = vanishes or not pieces  # "${A[@]}" of an empty array is no word at all
                parts[-1] += pieces[0] if pieces else ""
                parts += pieces[1:]
            elif char == "`":
                text.to("`")
                parts[-1] += UNKNOWN
            else:
                parts[-1] += char
        return [] if vanishes and parts == [""] else parts

    def _dollar(self, text: Text) -> list[str]:
        following = text.peek()
        if following == "(":
            text.take()
            text.until(")")
            return [UNKNOWN]
        if following == "{":
            text.take()
            return self._braced(text.until("}"))
        if name := _NAME.match(text.text, text.at):
            text.at = name.end()
            return [self._value(name[0])]
        if following in tuple("@*#?$!-0123456789"):
            return self._special(text.take())
        return ["$"]

    def _special(self, name: str) -> list[str]:
        if name in "@*":
            return list(self.arguments)
        if name.isdecimal() and name != "0" and len(name) < 6:
            return [self.arguments[int(name) - 1] if int(name) <= len(self.arguments) else ""]
        return [UNKNOWN]

    def _braced(self, inside: str) -> list[str]:
        if array := _ARRAY.match(inside):
            return list(self.arrays.get(array[1], [self.variables[array[1]]] if array[1] in self.variables else []))
        if inside in ("@", "*"):
            return list(self.arguments)
        if default := _DEFAULT.match(inside):
            return [self._defaulted(*default.groups())]
        if inside.isdecimal():
            return self._special(inside)
        return [self._value(inside) if _NAME.fullmatch(inside) else UNKNOWN]

    def _defaulted(self, name: str, operator: str, word: str) -> str:
        value = self._special(name)[0] if name.isdecimal() else self.variables.get(name)
        is_set = value is not None and (value != "" or ":" not in operator)
        if operator.endswith("+"):
            return self._text(word) if is_set else ""
        if is_set and value is not None:
            return value
        chosen = UNKNOWN if operator.endswith("?") else self._text(word)
        if operator.endswith("="):
            self.variables[name] = chosen
        return chosen

    def _text(self, word: str) -> str:
        return "".join(self._double(Text(word.strip("\"'"))))

    def _value(self, name: str) -> str:
        if name in self.arrays:
            return (self.arrays[name] or [""])[0]
        return self.variables.get(name, self.unset)

"""The text of a derived unit: its baseline's, drop-ins included, with another command, a name of its own and a mark.

The mark is a comment that says what the unit was made from and what was written then. A unit without one, or changed
since, is somebody's own: it is never written over and never removed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from specconsole.remote import outside
from specconsole.service import placing, unitfile
from specconsole.service.placing import Edit, Surroundings, Unplaced
from specconsole.service.unitfile import Entry

NAME = re.compile(r"[\w:.\\-]+\.service", re.ASCII)
NAMED = "inNpPjJfyYI"
"""Specifiers whose meaning depends on the unit's name or file."""
DEPENDENCIES = ("Conflicts", "After", "Before", "Wants", "Requires", "BindsTo", "PartOf", "Upholds", "Requisite")
MARK = "# specconsole-derived: "
_MARK = re.compile(rf"^{MARK}(\{{.*\}})\n", re.MULTILINE)
_SPECIFIER = re.compile(r"%(.)", re.DOTALL)
_PLAIN = re.compile(r"[\w.:@/-]*")
_BASELINE = re.compile(r"[\s,;:–—-]*\(?\bbaseline\b\)?\s*\Z", re.IGNORECASE)
_HEADER = re.compile(r"[ \t]*\[Unit\][ \t\r]*\n")


@dataclass(frozen=True)
class Baseline:
    """The unit that a variant is made from."""

    name: str
    files: tuple[tuple[str, str], ...] = field(repr=False)
    """Path and text: its own file, then its drop-ins in systemd's order."""
    around: Surroundings

    def digest(self) -> str:
        """What tells whether it has changed since."""
        return _digest("\0".join(text for _, text in self.files))


@dataclass(frozen=True)
class Mark:
    """What a derived unit says of itself."""

    origin: str
    """The name of its baseline."""
    variant: str
    settings: Mapping[str, Any]
    baseline: str
    """The baseline's digest then."""
    intact: bool = True
    """Nobody has changed the unit since."""


def name_of(baseline: str, variant: str) -> str:
    """What the derived unit is called; an instance of a template becomes a unit of its own."""
    stem = baseline.removesuffix(".service").replace("@", "-")
    return f"{stem}-{variant}.service"


def compose(
    baseline: Baseline,
    name: str,
    variant: str,
    settings: Mapping[str, Any],
    words: Sequence[str],
    rivals: Sequence[str],
) -> str:
    """The text of the derived unit. `rivals`: units that cannot run beside it, its baseline first.

    Raises:
        Unplaced: the options cannot be placed with certainty, or what surrounds the unit would change it.
    """
    own, shared = _parted(baseline.files, name)
    own = [(path, edited_names(text, baseline.around.specifiers)) for path, text in own]
    text = _whole(own)
    around = replace(baseline.around, specifiers=_specifiers(baseline, name))
    for path, one in shared:
        if any((entry.section, entry.key) == ("Service", "ExecStart") for entry in unitfile.parse(one).entries):
            raise Unplaced(
                f"its command comes from {path}, which other units share", "Give the unit its own ExecStart."
            )
    text = placing.place(text, words, around)
    text = _introduced(text, name, _described(text, baseline, settings), rivals)
    _compare([(path, dict(own).get(path, one)) for path, one in baseline.files], text, shared)
    return marked(text, Mark(baseline.name, variant, settings, baseline.digest()))


def argv_of(text: str, name: str, baseline: Baseline) -> tuple[str, ...]:
    """The command of a derived unit's text as systemd starts it."""
    around = replace(baseline.around, specifiers=_specifiers(baseline, name))
    found = placing.find(unitfile.parse(text), around)
    return tuple(around.expanded(found.command)) if found else ()


def _parted(files: Sequence[tuple[str, str]], name: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The files that are the baseline's alone, and the drop-ins that systemd applies to the new name by itself."""
    folders = drop_in_folders(name)
    shared = [file for file in files[1:] if file[0].split("/")[-2:-1] and file[0].split("/")[-2] in folders]
    return [file for file in files if file not in shared], shared


def drop_in_folders(name: str) -> list[str]:
    """The folders whose drop-ins apply to a unit: its own, those of each beginning that ends with a dash, all services'."""
    stem = name.removesuffix(".service")
    cuts = [at for at, char in enumerate(stem[:-1]) if char == "-"]
    return [f"{name}.d", *(f"{stem[: at + 1]}.service.d" for at in cuts), "service.d"]


def _whole(files: Sequence[tuple[str, str]]) -> str:
    """One text that means what all of them mean: a drop-in is read as if it stood at the end."""
    parts = [files[0][1].rstrip("\n") + "\n"]
    for path, text in files[1:]:
        first = next(iter(unitfile.parse(text).entries), None)
        outside = "[X-Outside]\n" if first is not None and not first.section else ""
        parts.append(f"\n# From {path}\n{outside}{text.strip(chr(10))}\n")
    return "".join(parts)


def edited_names(text: str, specifiers: Mapping[str, str]) -> str:
    """Put in what depends on the unit's name, which is another one from here on. Raises Unplaced."""
    edits: list[Edit] = []
    for entry in unitfile.parse(text).entries:
        for found in _SPECIFIER.finditer(entry.value):
            if found[1] in NAMED and found[1] in specifiers:
                value = specifiers[found[1]]
                if not _PLAIN.fullmatch(value):
                    raise Unplaced(f"{entry.key}= uses %{found[1]}, which is {value}", "Write it out in the baseline.")
                edits.append((entry.place(found.start()), entry.place(found.end() - 1) + 1, value))
    return placing.edited(text, edits)


def _specifiers(baseline: Baseline, name: str) -> dict[str, str]:
    """The meaning of specifiers in the new unit; what depends on its name is written out in its own text."""
    known = {key: value for key, value in baseline.around.specifiers.items() if key not in NAMED}
    stem = name.removesuffix(".service")
    return {**known, "n": name, "N": stem, "p": stem.partition("@")[0], "i": stem.partition("@")[2]}


def _described(text: str, baseline: Baseline, settings: Mapping[str, Any]) -> str:
    said = unitfile.parse(text).last("Description", "Unit")
    plain = _BASELINE.sub("", said) or baseline.name.removesuffix(".service")
    method, tokens = settings.get("method") or "draft model", settings.get("num_speculative_tokens")
    added = f", {method} speculation" + (f" k={tokens}" if tokens else "")
    return plain + added.replace("%", "%%").replace("\n", " ")


def _introduced(text: str, name: str, description: str, rivals: Sequence[str]) -> str:
    """The text with a description and dependencies of its own, and without what only one unit may have."""
    entries = unitfile.parse(text).entries
    edits = [edit for entry in entries for edit in _trimmed(text, entry, name)]
    said = {key: unitfile.parse(text).words(key, "Unit") for key in ("Conflicts", "After")}
    lines = [f"Description={description}"]
    for key in ("Conflicts", "After"):
        missing = [rival for rival in rivals if rival not in said[key] and not (key == "After" and name in said[key])]
        lines += [f"{key}={' '.join(missing)}"] if missing else []
    last = [entry for entry in entries if (entry.section, entry.key) == ("Unit", "Description") and entry.value]
    if last:
        edits.append((last[-1].begin, last[-1].place(len(last[-1].value)), "\n".join(lines)))
    elif header := _HEADER.search(text):
        edits.append((header.end(), header.end(), "\n".join(lines) + "\n"))
    else:
        edits.append((0, 0, "[Unit]\n" + "\n".join(lines) + "\n\n"))
    return placing.edited(text, edits)


def _trimmed(text: str, entry: Entry, name: str) -> list[Edit]:
    """Take out an alias, which two units cannot share, what else would be enabled, and the unit's own name."""
    if entry.section == "Install" and entry.key in ("Alias", "Also") and entry.value:
        return [_without_line(text, entry)]
    if entry.section == "Unit" and entry.key in DEPENDENCIES and name in entry.value.split():
        rest = " ".join(word for word in entry.value.split() if word != name)
        return [(entry.place(0), entry.place(len(entry.value)), rest)] if rest else [_without_line(text, entry)]
    return []


def _without_line(text: str, entry: Entry) -> Edit:
    end = entry.place(len(entry.value))
    newline = text.find("\n", end)
    whole = newline >= 0 and not text[end:newline].strip()
    return (entry.begin, newline + 1, "") if whole else (entry.begin, end, "")


def _compare(files: Sequence[tuple[str, str]], text: str, shared: Sequence[tuple[str, str]]) -> None:
    """Whatever is not meant to differ must be the same in both, also behind drop-ins that apply to both. Raises Unplaced."""
    one, other = _meaning([file for _, file in files]), _meaning([text, *(file for _, file in shared)])
    differing = [key for key in dict.fromkeys([*one, *other]) if one.get(key) != other.get(key)]
    odd = [f"{key[1]}=" for key in differing if key not in MEANT]
    if odd:
        drop_ins = ", ".join(path for path, _ in shared) or "a drop-in"
        raise Unplaced(
            f"{drop_ins} applies to other units too, and {', '.join(odd)} would differ", "Write the unit by hand."
        )


MEANT = {("Service", "ExecStart"), ("Install", "Alias"), ("Install", "Also"), ("Unit", "Description")} | {
    ("Unit", key) for key in DEPENDENCIES
}
"""What may differ from the baseline."""


def _meaning(texts: Sequence[str]) -> dict[tuple[str, str], list[str]]:
    """What each setting says; sections that systemd does not read left out."""
    settings = unitfile.parse(*texts)
    keys = {(entry.section, entry.key) for entry in settings.entries if entry.section and entry.section[:2] != "X-"}
    return {(section, key): settings.all(key, section) for section, key in keys}


def marked(text: str, mark: Mark) -> str:
    """A unit's text behind the lines that say what it is."""
    head = (
        f"# Derived from {mark.origin} by specconsole: `specconsole derive` writes it anew, `specconsole underive` removes it.\n"
        "# Once it is edited by hand it is yours, and neither touches it.\n"
    )
    said = {
        "origin": mark.origin,
        "variant": mark.variant,
        "settings": mark.settings,
        "baseline": mark.baseline,
        "text": _digest(head + text),
    }
    return f"{head}{MARK}{json.dumps(said)}\n{text}"


def mark_of(text: str) -> Mark | None:
    """What a unit's text says of its making; None: it was not derived."""
    found = _MARK.search(text)
    try:
        said = outside.parse(found[1]) if found else None
    except ValueError:
        return None
    if found is None or not isinstance(said, dict) or not isinstance(said.get("settings"), dict):
        return None
    intact = said.get("text") == _digest(text[: found.start()] + text[found.end() :])
    return Mark(str(said.get("origin")), str(said.get("variant")), said["settings"], str(said.get("baseline")), intact)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

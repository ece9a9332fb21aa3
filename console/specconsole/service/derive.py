"""A variant of a unit made from its baseline: what would be written, and what is to be said of it. Reads only."""

from __future__ import annotations

import asyncio
import difflib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from specconsole.errors import CommandFailed, DeadlineExceeded, NotPermitted, UsageError
from specconsole.host.base import Host, HostFacts, Program, why_read_only
from specconsole.host.errand import told, why_silent
from specconsole.profile import Profile
from specconsole.remote import systemctl, unit_search
from specconsole.remote.systemctl import Block, Manager
from specconsole.service import (
    account,
    choose,
    definition,
    derived,
    discover,
    files,
    method,
    option,
    premise,
    source,
    unitfile,
)
from specconsole.service.derived import Baseline
from specconsole.service.finding import Finding, refused
from specconsole.service.placing import Surroundings, Unplaced
from specconsole.service.plan import is_rival
from specconsole.service.prefetch import prefetch
from specconsole.service.unit import Unit
from specconsole.stream import within
from specconsole.text import one_line

SYSTEM = "/etc/systemd/system"
USER = ".config/systemd/user"
"""In the home of the manager's owner."""
CONTEXT = 3
LOOK_S = 20.0
KINDS = {"refuse": "REFUSED", "warn": "warning", "note": "note"}
"""A finding's severity in words."""


@dataclass(frozen=True)
class Variant:
    """What is wanted."""

    name: str
    """ngram, eagle3, or what the operator calls it."""
    settings: Mapping[str, Any]
    """The keys of --speculative-config."""
    unit: str = ""
    """The new unit's name where a profile gives one; "" for BASELINE-NAME.service."""


@dataclass(frozen=True)
class Derivation:
    """What would be written, and what is to be said of it."""

    host: str
    baseline: Unit
    variant: Variant
    name: str
    """The new unit."""
    path: str
    words: tuple[str, ...] = ()
    """The options that are added."""
    argv: tuple[str, ...] = field(default=(), repr=False)
    """The command as systemd shall start it; like the text it may hold secrets."""
    text: str = field(default="", repr=False)
    """What is written."""
    diff: tuple[str, ...] = ()
    """Against the baseline's file, or against what an earlier derive wrote; secrets masked."""
    against: str = ""
    """The file that the diff starts from."""
    findings: tuple[Finding, ...] = ()
    blockers: tuple[str, ...] = ()
    """Why it cannot be written."""
    by_hand: str = ""
    """What a person would have to do where the options cannot be placed."""
    remarks: tuple[str, ...] = ()
    seen: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The digest of each file that the text was made from."""
    before: str = field(default="", repr=False)
    """What an earlier derive wrote; "" for nothing."""
    manager: Manager = field(default_factory=Manager)

    @property
    def unchanged(self) -> bool:
        """What an earlier derive wrote is what this one would write."""
        return bool(self.text) and self.before == self.text

    @property
    def refusals(self) -> tuple[str, ...]:
        """Why it is not written: what stands in the way, and what would fail if it were."""
        return (*self.blockers, *(finding.sentence for finding in refused(self.findings)))

    @property
    def said(self) -> tuple[tuple[str, str], ...]:
        """What is to be said of it, the gravest first: a kind, and a sentence with what it stands on."""
        found = [("BLOCKED", blocker) for blocker in self.blockers]
        found += [("by hand", self.by_hand)] if self.by_hand else []
        found += [
            (KINDS[finding.severity], f"{finding.sentence} ({finding.evidence}; {finding.source})")
            for finding in self.findings
        ]
        return (*found, *(("note", remark) for remark in self.remarks))


USUAL: Mapping[str, Mapping[str, Any]] = {
    "ngram-k5": {"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_max": 4, "prompt_lookup_min": 2}
}
"""Variants that need no drafter, by label: offered where no profile describes any, and what their method alone means."""


def variant_of(name: str, method: str | None, settings: Sequence[str], profile: Profile | None) -> Variant:
    """What is wanted: by the profile's unit of that label, and by the command line, which wins.

    Raises:
        UsageError: neither says what the variant is, or a setting is no KEY=VALUE.
    """
    said = profile.unit(name) if profile else None
    given: dict[str, Any] = dict(said.speculative) if said else {}
    if method and method != given.get("method"):  # the profile's other keys are of its own method
        usual = next((spec for spec in USUAL.values() if spec["method"] == method and not settings), {})
        given = {"method": method, **usual}
    given |= dict(map(option.setting, settings))
    if not given:
        known = [unit.label for unit in profile.units if unit.speculative] if profile else []
        where = f"The profile {profile.name} describes {', '.join(known)}." if profile and known else ""
        raise UsageError(
            f"Nothing says what {name} is.",
            where,
            "Give --method, and --set KEY=VALUE for each key of --speculative-config. `specconsole lint HOST BASELINE"
            " --drafters` looks for drafters that are there.",
        )
    return Variant(name, given, said.name if said else "")


async def plan(
    host: Host, baseline: str, variant: Variant, profile: Profile | None = None, earlier: Sequence[Derivation] = ()
) -> Derivation:
    """Look at the host, and say what would be written. Reads only.

    `earlier`: variants of the same baseline that will have been written by then. Of two variants the later one names
    the earlier, as if they were planned and written in turn: when both did, `systemctl restart` of both would be cyclic.

    Raises:
        NotRunning: there is no such unit.
        NotPermitted: its file cannot be read.
        UsageError: the variant's name is none, or the host's vLLM has no flag for a key.
        LinkLost: the link is down.
    """
    facts = await host.up()
    found = await discover.findings(await prefetch(host, profile), profile)
    unit = choose.named([one.unit for one in found], baseline, host.name)
    finding = next(one for one in found if one.unit is unit)
    name = _name(unit, variant)
    peers = [one.unit.name for one in found if one.unit.manager == unit.manager]
    look = await _look(host, facts, finding, name, peers)
    words = option.words(variant.settings, unit.version)
    folder = _folder(finding.manager, unit.fragment)
    draft = Derivation(
        host.name, unit, variant, name, f"{folder}/{name}", words,
        blockers=_blockers(host, look, unit) or await _unready(host, finding.manager, name, f"{folder}/{name}"),
        remarks=_remarks(look, unit),
        seen={path: digest(text) for path, text in look.baseline.files},
        before=look.before,
        manager=finding.manager,
    )  # fmt: skip
    rivals = _rivals(found, unit, name, look, earlier)
    filled = _filled(draft, look, rivals)
    return replace(filled, findings=await _checked(host, found, filled, look, {*rivals, *look.against}))


@dataclass(frozen=True)
class _Look:
    """What was read for a plan."""

    baseline: Baseline
    shown: Block
    """What systemd says of the new name."""
    before: str
    """The file that is there under the new name; "" for none."""
    unread: bool = False
    """It is there, and cannot be read."""
    drop_ins: Mapping[str, str] = field(default_factory=dict)
    """Drop-ins that are there for the new name alone: path and text."""
    against: frozenset[str] = frozenset()
    """Units that say themselves that they cannot run beside the new one."""


async def _look(host: Host, facts: HostFacts, finding: discover.Finding, name: str, peers: Sequence[str]) -> _Look:
    unit, manager = finding.unit, finding.manager
    asked = (*unit_search.DETAILS, "Conflicts")
    blocks = await discover.show(host, manager, list(dict.fromkeys([unit.name, name, *peers])), asked)
    by_name = {systemctl.last(block, "Id"): block for block in blocks}
    block, shown = by_name.get(unit.name, {}), by_name.get(name, {})
    paths = unit_search.unit_files(block)
    texts = await files.read(host, paths)
    unreadable = [path for path in paths if texts[path] is None]
    if unreadable or not paths:
        raise NotPermitted(f"The file of {unit.key} cannot be read.", ", ".join(unreadable) or "It has none.")
    scripts = await discover.scripts(host, {unit.name: finding.raw})
    around = Surroundings(
        source.specifiers(unit.name, manager, facts, block),
        finding.raw.environment,
        finding.raw.complete,
        finding.raw.folder,
        scripts,
    )
    there = systemctl.last(shown, "FragmentPath")
    text = (await files.read(host, [there]))[there] if there else ""
    baseline = Baseline(unit.name, tuple((path, texts[path] or "") for path in paths), around)
    own = await files.read(host, [path for path in unit_search.unit_files(shown) if path.split("/")[-2] == f"{name}.d"])
    drop_ins = {path: one or "" for path, one in own.items()}
    against = [one for one, said in by_name.items() if name in systemctl.last(said, "Conflicts").split()]
    return _Look(baseline, shown, text or "", text is None, drop_ins, frozenset(against))


def _name(unit: Unit, variant: Variant) -> str:
    name = variant.unit or derived.name_of(unit.name, variant.name)
    if not derived.NAME.fullmatch(name) or len(name) > 200:
        raise UsageError(f"{one_line(name)} is no unit's name.", hint="Letters, digits, and :-_. are.")
    if name == unit.name:
        raise UsageError(f"{name} is the baseline itself.", hint="Give --variant another name.")
    return name


def _folder(manager: Manager, fragment: str) -> str:
    """Where an operator's units lie: beside the baseline, unless that came with a package or at run time."""
    own = SYSTEM if manager.name == "system" else f"{manager.home}/{USER}"
    folder = fragment.rpartition("/")[0]
    return folder if folder.startswith(("/etc/", manager.home + "/")) else own


def _filled(draft: Derivation, look: _Look, rivals: Sequence[str]) -> Derivation:
    """The plan with its text and diff, or with the reason why there is none."""
    variant, baseline = draft.variant, look.baseline
    try:
        text = derived.compose(baseline, draft.name, variant.name, variant.settings, draft.words, rivals)
    except Unplaced as error:
        why = f"the options cannot be placed with certainty: {error}"
        return replace(draft, blockers=(*draft.blockers, why), by_hand=error.by_hand)
    mine = derived.mark_of(look.before)
    old, against = (look.before, draft.path) if mine else (baseline.files[0][1], baseline.files[0][0])
    diff = difflib.unified_diff(
        definition.masked(old).splitlines(),
        definition.masked(text).splitlines(),
        against,
        draft.path,
        n=CONTEXT,
        lineterm="",
    )
    argv = derived.argv_of(text, draft.name, baseline)
    return replace(draft, text=text, argv=argv, diff=tuple(diff), against=against)


def _rivals(
    found: Sequence[discover.Finding], baseline: Unit, name: str, look: _Look, earlier: Sequence[Derivation]
) -> list[str]:
    """Units of the same manager that cannot run beside it, and that do not say so themselves: the baseline first."""
    mine = [one.unit for one in found if one.unit.manager == baseline.manager]
    there = {unit.name: unit.name in look.against for unit in mine if is_rival(unit, baseline)}
    planned = {one.name: name in unitfile.parse(one.text).words("Conflicts", "Unit") for one in earlier}
    says_so = there | planned
    others = sorted(other for other in says_so if other not in (name, baseline.name) and not says_so[other])
    return [baseline.name, *others]


async def _checked(
    host: Host, found: Sequence[discover.Finding], plan: Derivation, look: _Look, stopped: set[str]
) -> tuple[Finding, ...]:
    """What is known of speculation by this command, with model and drafter looked at; `stopped`: units that it stops."""
    if not plan.argv:
        return ()
    around = look.baseline.around
    known = await premise.of_command(
        host,
        plan.argv,
        around.environment,
        around.known(),
        complete=around.complete,
        version=plan.baseline.version,
        neighbours=premise.neighbours(replace(plan.baseline, name=plan.name), [one.unit for one in found], stopped),
    )
    return method.check(known) if known else ()


def _blockers(host: Host, look: _Look, unit: Unit) -> tuple[str, ...]:
    found = []
    shown, there = look.shown, systemctl.last(look.shown, "FragmentPath")
    if host.read_only:
        found.append(why_read_only(host))
    if systemctl.last(shown, "LoadState") == "masked":
        found.append("the new name is masked")
    elif look.unread:
        found.append(f"{there} is there already and cannot be read")
    elif there:
        mark = derived.mark_of(look.before)
        if mark is None:
            found.append(f"{there} is there already, and specconsole did not write it")
        elif not mark.intact:
            found.append(f"{there} was edited by hand since it was derived: it is yours now")
        elif mark.origin != unit.name:
            found.append(f"{there} was derived from {mark.origin}")
    if derived.mark_of(look.baseline.files[0][1]):
        found.append(f"{unit.key} is derived itself: derive from its baseline")
    for path, text in look.drop_ins.items():
        if unitfile.parse(text).all("ExecStart"):
            found.append(f"{path} replaces its command: a drop-in that is there for a unit of that name")
    return tuple(found)


async def _unready(host: Host, manager: Manager, name: str, path: str) -> tuple[str, ...]:
    """Why the host could not write it now; nothing is changed by asking."""
    order = {"do": "look", "path": path, "name": name, **await owner(host, manager)}
    answers, failed = [], None
    try:
        answers = await within(LOOK_S, told(host, Program("derive", order)))
    except (CommandFailed, DeadlineExceeded, asyncio.TimeoutError) as error:
        failed = error
    if not answers:
        return (f"this host writes no units: {why_silent(host, failed)}",)
    refusal = answers[-1].get("refused")
    return (one_line(str(refusal)),) if refusal else ()


async def owner(host: Host, manager: Manager) -> dict[str, Any]:
    """Whose manager it is, as the host's programs are told. Raises NotPermitted where the account is not known."""
    if manager.name == "system":
        return {"user": "", "uid": 0, "gid": 0}
    name = manager.name.removeprefix("user:")
    known = (await account.accounts(host, [name])).get(name)
    if known is None:
        raise NotPermitted(f"The account {name} is not known on {host.name}.")
    return {"user": name, "uid": known.uid, "gid": known.gid}


def _remarks(look: _Look, unit: Unit) -> tuple[str, ...]:
    found = [f"{path} is there for it, and stays" for path in look.drop_ins]
    if derived.mark_of(look.before) and systemctl.last(look.shown, "ActiveState") in (
        "active",
        "activating",
        "reloading",
    ):
        found.append("it runs now: what is written counts from its next start on")
    if unit.state.need_reload:
        found.append(f"the files of {unit.key} changed since systemd read them: the daemon-reload makes that count too")
    return tuple(found)


def digest(text: str) -> str:
    """What tells whether a file is still the one that was seen."""
    return hashlib.sha256(text.encode()).hexdigest()

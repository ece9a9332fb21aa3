"""Units derived from the screen: chosen, shown as a diff with what is to be said of them, written only after a y."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from specconsole.errors import NotPermitted, NotRunning
from specconsole.service.checkpoint import Checkpoint
from specconsole.service.derive import Derivation, Variant
from specconsole.service.derive_write import Removal
from specconsole.service.derived import Mark
from specconsole.service.drafter import Offer
from specconsole.service.finding import Finding
from specconsole.service.unit import Role
from specconsole.ui.feed.derive import HostDerives, baseline_of
from specconsole.ui.rows.derive import derive_rows
from specconsole.ui.rows.row import plain, width
from tests.service.machine import Machine
from tests.ui.scene import BASE, NGRAM, Scene, appears, shown, still, unit, units

NEW = "vllm-kimi-k25-eagle3.service"
PATH = f"/etc/systemd/system/{NEW}"
SPEC = '{"method": "eagle3", "model": "/models/kimi-k25-eagle3", "num_speculative_tokens": 3}'
ASYNC = Finding("async-off", "warn", "Async scheduling goes off with this method.", "method eagle3", "vLLM 0.14.0")
NO_CONFIG = Finding("drafter", "refuse", "The drafter has no config.json.", "/models/kimi-k25-eagle3", "vLLM 0.8.5")


def plan(**changes: Any) -> Derivation:
    made = Derivation(
        "gpu-1",
        units()[1],
        Variant("eagle3", {"method": "eagle3"}),
        NEW,
        PATH,
        text="[Service]\n",
        diff=(
            f"--- /etc/systemd/system/{BASE}",
            f"+++ {PATH}",
            "@@ -1,4 +1,6 @@",
            " [Unit]",
            "-Description=Kimi-K2.5 INT4",
            "+Description=Kimi-K2.5 INT4, eagle3 speculation k=3",
            f"+Conflicts={BASE}",
            "   --port 8000 \\",
            f"+  --speculative-config '{SPEC}'",
        ),
        findings=(ASYNC,),
    )
    return replace(made, **changes)


@pytest.fixture
def ready(scene: Scene) -> Scene:
    scene.feeds.derives.plans = [plan()]
    return scene


async def derive(scene: Scene, pilot: Any, *keys: str) -> None:
    """Select the baseline, ask for a variant, and take the second one."""
    await scene.settle(pilot)
    scene.app.select(BASE)
    await scene.press(pilot, "D", *keys)


async def test_a_variant_is_chosen_shown_and_written(ready: Scene) -> None:
    async with ready.app.run_test(size=(120, 40), notifications=True) as pilot:
        await derive(ready, pilot)
        await appears(ready, pilot, "Derive from baseline", "method eagle3")
        await ready.press(pilot, "j", "enter")
        await appears(
            ready, pilot, f"derive {NEW} from {BASE} on gpu-1", "Async scheduling goes off", "+Conflicts=", "y does it"
        )
        assert ready.feeds.derives.asked == [("plan", BASE, "eagle3")]
        await ready.press(pilot, "y")
        await appears(ready, pilot, f"Wrote {PATH}")
        assert ready.feeds.derives.asked[-1] == ("write", NEW)


@pytest.mark.parametrize("key", ["enter", "escape", "n", "q"])
async def test_anything_but_y_writes_nothing(key: str, ready: Scene) -> None:
    async with ready.app.run_test(size=(100, 30)) as pilot:
        await derive(ready, pilot, "enter")
        await appears(ready, pilot, "y does it")
        await ready.press(pilot, key)
        await ready.settle(pilot)
        assert len(ready.feeds.derives.asked) == 1


@pytest.mark.parametrize(
    "changes",
    [{"blockers": ("this host is open for reading only",)}, {"findings": (NO_CONFIG,)}, {"before": "[Service]\n"}],
    ids=["blocked", "refused", "unchanged"],
)
async def test_what_cannot_be_written_is_not_written_by_y(changes: dict[str, Any], ready: Scene) -> None:
    ready.feeds.derives.plans = [plan(**changes)]
    async with ready.app.run_test(size=(100, 30)) as pilot:
        await derive(ready, pilot, "enter")
        await appears(ready, pilot, "It cannot be done now")
        await ready.press(pilot, "y")
        await ready.settle(pilot)
        assert len(ready.feeds.derives.asked) == 1


async def test_a_variant_of_the_profile_is_derived_at_once(ready: Scene) -> None:
    ready.feeds.put("units", (*units(), unit(NEW, load="not-found", label="eagle3")))
    ready.feeds.derives.labels = {NEW: "eagle3"}
    async with ready.app.run_test(size=(100, 30)) as pilot:
        await ready.settle(pilot)
        ready.app.select(NEW)
        await ready.press(pilot, "D")
        await appears(ready, pilot, f"derive {NEW}")
        assert ready.feeds.derives.asked == [("plan", BASE, "eagle3")]


MARK = Mark(BASE, "ngram", {"method": "ngram"}, "0" * 64, intact=True)
REMOVAL = Removal(
    units()[0],
    f"/etc/systemd/system/{NGRAM}",
    MARK,
    "0" * 64,
    diff=("--- a", "+++ (none)", "@@", "-[Service]", "-A=***"),
)


async def test_a_derived_unit_is_shown_and_taken_away_after_a_y(ready: Scene) -> None:
    ready.feeds.derives.removals = [REMOVAL]
    async with ready.app.run_test(size=(100, 30), notifications=True) as pilot:
        await ready.settle(pilot)
        await ready.press(pilot, "U")
        await appears(
            ready, pilot, f"take {NGRAM} away on", REMOVAL.path, f"derived it from {BASE}", "-A=***", "y does it"
        )
        assert ready.feeds.derives.asked == [("removal", NGRAM)]
        await ready.press(pilot, "y")
        await appears(ready, pilot, f"Removed {REMOVAL.path}.")
        assert ready.feeds.derives.asked[-1] == ("remove", REMOVAL.path)


@pytest.mark.parametrize(("key", "blocked"), [("enter", False), ("escape", False), ("n", False), ("y", True)])
async def test_nothing_is_taken_away_without_a_y_or_against_a_reason(key: str, blocked: bool, ready: Scene) -> None:
    why = ("it is active: stop it first",) if blocked else ()
    ready.feeds.derives.removals = [replace(REMOVAL, blockers=why)]
    async with ready.app.run_test(size=(80, 24)) as pilot:
        await ready.settle(pilot)
        await ready.press(pilot, "tab", "enter", "U")
        await appears(ready, pilot, "It cannot be done now" if blocked else "y does it", *why)
        await ready.press(pilot, key)
        await ready.settle(pilot)
        assert ready.feeds.derives.asked == [("removal", NGRAM)]


async def test_what_somebody_else_wrote_is_not_taken_away(ready: Scene) -> None:
    ready.feeds.derives.removals = [NotPermitted("specconsole did not write it, so it does not remove it.")]
    async with ready.app.run_test(size=(100, 30), notifications=True) as pilot:
        await ready.settle(pilot)
        await ready.press(pilot, "U")
        await appears(ready, pilot, "specconsole did not write it")


async def test_why_it_cannot_be_planned_is_said(ready: Scene) -> None:
    ready.feeds.derives.plans = [NotRunning("There is no such unit.")]
    async with ready.app.run_test(size=(100, 30), notifications=True) as pilot:
        await derive(ready, pilot, "enter")
        await appears(ready, pilot, "There is no such unit.")


async def test_a_read_only_host_has_no_such_key(ready: Scene) -> None:
    ready.host.read_only = True
    async with ready.app.run_test(size=(100, 30)) as pilot:
        await derive(ready, pilot)
        await ready.settle(pilot)
        assert "Derive from" not in shown(ready)


def test_which_baseline_is_meant() -> None:
    ngram, base = units()
    assert baseline_of((ngram, base), base) is base
    assert baseline_of((ngram, base), ngram) is base
    assert baseline_of((ngram,), ngram) is None
    other = replace(base, name="vllm-other.service", group="other")
    assert baseline_of((ngram, base, other), ngram) is base or ngram.group == base.group == ""
    grouped = replace(ngram, group="other")
    assert baseline_of((grouped, base, other), grouped) is other
    assert base.role is Role.BASELINE


async def test_without_a_profile_what_needs_no_drafter_is_offered() -> None:
    machine = Machine()
    feed = HostDerives(machine.host, None)
    base = unit("vllm-kimi.service")
    assert [label for label, _ in await feed.variants(base)] == ["ngram-k5"]
    assert feed.named(unit(NGRAM)) is None
    assert (await feed.plan(base, "ngram-k5")).words[0] == "--speculative-config"


async def test_drafters_of_the_host_are_offered_unless_they_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    good = Offer(Checkpoint("/models/e3", n_predict=None), "eagle3", "/models/e3", checked=True)
    other, bad = replace(good, place="/models/e4", checked=False), replace(good, place="/bad", findings=(NO_CONFIG,))
    feed = HostDerives(Machine().host, None)

    async def drafters(_: object) -> list[Offer]:
        return [offer for offer in (good, other, bad) if offer.fits is not False]

    monkeypatch.setattr(feed, "_drafters", drafters)
    found = await feed.variants(unit("vllm-kimi.service"))
    assert found[1:] == [
        ("eagle3", "/models/e3: fits by size and vocabulary"),
        ("eagle3-2", "/models/e4: whether it fits is not known"),
    ]
    plan = await feed.plan(unit("vllm-kimi.service"), "eagle3")
    assert plan.variant.settings == {"method": "eagle3", "model": "/models/e3", "num_speculative_tokens": 3}


@pytest.mark.parametrize("cells", [40, 78, 118])
def test_the_diff_is_shown_whole_and_within_the_screen(cells: int) -> None:
    rows = derive_rows(plan(by_hand="At the end: x", blockers=("no",)), cells)
    assert all(width(row) <= cells for row in rows)
    said = "".join(plain(row)[2:] for row in rows)
    assert SPEC.replace(" ", "") in said.replace(" ", "").replace("…", "")


def test_text_from_outside_is_never_markup() -> None:
    rows = derive_rows(plan(diff=("+[red]x[/] \x1b[31m",), blockers=("[bold]",)), 80)
    said = "\n".join(plain(row) for row in rows)
    assert "[red]x[/]" in said
    assert "\x1b" not in said


SIZES = [(80, 24), (120, 40), (200, 50)]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("what", ["good", "refused"])
def test_pictures(what: str, size: tuple[int, int], ready: Scene, snap_compare: Callable[..., bool]) -> None:
    if what == "refused":
        ready.feeds.derives.plans = [plan(findings=(NO_CONFIG, ASYNC))]

    async def play(pilot: Any) -> None:
        await derive(ready, pilot, "enter")
        await appears(ready, pilot, f"derive {NEW}")
        await still(ready, pilot)

    assert snap_compare(ready.app, terminal_size=size, run_before=play)

"""Whatever a host says is shown as it is: no markup, no escape sequence, no crash, in every place that shows outside text."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from specconsole.engine.client import Model
from specconsole.engine.health import Health
from specconsole.errors import CommandFailed
from specconsole.host.base import Link, LinkKind
from specconsole.service.unit import Speculation
from tests.ui.scene import Scene, engine, fleet, gpu, record, unit

EVIL = "[/foo] [bold red]x[/] [rank0] \x1b[2J\x1b]0;t\x07\x1b]52;c;eA==\x1b\\ \x9b31m $primary {x} \u202e\x00\x08"
SEEN = "[/foo] [bold red]x[/] [rank0]"
UI = Path(__file__).resolve().parents[2] / "console" / "specconsole" / "ui"


def _fill(scene: Scene) -> None:
    evil = unit(EVIL + ".service", "active", label=EVIL, speculation=Speculation(EVIL, 5, None, EVIL))
    evil = replace(evil, serving=replace(evil.serving, served_names=(EVIL,), model=EVIL))
    scene.feeds.put("units", (evil, unit(EVIL + "2.service", "failed", result=EVIL), unit("c.service", load=EVIL)))
    bad = gpu(1, name=EVIL, error=EVIL)
    throttled = gpu(2, name=EVIL, throttle=(EVIL,), uuid=EVIL)
    scene.feeds.put("fleets", fleet(3, changed={1: bad, 2: throttled}, dropped=(EVIL,), driver=EVIL))
    model = (Model(EVIL),)
    scene.feeds.put("engine", engine(models=model, version=EVIL, notes=(EVIL,), spec=None, reason=EVIL))
    scene.feeds.put(f"log {evil.name}", [record(1, EVIL + "\n" + EVIL, unit=evil.key, process=EVIL)])


def _text(scene: Scene) -> str:
    return "\n".join(strip.text for strip in scene.app.screen._compositor.render_strips())


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_outside_text_in_every_pane(make_scene: Callable[..., Scene], size: tuple[int, int]) -> None:
    scene = make_scene()
    scene.host.name = EVIL
    async with scene.app.run_test(size=size, notifications=True) as pilot:
        _fill(scene)
        await scene.settle(pilot)
        shown = _text(scene)
        assert shown.count(SEEN) >= 3
        assert not set(shown) & set("\x1b\x9b\x07\x08\x00\u202e")
        await scene.press(pilot, "tab", "j", "j", "question_mark", "escape", "y")
        scene.feeds.put("engine", engine(Health.WRONG, reason=EVIL))
        scene.feeds.put("units", CommandFailed(EVIL))
        scene.feeds.put("fleets", RuntimeError(EVIL))
        scene.host._link.set(Link(LinkKind.REFUSED, 0.0, reason=EVIL))
        await scene.settle(pilot)
        scene.app.tell(EVIL, "error")
        await scene.settle(pilot)
        shown = _text(scene)
        assert SEEN in shown
        assert not set(shown) & set("\x1b\x9b\x07\x08\x00\u202e")
        assert not set(scene.app.clipboard) & set("\x1b\x9b\x07\x08\x00\u202e")


async def test_no_evidence_is_outside_text_too(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        scene.feeds.put("fleets", fleet(0, source="none", why=EVIL))
        await scene.settle(pilot)
        assert f"no GPU evidence: {SEEN}" in _text(scene)


async def test_the_palette_lists_units_as_text(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        _fill(scene)
        await scene.settle(pilot)
        await scene.press(pilot, "colon", *"foo")
        while searches := [worker for worker in scene.app.workers if worker.node is scene.app.screen]:
            await scene.app.workers.wait_for_complete(searches)
        await scene.settle(pilot)
        assert SEEN in _text(scene)


async def test_the_terminal_gets_no_foreign_sequence(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        _fill(scene)
        await scene.settle(pilot)
        for strip in scene.app.screen._compositor.render_strips():
            for segment in strip:
                assert segment.control is None
                assert segment.style is None or segment.style.link is None
                assert segment.text.isprintable(), segment.text


MARKUP_CALLS = {"Static", "Label", "Button", "notify", "update", "OptionList", "Tree", "from_markup", "add_option"}
"""What reads a string as markup."""
MARKUP_ATTRIBUTES = {"tooltip", "border_title", "border_subtitle"}


def _violations(tree: ast.AST) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            literal = not isinstance(node.args[0], ast.Constant) if node.args else False
            safe = any(word.arg == "markup" and isinstance(word.value, ast.Constant) for word in node.keywords)
            content = bool(node.args) and isinstance(node.args[0], ast.Call | ast.Await)
            if name in MARKUP_CALLS and literal and not safe and not content:
                found.append(f"line {node.lineno}: {name}")
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.attr for target in targets if isinstance(target, ast.Attribute)]
            found += [f"line {node.lineno}: {name}" for name in names if name in MARKUP_ATTRIBUTES]
    return found


@pytest.mark.parametrize("path", sorted(UI.rglob("*.py")), ids=lambda path: str(path.relative_to(UI)))
def test_no_variable_text_is_given_to_what_reads_markup(path: Path) -> None:
    assert _violations(ast.parse(path.read_text())) == []


@pytest.mark.parametrize(
    ("code", "bad"),
    [
        ('Static(f"{x}")', True),
        ("self.notify(said)", True),
        ("label.update(text + 'x')", True),
        ("self.border_title = name", True),
        ('Static("fixed")', False),
        ("Static(Content(x))", False),
        ("self.notify(said, markup=False)", False),
    ],
)
def test_the_check_bites(code: str, bad: bool) -> None:
    assert bool(_violations(ast.parse(code))) is bad

"""What may import what, proven at run time: a fresh interpreter a module, and a look at what got loaded."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "console" / "specconsole"
HEAVY = ("textual", "rich", "asyncssh", "httpx", "httpcore", "pynvml")


def names(folder: str = "") -> list[str]:
    paths = sorted((SOURCE / folder).rglob("*.py"))
    dotted = [".".join(path.relative_to(ROOT / "console").with_suffix("").parts) for path in paths]
    return [name.removesuffix(".__init__") for name in dotted if not name.endswith("__main__")]


def modules_of(*modules: str) -> set[str]:
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'console')!r})\n"
    code += "".join(f"import {name}\n" for name in modules) + "print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", code], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def loaded_by(*modules: str) -> set[str]:
    return {name.split(".")[0] for name in modules_of(*modules)}


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module or "")
    return found


def test_the_command_line_loads_nothing_heavy() -> None:
    assert not loaded_by("specconsole.cli") & set(HEAVY)


def test_the_domain_never_loads_the_screen_library() -> None:
    domain = [name for name in names() if not name.startswith(("specconsole.ui", "specconsole.verb"))]
    assert "textual" not in loaded_by(*domain)  # httpx loads rich by itself where it is installed


def test_verbs_load_the_screen_library_only_when_they_run() -> None:
    assert not loaded_by(*names("verb")) & {"textual", "rich", "asyncssh"}


def test_a_host_is_asked_before_the_screen_is_loaded() -> None:
    assert not loaded_by("specconsole.verb.connect", "specconsole.ui.prompting") & {"textual", "rich"}


def test_a_server_is_asked_without_the_library_that_takes_twice_as_long_to_load() -> None:
    asking = loaded_by("specconsole.engine.channel", "specconsole.engine.watch")
    assert "httpcore" in asking
    assert not asking & {"httpx", "rich"}


def test_the_first_paint_waits_for_no_other_screen() -> None:
    loaded = modules_of("specconsole.ui.run", "specconsole.ui.screens.dashboard")
    later = (
        "specconsole.bench",
        "specconsole.experiment",
        "specconsole.explain",
        "specconsole.service.start",
        "httpcore",
    )
    assert not {
        name for name in loaded if name.startswith((*later, "specconsole.service.swap", "specconsole.logs.peel"))
    }


@pytest.mark.parametrize(
    ("library", "allowed"),
    [("asyncssh", "host/ssh/"), ("textual", "ui/"), ("rich", "ui/"), ("httpcore", "engine/"), ("pynvml", "remote/")],
)
def test_one_place_a_library(library: str, allowed: str) -> None:
    users = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if any(name == library or name.startswith(library + ".") for name in imports_of(path))
    }
    assert all(user.startswith(allowed) for user in users), users


def test_remote_imports_only_the_standard_library_and_itself() -> None:
    for path in sorted((SOURCE / "remote").rglob("*.py")):
        for name in imports_of(path):
            top = name.split(".")[0]
            fine = top in sys.stdlib_module_names or top == "pynvml" or name.startswith("specconsole.remote")
            assert fine, f"{path.name} imports {name}"


CLOCKS = {
    ("time", "time"), ("time", "sleep"), ("time", "monotonic"), ("datetime", "now"), ("datetime", "today"), ("datetime", "utcnow"),
    ("os", "environ"), ("os", "getenv"), ("Path", "home"), ("random", "random"), ("random", "choice"), ("random", "uniform"), ("uuid", "uuid4"),
}  # fmt: skip
EDGES = ("clock.py", "paths.py", "cli.py", "remote/", "verb/")


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_time_chance_and_environment_come_from_outside(path: Path) -> None:
    if str(path.relative_to(SOURCE)).startswith(EDGES):
        return
    used = {
        (node.value.id, node.attr)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    assert not used & CLOCKS


def test_paths_of_users_are_read_in_one_place() -> None:
    users = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if ".expanduser(" in path.read_text()}
    assert users == {"paths.py"}, "paths.typed is for this: it knows no home, and nobody of a name"


def test_every_deadline_keeps_a_cancellation() -> None:
    users = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if "asyncio.wait_for(" in path.read_text()}
    assert not users, f"stream.within is for this: {users}"

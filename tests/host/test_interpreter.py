"""A unit's own interpreter is used where it is as safe as the system's, and refused where anybody could change it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from specconsole.host.interpreter import SCRIPT, parse


def look(folder: Path, *starts: str) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Run the script where systemctl names these ExecStart lines."""
    lines = "".join(f"ExecStart={{ path={path} ; argv[]={path} serve vllm ; ignore_errors=no }}\n" for path in starts)
    folder.joinpath("systemctl").write_text(
        f"#!/bin/sh\ncat <<'X'\n{lines}ExecStart={{ path=/bin/other ; argv[]=x }}\nX\n"
    )
    folder.joinpath("systemctl").chmod(0o755)
    script = SCRIPT.replace("PATH=/usr/local/sbin:", f"PATH={folder}:/usr/local/sbin:", 1)
    done = subprocess.run(["sh", "-c", script], capture_output=True, check=True, env=dict(os.environ))
    assert done.stdout.endswith(b"end\n")
    return parse(done.stdout)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def script_for(folder: Path, interpreter: str) -> str:
    path = folder / "vllm"
    path.write_text(f"#!{interpreter} -u\nprint()\n")
    path.chmod(0o755)
    return str(path)


def test_it_has_nothing_that_means_something_inside_single_quotes() -> None:
    assert not set(SCRIPT) & set("'!\\\n\r")


def test_the_interpreter_of_a_program_that_is_root_s(folder: Path) -> None:
    found, unsafe = look(folder, script_for(folder, "/usr/bin/python3"))
    assert unsafe == ()
    assert [path for _, path in found] == ["/usr/bin/python3"]
    assert found[0][0].startswith("3.")


def test_one_that_is_named_itself(folder: Path) -> None:
    found, _ = look(folder, "/usr/bin/python3")
    assert [path for _, path in found] == ["/usr/bin/python3"]


def test_one_in_a_folder_of_others_is_not_even_asked_for_its_version(folder: Path) -> None:
    path = folder / "python3"
    path.write_text(f"#!/bin/sh\ntouch {folder}/ran\n")
    path.chmod(0o755)
    folder.chmod(0o777)
    assert look(folder, script_for(folder, str(path))) == ((), (str(path),))
    assert not (folder / "ran").exists()


def test_a_link_that_others_could_point_elsewhere(folder: Path) -> None:
    link = folder / "python3"
    link.symlink_to("/usr/bin/python3")
    folder.chmod(0o777)
    assert look(folder, str(link)) == ((), (str(link),))


@pytest.mark.parametrize("first_line", ["", "no shebang", "#!relative/python", "#!/nowhere/python"])
def test_programs_that_name_none(folder: Path, first_line: str) -> None:
    (folder / "vllm").write_text(f"{first_line}\n")
    assert look(folder, str(folder / "vllm"), "/nowhere/vllm") == ((), ())

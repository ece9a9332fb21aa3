"""The first look at a host, on real shells and on the answers of hosts that are not like this one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from specconsole.host.survey import MARK, SCRIPT, Survey, parse

ANSWER = f"""{MARK}
uid 1000
user ops
groups ops adm docker
hostname gpu-1
boot 01234567-89ab-cdef-0123-456789abcdef
python 3.6.8 /usr/bin/python3
python 3.6.8 /usr/libexec/platform-python
python 3.11.9 /usr/bin/python3.11
sudo no sudo: a password is required
end
"""


def test_an_answer() -> None:
    found = parse(ANSWER.encode())
    assert found == Survey(
        uid=1000,
        user="ops",
        hostname="gpu-1",
        boot_id="0123456789abcdef0123456789abcdef",
        groups=("ops", "adm", "docker"),
        pythons=(
            ("3.6.8", "/usr/bin/python3"),
            ("3.6.8", "/usr/libexec/platform-python"),
            ("3.11.9", "/usr/bin/python3.11"),
        ),
        sudo=False,
        sudo_reason="sudo: a password is required",
        whole=True,
    )
    assert found.python == ("3.11.9", "/usr/bin/python3.11")


def test_noise_before_it_is_kept_apart() -> None:
    found = parse(b"Welcome!\r\nuid 0\n" + ANSWER.replace("\n", "\r\n").encode())
    assert (found.uid, found.noise) == (1000, ("Welcome!", "uid 0"))


@pytest.mark.parametrize("answer", ["", "This account is currently not available.\n", MARK + "x\nuid 0\n"])
def test_no_answer(answer: str) -> None:
    assert parse(answer.encode()).uid == -1


def test_a_cut_answer_is_not_whole() -> None:
    found = parse(ANSWER[: ANSWER.index("sudo")].encode())
    assert (found.uid, found.whole, found.sudo) == (1000, False, False)


@pytest.mark.parametrize(
    ("versions", "chosen"),
    [(["3.8.0"], 0), (["3.7.17", "3.8.1"], 1), (["2.7.18"], None), (["3.13.0rc1"], 0), (["garbage"], None), ([], None)],
)
def test_the_first_that_is_new_enough(versions: list[str], chosen: int | None) -> None:
    found = Survey(pythons=tuple((version, f"/p{i}") for i, version in enumerate(versions))).python
    assert (found and found[1]) == (None if chosen is None else f"/p{chosen}")


def fake(folder: Path, name: str, script: str) -> None:
    folder.joinpath(name).write_text(f"#!/bin/sh\n{script}\n")
    folder.joinpath(name).chmod(0o755)


def said(folder: Path, *words: str, **environment: str) -> bytes:
    script = SCRIPT.replace("PATH=/usr/local/sbin:", f"PATH={folder}:/usr/local/sbin:", 1)
    command = ["sh", "-c", script, *(["sh", *words] if words else [])]
    return subprocess.run(command, capture_output=True, check=True, env={**os.environ, **environment}).stdout


def run(folder: Path) -> Survey:
    return parse(said(folder))


def test_the_script_looks_on_past_interpreters_that_are_old_or_broken(tmp_path: Path) -> None:
    fake(tmp_path, "id", "case $1 in -u) echo 1000;; *) echo ops;; esac")
    fake(tmp_path, "python3", "echo 3.6.8")
    fake(tmp_path, "python3.14", "exit 1")
    fake(tmp_path, "python3.13", "echo 3.13.1")
    fake(tmp_path, "sudo", "echo 'sudo: a password is required' >&2; exit 1")
    found = run(tmp_path)
    assert found.pythons == (("3.6.8", f"{tmp_path}/python3"), ("3.13.1", f"{tmp_path}/python3.13"))
    assert (found.sudo, found.sudo_reason, found.whole) == (False, "sudo: a password is required", True)
    fake(tmp_path, "sudo", "exit 0")
    assert run(tmp_path).sudo


def test_sudo_that_hangs_does_not_hold_the_survey(tmp_path: Path) -> None:
    fake(tmp_path, "id", "case $1 in -u) echo 1000;; *) echo ops;; esac")
    fake(tmp_path, "sudo", "sleep 100")
    fake(tmp_path, "timeout", 'shift; "$@" & p=$!; kill $p; wait $p')
    assert not run(tmp_path).sudo


PYTHON = 'case $* in *version*) echo 3.11.2;; *) echo "it runs $* with $LC_ALL";; esac'


def test_the_script_ends_as_the_interpreter_with_the_best_rights(tmp_path: Path) -> None:
    fake(tmp_path, "python3", PYTHON)
    fake(tmp_path, "id", "case $1 in -u) echo 1000;; *) echo ops;; esac")
    fake(tmp_path, "sudo", 'shift; [ "$1" = true ] || { echo "as root"; exec "$@"; }')
    path = f"{tmp_path}:{os.environ['PATH']}"
    found = said(tmp_path, "-I", "-c", "a b; c", PATH=path, LC_ALL="de_DE.UTF-8").decode()
    assert found.endswith("\nend\nas root\nit runs -I -c a b; c with de_DE.UTF-8\n")
    assert parse(found.encode()).whole
    fake(tmp_path, "sudo", "exit 1")
    assert said(tmp_path, "-I", PATH=path, LC_ALL="").endswith(b"\nend\nit runs -I with \n")


def test_the_script_ends_as_nothing_that_is_too_old(tmp_path: Path) -> None:
    for version in ("2.7.18", "3.7.17", "garbage"):
        for name in ("python3", *(f"python3.{minor}" for minor in range(8, 15))):
            fake(tmp_path, name, PYTHON.replace("3.11.2", version))
        assert said(tmp_path, "-I").endswith(b"\nend\n")


def test_what_the_interpreter_says_is_no_answer() -> None:
    assert parse(ANSWER.encode() + b"uid 0\nsudo yes\n") == parse(ANSWER.encode())

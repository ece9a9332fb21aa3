"""The loader's text passes every login shell, and what it loads is what was sent."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zlib

import pytest

from specconsole.host.blob import sources
from specconsole.host.survey import SCRIPT
from specconsole.remote.loader import LOADER, PACKAGE, prologue

SHELLS = [name for name in ("sh", "dash", "bash", "zsh", "fish", "csh", "tcsh", "ksh", "busybox") if shutil.which(name)]


@pytest.mark.parametrize("text", [LOADER, SCRIPT])
def test_it_has_nothing_that_means_something_inside_single_quotes(text: str) -> None:
    assert not set(text) & set("'!\\\n\r")
    assert text.isascii()
    assert text.isprintable()


def test_it_is_short() -> None:
    assert len(LOADER) < 1024


def program(source: str) -> bytes:
    modules = {**sources(), f"{PACKAGE}.it": source}
    return prologue(zlib.compress(json.dumps(modules).encode()), "it", {"word": "ü'\n"})


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_hands_it_over_whole(shell: str) -> None:
    source = "import sys\ndef main(arguments):\n    print(ascii(arguments), ascii(sys.stdin.read()))\n    return 7\n"
    argv = [shell, "-c"] if shell != "busybox" else [shell, "sh", "-c"]
    done = subprocess.run(
        [*argv, f"{sys.executable} -I -B -c '{LOADER}'"],
        input=program(source) + b"the rest",
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (7, b"{'word': \"\\xfc'\\n\"} 'the rest'\n"), done.stderr


def test_not_a_byte_of_the_rest_is_taken_also_where_it_comes_in_crumbs() -> None:
    source = (
        "import os\ndef main(arguments):\n    while data := os.read(0, 100):\n        os.write(1, data)\n    return 0\n"
    )
    process = subprocess.Popen([sys.executable, "-I", "-c", LOADER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin
    data = program(source) + b"the rest"
    for at in range(0, len(data), 997):
        process.stdin.write(data[at : at + 997])
        process.stdin.flush()
    assert process.communicate()[0] == b"the rest"
    assert process.returncode == 0


def test_an_input_that_ends_early_ends_it() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", LOADER], input=program("")[:100], capture_output=True, check=False
    )
    assert done.returncode == 3


def test_a_traceback_names_the_module_and_the_line() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", LOADER],
        input=program("def main(a):\n    raise RuntimeError('here')\n"),
        capture_output=True,
        check=False,
    )
    assert b'"<specconsole.remote.it>", line 2, in main' in done.stderr
    assert b"RuntimeError: here" in done.stderr

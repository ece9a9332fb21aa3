"""The options that every verb shares, and the host that they make."""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import specconsole
from specconsole import cli
from specconsole.errors import LinkLost, UsageError
from specconsole.host.local import LocalHost
from specconsole.host.prompts import NoPrompter
from specconsole.host.ssh import SshHost
from specconsole.verb.session import add_host_arguments, drive, make_host, open_host, way_of


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_host_arguments(parser)
    return parser.parse_args(words)


def test_what_the_words_make() -> None:
    for name in ("localhost", "local"):
        assert isinstance(make_host(parsed(name)), LocalHost)
    host = make_host(parsed("root@localhost", "--read-only"))
    assert isinstance(host, SshHost), "with a user it is a host over SSH like any other"
    assert (host.name, host.read_only) == ("root@localhost", True)
    assert make_host(parsed("demo")).name


@pytest.mark.parametrize("words", [("-p", "0", "gpu"), ("-p", "70000", "gpu"), ("a b",), ("gpu:99999",)])
def test_words_that_make_no_host(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        make_host(parsed(*words))


def test_the_way_knows_this_user_and_this_command_line(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/agent")
    monkeypatch.setenv("LOGNAME", "tester")
    way = way_of(parsed("gpu", "-p", "2022", "-l", "ops", "-i", "a", "-i", "b", "-J", "hop", "--accept-new"))
    assert (way.folder, way.config, way.agent, way.local_user) == (
        own_home / ".ssh",
        own_home / ".ssh" / "config",
        "/run/agent",
        "tester",
    )
    assert (way.port, way.user, way.identities, way.jump, way.accept_new) == (2022, "ops", ("a", "b"), "hop", True)
    assert way.system_config == Path("/etc/ssh/ssh_config")


def test_the_words_that_lead_to_a_host_do_so_again(own_home: Path) -> None:
    words = ("gpu", "-F", "my lab.conf", "-p", "2022", "-i", "a", "-J", "hop", "--profile", "p.toml", "--accept-new")
    host = make_host(parsed(*words))
    assert host.typed == "--profile p.toml -p 2022 -i a -J hop -F 'my lab.conf' --accept-new gpu"
    again = parsed(*shlex.split(host.typed))
    assert way_of(again) == way_of(parsed(*words))
    assert (again.host, again.profile) == ("gpu", "p.toml")
    assert make_host(parsed("demo:normal:ngram@60")).typed == "demo:normal:ngram@60"
    assert make_host(parsed("localhost")).typed == "localhost"


def test_another_configuration_is_the_only_one(own_home: Path) -> None:
    way = way_of(parsed("gpu", "-F", "mine"))
    assert (way.config, way.config_is_asked_for, way.system_config) == (Path("mine"), True, None)
    way = way_of(parsed("gpu", "-F", "none"))
    assert (way.config, way.system_config) == (None, None)


async def test_a_host_is_closed_though_it_never_opened() -> None:
    args = parsed("127.0.0.1", "-p", "1", "-F", "none")
    with pytest.raises(LinkLost):
        async with open_host(args, NoPrompter()):
            pass


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["doctor", "127.0.0.1:1", "-F", "none"], 4, "127.0.0.1 refuses connections to port 1"),
        (["doctor", "a b"], 2, "is no host"),
        (["doctor", "gpu", "-F", "/nowhere"], 2, "cannot be read"),
        (["doctor", "gpu", "-i", "/nowhere"], 2, "no key file"),
    ],
)
def test_failures_are_one_sentence_and_a_code(
    words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) == code
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error
    assert error.count("\n") == 1


def test_sigterm_lets_a_verb_clean_up() -> None:
    cleaned: list[int] = []

    async def work() -> int:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.Event().wait()
        finally:
            cleaned.append(1)
        return 0

    assert drive(work()) == 143
    assert cleaned == [1]


def test_a_follower_ends_when_nobody_reads_it_any_more(own_home: Path) -> None:
    argv = [sys.executable, "-m", "specconsole", "units", "demo", "--follow"]
    environment = {**os.environ, "PYTHONPATH": str(Path(specconsole.__file__).parents[1])}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as following:
        assert following.stdout
        assert following.stderr
        following.stdout.readline()
        following.stdout.close()
        assert following.wait(60) == 0
        assert following.stderr.read() == b""


def test_ctrl_c_while_a_verb_is_still_read_in_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(_words: object) -> argparse.Namespace:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "parse", parse)
    assert cli.main(["status", "demo"]) == 130


async def test_who_waits_at_a_terminal_is_told_once_and_not_over_a_question(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("specconsole.verb.session.SLOW_S", 3e-9)
    monkeypatch.setattr("specconsole.verb.session.TICK_S", 1e-9)
    turns = 200

    async def slow(host: LocalHost) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        raise LinkLost(f"{host.name} is gone.")

    monkeypatch.setattr(LocalHost, "open", slow)

    async def told(*, terminal: bool) -> str:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
        with pytest.raises(LinkLost):
            async with open_host(parsed("localhost")):
                raise AssertionError
        return capsys.readouterr().err

    assert await told(terminal=True) == "specconsole: still connecting to localhost (ctrl+c ends it)\n"
    assert await told(terminal=False) == "", "a script wants the one sentence at the end"
    monkeypatch.setattr(
        "specconsole.host.prompts.Patient.waiting", property(lambda _: True, lambda *_: None), raising=False
    )
    assert await told(terminal=True) == "", "a question stands there"

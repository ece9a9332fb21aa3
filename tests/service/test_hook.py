"""Hooks are told of a load's end; a dead one is a sentence, never a failure, and never a wait."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from specconsole.errors import UsageError
from specconsole.service import hook
from specconsole.service.hook import Hooks, fire, hooks
from tests.load.test_announce import FAILED, READY

HERE = {"PATH": os.environ["PATH"]}
SHOW = (
    "import json, os, sys; print(json.dumps({'unit': os.environ['SPECCONSOLE_UNIT'], 'outcome': json.load(sys.stdin)['outcome'],"
    " 'arguments': sys.argv[2:]}), file=open(sys.argv[1], 'w'))"
)


async def test_a_command_gets_the_facts_and_its_own_words(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = (sys.executable, "-c", SHOW, str(out), "$HOME; touch x", "a b")
    assert await fire(Hooks(on_ready=words), READY, HERE) == []
    assert json.loads(out.read_text()) == {
        "unit": "ngram.service",
        "outcome": "ready",
        "arguments": ["$HOME; touch x", "a b"],
    }


async def test_each_end_has_its_own_command(tmp_path: Path) -> None:
    ready, failed = tmp_path / "ready", tmp_path / "failed"
    stuck = tmp_path / "stuck"
    each = Hooks(("touch", str(ready)), ("touch", str(failed)), ("touch", str(stuck)))
    assert await fire(each, FAILED, HERE) == []
    assert (ready.exists(), failed.exists(), stuck.exists()) == (False, True, False)
    assert await fire(each, replace(READY, outcome="stuck"), HERE) == []
    assert (ready.exists(), stuck.exists()) == (False, True)


async def test_a_command_that_fails_is_told_in_one_clean_sentence() -> None:
    words = (sys.executable, "-c", "import sys; sys.stderr.write('first\\n\\x1b[31mno\\n'); sys.exit(3)")
    (said,) = await fire(Hooks(on_ready=words), READY, HERE)
    assert said.endswith("ended with status 3: no")


async def test_a_command_that_is_gone_is_told() -> None:
    (said,) = await fire(Hooks(on_ready=("/nowhere/x",)), READY, HERE)
    assert said.startswith("The hook /nowhere/x did not start")


def runs(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def test_a_command_that_hangs_is_ended_with_all_it_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(hook, "COMMAND_S", 0.5)
    child = tmp_path / "child"
    words = ("sh", "-c", f"sleep 1000 & echo $! > {child}; wait")
    (said,) = await fire(Hooks(on_ready=words), READY, HERE)
    assert "longer than 0.5 s" in said
    pid = int(child.read_text())
    for _ in range(500):  # a signal that is sent is taken when the process runs next
        if not runs(pid):
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the child of a hook outlives it")


async def test_what_a_command_leaves_in_the_background_is_not_waited_for(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    words = ("sh", "-c", f"read x < {gate} &")
    assert await fire(Hooks(on_ready=words), READY, HERE) == []
    gate.write_text("go")  # opens at once only since the child still waits


@asynccontextmanager
async def server(answer: bytes | None) -> AsyncGenerator[tuple[str, list[bytes]], None]:
    """An address that keeps what it is sent, and answers so; None: never."""
    seen: list[bytes] = []
    never = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
        )
        seen.append(await reader.readexactly(length))
        if answer is None:
            await never.wait()
        else:
            writer.write(answer)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/hook/secret-token", seen
        never.set()


async def test_an_address_is_posted_to() -> None:
    async with server(b"HTTP/1.1 204 No Content\r\n\r\n") as (address, seen):
        assert await fire(Hooks(webhook=address), FAILED, HERE) == []
    (body,) = map(json.loads, seen)
    assert (body["schema"], body["outcome"], body["diagnosis"]) == (1, "failed", "oom")
    assert body["text"] == FAILED.headline


async def test_an_address_that_says_no_is_told_without_its_secret() -> None:
    async with server(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n") as (address, _):
        (said,) = await fire(Hooks(webhook=address), READY, HERE)
    assert said == "The webhook at 127.0.0.1 answered with status 403."


async def test_an_address_that_hangs_or_refuses_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "WEBHOOK_S", 0.3)
    async with server(None) as (address, _):
        (said,) = await fire(Hooks(webhook=address), READY, HERE)
        assert "127.0.0.1" in said
        assert "secret-token" not in said
    monkeypatch.setattr(hook, "WEBHOOK_S", 60.0)
    (refused,) = await fire(Hooks(webhook="http://127.0.0.1:9/secret-token"), READY, HERE)
    assert "was not reached" in refused
    assert "secret-token" not in refused


@pytest.mark.parametrize(
    ("ready", "fail", "webhook"),
    [("", None, None), ("say 'x", None, None), (None, "no-such-program x", None), (None, None, "ftp://x"), (None, None, "http://"),
     (None, None, "http://x:y/")],
)  # fmt: skip
def test_what_cannot_work_is_told_before_the_wait(ready: str | None, fail: str | None, webhook: str | None) -> None:
    with pytest.raises(UsageError):
        hooks(ready, fail, webhook)


def test_a_command_is_split_as_a_shell_would() -> None:
    assert hooks("sh -c 'echo \"a b\"'", None, None).on_ready == ("sh", "-c", 'echo "a b"')
    assert hooks(None, None, None) == Hooks()


@pytest.mark.parametrize(
    ("given", "held"),
    [("touch a; echo b", ";"), ("env | grep X", "|"), ("say >f", ">"), ("a && b", "&&"), ("sleep 1 &", "&")],
)
def test_what_only_a_shell_reads_is_refused(given: str, held: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"--on-ready holds {held}, and no shell reads it.")) as caught:
        hooks(given, None, None)
    whole = shlex.split(caught.value.hint.removeprefix("Name one: --on-ready "))[0]
    assert hooks(whole, None, None).on_ready == ("sh", "-c", given)


@pytest.mark.parametrize("given", ["sh -c 'a; b | c'", "echo 'a;b' \"x>y\" #5", "echo it"])
def test_what_is_quoted_is_no_shell_s(given: str) -> None:
    assert hooks(given, None, None).on_ready == tuple(shlex.split(given))

"""A unit's definition read on a host: files in systemd's order, words as they are started, and no secret in any of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from specconsole.errors import NotRunning
from specconsole.host.base import Rights
from specconsole.logs.starts import Start, told
from specconsole.service.definition import Definition, UnitFile, define, masked, masked_value
from specconsole.service.difference import Change, differ, options
from specconsole.service.discover import discover
from specconsole.service.unit import Unit
from tests.fakes import FACTS, failed
from tests.service.machine import Machine

NGRAM = "vllm-kimi-ngram.service"


async def found(machine: Machine, key: str) -> Unit:
    return next(unit for unit in await discover(machine.host) if unit.key == key)


async def test_a_unit_with_a_drop_in() -> None:
    machine = Machine()
    machine.host.answer("journalctl *", "")
    read = await define(machine.host, await found(machine, NGRAM))
    assert [file.path.rpartition("/")[2] for file in read.files] == [NGRAM, "10-limits.conf"]
    assert read.commands[0][-1] == '{"method": "ngram", "num_speculative_tokens": 5}'
    assert (read.environment["HOME"], read.complete, read.starts, read.starts_unread) == ("/root", True, (), "")


async def test_variables_are_put_in_as_systemd_does() -> None:
    read = await define((machine := Machine()).host, await found(machine, "vllm-kimi.service"))
    assert read.commands[0][-5:] == ("8011", "-tp", "8", "--enforce-eager", "--trust-remote-code")
    assert read.environment["PORT"] == "8011"


async def test_the_scripts_that_it_runs_belong_to_it() -> None:
    read = await define((machine := Machine()).host, await found(machine, "vllm-wrapped.service"))
    assert [file.path for file in read.files][1:] == ["/opt/start.sh", "/etc/vllm/common.sh"]


async def test_secrets_of_every_kind_are_masked() -> None:
    machine = Machine()
    machine.files["/etc/systemd/system/vllm-kimi.service"] = machine.files[
        "/etc/systemd/system/vllm-kimi.service"
    ].replace("PORT=8001", 'PORT=8001 "MY_TOKEN=s3cret one" DB_PASS=s3cret2')
    machine.files["/etc/vllm/kimi.env"] = (
        "PORT=8011\nVLLM_API_KEY=s3cret3\nHF_TOKEN=s3cret4\nURL=https://u:s3cret5@h/\n"
    )
    read = await define(machine.host, await found(machine, "vllm-kimi.service"))
    assert "s3cret" not in repr(read)
    assert read.environment["VLLM_API_KEY"] == "***"
    assert '"MY_TOKEN=***" DB_PASS=***' in (read.files[0].text or "")


async def test_a_file_that_cannot_be_read_is_none() -> None:
    machine = Machine()
    unit = await found(machine, NGRAM)
    del machine.files[f"/etc/systemd/system/{NGRAM}.d/10-limits.conf"]
    read = await define(machine.host, unit)
    assert read.files[1] == UnitFile(f"/etc/systemd/system/{NGRAM}.d/10-limits.conf", None)
    assert not read.complete


async def test_a_users_unit_is_asked_of_its_manager() -> None:
    read = await define((machine := Machine()).host, await found(machine, "ops/vllm-mine.service"))
    assert read.commands == (("/opt/vllm/bin/vllm", "serve", "/models/u", "--port", "8010"),)
    gone = Machine(user=False)
    with pytest.raises(NotRunning, match="user:ops"):
        await define(gone.host, await found(machine, "ops/vllm-mine.service"))


async def test_starts_that_may_not_be_read_say_why_and_hide_nothing_else() -> None:
    machine = Machine()
    unit = await found(machine, NGRAM)
    assert machine.host.facts
    machine.host.facts = replace(FACTS, rights=Rights.USER, user="ops", uid=1000, groups=())
    machine.host.answer("journalctl *", "")
    machine.host.answer("find /var/log/journal *", failed(1, ""))
    read = await define(machine.host, unit)
    assert "may not read the journal" in read.starts_unread
    assert read.commands


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("ExecStart=vllm serve m --api-key abc def --port 1", "ExecStart=vllm serve m --api-key *** *** --port 1"),
        ("  --api-key abc \\\n  --port 1", "  --api-key *** \\\n  --port 1"),
        ("--hf-token=abc --max-num-batched-tokens 5", "--hf-token=*** --max-num-batched-tokens 5"),
        ("Environment='A_SECRET=a b' B=c", "Environment='A_SECRET=***' B=c"),
        ("LoadCredential=x:/etc/x\nSetCredential=k:a b\nX=1", "LoadCredential=x:/etc/x\nSetCredential=k:***\nX=1"),
        ("--ssl-keyfile /etc/k.pem --tokenizer x", "--ssl-keyfile /etc/k.pem --tokenizer x"),
        ("HF=$TOKEN MAX_TOKENS=5", "HF=$TOKEN MAX_TOKENS=5"),
    ],
)
def test_masking(text: str, safe: str) -> None:
    assert masked(text) == safe


@pytest.mark.parametrize(
    ("name", "value"), [("OMP_NUM_THREADS", "8"), ("TOKENIZERS_PARALLELISM", "false"), ("X_KEY", "")]
)
def test_what_is_no_secret_stays(name: str, value: str) -> None:
    assert masked_value(name, value) == value


def test_options_with_their_values() -> None:
    assert options(["v", "serve", "/m", "--a=1", "-tp", "8", "--b", "--c", "-1"]) == [
        ("v",), ("serve",), ("/m",), ("--a", "1"), ("-tp", "8"), ("--b",), ("--c", "-1"),
    ]  # fmt: skip


def test_the_difference_is_by_option_not_by_order() -> None:
    one = Definition(commands=(("v", "--a", "1", "--b"),), environment={"X": "1"})
    other = Definition(commands=(("v", "--b", "--a=2", "--c", "d"),), environment={"X": "1", "Y": "2"})
    found = differ(one, other)
    assert found.commands == (Change("--a", "1", "2"), Change("--c", None, "d"))
    assert (found.environment, found.files, found.alike) == ((Change("Y", None, "2"),), (), 2)
    assert differ(one, one).none


def test_files_are_compared_own_against_own_and_drop_ins_by_name() -> None:
    one = Definition((UnitFile("/a.service", "x\ny\n"), UnitFile("/a.service.d/1.conf", "p\n")))
    other = Definition((UnitFile("/b.service", "x\nz\n"), UnitFile("/b.service.d/1.conf", "p\n")))
    assert differ(one, other).files == ("--- /a.service", "+++ /b.service", "@@ -1,2 +1,2 @@", " x", "-y", "+z")


def said(at: float, message_id: str, text: str = "", invocation: str = "a" * 32, **more: str) -> str:
    return json.dumps(
        {
            "__REALTIME_TIMESTAMP": str(int(at * 1e6)),
            "MESSAGE_ID": message_id,
            "MESSAGE": text,
            "INVOCATION_ID": invocation,
        }
        | more
    )


STARTING, STARTED = "7d4958e842da4a758f6c1cdc7b36dcc5", "39f53479d3a045ac8e11786248231fbf"
STOPPED, EXITED, FAILED = (
    "9d1aaa27d60140bd96365438aad20286",
    "98e322203f7a4ed290d09fe03c09fe15",
    "d9b373ed55a64feb8242e02dbe79a49c",
)


def test_starts_by_what_systemd_said() -> None:
    lines = [
        said(1, STARTING),
        said(2, STARTED),
        said(50, EXITED, "Main process exited, code=killed, status=9/KILL"),
        said(51, FAILED, "Failed with result 'oom-kill'."),
        said(100, STARTED, invocation="b" * 32),
        said(160, STOPPED, "Stopped.", invocation="b" * 32),
        said(200, STARTING, invocation="c" * 32),
        "no json",
        "{}",
    ]
    assert told(lines) == (
        Start("c" * 32, 200.0),
        Start("b" * 32, 100.0, 160.0, "stopped"),
        Start("a" * 32, 1.0, 51.0, "failed", "Failed with result 'oom-kill'."),
    )


def test_starts_of_a_systemd_that_gives_no_id() -> None:
    lines = [said(1, STARTING, invocation=""), said(2, STARTED, invocation=""), said(9, STOPPED, invocation="")]
    lines.append(said(20, STARTING, invocation=""))
    assert [(start.began, start.ended) for start in told(lines)] == [(20.0, None), (1.0, 9.0)]


def test_an_end_whose_start_is_not_in_the_journal_is_no_start() -> None:
    assert told([said(9, STOPPED)]) == ()

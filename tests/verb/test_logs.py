"""`specconsole logs`: the right unit, the right lines, and one sentence for what makes no sense."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from tests.fakes import FACTS, FakeClock
from tests.logs.journald import JournalHost

from specconsole import cli
from specconsole.errors import LinkLost
from specconsole.host.base import Endpoint, LinkKind, Rights
from specconsole.logs import journal
from specconsole.service.unit import Serving, Speculation, Unit, UnitState
from specconsole.verb import logs, session

HEAD = "02-05 14:07:01 [core.py:12] "
STATE = UnitState("loaded", "active", "running", "success", 1, 0, None, None, 5.0, 9.0, "i1", "enabled")
DEAD = replace(STATE, active="inactive", sub="dead")


def unit(
    name: str, *, group: str = "kimi", running: bool = False, variant: bool = False, log_file: str | None = None
) -> Unit:
    speculation = Speculation("ngram", 5, None, "{}") if variant else None
    serving = Serving(("vllm",), "serve", "m", ("m",), Endpoint(8000), speculation=speculation, log_file=log_file)
    return Unit(
        f"{name}.service",
        "system",
        name,
        "",
        (),
        serving,
        STATE if running else DEAD,
        group,
        name.removeprefix("vllm-"),
    )


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> JournalHost:
    host = JournalHost(clock=FakeClock(1_795_968_740.0, auto=True))
    monkeypatch.setattr(session, "make_host", lambda *_: host)
    monkeypatch.setattr(logs, "SystemClock", lambda: host.clock)
    monkeypatch.setattr(journal, "BATCH_S", 0.0)
    monkeypatch.setattr(journal, "IDLE_S", 0.0)
    has(monkeypatch, unit("vllm", running=True))
    return host


def has(monkeypatch: pytest.MonkeyPatch, *units: Unit) -> None:
    async def discover(*_: Any) -> tuple[Unit, ...]:
        return units

    monkeypatch.setattr(logs, "discover", discover)


def run(*words: str) -> int:
    return cli.main(["logs", "root@gpu-1", *words])


def test_the_newest_records_of_the_running_unit(host: JournalHost, capsys: pytest.CaptureFixture[str]) -> None:
    for i in range(300):
        host.journal.add(f"(EngineCore pid=100) INFO {HEAD}line {i}")
    assert run() == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == logs.NEWEST
    assert lines[-1] == " 11-29 16:12:16 INFO     EngineCore line 299"
    assert run("-n", "2") == 0
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()] == ["298", "299"]


def test_our_own_polls_do_not_push_the_newest_out(host: JournalHost, capsys: pytest.CaptureFixture[str]) -> None:
    for i in range(3):
        host.journal.add(f"(EngineCore pid=100) INFO {HEAD}line {i}")
    for _ in range(5):
        host.journal.add('INFO:     127.0.0.1:5000 - "GET /metrics HTTP/1.1" 200 OK')
    assert run("-n", "1") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "line 2" in lines[0]
    assert "line 1" not in "".join(lines)
    assert "(+3 like it)" in lines[-1]
    assert run("-n", "0") == 0
    done = capsys.readouterr()
    assert done.out == ""
    assert "no such record" not in done.err


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (replace(DEAD, invocation="", mono=266_400.0), "and was never started since the host booted 3d 2h ago"),
        (replace(DEAD, invocation="", mono=None), "and was never started since the host booted"),
        (STATE, "though it was started"),
    ],
)
def test_a_unit_that_never_logged_is_said_to_have_not(
    host: JournalHost, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], state: UnitState, why: str
) -> None:
    has(monkeypatch, replace(unit("vllm"), state=state))
    assert run("-u", "vllm") == 3
    assert f"vllm.service has logged nothing that the journal has, {why}. specconsole units" in capsys.readouterr().err
    assert run("-u", "vllm", "--grep", "x") == 0
    assert "no such record of vllm.service" in capsys.readouterr().err
    host.script("tail", [])
    has(monkeypatch, replace(unit("vllm", log_file="/var/log/vllm.log"), state=state))
    assert run("-u", "vllm") == 0, "what a file held once is not known"


def test_level_and_pattern_find_the_newest_that_match(host: JournalHost, capsys: pytest.CaptureFixture[str]) -> None:
    host.journal.add(f"ERROR {HEAD}early and bad")
    for i in range(500):
        host.journal.add(f"INFO {HEAD}line {i}")
    assert run("--level", "warning") == 0
    assert "early and bad" in capsys.readouterr().out
    assert run("--grep", "line 4[01]$", "-n", "1") == 0
    assert capsys.readouterr().out.endswith("line 41\n")
    assert run("--grep", "nowhere") == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "specconsole: no such record of vllm.service\n")


def test_an_expression_without_end_is_one_sentence(host: JournalHost, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(300):
        host.journal.add(f"(EngineCore pid=100) INFO {HEAD}{'a' * 60}b")
    assert run("--grep", "((a*)*)*c") == 2
    said = capsys.readouterr().err
    assert "--grep '((a*)*)*c': this expression takes too long." in said
    assert "Traceback" not in said


def test_a_gap_is_shown_whatever_is_asked_for(host: JournalHost, capsys: pytest.CaptureFixture[str]) -> None:
    host.journal.add("x", MESSAGE="Suppressed 7 messages from vllm.service", MESSAGE_ID="a596d6fe7bfa4994828e72309e95d61e", OBJECT_SYSTEMD_UNIT="vllm.service", N_DROPPED="7")  # fmt: skip
    assert run("--level", "critical", "--grep", "nowhere") == 0
    assert "— gap — 7 lines missing here" in capsys.readouterr().out


def test_further_lines_stand_under_the_first(host: JournalHost, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("boom", "Traceback (most recent call last):", '  File "x"', "ValueError: no"):
        host.journal.add(f"(EngineCore pid=100) ERROR {HEAD}{text}")
    assert run() == 0
    first, *rest = capsys.readouterr().out.splitlines()
    at = first.index("boom")
    assert [line[at:] for line in rest] == ["Traceback (most recent call last):", '  File "x"', "ValueError: no"]
    assert {line[:at] for line in rest} == {f"{'| ':>{at}}"}


def test_json_is_a_record_a_line_with_words_and_no_secret(
    host: JournalHost, capsys: pytest.CaptureFixture[str]
) -> None:
    host.journal.add(f"(Worker_TP3 pid=9) WARNING {HEAD}api_key='s3cr3t-0123' \x1b]0;x\x07here")
    assert run("--json") == 0
    (line,) = capsys.readouterr().out.splitlines()
    value = json.loads(line)
    assert "s3cr3t" not in line
    assert {key: value[key] for key in ("schema", "seq", "unit", "process", "rank", "pid", "level", "kind", "source", "text", "folded", "arrived")} == {
        "schema": 1, "seq": 1, "unit": "vllm.service", "process": "Worker_TP3", "rank": 3, "pid": 9, "level": "warning", "kind": "line",
        "source": "core.py:12", "text": "api_key='***' here", "folded": 0, "arrived": False,
    }  # fmt: skip
    assert value["at"] == 1_795_968_736.001
    assert value["time"] == "2026-11-29T16:12:16.001+00:00"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--grep", "("], 2, "--grep '(' is no regular expression: missing ), unterminated subpattern"),
        (["--level", "loud"], 2, "--level 'loud' is none. It takes debug, info, warning, error, critical."),
        (["--since", "soon"], 2, "--since 'soon' is no time. It takes 10m,"),
        (["--since", "2099-01-01"], 2, "lies ahead"),
        (["-n", "-3"], 2, "-n -3 is out of range. It takes 0 or more."),
        (["--unit", "nope"], 3, "There is no vLLM unit nope on"),
    ],
)
def test_bad_words_are_one_sentence(
    host: JournalHost, words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words) == code
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_rights_are_said_and_never_an_empty_log(host: JournalHost, capsys: pytest.CaptureFixture[str]) -> None:
    host.facts = replace(FACTS, user="guest", uid=7, rights=Rights.USER, groups=("guest",))
    host.answer("find *", "")
    assert run() == 1
    assert "guest may not read the journal" in capsys.readouterr().err


def test_which_units(monkeypatch: pytest.MonkeyPatch, host: JournalHost, capsys: pytest.CaptureFixture[str]) -> None:
    base, ngram, other = unit("vllm-base"), unit("vllm-ngram", variant=True), unit("vllm-other", group="qwen")
    for name in ("vllm-base", "vllm-ngram", "vllm-other"):
        host.journal.add(f"INFO {HEAD}from {name}", _SYSTEMD_UNIT=f"{name}.service")

    def found(*words: str) -> list[str]:
        assert run(*words) == 0
        return [line.split("from ")[-1] for line in capsys.readouterr().out.splitlines()]

    has(monkeypatch, base, replace(ngram, state=STATE), other)
    assert found() == ["vllm-ngram"]
    assert found("--unit", "base", "--unit", "vllm-other.service", "--unit", "base") == ["vllm-base", "vllm-other"]
    has(monkeypatch, base, ngram)
    assert found() == ["vllm-base", "vllm-ngram"]  # none runs: why is in the log of one of them
    has(monkeypatch, replace(base, state=STATE), replace(ngram, state=STATE), other)
    assert found() == ["vllm-base", "vllm-ngram"]
    has(monkeypatch, base, other)
    assert run() == 3
    assert "Say which with --unit: vllm-base, vllm-other." in capsys.readouterr().err
    has(monkeypatch, replace(base, state=STATE), replace(other, state=STATE))
    assert run() == 2
    has(monkeypatch)
    assert run() == 3


def test_since_a_moment_by_the_hosts_clock(host: JournalHost, capsys: pytest.CaptureFixture[str]) -> None:
    host.facts = replace(FACTS, clock_skew_s=3.0)  # our clock shows 37, the host's 40
    host.clock.time -= 3.0
    for i in range(3000):
        host.journal.add(f"INFO {HEAD}line {i}")
    assert run("--since", "3s") == 0
    lines = capsys.readouterr().out.splitlines()
    assert (lines[0].split()[-1], len(lines)) == ("999", 2001)
    assert run("--since", "3s", "-n", "3") == 0
    assert len(capsys.readouterr().out.splitlines()) == 3


@pytest.mark.parametrize("words", ["0m", "now", "0 seconds ago"])
def test_since_now_nothing_is_there_yet_and_that_is_said(
    host: JournalHost, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    host.journal.add(f"INFO {HEAD}line")
    assert run("--since", words) == 0, "as journalctl, which says that there are no entries"
    said = capsys.readouterr()
    sentence = "vllm.service has logged nothing since 11-29 16:12:20; with -f what it logs from now on is shown"
    assert (said.out, said.err) == ("", f"specconsole: {sentence}\n")
    assert run("--since", words, "--grep", "line") == 0
    assert capsys.readouterr().err == "specconsole: no such record of vllm.service since 11-29 16:12:20\n"


def test_since_the_last_start(host: JournalHost, capsys: pytest.CaptureFixture[str]) -> None:
    host.journal.add("INFO {HEAD}old", _SYSTEMD_INVOCATION_ID="old")
    started = host.journal.systemd("Started vLLM.", INVOCATION_ID="new")
    host.journal.add(f"INFO {HEAD}new", _SYSTEMD_INVOCATION_ID="new")
    host.answer("journalctl * -n 1 UNIT=vllm.service *", json.dumps(started))
    host.script("journalctl * _SYSTEMD_INVOCATION_ID=new *", [json.dumps(started).encode() + b"\n"])
    host.plays = "_SYSTEMD_INVOCATION_ID=new"
    assert run("--since", "Last Start") == 0
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()] == ["vLLM.", "new"]
    host.answer("journalctl * -n 1 UNIT=vllm.service *", "")
    assert run("--since", "last start") == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 3
    assert "does not reach back to a start" in said.err


def test_a_file_without_times_is_said(
    monkeypatch: pytest.MonkeyPatch, host: JournalHost, capsys: pytest.CaptureFixture[str]
) -> None:
    has(monkeypatch, unit("vllm", running=True, log_file="/var/log/vllm.log"))
    data = json.dumps({"file": [1, 2], "at": 40, "data": f"INFO {HEAD}from a file\n"})
    host.script("tail", [data.encode() + b"\n"])
    assert run("--since", "10m") == 0
    said = capsys.readouterr()
    assert "logs to /var/log/vllm.log, which keeps no times" in said.err
    assert said.out.startswith("~")
    assert said.out.endswith("from a file\n")


def test_following_goes_on_until_the_link_is_refused(host: JournalHost, capsys: pytest.CaptureFixture[str]) -> None:
    for i in range(60):
        host.journal.add(f"INFO {HEAD}line {i}")
    host.cuts = [6000]

    def refuse() -> None:
        host.set_link(LinkKind.LOST, reason="no answer for 5 s")
        host.set_link(LinkKind.REFUSED, reason="The host key has changed.")

    host.on_cut = refuse
    assert run("--follow", "--grep", "[13579]$", "-n", "40") == 4
    said = capsys.readouterr()
    lines = [int(line.split()[-1]) for line in said.out.splitlines()]
    assert lines[0] == 21
    assert lines == list(range(21, lines[-1] + 1, 2))
    assert "host key" in said.err


@pytest.mark.parametrize("words", [["--follow"], ["--follow", "--since", "last start"], ["--since", "last start"], []])
def test_a_link_that_is_cut_before_the_first_line_is_waited_for(
    host: JournalHost, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    started = host.journal.systemd("Started vLLM.")
    host.answer("journalctl * -n 1 UNIT=vllm.service *", [LinkLost("cut"), json.dumps(started)])
    host.script("journalctl * _SYSTEMD_INVOCATION_ID=i1 *", [json.dumps(started).encode() + b"\n"])
    host.plays = "_SYSTEMD_INVOCATION_ID=i1"
    asked = list[int]()

    async def discover(*_: Any) -> tuple[Unit, ...]:
        asked.append(1)
        if len(asked) == 1:
            host.cut()
            asyncio.get_running_loop().call_soon(host.mend)
            raise LinkLost("cut")
        return (unit("vllm", running=True),)

    monkeypatch.setattr(logs, "discover", discover)
    host.cuts = [200] if "--follow" in words else []
    host.on_cut = lambda: host.set_link(LinkKind.REFUSED, reason="The host key has changed.")
    assert run(*words) == (4 if "--follow" in words else 0), "a follower ends when it is refused, and not before"
    said = capsys.readouterr()
    assert len(asked) == 2
    if "--follow" not in words:
        assert "Started vLLM." in said.out


def test_a_log_that_is_read_once_waits_for_no_link_for_ever(
    host: JournalHost, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("specconsole.verb.link.TICK_S", 1e-9)
    monkeypatch.setattr("specconsole.verb.link.GIVEN_UP_S", 20e-9)
    host.journal.add(f"INFO {HEAD}line")
    host.cuts, host.on_cut = [10], host.cut
    assert run() == 4
    assert "is lost and was not back" in capsys.readouterr().err

"""Swaps on a real engine: from the baseline to n-gram and back, and to a unit that cannot start, which leads back.

They come after the measurements of both units and share their starts.
"""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.console import Answer
from tests.e2e.host import KEY, UNITS
from tests.e2e.measured import Measured, starts
from tests.lab.host import LabHost

BASE, NGRAM = UNITS


def events(server: LabHost) -> list[Any]:
    """The record on the host, swap by swap."""
    lines = server.run("cat /var/lib/specconsole/swaps.jsonl").stdout.splitlines()
    return [json.loads(line) for line in lines]


def notes(server: LabHost, ident: str) -> str:
    """Everything that one swap noted."""
    return "\n".join(str(one.get("text")) for one in events(server) if one["id"] == ident and one["event"] == "note")


def proven(server: LabHost, ident: str) -> list[tuple[str, str]]:
    """What one swap has proven to serve: model and invocation; each was its own start."""
    mine = [one for one in events(server) if one["id"] == ident]
    begun = {one["invocation"] for one in mine if one["event"] == "started"}
    found = [(one["model"], one["invocation"]) for one in mine if one["event"] == "note" and one.get("model")]
    assert begun >= {invocation for _, invocation in found}
    return found


def active(server: LabHost) -> list[str]:
    text = server.run("systemctl list-units --state=active --no-legend --plain 'vllm*'").stdout
    return [line.split()[0] for line in text.splitlines()]


def test_from_the_baseline_to_ngram(there: Answer, ngram: Measured, server: LabHost) -> None:
    assert there.status == 0, there.out + there.err
    last = there.lines[-1]
    assert (last["outcome"], last["step"], last["back"], last["diagnosis"]) == ("committed", "commit", False, None)
    said = notes(server, last["id"])
    assert "one token was generated" in said
    assert f"{NGRAM}.service serves tiny; speculation by the log on, by /metrics on" in said
    assert "no process is left" in said
    assert proven(server, last["id"]) == [("tiny", ngram.watch.lines[-1]["invocation"])]
    assert [ngram.watch.lines[-1]["invocation"]] == starts(server, NGRAM)


def test_what_a_real_engine_leaves_in_shared_memory_is_its_own(there: Answer, server: LabHost) -> None:
    """Every entry that the engine had is gone after its stop, by itself or by the clean-up; nothing else was there."""
    ident = there.lines[-1]["id"]
    mine = [one for one in events(server) if one["id"] == ident and one["event"] == "note"]
    held = {name for one in mine for name in one.get("entries", ())}
    left = {one["name"] for note in mine for one in note.get("left", ())}
    assert held & left == set()


def test_and_back(back: Answer, server: LabHost) -> None:
    assert back.status == 0, back.out + back.err
    assert "speculation by the log off, by /metrics off" in back.out
    assert "no request in flight" in back.out
    assert proven(server, events(server)[-1]["id"]) == [("tiny", starts(server, BASE)[1])]


def test_a_unit_that_cannot_start_leads_back_and_is_explained(refused: Answer, server: LabHost) -> None:
    assert refused.status == 1, refused.out + refused.err
    assert "rolled back" in refused.out
    assert "The model is not there" in refused.out
    assert "/opt/vllm/nowhere" in refused.out
    assert active(server) == [f"{BASE}.service"]
    assert '"tiny"' in server.run(f"python3 -c {_ASK!r}").stdout
    ended = events(server)[-1]
    assert (ended["event"], ended["outcome"]) == ("end", "rolled_back")


_ASK = (
    "import urllib.request as u; print(u.urlopen(u.Request('http://127.0.0.1:8000/v1/models',"
    f" headers={{'Authorization': 'Bearer {KEY}'}})).read().decode())"
)


def test_nothing_of_it_stays_but_the_record(refused: Answer, back: Answer, server: LabHost) -> None:
    gone = 'until [ -z "$(ls -A /run/specconsole)" ]; do sleep 0.1; done'  # its ExecStopPost, after the end was told
    assert server.run(f"timeout 30 sh -c '{gone}'; ls -A /run/specconsole").stdout == ""
    assert (
        KEY not in server.run("cat /var/lib/specconsole/swaps.jsonl; journalctl --no-pager -u specconsole-swap").stdout
    )
    assert not [answer for answer in (back, refused) if KEY in answer.out + answer.err]

"""A night in small on a real engine: baseline, n-gram k=5, n-gram k=3, baseline, by the host alone, with arms that the
console derives itself. Its report is checked for counts and identities, and its acceptance against `vllm bench serve`.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from specconsole.bench.acceptance import between, total
from specconsole.engine.metrics import parse
from tests.e2e.console import Answer, Console
from tests.e2e.host import KEY, SPECULATION, UNITS
from tests.e2e.measured import TOKENS, starts
from tests.lab.host import LabHost

BASE = f"{UNITS[0]}.service"
ARMS = ("baseline", "ngram-k5", "ngram-k3", "baseline")
SERVED = (BASE, f"{UNITS[0]}-ngram-k5.service", f"{UNITS[0]}-ngram-k3.service", BASE)
PROMPTS = 5
LOOKUP = {key: value for key, value in json.loads(SPECULATION).items() if key != "num_speculative_tokens"}
PLAN = f"""order = ["baseline", "ngram", "baseline"]

[arms.baseline]
unit = "{BASE}"

[arms.ngram]
k = [5, 3]
speculative = {{ {", ".join(f"{key} = {json.dumps(value)}" for key, value in LOOKUP.items())} }}

[bench]
repeat = 1
max_tokens = {TOKENS}
warmup = 1

[swap]
drain_s = 1
load_deadline_s = 900
"""


@dataclass(frozen=True)
class Night:
    """What came of it."""

    answer: Answer
    folder: Path

    @property
    def found(self) -> Any:
        """The report for machines."""
        return json.loads((self.folder / "experiment.json").read_text())

    @property
    def steps(self) -> list[Any]:
        return list(self.found["steps"])

    @property
    def text(self) -> str:
        """The report for people."""
        return (self.folder / "report.md").read_text()


@pytest.fixture(scope="session")
def night(refused: Answer, peer: Any, console: Console, tmp_path_factory: pytest.TempPathFactory) -> Night:
    """It comes last, and begins with the baseline that the rolled back swap has left."""
    home = tmp_path_factory.mktemp("night")
    (home / "tiny.toml").write_text(PLAN)
    words = ("run", str(home / "tiny.toml"), console.target, "--yes", "--to", str(home / "out"))
    answer = console.run("experiment", *words, timeout_s=3600)
    assert answer.status in (0, 5), answer.out + answer.err
    return Night(answer, home / "out")


def counted(run: Any) -> Any:
    """What the server's counters gained over all windows of a run."""
    texts = [one["text"] for one in run["scrapes"]]
    pages = [parse(text) for text in texts]
    return total(between(pages[one["before"]], pages[one["after"]]) for one in run["windows"])


def test_every_arm_was_a_start_of_its_own_unit(night: Night, server: LabHost) -> None:
    assert [(step["arm"], step["state"]) for step in night.steps] == [(arm, "done") for arm in ARMS]
    assert [step["cells"][0]["run"]["identity"]["unit"] for step in night.steps] == list(SERVED)
    measured = [step["cells"][0]["invocation"] for step in night.steps]
    assert measured == [step["cells"][0]["run"]["identity"]["invocation"] for step in night.steps]
    assert [starts(server, unit) for unit in SERVED[1:3]] == [[measured[1]], [measured[2]]]
    assert starts(server, BASE)[-2:] == [measured[0], measured[3]]


def test_every_token_is_counted(night: Night) -> None:
    for step in night.steps:
        run = step["cells"][0]["run"]
        assert run["why"] == "finished"
        assert [one["completion_tokens"] for one in run["results"]] == [TOKENS] * PROMPTS
        assert {one["chunks"][-1][1] for one in run["results"]} == {TOKENS}
        gained = counted(run)
        assert (gained.generation_tokens, gained.requests) == (PROMPTS * TOKENS, PROMPTS)
        assert (gained.cache_hits, gained.cache_queries > 0) == (0, True)


def test_every_arm_is_what_it_says(night: Night, server: LabHost) -> None:
    for step, (method, k) in zip(night.steps, ((None, None), ("ngram", 5), ("ngram", 3), (None, None)), strict=True):
        identity = step["cells"][0]["run"]["identity"]
        found = (identity["method"], identity["k"], identity["version"], identity["model"])
        assert found == (method, k, "0.32.0", "tiny")
        gained = counted(step["cells"][0]["run"])
        assert (gained.drafts or 0) > 0 if k else gained.drafts is None
        assert len(gained.per_position or ()) == (k or 0)
    record = server.run("cat /var/lib/specconsole/swaps.jsonl").stdout
    for unit, spoken in ((SERVED[1], "on"), (SERVED[2], "on"), (BASE, "off")):
        assert f"{unit} serves tiny; speculation by the log {spoken}, by /metrics {spoken}" in record


def test_acceptance_is_that_of_vllm_bench_serve(night: Night, peer: Any) -> None:
    run = night.steps[1]["cells"][0]["run"]
    gained = counted(run)
    told = [peer[f"spec_decode_{name}"] for name in ("num_drafts", "draft_tokens", "accepted_tokens")]
    assert [gained.drafts, gained.draft_tokens, gained.accepted] == told
    rates = peer["spec_decode_per_position_acceptance_rates"]
    assert (len(rates), gained.prompt_tokens) == (5, peer["total_input_tokens"])
    assert [value / gained.drafts for value in gained.per_position] == pytest.approx(rates)
    assert not run["discarded"]
    (overall,) = re.findall(
        r"^\| overall .*", night.text.partition("## Step 2")[2].partition("## Step 3")[0], re.MULTILINE
    )
    assert f"| {' '.join(f'{rate:.2f}' for rate in rates)} (" in overall
    assert f"| {peer['spec_decode_acceptance_length']:.2f} |" in overall
    assert f"| {peer['spec_decode_acceptance_rate']:.1f} % |" in overall


def test_the_report_says_it_for_people(night: Night) -> None:
    text = night.text
    for unit, k in ((SERVED[1], 5), (SERVED[2], 3)):
        assert re.search(rf"^- {re.escape(unit)} \(ngram k={k}\): ", text, re.MULTILINE)
    assert "- It ended on baseline: as planned." in text
    assert [line.split(" | ")[1:3] for line in text.splitlines() if re.match(r"\| \d \| ", line)] == [
        [arm, "done"] for arm in ARMS
    ]
    assert PLAN.strip() in text
    for step in night.steps:
        shown = shlex.join(step["cells"][0]["run"]["identity"]["environment"]["argv"])
        assert shown in text
        assert ("--speculative-config" in shown) is (step["arm"] != "baseline")
    for chart in ("tpot.svg", "prompts.svg", "loads.svg"):
        assert (night.folder / chart).read_text().startswith("<svg")
    assert "\n".join(night.answer.out.splitlines()[-3:]) in "\n".join(
        line.removeprefix("- ") for line in text.splitlines()
    )


def test_it_ends_on_the_baseline_and_leaves_only_what_it_said(night: Night, server: LabHost, console: Console) -> None:
    active = server.run("systemctl list-units --state=active --no-legend --plain 'vllm*'").stdout.split()
    assert active[0] == BASE
    assert (
        server.run(f"systemctl show -P InvocationID {BASE}").stdout.strip() == night.steps[3]["cells"][0]["invocation"]
    )
    server.run('for i in $(seq 100); do test -z "$(ls -A /run/specconsole /var/lib/specconsole/experiments 2>&1)" && exit; sleep 0.1; done; exit 1', check=False)  # fmt: skip
    for unit in SERVED[1:3]:
        assert console.ask("underive", unit, "--yes").status == 0
    assert server.run("ls /etc/systemd/system | grep -c ngram-k", check=False).stdout == "0\n"
    written = [path.read_text() for path in night.folder.iterdir()]
    assert not [text for text in (*written, night.answer.out, night.answer.err) if KEY in text]

"""The verdict in every corner: a fake engine whose step costs, coverage and acceptance are set, measured over SSH and compared."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.lab.conftest import MakeHost, on_trixie
from tests.lab.host import LabHost
from tests.lab.test_lab_itself import get
from tests.lab.test_verbs import Desk
from tests.lab.units import NGRAM, SYSTEM, serve, unit, writer

pytestmark = on_trixie
BASE, SPEC = "vllm-base", "vllm-spec"
STEP_MS = 20.0
"""So long that a busy machine moves the mean by little."""
OTHERS = """
import json, urllib.request
body = json.dumps({"prompt": "x", "max_tokens": 20}).encode()
while True:
    urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:8000/v1/completions", body), timeout=30).read()
"""
ASKED = ("--repeat", "1", "--max-tokens", "40", "--warmup", "0")


class Bench:
    """Starts a unit with an engine as asked for, measures that start, and keeps the run in a file."""

    def __init__(self, host: LabHost, folder: Path) -> None:
        self.host, self.folder = host, folder
        self.desk = Desk(host, folder)
        self.count = 0

    def __call__(self, name: str, *, during: str = "", **engine: float) -> str:
        pace = " ".join(f"FAKE_{key.upper()}={value}" for key, value in {"step_ms": STEP_MS, **engine}.items())
        self.host.run(f"printf '%s\\n' {pace} > /etc/vllm-pace")
        self.host.run(f"systemctl stop {BASE} {SPEC}; systemctl start {name}")
        self.host.run(f"until {get('/health')}; do sleep 0.1; done")
        if during:
            self.host.run(f"systemctl start {during}")
        argv = self.desk.argv("bench", "gpu-1", "--json", *ASKED)
        done = subprocess.run(argv, env=self.desk.environment, capture_output=True, text=True, timeout=120, cwd="/")
        assert done.returncode == (5 if during else 0), done.stderr
        self.count += 1
        path = self.folder / f"run{self.count}.json"
        path.write_text(done.stdout)
        return str(path)

    def compared(self, *runs: str, status: int = 0, margin: str = "2%") -> dict[str, Any]:
        """The one comparison of these runs."""
        argv = [*self.desk.argv("compare", runs[0])[:4], *runs, "--json", "--margin", margin]
        done = subprocess.run(argv, env=self.desk.environment, capture_output=True, text=True, timeout=60, cwd="/")
        assert done.returncode == status, f"{done.returncode}: {done.stdout[-800:]}{done.stderr}"
        (found,) = json.loads(done.stdout)["comparisons"]
        return dict(found)


@pytest.fixture(scope="module")
def bench(make_shared: MakeHost, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    pace = {"environment": "FAKE_LOAD_S=0.2", "service": "EnvironmentFile=/etc/vllm-pace"}
    files = {
        "/etc/vllm-pace": "",
        **writer("others", OTHERS),
        f"{SYSTEM}/{BASE}.service": unit(serve(), description="base", **pace),
        f"{SYSTEM}/{SPEC}.service": unit(
            serve(speculative=NGRAM), description="spec", unit=f"Conflicts={BASE}.service", **pace
        ),
    }
    return Bench(make_shared(files=files), tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="module")
def plain(bench: Bench) -> tuple[str, str]:
    """Two starts of the baseline."""
    return bench(BASE), bench(BASE)


def test_it_pays(bench: Bench, plain: tuple[str, str]) -> None:
    found = bench.compared(plain[0], bench(SPEC, cost=2, acceptance=0.9), plain[1])
    assert found["word"] == "faster"
    assert found["verdict"].startswith("Speculation pays")
    assert found["step_cost"] == pytest.approx(2.0, rel=0.1)
    assert found["tau"] > found["step_cost"]


def test_one_start_each_is_no_verdict_however_large_the_effect(bench: Bench, plain: tuple[str, str]) -> None:
    found = bench.compared(plain[0], bench(SPEC, cost=2, acceptance=0.9), status=5)
    assert found["verdict"].startswith("One start each: speculation took")


def test_it_loses(bench: Bench, plain: tuple[str, str]) -> None:
    found = bench.compared(plain[0], bench(SPEC, cost=2, acceptance=0.05), plain[1])
    assert found["verdict"].startswith("Speculation does not pay")
    assert found["no_acceptance_suffices"] is False
    assert found["needed_acceptance_length"] == pytest.approx(2.0, rel=0.1)


def test_what_lies_within_the_margin_makes_no_difference(bench: Bench, plain: tuple[str, str]) -> None:
    alike = bench(SPEC, cost=1, acceptance=0)
    assert bench.compared(plain[0], alike, plain[1], margin="12%")["word"] == "alike"
    found = bench.compared(plain[0], alike, plain[1], status=5)
    assert found["word"] == "unclear", "three starts do not tell 2 %"


def test_a_small_coverage_loses_whatever_the_acceptance_length_says(bench: Bench, plain: tuple[str, str]) -> None:
    found = bench.compared(plain[0], bench(SPEC, cost=2, acceptance=1, coverage=0.1), plain[1])
    assert found["verdict"].startswith("Speculation does not pay")
    assert found["b"]["rows"][-1]["acceptance_length"] == pytest.approx(6.0)
    assert found["tau"] < found["step_cost"] < 6.0
    assert found["needed_acceptance_length"] > 6.0, "at this coverage"


def test_a_step_that_costs_more_than_its_drafts_could_bring_is_hopeless(bench: Bench, plain: tuple[str, str]) -> None:
    found = bench.compared(plain[0], bench(SPEC, cost=7, acceptance=0.9), plain[1])
    assert found["verdict"].startswith("Speculation does not pay")
    assert found["no_acceptance_suffices"] is True


def test_a_drift_between_starts_holds_the_verdict_back(bench: Bench, plain: tuple[str, str]) -> None:
    hot = bench(BASE, step_ms=STEP_MS * 1.25)
    found = bench.compared(plain[0], bench(SPEC, cost=1.5, acceptance=0.5), hot, status=5)
    assert found["word"] == "unclear"
    assert found["deviation"] > 0.1
    assert found["comparable"] is True


def test_others_on_the_engine_are_told_and_hold_the_verdict_back(bench: Bench, plain: tuple[str, str]) -> None:
    shared = bench(SPEC, during="others", cost=2, acceptance=0.9)
    bench.host.run("systemctl stop others")
    found = bench.compared(plain[0], shared, plain[1], status=5)
    assert found["comparable"] is False
    assert "Others used the engine: " in found["verdict"]
    assert "tok/s" in found["verdict"]

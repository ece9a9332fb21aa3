"""What a newcomer meets in the first minute: every way that a host can be out of reach or not ready, each told in one sentence."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.lab.cards import cards
from tests.lab.conftest import MakeHost, on_trixie
from tests.lab.host import LabHost
from tests.lab.test_verbs import Desk
from tests.lab.units import deployment

pytestmark = on_trixie
BASELINE = "vllm-kimi-k25-int4"
VERBS = (("status",), ("watch",), ("swap", "--dry-run", BASELINE))
"""As they are typed, but for HOST."""
KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIPPvKEVSIjyzx1HzWdA1lvXkLwSGKdGFQCGp0d5m2yYF"
"""Some other host's."""
UNITS = f"{BASELINE}, {BASELINE}-ngram"


@pytest.fixture(scope="module")
def host(make_shared: MakeHost) -> LabHost:
    return make_shared(files={**cards(2, power=81_000), **deployment(0.3, tensor_parallel=2)})


@pytest.fixture(scope="module")
def desk(host: LabHost, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """Knows the good host by other names too, each with something wrong."""
    folder = tmp_path_factory.mktemp("desk")
    found = Desk(host, folder)
    (folder / "changed").write_text(f"{host.ip} ssh-ed25519 {KEY}\n")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "other")], check=True)
    common = f"  HostName {host.ip}\n  IdentitiesOnly yes\n  IdentityFile {host.key}\n"
    known = f"  UserKnownHostsFile {host.known_hosts}\n"
    with found.config.open("a") as config:
        config.write(f"Host changed\n{common}  UserKnownHostsFile {folder / 'changed'}\n")
        config.write(f"Host unknown\n{common}  UserKnownHostsFile {folder / 'none'}\n")
        config.write(f"Host stranger\n  HostName {host.ip}\n  IdentityFile {folder / 'other'}\n{known}")
        config.write(f"Host closed\n{common}{known}  Port 2\n")
    return found


OUT_OF_REACH = {
    "no-such-host.example": "There is no host named no-such-host.example. Check its spelling, DNS and ~/.ssh/config.",
    "192.0.2.1": "192.0.2.1:22 cannot be reached. Network is unreachable. Check its name and the network.",
    "closed": "refuses connections to port 2. Check the port, and that sshd runs there.",
    "stranger": "refused the login. 1 key was tried. Check the user's name and, with ssh-add -l or -i, the key.",
    "unknown": "is not known and was not accepted: ED25519 SHA256:",
    "changed": "Somebody may be between you and the host, or it was installed anew. Verify the new fingerprint",
}


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: str(verb[0]))
@pytest.mark.parametrize("name", OUT_OF_REACH)
def test_a_host_out_of_reach_is_one_sentence(desk: Desk, name: str, verb: tuple[str, ...]) -> None:
    done = desk(verb[0], name, *verb[1:], status=4)
    assert OUT_OF_REACH[name] in done.stderr
    assert done.stderr.startswith("specconsole: ") or name == "unknown", "the question, and that nobody answered"
    assert done.stderr.count("specconsole: ") == 1
    assert not done.stdout


def test_a_host_that_does_not_answer_is_told_with_the_time(make_host: MakeHost, tmp_path: Path) -> None:
    host = make_host(gpu=False, vllm=False)
    desk = Desk(host, tmp_path)
    host.plug(False)
    with desk.config.open("a") as config:
        config.write("Host *\n  ConnectTimeout 1\n")
    assert "did not answer within 1 s. Check its name, the network, and what stands between." in (
        desk("status", "gpu-1", status=4).stderr
    )


UNKNOWN_UNIT = f"There is no vLLM unit nope on gpu-1. There are: {UNITS}."
NONE_RUNS = f"No vLLM unit runs on gpu-1. There are: {UNITS}."


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("watch",), NONE_RUNS),
        (("bench",), NONE_RUNS),
        (("engine", "--once"), NONE_RUNS),
        (("stop", "--dry-run"), NONE_RUNS),
        (("watch", "nope"), UNKNOWN_UNIT),
        (("logs", "--unit", "nope"), UNKNOWN_UNIT),
        (("lint", "nope"), UNKNOWN_UNIT),
        (("swap", "nope", "--dry-run"), UNKNOWN_UNIT),
        (("watch", BASELINE), f"{BASELINE} does not run on gpu-1. No other vLLM unit does."),
        (("engine", BASELINE), f"{BASELINE} does not run on gpu-1. No other vLLM unit does."),
    ],
)
def test_a_unit_that_is_not_there_is_one_sentence(desk: Desk, words: tuple[str, ...], said: str) -> None:
    assert desk(words[0], "gpu-1", *words[1:], status=3).stderr == f"specconsole: {said}\n"


def test_which_of_two_that_run_is_asked(make_host: MakeHost, tmp_path: Path) -> None:
    host = make_host(files={**cards(2, power=81_000), **deployment(0.3, tensor_parallel=2)})
    host.run(
        f"sed -i '/Conflicts/d; s/8000/8001/' /etc/systemd/system/{BASELINE}-ngram.service; systemctl daemon-reload"
    )
    host.run(f"systemctl start {BASELINE} {BASELINE}-ngram")
    said = Desk(host, tmp_path)("bench", "gpu-1", status=2).stderr
    assert said == f"specconsole: 2 vLLM units run on gpu-1. Say which: {UNITS}.\n"


def test_without_rights_it_is_said_what_lacks(desk: Desk) -> None:
    done = desk("swap", "guest", BASELINE, "--yes", status=1)
    assert done.stderr.startswith(
        "specconsole: Nothing was begun: guest is open for reading only: guest is not root and has no sudo without a"
        f" password (log in as root, or see specconsole doctor -F {desk.config} guest); "
    )
    asked = desk("swap", "gpu-1", BASELINE, "--yes", "--read-only", status=1)
    assert "gpu-1 is open for reading only, as you asked (--read-only)" in asked.stderr
    assert "usermod -aG systemd-journal guest" in desk("logs", "guest", status=1).stderr


def test_a_host_with_nothing_says_so_and_goes_on(make_host: MakeHost, tmp_path: Path) -> None:
    """No Python, no GPU, no vLLM unit."""
    desk = Desk(make_host(gpu=False, vllm=False, python=False), tmp_path)
    seen = desk("status", "gpu-1", status=3).stdout
    assert "No unit of this host runs vLLM. Units are found by an ExecStart that runs vLLM" in seen
    assert "No GPU evidence: no Python of 3.8 or newer on this host; " in seen
    assert f"(specconsole doctor -F {desk.config} gpu-1 says what to do)" in seen
    for verb in VERBS[1:]:
        assert desk(verb[0], "gpu-1", *verb[1:], status=3).stderr == (
            "specconsole: No unit of gpu-1 runs vLLM. Units are found by an ExecStart that runs vLLM;"
            " a profile can name others.\n"
        )


def test_a_host_of_another_tongue_is_read_alike(make_host: MakeHost, tmp_path: Path) -> None:
    """Programs there would answer in German, had they not been asked in the C locale."""
    german = {
        f"/usr/local/bin/{name}": f"#!/bin/sh\n[ \"$LC_ALL\" = C ] || {{ echo 'Unbekannt: Zugriff verweigert'; exit 1; }}\nexec {path} \"$@\"\n"
        for name, path in {
            "systemctl": "/usr/bin/systemctl", "journalctl": "/usr/bin/journalctl", "df": "/bin/df", "stat": "/usr/bin/stat",
            "nvidia-smi": "/usr/bin/nvidia-smi", "ps": "/bin/ps", "ls": "/bin/ls", "findmnt": "/usr/bin/findmnt",
        }.items()
    }  # fmt: skip
    sshd = "SetEnv LC_ALL=de_DE.UTF-8 LANG=de_DE.UTF-8 LANGUAGE=de\n"
    host = make_host(files={**cards(2, power=81_000), **deployment(0.3, tensor_parallel=2), **german}, sshd=sshd)
    host.run("chmod +x /usr/local/bin/*")
    desk = Desk(host, tmp_path)
    assert "Unbekannt" in host.run("LC_ALL=de_DE.UTF-8 /usr/local/bin/systemctl", check=False).stdout
    levels = {check["name"]: check for check in desk.json("doctor", "gpu-1")["checks"]}
    bad = {name: check for name, check in levels.items() if check["level"] in ("missing", "unknown")}
    assert not bad
    assert len(desk.json("units", "gpu-1")["units"]) == 2
    assert desk("swap", "gpu-1", BASELINE, "--dry-run", "--return-to", "none", status=0).stdout

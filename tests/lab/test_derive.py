"""Units derived on real hosts: written, read by a real systemd, started; the started process sees the arguments that were meant."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from specconsole.host.base import HostFacts, Rights
from specconsole.remote.systemctl import Manager
from specconsole.service import derived, option, quoting, source
from specconsole.service.derived import Baseline
from specconsole.service.placing import Surroundings
from tests.lab.cards import cards
from tests.lab.conftest import MakeHost, on_trixie
from tests.lab.host import LabHost
from tests.lab.reach import eventually
from tests.lab.test_verbs import Desk
from tests.lab.units import SYSTEM, deployment, serve, unit

BASELINE, NGRAM = "vllm-kimi-k25-int4", "vllm-kimi-k25-int4-ngram"
KEY = "sk-secret-0123456789"
K3 = ("--method", "ngram", "--set", "num_speculative_tokens=3", "--set", "prompt_lookup_max=4")


@pytest.fixture(scope="module")
def host(make_shared: MakeHost) -> LabHost:
    return make_shared(files={**cards(), **deployment(0.3), "/etc/vllm.env": "A=1\n"})


def text(host: LabHost, name: str) -> str:
    return host.path(f"{SYSTEM}/{name}.service").read_text()


async def test_from_nothing_to_a_running_variant_and_away_again(host: LabHost, tmp_path: Path) -> None:
    desk, name = Desk(host, tmp_path), f"{BASELINE}-k3"
    words = ("gpu-1", BASELINE, "--variant", "k3", *K3)
    host.run(f"chmod 0640 {SYSTEM}/{BASELINE}.service; chgrp adm {SYSTEM}/{BASELINE}.service")
    shown = desk("derive", *words, "--dry-run").stdout
    assert "+Conflicts=vllm-kimi-k25-int4.service" in shown
    assert not host.path(f"{SYSTEM}/{name}.service").exists()
    desk("derive", *words, status=2)  # nobody can be asked
    done = desk("derive", *words, "--yes")
    assert "systemd reads the command as meant" in done.stderr
    assert host.run(f"stat -c '%a %U:%G' {SYSTEM}/{name}.service").stdout == "640 root:adm\n"
    assert host.run(f"systemctl show {name} -p LoadState,NeedDaemonReload,UnitFileState").stdout.splitlines() == [
        "LoadState=loaded",
        "UnitFileState=disabled",
        "NeedDaemonReload=no",
    ]
    assert "says so already" in desk("derive", *words, "--yes").stderr
    again = desk("derive", *words, "--set", "num_speculative_tokens=4", "--yes").stdout
    assert f"--- {SYSTEM}/{name}.service" in again
    assert '"num_speculative_tokens": 4' in text(host, name)
    host.run(f"systemctl start {BASELINE}; systemctl start {name}")
    states = host.run(f"systemctl is-active {BASELINE} {name}", check=False).stdout.split()
    assert states == ["inactive", "active"]
    assert "is active" in desk("underive", "gpu-1", name, "--yes", status=1).stderr
    host.run(f"systemctl stop {name}; systemctl enable -q {name}")
    assert "is enabled" in desk("underive", "gpu-1", name, "--yes", status=1).stderr
    host.run(f"systemctl disable -q {name}")
    desk("underive", "gpu-1", name, "--yes")
    host.run(f"chmod 0644 {SYSTEM}/{BASELINE}.service; chgrp root {SYSTEM}/{BASELINE}.service")
    assert not host.path(f"{SYSTEM}/{name}.service").exists()
    assert host.run(f"systemctl show --value -p LoadState {name}").stdout == "not-found\n"
    assert host.run("find /etc/systemd /tmp /run/systemd -name '*specconsole*'").stdout == ""


@on_trixie
async def test_what_somebody_wrote_is_never_touched(host: LabHost, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path)
    before = text(host, NGRAM)
    done = desk("derive", "gpu-1", BASELINE, "--variant", "ngram", *K3, "--yes", status=1)
    assert "specconsole did not write it" in done.stderr
    assert "did not write" in desk("underive", "gpu-1", NGRAM, "--yes", status=1).stderr
    assert text(host, NGRAM) == before
    desk("derive", "gpu-1", BASELINE, "--variant", "mine", *K3, "--yes")
    path = host.path(f"{SYSTEM}/{BASELINE}-mine.service")
    path.write_text(path.read_text() + "# tuned\n")
    host.run("systemctl daemon-reload")
    for verb in (("derive", "gpu-1", BASELINE, "--variant", "mine", *K3), ("underive", "gpu-1", f"{BASELINE}-mine")):
        assert "edited by hand" in desk(*verb, "--yes", status=1).stderr
    assert path.read_text().endswith("# tuned\n")
    path.unlink()
    host.run("systemctl daemon-reload")


@on_trixie
@pytest.mark.parametrize(("who", "option"), [("gpu-1", ("--read-only",)), ("guest", ()), ("reader", ())])
async def test_who_may_not_is_told_in_a_sentence(
    host: LabHost, tmp_path: Path, who: str, option: tuple[str, ...]
) -> None:
    words = (who, BASELINE, *option, "--variant", "x", *K3)
    done = Desk(host, tmp_path)("derive", *words, "--yes", status=1)
    assert "open for reading only" in done.stderr
    assert not host.path(f"{SYSTEM}/{BASELINE}-x.service").exists()


@on_trixie
async def test_a_login_with_sudo_may(host: LabHost, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path)
    desk("derive", "ops", BASELINE, "--variant", "s", *K3, "--yes")
    assert host.run(f"stat -c %U {SYSTEM}/{BASELINE}-s.service").stdout == "root\n"
    desk("underive", "ops", f"{BASELINE}-s", "--yes")


@on_trixie
async def test_secrets_reach_the_file_and_nothing_else(host: LabHost, tmp_path: Path) -> None:
    host.path(f"{SYSTEM}/vllm-keyed.service").write_text(
        unit(serve("--api-key", KEY, port=8044), environment=f"FAKE_LOAD_S=0.3 HF_TOKEN=hf_{KEY}")
    )
    host.run("systemctl daemon-reload")
    desk = Desk(host, tmp_path)
    for words in (("--dry-run",), ("--yes", "--json"), ("--yes",)):
        done = desk("derive", "gpu-1", "vllm-keyed", "--variant", "ngram", *K3, *words)
        assert KEY not in done.stdout + done.stderr
    assert text(host, "vllm-keyed-ngram").count(KEY) == 2
    assert host.run(f"journalctl -o cat | grep -c {KEY}", check=False).stdout == "0\n"
    desk("underive", "gpu-1", "vllm-keyed-ngram", "--yes")
    host.run(f"rm {SYSTEM}/vllm-keyed.service; systemctl daemon-reload")


@on_trixie
async def test_a_unit_that_systemd_would_not_take_is_not_left(host: LabHost, tmp_path: Path) -> None:
    host.run(f"mkdir -p {SYSTEM}/{BASELINE}-.service.d")
    host.path(f"{SYSTEM}/{BASELINE}-.service.d/x.conf").write_text("[Service]\nExecStart=\nExecStart=/bin/true\n")
    done = Desk(host, tmp_path)("derive", "gpu-1", BASELINE, "--variant", "odd", *K3, "--yes", status=1)
    assert "systemd reads another command" in done.stderr
    assert not host.path(f"{SYSTEM}/{BASELINE}-odd.service").exists()
    host.run(f"rm -r {SYSTEM}/{BASELINE}-.service.d; systemctl daemon-reload")


@on_trixie
async def test_a_user_s_unit_is_written_as_that_user(make_host: MakeHost, tmp_path: Path) -> None:
    mine = "/home/ops/.config/systemd/user/vllm-mine.service"
    files = {**cards(), "/var/lib/systemd/linger/ops": "", mine: unit(serve(port=8010))}
    host = make_host(files=files)
    host.run("chown -R ops:ops /home/ops/.config")
    as_ops = "runuser -u ops -- env XDG_RUNTIME_DIR=/run/user/$(id -u ops) systemctl --user"
    await eventually(lambda: host.run(f"{as_ops} is-system-running", check=False).stdout == "running\n")
    desk = Desk(host, tmp_path)
    desk("derive", "gpu-1", "vllm-mine", "--variant", "ngram", *K3, "--yes")
    new = mine.replace("mine", "mine-ngram")
    assert host.run(f"stat -c %U:%G {new}").stdout == "ops:ops\n"
    assert host.run(f"{as_ops} show --value -p LoadState vllm-mine-ngram").stdout == "loaded\n"
    desk("underive", "gpu-1", "ops/vllm-mine-ngram.service", "--yes")
    assert not host.path(new).exists()


# -- what the started process sees --

SEEN = "/run/seen"
STUB = f"""#!/bin/sh
unit=$(sed -n 's#.*/\\([^/]*\\)\\.service.*#\\1#p' /proc/self/cgroup | head -n 1)
printf '%s\\0' "$@" > {SEEN}/$unit
"""
SCRIPTS = {
    "/opt/seen/bin/vllm": STUB,
    "/opt/seen/pass.sh": '#!/bin/bash\nset -e\nM="/models/a b"\nexec /opt/seen/bin/vllm serve "$M" --port 1 "$@"\n',
    "/opt/seen/by-variable.sh": "#!/bin/bash\nset -e\nexec /opt/seen/bin/vllm serve /m $VLLM_ARGS --port 1\n",
    "/opt/seen/by-file": "#!/bin/sh\n/opt/seen/bin/vllm serve /m ${FROM_FILE}\n",
    "/opt/seen/env": 'FROM_FILE="--file \'f --q"\n',
    "/opt/seen/box": '#!/bin/sh\nwhile [ "$1" != img/vllm ]; do shift; done; shift; exec "$@"\n',
}
V = "/opt/seen/bin/vllm serve"
NASTY = [
    f"{V} /m",
    f'{V} "/models/a b" --x \'it\\\'s\' --y "say \\"hi\\"" --z a\\x20b\\ttab',
    f"{V} /m \\\n  --port 1 \\\n# a comment\n\n  --never",
    f"{V} /m \\\n  --port 1 \\\n; another\n   --chat-template '{{{{ a }}}}'",
    f"-{V} /m --u ${{HOME}} $HOME$ $$HOME a$HOME ${{NO}} $NO",
    f":{V} /m --u ${{HOME}} $HOME $$HOME",
    f"@{V.replace(' serve', ' named serve')} /m",
    f"{V} $MODEL $OPTS --port ${{PORT}}",
    f"{V} /m --n %n --N %N --p %p --percent 100%% --H %H",
    f"/usr/bin/env A=1 'B=2 3' {V} /m --b",
    f"/usr/bin/nice -n 1 {V} /m",
    f"/bin/bash -c '{V} /m --port 1'",
    f'/bin/bash -c "cd /tmp && exec {V} \'/m n\' --say \\"a  b\\" > /dev/null 2>&1"',
    f"/bin/bash -c 'P=$$((1+1)); {V} /m --port $$P ${{PORT}} --q \"100%%\" # the end'",
    f"/bin/sh -c '{V} /m --a \\\\$$HOME | cat'",
    f"/bin/bash -c 'exec {V} /m \"$@\"' vllm --x 'y z'",
    f"/bin/bash -c 'if true; then {V} /m; fi'",
    f"/bin/bash -ec \\\n  'set -u; \\\n   exec {V} /m \\\n     --port 1'",
    "/bin/bash -c exec\\x20/opt/seen/bin/vllm\\x20serve\\x20/m",
    "/opt/seen/pass.sh --last 'a b'",
    f"/opt/seen/box run --rm img/vllm {V} /m",
    f"/bin/bash -c '{V} /m $OPTS'",
    f'{V} /m --speculative-config \'{{"method": "eagle3"}}\' --port 1',
    f"{V} /m --speculative_config.method eagle3 --num-speculative-tokens=9 --port 1",
    f"{V} ünï cödé ☃ --x ''",
]
PLAIN = {"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_max": 4}
ODD = {"method": "eagle3", "model": '/it\'s %n \\ "$HOME" ;x é\t#', "num_speculative_tokens": 3}
ENVIRONMENT = {"PORT": "8001", "OPTS": "--one 1 --two '2 3'", "MODEL": "/models/x"}
SETTINGS = "Environment=PORT=8001 MODEL=/models/x \"OPTS=--one 1 --two '2 3'\"\n"
FACTS = HostFacts("gpu-1", "root", 0, Rights.ROOT, "b" * 32, "/usr/bin/python3")


def derive(
    name: str, text: str, spec: dict[str, object], environment: Mapping[str, str] = ENVIRONMENT
) -> tuple[str, str]:
    """The derived unit's name and text."""
    path = f"{SYSTEM}/{name}.service"
    around = Surroundings(
        source.specifiers(f"{name}.service", Manager(), FACTS, {"FragmentPath": [path]}),
        {**environment, "HOME": "/root"},
        files=SCRIPTS,
    )
    baseline = Baseline(f"{name}.service", ((path, text),), around)
    new = derived.name_of(baseline.name, "spec")
    return new, derived.compose(baseline, new, "spec", spec, option.words(spec, "0.16.0"), [baseline.name])


def write_unit(line: str) -> str:
    return f"[Unit]\nDescription=x\n[Service]\nType=oneshot\n{SETTINGS}ExecStart={line}\n"


def seen(host: LabHost, name: str) -> list[str]:
    """The arguments that the unit's process saw."""
    path = host.path(f"{SEEN}/{name}")
    assert path.exists(), f"{name} did not start vLLM: {host.run(f'systemctl status {name}', check=False).stdout}"
    return path.read_bytes().decode().split("\0")[:-1]


def round_trip(host: LabHost, lines: list[str], spec: dict[str, object]) -> None:
    """Derive a unit of each line, start all and their baselines, and compare what their processes saw."""
    pairs = []
    host.run(f"rm -rf {SEEN} {SYSTEM}/t*.service; mkdir {SEEN}")
    for number, line in enumerate(lines):
        name, text = f"t{number}", write_unit(line)
        new, changed = derive(name, text, spec)
        host.path(f"{SYSTEM}/{name}.service").write_text(text)
        host.path(f"{SYSTEM}/{new}").write_text(changed)
        pairs.append((name, new.removesuffix(".service")))
    host.run("systemctl daemon-reload")
    host.run(f"systemctl start {' '.join(old for old, _ in pairs)}", check=False)
    host.run(f"systemctl start {' '.join(new for _, new in pairs)}", check=False)
    words = list(option.words(spec, "0.16.0"))
    for (old, new), line in zip(pairs, lines, strict=True):
        assert seen(host, new) == [*option.without(seen(host, old)), *words], line


@pytest.fixture(scope="module")
def bare(make_shared: MakeHost) -> LabHost:
    made = make_shared(gpu=False, vllm=False, files=SCRIPTS)
    made.run("chmod 755 /opt/seen/bin/vllm /opt/seen/pass.sh /opt/seen/by* /opt/seen/box")
    return made


@pytest.mark.parametrize("spec", [PLAIN, ODD], ids=["plain", "odd"])
async def test_nasty_units_start_vllm_with_what_was_meant(bare: LabHost, spec: dict[str, object]) -> None:
    round_trip(bare, NASTY, spec)


THROUGH = {
    "Environment='VLLM_ARGS=--a 1 --b'\nExecStart=/opt/seen/by-variable.sh": "VLLM_ARGS",
    "ExecStart=-/opt/seen/by-variable.sh": "VLLM_ARGS",
    "EnvironmentFile=/opt/seen/env\nExecStart=/opt/seen/by-file": "FROM_FILE",
    "EnvironmentFile=/opt/seen/env\nExecStart=/bin/bash \\\n  /opt/seen/by-file": "FROM_FILE",
}
"""Units whose script takes its options from a variable alone, by the variable; the file of an EnvironmentFile= wins over Environment=."""


async def test_options_reach_vllm_through_the_variable_that_its_script_reads(bare: LabHost) -> None:
    host, env = bare, {"VLLM_ARGS": "--a 1 --b", "FROM_FILE": "--file 'f --q"}
    pairs, spec = [], json.dumps(PLAIN, separators=(",", ":"))
    host.run(f"rm -rf {SEEN} {SYSTEM}/t*.service; mkdir {SEEN}")
    for number, (lines, name) in enumerate(THROUGH.items()):
        text = f"[Unit]\nDescription=x\n[Service]\nType=oneshot\n{lines}\n"
        given = {key: value for key, value in env.items() if key == name and "Environment" in lines}
        new, changed = derive(f"t{number}", text, PLAIN, environment=given)
        assert f'/usr/bin/env "{name}=${{{name}}} --speculative-config' in changed
        host.path(f"{SYSTEM}/t{number}.service").write_text(text)
        host.path(f"{SYSTEM}/{new}").write_text(changed)
        pairs.append((f"t{number}", new.removesuffix(".service")))
    host.run("systemctl daemon-reload")
    for old, new in pairs:
        host.run(f"systemctl start {old}; systemctl start {new}", check=False)
        before, after = seen(host, old), seen(host, new)
        assert option.without(after) == tuple(before)
        assert [word for word in after if word not in before] == ["--speculative-config", spec]
    host.path("/opt/seen/env").write_text("FROM_FILE=--later\n")
    host.run(f"systemctl start {pairs[2][1]}")
    assert "--later" in seen(host, pairs[2][1]), "the file is read at each start, and not when the unit was derived"


LETTERS = st.text(st.sampled_from("ab -=\"'\\$%;#{}[]()&|<>*?~!é\t,:@"), max_size=8)
WORDS = st.lists(LETTERS.filter(lambda word: not option.is_option(word) and word != "--"), max_size=5)


@st.composite
def lines(draw: st.DrawFn) -> str:
    """An ExecStart with arguments of any letters, by itself, behind env, or within a shell's script."""
    argv = ["/opt/seen/bin/vllm", "serve", "/m", *draw(WORDS)]
    kind = draw(st.sampled_from(["direct", "env", "shell", "double", "redirected", "colon"]))
    if kind == "env":
        return quoting.join(["/usr/bin/env", "A=1", *argv])
    if kind == "colon":
        return ":" + " ".join(quoting.quote(word, variables=False) for word in argv)
    if kind in ("shell", "redirected"):
        from shlex import join

        return quoting.join(["/bin/bash", "-c", join(argv) + (" 2>/dev/null | cat" if kind == "redirected" else "")])
    if kind == "double":
        from shlex import join

        inside = quoting.within(f"exec {join(argv)} # end", '"')
        return f'/bin/bash -c "{inside}"'
    return quoting.join(argv)


@settings(
    max_examples=3,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    database=None,
)
@given(st.lists(lines(), min_size=40, max_size=40), st.sampled_from([PLAIN, ODD]))
def test_any_unit_starts_vllm_with_what_was_meant(bare: LabHost, drawn: list[str], spec: dict[str, object]) -> None:
    round_trip(bare, drawn, spec)

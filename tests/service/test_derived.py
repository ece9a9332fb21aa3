"""A derived unit's text: where the options go in commands as people write them, and what else differs from the baseline."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from specconsole.errors import UsageError
from specconsole.service import derived, option, placing, quoting, unitfile
from specconsole.service.derived import Baseline
from specconsole.service.placing import Surroundings, Unplaced
from specconsole.service.shellword import UNKNOWN

NAME, NEW = "vllm-kimi.service", "vllm-kimi-ngram.service"
PATH = f"/etc/systemd/system/{NAME}"
NGRAM = {"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_max": 4}
WORDS = ("--speculative-config", json.dumps(NGRAM))
M = "/models/Kimi"
PASSING = '#!/bin/bash\nset -e\nexec vllm serve /models/Kimi --port 8000 "$@"\n'
FILES = {
    "/opt/pass.sh": PASSING,
    "/opt/fixed.sh": "#!/bin/bash\nexec vllm serve /models/Kimi --port 8000\n",
    "/opt/two.sh": '#!/bin/bash\nif [ -e /x ]; then vllm serve /a "$@"; else vllm serve /b "$@"; fi\n',
    "/etc/vllm.yaml": "speculative-config:\n  method: eagle3\n",
    "/etc/old.yaml": "spec-model: /models/other\n",
}
ENV = {"OPTS": "--max-model-len 4096", "PORT": "8001", "SPEC": "--speculative-model x"}


def around(**values: Any) -> Surroundings:
    stem = NAME.removesuffix(".service")
    specifiers = {"n": NAME, "N": stem, "p": stem, "i": "", "y": PATH, "H": "gpu-1", "h": "/root"}
    return Surroundings(**{"specifiers": specifiers, "environment": ENV, "files": FILES, **values})


def base(text: str, *drop_ins: tuple[str, str], **values: Any) -> Baseline:
    return Baseline(NAME, ((PATH, text), *drop_ins), around(**values))


def compose(text: str, *drop_ins: tuple[str, str], words: tuple[str, ...] = WORDS, **values: Any) -> str:
    return derived.compose(base(text, *drop_ins, **values), NEW, "ngram", NGRAM, words, [NAME])


def arguments(text: str, surroundings: Surroundings | None = None) -> list[str]:
    """vLLM's own arguments in a unit's text."""
    start = placing.find(unitfile.parse(text), surroundings or around())
    assert start
    return list(start.launch.arguments)


def added(text: str) -> tuple[str, ...]:
    """The lines that the derived unit has and its baseline has not, its head left out."""
    new = compose(text).splitlines()
    return tuple(line for line in new if line not in text.splitlines() and not line.startswith("#"))


GOOD = [
    f"/opt/v/bin/vllm serve {M}",
    f"/opt/v/bin/vllm serve {M} --served-model-name a b",
    f"-/opt/v/bin/vllm serve {M} $OPTS --port ${{PORT}}",
    f":/opt/v/bin/vllm serve {M} --chat-template $HOME/x",
    f"@/opt/v/bin/vllm other serve {M}",
    f"/usr/bin/env A=1 numactl --interleave=all /opt/v/bin/python -m vllm.entrypoints.openai.api_server --model {M}",
    f"/opt/conda/bin/conda run -n v --no-capture-output vllm serve {M}",
    f"/usr/bin/uv run --project /srv/v vllm serve {M}",
    f"/usr/bin/flock /run/l /bin/bash -lc 'exec vllm serve {M}'",
    f"/bin/bash -c 'source /v/bin/activate && exec vllm serve {M} --port 8000 >> /var/log/v.log 2>&1'",
    f'/bin/sh -c "cd /srv; ulimit -n 65535; vllm serve {M} 2>&1 | tee /var/log/v"',
    f"/bin/bash -c 'vllm serve {M} # all of it'",
    f"/bin/bash -c 'exec vllm serve {M} \"$@\"' vllm --port 8000",
    f"/bin/bash -c exec\\\\x20vllm\\\\x20serve\\\\x20{M}".replace("\\\\", "\\"),
    f"/bin/bash -c 'P=$$(nproc); exec vllm serve {M} --port ${{PORT}} --x \"100%%\"'",
    "/opt/pass.sh --max-num-seqs 8",
    f"/usr/bin/docker run --rm --gpus all -p 8000:8000 vllm/vllm-openai:v0.16.0 --model {M}",
    f"/usr/bin/podman run --rm --entrypoint bash img/vllm -c 'vllm serve {M} --host 0.0.0.0'",
    f"/opt/v/bin/vllm serve {M} --config /etc/vllm.yaml",
    f'/opt/v/bin/vllm serve {M} --speculative-config \'{{"method": "eagle3"}}\' --port 1',
    f"/opt/v/bin/vllm serve {M} --speculative_config={{}} --port 1",
    f"/opt/v/bin/vllm serve {M} --speculative-config.method eagle3 --speculative-config.model /m --port 1",
    f"/opt/v/bin/vllm serve {M} --speculative-model [ngram] --num-speculative-tokens 5 --port 1",
    f"/opt/v/bin/vllm serve {M} --port 1 ; /bin/true",
]


@pytest.mark.parametrize("line", GOOD)
def test_the_options_reach_vllm_and_nothing_else_changes(line: str) -> None:
    text = f"[Service]\nType=oneshot\nExecStart={line}\nUser=llm\n"
    new = compose(text)
    assert arguments(new) == [*option.without(arguments(text)), *WORDS]
    (one,), (other,) = (placing.effective(unitfile.parse(unit)) for unit in (text, new))
    commands = [quoting.commands(entry.value) for entry in (one, other)]
    assert [command.prefixes for command in commands[0]] == [command.prefixes for command in commands[1]]
    assert len(commands[0]) == len(commands[1])


BAD = [
    ("/opt/fixed.sh", "/opt/fixed.sh does not pass its own arguments on"),
    ("/opt/two.sh", "more than one way"),
    ("/opt/unknown-vllm.sh", "cannot be looked into"),
    ("/usr/bin/docker compose up vllm", "nothing in its ExecStart shows"),
    ("/usr/bin/docker start -a vllm", "nothing in its ExecStart shows"),
    (f"/bin/bash -c \"bash -c 'vllm serve {M}'\" x", None),
    (f"/opt/v/bin/vllm serve {M} -- x", "hold a --"),
    (f"/opt/v/bin/vllm serve {M} --config /etc/old.yaml", "its --config file speculates: spec-model"),
    (f"/opt/v/bin/vllm serve {M} $SPEC", "speculates already"),
    (f"/bin/bash -c 'vllm serve {M} --speculative-config {{}}'", "speculates already"),
    (f"/bin/bash -c 'for p in 1 2; do vllm serve {M} --port $p & done; vllm serve {M} --port 3'", "more than one way"),
]


@pytest.mark.parametrize(("line", "why"), BAD)
def test_where_it_is_not_certain_the_answer_is_no_and_what_to_do(line: str, why: str | None) -> None:
    text = f"[Service]\nExecStart={line}\n"
    if why is None:  # nested quotes: right or refused, never wrong
        try:
            assert arguments(compose(text)) == [*arguments(text), *WORDS]
        except Unplaced:
            pass
        return
    with pytest.raises(Unplaced, match=why) as raised:
        compose(text)
    assert raised.value.by_hand


def test_how_it_is_written() -> None:
    spec = "--speculative-config '" + json.dumps(NGRAM) + "'"
    short, long = (
        "[Service]\nExecStart=/v/vllm serve /m\n",
        f"[Service]\nExecStart=/v/vllm serve /models/{'m' * 60} --port 8000\n",
    )
    assert compose(short).endswith(f"ExecStart=/v/vllm serve /m {spec}\n")
    assert compose(long).endswith(f" --port 8000 \\\n    {spec}\n")
    continued = "[Service]\nExecStart=/v/vllm serve /m \\\n\t--port 1 \\\n# all\n\t-tp 8\nUser=x\n"
    assert compose(continued).endswith(f"\t--port 1 \\\n# all\n\t-tp 8 \\\n\t{spec}\nUser=x\n")


def test_the_new_unit_has_a_description_and_conflicts_of_its_own() -> None:
    text = "[Unit]\nDescription=Kimi K2.5 (baseline)\nAfter=network.target\n[Service]\nExecStart=/v/vllm serve /m\n"
    assert added(text)[:3] == ("Description=Kimi K2.5, ngram speculation k=5", f"Conflicts={NAME}", f"After={NAME}")
    assert added("[Service]\nExecStart=/v/vllm serve /m\n")[:4] == (
        "[Unit]",
        "Description=vllm-kimi, ngram speculation k=5",
        f"Conflicts={NAME}",
        f"After={NAME}",
    )


def test_what_only_one_unit_may_have_is_left_out() -> None:
    text = (
        f"[Unit]\nConflicts={NEW} other.service\nBefore={NEW}\nAfter=a.service\n[Service]\nExecStart=/v/vllm serve /m\n"
        "[Install]\nWantedBy=multi-user.target\nAlias=llm.service\nAlso=exporter.service\n"
    )
    new = unitfile.parse(compose(text))
    assert new.words("Conflicts", "Unit") == [NAME, "other.service"]
    assert new.words("Before", "Unit") == []
    assert new.words("After", "Unit") == [NAME, "a.service"]
    assert (new.words("Alias", "Install"), new.words("Also", "Install")) == ([], [])
    assert new.words("WantedBy", "Install") == ["multi-user.target"]


def test_a_baseline_that_comes_after_the_variant_makes_no_circle() -> None:
    text = f"[Unit]\nAfter={NEW}\n[Service]\nExecStart=/v/vllm serve /m\n"
    new = unitfile.parse(compose(text))
    assert (new.words("After", "Unit"), new.words("Conflicts", "Unit")) == ([], [NAME])


def test_drop_ins_of_the_baseline_count() -> None:
    text = "[Service]\nExecStart=/v/vllm serve /old\n"
    mine = (
        f"{PATH}.d/10-x.conf",
        "[Service]\nExecStart=\nExecStart=/v/vllm serve /new --port 1\nLimitMEMLOCK=infinity",
    )
    new = compose(text, mine)
    assert arguments(new) == ["/new", "--port", "1", *WORDS]
    assert unitfile.parse(new).last("LimitMEMLOCK") == "infinity"
    assert f"# From {mine[0]}" in new


def test_drop_ins_that_apply_to_both_are_not_copied() -> None:
    text = "[Service]\nExecStart=/v/vllm serve /m\n"
    shared = ("/etc/systemd/system/vllm-.service.d/20-env.conf", "[Service]\nEnvironment=A=1\nSlice=%n.slice\n")
    assert "A=1" not in compose(text, shared)
    before = (f"{PATH}.d/30-env.conf", "[Service]\nEnvironment=A=2\n")
    with pytest.raises(Unplaced, match=r"20-env\.conf applies to other units too, and Environment= would"):
        compose(text, shared, before)  # A=2 would come before A=1
    command = ("/etc/systemd/system/service.d/x.conf", "[Service]\nExecStart=\nExecStart=/v/vllm serve /m\n")
    for one in ("[Service]\nUser=x\n", text):
        with pytest.raises(Unplaced, match=r"comes from /etc/systemd/system/service\.d/x\.conf"):
            compose(one, command)


def test_a_drop_in_without_a_section_stays_without_effect() -> None:
    new = compose("[Service]\nExecStart=/v/vllm serve /m\n", (f"{PATH}.d/x.conf", "User=odd\n"))
    assert unitfile.parse(new).last("User") == ""


def test_names_of_the_baseline_are_written_out() -> None:
    text = "[Service]\nEnvironmentFile=/etc/%N.env\nExecStart=/v/vllm serve /m --x %%n %H 'a %n'\nStandardOutput=append:/l/%n\n"
    new = unitfile.parse(compose(text))
    assert (new.last("EnvironmentFile"), new.last("StandardOutput")) == ("/etc/vllm-kimi.env", f"append:/l/{NAME}")
    assert arguments(compose(text))[:4] == ["/m", "--x", "%n", "gpu-1"]
    assert new.all("ExecStart")[0].startswith(f"/v/vllm serve /m --x %%n %H 'a {NAME}'")
    odd = {"n": "a\\x2db.service"}
    with pytest.raises(Unplaced, match="uses %n"):
        compose(text, specifiers=odd)


def test_a_unit_says_what_it_was_derived_from() -> None:
    text = compose("[Service]\nExecStart=/v/vllm serve /m\n")
    mark = derived.mark_of(text)
    assert mark
    assert (mark.origin, mark.variant, mark.settings, mark.intact) == (NAME, "ngram", NGRAM, True)
    assert mark.baseline == base("[Service]\nExecStart=/v/vllm serve /m\n").digest()
    for edited in (text + "#\n", text.replace("/m", "/n"), "\n" + text, text.replace("# Once", "# once")):
        changed = derived.mark_of(edited)
        assert changed
        assert not changed.intact
    assert derived.mark_of("[Service]\nExecStart=/v/vllm serve /m\n") is None
    assert derived.mark_of("# specconsole-derived: {bad}\n") is None


def test_the_options_of_an_old_release() -> None:
    assert option.words(NGRAM, "0.7.3") == (
        *("--speculative-model", "[ngram]", "--num-speculative-tokens", "5", "--ngram-prompt-lookup-max", "4"),
    )
    assert option.words({"model": "/d", "disable_mqa_scorer": True, "disable_logprobs": False}, "0.6.6") == (
        *("--speculative-model", "/d", "--speculative-disable-mqa-scorer"),
        *("--disable-logprobs-during-spec-decoding", "false"),
    )
    for version in ("0.8.2", "0.16.0rc1.dev3+g1", "1.0", None, "0.1.dev9"):
        assert option.words(NGRAM, version) == WORDS
    with pytest.raises(UsageError, match="no flag for parallel_drafting"):
        option.words({"model": "/d", "parallel_drafting": True}, "0.7.3")
    with pytest.raises(UsageError, match="does not know the method eagle3"):
        option.words({"method": "eagle3", "model": "/d"}, "0.7.3")


def test_settings_from_the_command_line() -> None:
    assert option.setting("num-speculative-tokens=5") == ("num_speculative_tokens", 5)
    assert option.setting("model=/m/a=b") == ("model", "/m/a=b")
    assert option.setting('moe_backend="x"') == ("moe_backend", "x")
    assert option.setting("enforce_eager=true") == ("enforce_eager", True)
    for bad in ("k", "=5"):
        with pytest.raises(UsageError):
            option.setting(bad)


def test_a_shell_reads_what_is_put_into_its_script() -> None:
    words = ("--speculative-config", json.dumps({"model": '/it\'s %n $HOME \\ "x"', "method": "eagle3"}))
    for line in (f"/bin/bash -c 'exec vllm serve {M} >/dev/null'", f'/bin/bash -c "exec vllm serve {M}"'):
        new = compose(f"[Service]\nExecStart={line}\n", words=words)
        (command,) = unitfile.parse(new).commands()
        script = around().expanded(command)[2]
        said = shlex.split(script.replace(" >/dev/null", ""))
        assert said == ["exec", "vllm", "serve", M, *words]


def test_behind_a_colon_systemd_puts_in_no_variables() -> None:
    words = ("--speculative-config", '{"model": "/m/$HOME"}')
    for prefix in ("", ":"):
        new = compose(f"[Service]\nExecStart={prefix}/opt/v/bin/vllm serve {M}\n", words=words)
        assert arguments(new) == [M, *words]


def test_what_cannot_be_known_stays_and_the_options_follow() -> None:
    new = compose(f"[Service]\nExecStart=/bin/bash -c 'exec vllm serve {M} --port $$(cat /etc/port)'\n")
    assert arguments(new) == [M, "--port", UNKNOWN, *WORDS]

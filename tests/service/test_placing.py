"""Options put in through the variable that a start script reads, and every case in which that is not certain."""

from __future__ import annotations

import json

import pytest

from specconsole.service import placing, unitfile
from specconsole.service.placing import Surroundings, Unplaced

NGRAM = {"method": "ngram", "num_speculative_tokens": 5}
WORDS = ("--speculative-config", json.dumps(NGRAM))
COMPACT = '{"method":"ngram","num_speculative_tokens":5}'
LINE = "exec vllm serve /m $VLLM_ARGS --port 1"


def placed(
    script: str, value: str | None = "--a 1", start: str = "/opt/serve.sh", words: tuple[str, ...] = WORDS
) -> tuple[str, tuple[str, ...]]:
    """The unit's command line, and vllm's arguments as the script passes them on."""
    environment = {} if value is None else {"VLLM_ARGS": value}
    files = {"/opt/serve.sh": f"#!/bin/bash\n{script}\n", "/opt/serve": f"#!/bin/bash\n{script}\n"}
    around = Surroundings({}, environment, files=files)
    text = placing.place(f"[Service]\nExecStart={start}\n", words, around)
    found = placing.find(unitfile.parse(text), around)
    assert found is not None
    return text.splitlines()[1], found.launch.arguments


@pytest.mark.parametrize("value", ["--a 1", "", None])
@pytest.mark.parametrize("start", ["/opt/serve.sh", "-/opt/serve.sh", "/bin/bash /opt/serve.sh", "/opt/serve"])
def test_the_variable_keeps_its_value_and_gains_the_options(value: str | None, start: str) -> None:
    line, found = placed(LINE, value, start)
    prefix = "-" if start.startswith("-") else ""
    begin = f'ExecStart={prefix}/usr/bin/env "VLLM_ARGS=${{VLLM_ARGS}} --speculative-config '
    assert line.startswith(begin), "systemd puts in what its files say at each start"
    assert line.endswith(start.lstrip("-"))
    assert found == ("/m", *(value or "").split(), "--speculative-config", COMPACT, "--port", "1")


@pytest.mark.parametrize(
    ("script", "value"),
    [
        ('exec vllm serve /m "$VLLM_ARGS"', "--a"),
        ("echo $VLLM_ARGS; exec vllm serve /m $VLLM_ARGS", "--a"),
        ("VLLM_ARGS=--b; exec vllm serve /m $VLLM_ARGS", "--a"),
        ("IFS=,; exec vllm serve /m $VLLM_ARGS", "--a"),
        ("shopt -s nullglob; exec vllm serve /m $VLLM_ARGS", "--a"),
        ("eval exec vllm serve /m $VLLM_ARGS", "--a"),
        ("exec vllm serve /m --served-model-name $VLLM_ARGS kimi", ""),
        ("exec vllm serve $VLLM_ARGS", "/m --speculative-config {}"),
        ("exec vllm serve /m ${VLLM_ARGS:---port 1}", None),
        ("exec env -i vllm serve /m $VLLM_ARGS", "--a"),
        ("exec vllm serve /m --port 1", "--a"),
    ],
    ids=[
        "quoted", "read twice", "set by the script", "split otherwise", "globbed otherwise", "read twice over",
        "between an option and its value", "speculates already", "a default that would go", "another environment", "not read",
    ],
)  # fmt: skip
def test_where_it_is_not_certain_it_is_refused_with_the_line_to_add(script: str, value: str | None) -> None:
    with pytest.raises(Unplaced) as raised:
        placed(script, value)
    assert "--speculative-config" in raised.value.by_hand or "Derive from a unit" in raised.value.by_hand


@pytest.mark.parametrize("start", [":/opt/serve.sh", "@/opt/serve.sh serve"])
def test_a_command_that_systemd_reads_in_another_way_is_left(start: str) -> None:
    with pytest.raises(Unplaced):
        placed(LINE, start=start)


@pytest.mark.parametrize("model", ["/models/a b", "/models/[x]", "/models/*"])
def test_what_a_shell_would_split_or_match_is_refused(model: str) -> None:
    words = ("--speculative-config", json.dumps({**NGRAM, "model": model}))
    with pytest.raises(Unplaced):
        placed(LINE, words=words)

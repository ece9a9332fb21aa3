"""Commands of units as people write them, and what each serves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from specconsole.host.base import Endpoint
from specconsole.service import command, quoting
from specconsole.service.launch import Files
from specconsole.service.shellword import UNKNOWN
from specconsole.service.unit import Role, Serving

SPEC = '{"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_max": 4}'
M = "/models/Kimi-K2.5"


def serving(line: str, files: dict[str, str | None] | None = None, **env: str) -> Serving | None:
    """What a line of a unit file serves; every file that it wants and that is not given is not readable."""
    (first,) = quoting.commands(line)
    known: dict[str, str | None] = dict(files or {})
    for _ in range(6):
        asked = Files(known)
        found = command.understand(quoting.expand(first.argv, env), env, asked)
        known |= dict.fromkeys(asked.wanted)
    return found


def facts(found: Serving | None) -> dict[str, Any]:
    """What is not as it would be for `vllm serve M`."""
    assert found is not None
    plain = Serving((), "serve", M, (M,), Endpoint())
    names = (
        *("launcher", "model", "served_names", "endpoint", "tensor_parallel", "pipeline_parallel", "data_parallel"),
        *("api_server_count", "eager", "has_api_key", "log_file", "image", "unknown"),
    )
    values = {name: getattr(found, name) for name in names if getattr(found, name) != getattr(plain, name)}
    if found.speculation:
        values["spec"] = (found.speculation.method, found.speculation.tokens, found.speculation.model)
    return values


NGRAM = ("ngram", 5, None)
UNSEEN = {
    "launcher": "shell",
    "model": None,
    "served_names": (),
    "unknown": ("port", "model", "parallelism", "speculation"),
}

LINES: list[tuple[str, dict[str, Any]]] = [
    (f"/opt/v/bin/vllm serve {M}", {}),
    (f"vllm serve {M}/", {}),
    (f"/usr/bin/env vllm serve {M}", {}),
    (f"/usr/bin/env -u X A=1 VLLM_API_KEY=k vllm serve {M}", {"has_api_key": True}),
    (f"/opt/v/bin/python3.12 -u -m vllm.entrypoints.openai.api_server --model {M}", {"launcher": "module"}),
    (f"/opt/v/bin/python -mvllm.entrypoints.openai.api_server --model={M}", {"launcher": "module"}),
    (f"/opt/v/bin/python -m vllm.entrypoints.cli.main serve {M} -tp 8", {"launcher": "module", "tensor_parallel": 8}),
    (f"/opt/v/bin/python /opt/v/bin/vllm serve {M}", {}),
    (f"/usr/bin/python3 /srv/vllm/entrypoints/openai/api_server.py --model {M}", {"launcher": "module"}),
    (f"/usr/bin/numactl --cpunodebind=0 --membind 0 /usr/bin/taskset -c 0-63 nice -n -5 vllm serve {M}", {}),
    (f"/opt/conda/bin/conda run --no-capture-output -n llm vllm serve {M}", {}),
    (f"/usr/local/bin/uv run --project /srv/llm vllm serve {M} --port 9", {"endpoint": Endpoint(9)}),
    (f"/usr/bin/systemd-inhibit --what=sleep timeout -k 5 1d vllm serve {M}", {}),
    # options
    (f"vllm serve {M} --port=8012 --host 10.1.2.3", {"endpoint": Endpoint(8012, "10.1.2.3")}),
    (f"vllm serve {M} --host 0.0.0.0 --port 80", {"endpoint": Endpoint(80)}),
    (f"vllm serve {M} --host ::", {"endpoint": Endpoint(address="::1")}),
    (f"vllm serve {M} --host localhost", {}),
    (f"vllm serve {M} --uds /run/v.sock", {"endpoint": Endpoint(uds="/run/v.sock")}),
    (f"vllm serve {M} --ssl-keyfile /k --ssl-certfile /c --port 8443", {"endpoint": Endpoint(8443, tls=True)}),
    (f"vllm serve {M} --served-model-name a 'b c' --port 9", {"served_names": ("a", "b c"), "endpoint": Endpoint(9)}),
    (f"vllm serve {M} --served_model_name=a", {"served_names": ("a",)}),
    (f"vllm serve --model {M} --tensor_parallel_size 8", {"tensor_parallel": 8}),
    (f"vllm serve {M} --tensor-parallel 8", {"tensor_parallel": 8}),
    (f"vllm serve {M} -tp=4 -pp 2 -dp 2 -asc 1", {"tensor_parallel": 4, "pipeline_parallel": 2, "data_parallel": 2, "api_server_count": 1}),
    (f"vllm serve {M} --data-parallel-size-local 2 --data-parallel-size 4", {"data_parallel": 4}),
    (f"vllm serve {M} --enforce-eager --api-key sk-a sk-b --max-model-len 8", {"eager": True, "has_api_key": True}),
    (f"vllm serve {M} --enforce-eager --no-enforce-eager", {}),
    (f"vllm serve --enforce-eager {M} --trust-remote-code", {"eager": True}),
    (f"vllm serve {M} -O3 -O 2 --rope-scaling '{{}}'", {}),
    (f"vllm serve {M} --port 1 --port 2", {"endpoint": Endpoint(2)}),
    (f"vllm serve {M} --headless --data-parallel-size 2", {"data_parallel": 2, "unknown": ("port",)}),
    # speculation
    (f"vllm serve {M} --speculative-config '{SPEC}'", {"spec": NGRAM}),
    (f"vllm serve {M} --speculative_config={quoting.quote(SPEC)}", {"spec": NGRAM}),
    (f"vllm serve {M} -sc '{SPEC}'", {"spec": NGRAM}),
    (f"vllm serve {M} --speculative-config.method ngram --speculative-config.num_speculative_tokens=5", {"spec": NGRAM}),
    (f"vllm serve {M} --spec-method eagle3 --spec-model /d --spec-tokens 3", {"spec": ("eagle3", 3, "/d")}),
    (f"vllm serve {M} --speculative-model '[ngram]' --num-speculative-tokens 5 --ngram-prompt-lookup-max 4", {"spec": NGRAM}),
    (f"vllm serve {M} --speculative-model /d --num-speculative-tokens 3", {"spec": ("draft_model", 3, "/d")}),
    (f"""vllm serve {M} --speculative-config '{{"model": "ngram", "num_speculative_tokens": 5}}'""", {"spec": NGRAM}),
    (f"""vllm serve {M} --speculative-config '{{"model": "/d", "num_speculative_tokens": 2}}'""", {"spec": ("draft_model", 2, "/d")}),
    (f"""vllm serve {M} --speculative-config '{{"num_speculative_tokens": 1}}'""", {"spec": ("mtp", 1, None)}),
    (f"vllm serve {M} --speculative-config null", {}),
    (f"vllm serve {M} --speculative-config {{broken", {"spec": ("unknown", None, None)}),
    # variables, from the unit's environment
    (f"vllm serve {M} --port ${{PORT}} $OPTS", {"endpoint": Endpoint(8011), "eager": True, "tensor_parallel": 2}),
    (f"vllm serve {M} $NOTHING --port 9", {"endpoint": Endpoint(9)}),
    # shells
    ("/bin/bash -c " + quoting.quote(f"exec vllm serve {M} --speculative-config '{SPEC}'"), {"spec": NGRAM}),
    (f"/bin/bash -lc 'source /opt/v/bin/activate && exec vllm serve {M} --port $PORT'", {"endpoint": Endpoint(8011)}),
    (f"/bin/sh -c 'vllm serve {M} >> /var/log/v.log 2>&1'", {"log_file": "/var/log/v.log"}),
    (f"/bin/sh -c 'vllm serve {M} 2>&1 | tee -a /var/log/v.log'", {}),
    (f"""/bin/bash -c 'vllm serve {M} "$@"' -- --port 9""", {"endpoint": Endpoint(9)}),
    (f"/bin/bash -c 'while ! mountpoint -q /models; do sleep 1; done; vllm serve {M}'", {}),
    (f"""/bin/bash -c 'if [ -f /x ]; then vllm serve {M} --spec-method ngram; else vllm serve {M}; fi'""",
     {"spec": ("ngram", None, None), "unknown": ("port", "parallelism")}),
    (f"/bin/bash -c 'vllm serve {M} $(cat /etc/args)'", {"unknown": ("port", "parallelism", "speculation")}),
    (f"/bin/bash -c 'vllm serve {M} --port $(cat /etc/port)'", {"unknown": ("port",)}),
    ("/bin/bash -c 'vllm serve $(cat /etc/model) --port 9'", {"model": None, "served_names": (), "endpoint": Endpoint(9), "unknown": ("model",)}),
    ("/opt/start-vllm.sh", UNSEEN),
    ("/bin/bash /opt/vllm/run.sh --port 9", UNSEEN),
    # containers
    (f"/usr/bin/docker run --rm --gpus all -p 9000:8000 vllm/vllm-openai:v0.24.0 --model {M}",
     {"launcher": "docker", "image": "vllm/vllm-openai:v0.24.0", "endpoint": Endpoint(9000)}),
    (f"/usr/bin/docker run -it --rm --name vllm --net host --ipc=host -v /m:/models -e VLLM_API_KEY=k vllm/vllm-openai:latest {M} --port 9 --host 0.0.0.0",
     {"launcher": "docker", "image": "vllm/vllm-openai:latest", "endpoint": Endpoint(9), "has_api_key": True}),
    (f"/usr/bin/podman run --replace --rm --cgroups=split --sdnotify=conmon -d --network=host --device nvidia.com/gpu=all docker.io/vllm/vllm-openai:v0.11.0 --model {M} -tp 8",
     {"launcher": "docker", "image": "docker.io/vllm/vllm-openai:v0.11.0", "tensor_parallel": 8}),
    (f"docker --context x run -p 127.0.0.1:9001:8001/tcp --entrypoint vllm registry/llm:1 serve {M} --port 8001",
     {"launcher": "docker", "image": "registry/llm:1", "endpoint": Endpoint(9001)}),
    (f"docker run -p 10.0.0.5:9010-9012:8000-8002 nvcr.io/nvidia/vllm:25.09-py3 vllm serve {M} --port 8001",
     {"launcher": "docker", "image": "nvcr.io/nvidia/vllm:25.09-py3", "endpoint": Endpoint(9011, "10.0.0.5")}),
    (f"docker run vllm/vllm-openai --model {M}", {"launcher": "docker", "image": "vllm/vllm-openai", "unknown": ("port",)}),
    (f"docker run --network host vllm/vllm-openai --model {M} --speculative-config '{SPEC}'",
     {"launcher": "docker", "image": "vllm/vllm-openai", "spec": NGRAM}),
    (f"docker run --network host reg/x bash -c 'vllm serve {M} --port 9'", {"launcher": "docker", "image": "reg/x", "endpoint": Endpoint(9)}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), LINES, ids=[line[:70] for line, _ in LINES])
def test_what_a_line_serves(line: str, expected: dict[str, Any]) -> None:
    found = serving(line, PORT="8011", OPTS="--enforce-eager -tp 2")
    assert facts(found) == expected


@pytest.mark.parametrize(
    ("words", "everywhere"),
    [
        ("", True),
        ("--host 0.0.0.0", True),
        ("--host ::", True),
        ("--host localhost", False),
        ("--host 10.1.2.3", False),
    ],
)
def test_where_it_listens_is_not_only_where_it_is_reached(words: str, everywhere: bool) -> None:
    found = serving(f"vllm serve {M} {words}")
    assert found is not None
    assert found.endpoint.everywhere is everywhere


@pytest.mark.parametrize(
    "line",
    [
        "/usr/bin/python3 -m http.server --directory /srv/vllm",
        "/usr/bin/vllm bench serve --model x",
        "/usr/bin/python3 -m vllm.benchmarks",
        "/usr/bin/docker run nginx -c /etc/vllm.conf",
        "/usr/bin/docker compose -f /opt/vllm/compose.yml up",
        "/usr/bin/docker start -a vllm",
        "/usr/sbin/nginx -c /etc/vllm/nginx.conf",
        "/bin/bash -c 'curl http://vllm/health'",
        "/bin/bash /opt/other.sh",
        "/bin/sh -c",
        "/usr/bin/vllm-exporter serve",
    ],
)
def test_what_only_sounds_like_it_is_none(line: str) -> None:
    assert serving(line) is None


def test_a_script_is_looked_into_with_its_arguments_and_its_environment() -> None:
    script = (
        '#!/usr/bin/env bash\n. "$(dirname "$0")/common"\nexec vllm serve "${MODEL:-/models/Kimi-K2.5}" --port "$1"'
    )
    found = serving("/opt/run 9", {"/opt/run": script})
    assert facts(found) == {"endpoint": Endpoint(9)}
    found = serving("/usr/bin/numactl -m 0 /opt/run.sh 9", {"/opt/run.sh": script}, MODEL="/m")
    assert found is not None
    assert (found.model, found.endpoint.port) == ("/m", 9)
    relative = Files({"/srv/x/run.sh": script}, "/srv/x")
    found = command.understand(["/bin/bash", "run.sh", "9"], {}, relative)
    assert found is not None
    assert found.endpoint.port == 9


def test_a_program_that_is_no_script_is_no_vllm() -> None:
    assert serving("/opt/run 9", {"/opt/run": "\x7fELF vllm serve"}) is None
    assert serving("/opt/run 9", {"/opt/run": None}) is None
    assert serving("/opt/run.sh", {"/opt/run.sh": "python start.py  # vllm serve"}) == command.unreadable(
        ["/opt/run.sh"]
    )


def test_options_from_a_file_lose_against_the_command_line() -> None:
    config = f"model: {M}\nport: 8012\ntensor-parallel-size: 8\nspeculative-config:\n  method: ngram\n  num_speculative_tokens: 5\n"
    found = serving("vllm serve --config /etc/v.yaml --port 9", {"/etc/v.yaml": config})
    assert facts(found) == {"endpoint": Endpoint(9), "tensor_parallel": 8, "spec": NGRAM}
    for content in (None, "a: |\n  b\n"):
        found = serving(f"vllm serve {M} --config /etc/v.yaml --port 9", {"/etc/v.yaml": content})
        assert facts(found) == {"endpoint": Endpoint(9), "unknown": ("parallelism", "speculation")}


def test_the_role_is_only_told_when_it_is_known() -> None:
    roles = [
        serving(f"vllm serve {M}"),
        serving(f"vllm serve {M} --spec-method ngram"),
        serving("/opt/start-vllm.sh"),
        serving(f"/bin/bash -c 'vllm serve {M} $(extra)'"),
    ]
    assert [found and found.role for found in roles] == [Role.BASELINE, Role.VARIANT, Role.UNKNOWN, Role.UNKNOWN]


def test_secrets_are_masked_in_what_is_shown() -> None:
    found = serving(
        f"/usr/bin/env HF_TOKEN=hf_abcdefghijklmnopqrst vllm serve {M} --api-key sk-first-1 sk-second-2 --port 9"
    )
    assert found is not None
    shown = json.dumps(found.argv)
    assert not any(secret in shown for secret in ("hf_abc", "sk-first", "sk-second"))
    assert found.argv[-1] == "9"
    found = serving(f"/bin/bash -c 'VLLM_API_KEY=sk-third-3 vllm serve {M} --api-key sk-fourth-4 $(x)'")
    assert found is not None
    assert "sk-" not in repr(found)
    assert UNKNOWN not in repr(found)


def test_what_a_container_passes_on() -> None:
    found = serving(
        f"docker run --network host -e VLLM_API_KEY --env-file /etc/d.env vllm/vllm-openai --model {M}",
        {"/etc/d.env": "# c\nA=1\n"},
        VLLM_API_KEY="k",
    )
    assert found is not None
    assert found.has_api_key
    found = serving(
        f"docker run --env-file=/etc/d.env vllm/vllm-openai --model {M}", {"/etc/d.env": "VLLM_API_KEY=k\n"}
    )
    assert found is not None
    assert found.has_api_key

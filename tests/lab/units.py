"""Unit files of the fake vLLM, as operators write them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

SYSTEM = "/etc/systemd/system"
VLLM = "/opt/vllm/bin/vllm"
MODEL = "/models/Kimi-K2.5-INT4"
NGRAM = {"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_max": 4}

_UNIT = """[Unit]
Description={description}
{unit}
[Service]
Type={kind}
ExecStart={command}
Environment=PYTHONUNBUFFERED=1 {environment}
TimeoutStartSec={timeout}
TimeoutStopSec=2
{service}
[Install]
WantedBy=multi-user.target
"""


def serve(*words: str, speculative: Mapping[str, Any] | None = None, port: int = 8000) -> str:
    """Return a command line of the server, quoted for systemd."""
    argv = [
        VLLM,
        "serve",
        MODEL,
        "--served-model-name",
        "kimi-k2.5",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        *words,
    ]
    if speculative:
        argv += ["--speculative-config", json.dumps(speculative)]
    return shlex.join(argv)


def unit(
    command: str,
    *,
    description: str = "vLLM",
    environment: str = "FAKE_LOAD_S=0.5",
    kind: str = "exec",
    timeout: str = "infinity",
    unit: str = "",
    service: str = "",
) -> str:
    """Return a unit file; `unit` and `service` are more lines of these sections."""
    return _UNIT.format_map(locals())


def deployment(load_s: float = 0.5, tensor_parallel: int = 1) -> dict[str, str]:
    """Return the two units of the usual situation: a baseline, and n-gram speculation that stops it."""
    environment = f"FAKE_LOAD_S={load_s}"
    parallel = ("--tensor-parallel-size", str(tensor_parallel))
    baseline, ngram = "vllm-kimi-k25-int4.service", "vllm-kimi-k25-int4-ngram.service"
    return {
        f"{SYSTEM}/{baseline}": unit(serve(*parallel), description="Kimi-K2.5 INT4", environment=environment),
        f"{SYSTEM}/{ngram}": unit(
            serve(*parallel, speculative=NGRAM),
            description="Kimi-K2.5 INT4, n-gram speculation",
            environment=environment,
            unit=f"Conflicts={baseline}\nAfter={baseline}",
        ),
    }


def writer(name: str, script: str, service: str = "") -> dict[str, str]:
    """Return the files of a unit that runs a Python script; `service` are more lines of its section."""
    program = f"/opt/{name}.py"
    return {
        program: f"#!/usr/bin/python3 -u\n{script.strip()}\n",
        f"{SYSTEM}/{name}.service": f"[Service]\nExecStart={program}\n{service}",
    }

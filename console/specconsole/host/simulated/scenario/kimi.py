"""The simulated host of the scenarios: eight RTX PRO 6000 over PCIe, and the units of Kimi-K2.5 INT4."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from specconsole.host.simulated.scenario.load import KV_TOKENS, LONGEST, MODEL, SERVED, ngram
from specconsole.host.simulated.script import Facts, Script
from specconsole.host.simulated.site import Site, UnitFile

BASELINE, NGRAM = "baseline", "ngram"
NAMES = {BASELINE: "vllm-kimi-k25-int4.service", NGRAM: "vllm-kimi-k25-int4-ngram.service"}
VLLM = "/opt/vllm/bin/vllm"
K = 5
MEMORY = 1_152 * 2**30
GPU_MEMORY = 97_887 * 2**20
_BUSES = ("01", "21", "41", "61", "81", "a1", "c1", "e1")
_WORDS = (
    "the answer follows from what was said above and each part of it can be read on its own so that nobody has to trust a"
    " number without its source but may look at it again later"
)

FACTS = Facts(
    version="0.16.0",
    models={
        "object": "list",
        "data": [
            {
                "id": SERVED,
                "object": "model",
                "created": 0,
                "owned_by": "vllm",
                "root": MODEL,
                "parent": None,
                "max_model_len": LONGEST,
                "permission": [],
            }
        ],
    },
    words=tuple(f" {word}" for word in _WORDS.split()),
    blocks=KV_TOKENS // 16,
)


def argv(role: str, speculation: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """The command line of a unit."""
    words = (
        VLLM, "serve", MODEL, "--served-model-name", SERVED, "--tensor-parallel-size", "8", "--trust-remote-code",
        "--max-model-len", str(LONGEST), "--gpu-memory-utilization", "0.95", "--reasoning-parser", "kimi_k2",
        "--tool-call-parser", "kimi_k2", "--host", "0.0.0.0", "--port", "8000",  # noqa: S104  nothing binds: it is only told
    )  # fmt: skip
    if role == BASELINE:
        return words
    return (*words, "--speculative-config", json.dumps(speculation or ngram(K)))


def site(
    scripts: Mapping[str, Callable[[int, int, frozenset[int]], Script]],
    *,
    note: str,
    speculation: Mapping[str, Any] | None = None,
    restart: str = "no",
) -> Site:
    """The host, with what its units start by their role."""
    titles = {BASELINE: "Kimi-K2.5 INT4, baseline", NGRAM: f"Kimi-K2.5 INT4, n-gram speculation, k={K}"}
    units = {
        NAMES[role]: UnitFile(
            NAMES[role],
            role,
            titles[role],
            argv(role, speculation),
            scripts[role],
            environment=("VLLM_LOGGING_COLOR=0", "VLLM_DISABLE_LOG_LOGO=1"),
            conflicts=() if role == BASELINE else (NAMES[BASELINE],),
            restart=restart,
            restart_s=10.0,
            stop_s=300.0,
        )
        for role in (BASELINE, NGRAM)
    }
    return Site(
        hostname="gpu-1",
        boot_id="8c1f4b7a90de4c52a6b1e03d77f5c219",
        kernel="6.8.0-71-generic",
        python="/opt/vllm/bin/python3",
        prefix="/opt/vllm",
        vllm=FACTS.version,
        systemd="255 (255.4-1ubuntu8)",
        cpu_count=128,
        memory_total=MEMORY,
        shm_total=MEMORY // 2,
        driver="580.95.05",
        cards=tuple(_card(bus, index) for index, bus in enumerate(_BUSES)),
        memory_gpu=GPU_MEMORY,
        units=units,
        mounts={
            "/": "/dev/nvme0n1p2 1921725720 412334080 1411699904 23% /",
            "/dev/shm": "tmpfs 603979776 0 603979776 0% /dev/shm",  # noqa: S108
            MODEL: "/dev/nvme1n1 7501476528 1214087168 6287389360 17% /models",
        },
        files={
            VLLM: "#!/opt/vllm/bin/python3\nimport sys\nfrom vllm.entrypoints.cli.main import main\nsys.exit(main())\n"
        },
        why=dict.fromkeys(("sm_active", "dram_active"), "not offered by this card"),
        counts=True,
        note=note,
    )


def _card(bus: str, index: int) -> dict[str, Any]:
    return {
        "uuid": f"GPU-5d1e7c40-93ab-4f0e-8b62-0000000000{index:02x}",
        "name": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "bus": f"00000000:{bus}:00.0",
        "power_limit_w": 600.0,
        "sm_mhz_max": 2_430,
        "ecc_corrected": 0,
        "ecc_uncorrected": 0,
        "ecc_corrected_ever": 0,
        "ecc_uncorrected_ever": 0,
        "mig": False,
    }

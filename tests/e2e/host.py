"""A lab host that serves a tiny model with a real vLLM: a baseline, an n-gram unit, and one whose drafter is not there."""

from __future__ import annotations

UNITS = ("vllm-base", "vllm-ngram")
WRONG = "vllm-draft"
NOWHERE = '{"method": "draft_model", "model": "/opt/vllm/nowhere", "num_speculative_tokens": 3}'
SPECULATION = '{"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_max": 4, "prompt_lookup_min": 1}'
PACKAGES = ("libnuma1", "g++", "libpython3.11-dev", "openssl")
"""Without libnuma1 vllm._C does not import; without the others Inductor cannot compile and the start fails after the weights."""

# The script's first line names the folder where the environment was built, so the interpreter is named here.
TEMPLATE = """[Unit]
Description=tiny model, {what}
{order}
[Service]
ExecStart=/opt/vllm/venv/bin/python /opt/vllm/venv/bin/vllm serve /opt/vllm/tiny \\
    --served-model-name tiny --max-model-len 2048 --host 127.0.0.1 --port 8000 {arguments}
Environment=HOME=/root PYTHONUNBUFFERED=1 VLLM_CPU_KVCACHE_SPACE=1 HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1
Environment=VLLM_API_KEY={key}
TimeoutStopSec=30
"""
KEY = "sk-tiny-secret-1234567890"


def files(more: str = "") -> dict[str, str]:
    """The unit files, by path; `more`: further arguments of all of them."""
    order = f"Conflicts={UNITS[0]}.service\nAfter={UNITS[0]}.service"
    folder = "/etc/systemd/system"
    return {
        f"{folder}/{UNITS[0]}.service": TEMPLATE.format(what="baseline", order="", arguments=more, key=KEY),
        f"{folder}/{UNITS[1]}.service": TEMPLATE.format(
            what="n-gram", order=order, arguments=f"{more} --speculative-config '{SPECULATION}'", key=KEY
        ),
        f"{folder}/{WRONG}.service": TEMPLATE.format(
            what="a drafter that is not there",
            order=order,
            arguments=f"{more} --speculative-config '{NOWHERE}'",
            key=KEY,
        ),
    }

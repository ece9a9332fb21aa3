"""`vllm bench serve` on a lab host, as a oneshot unit beside the units that serve; and the server's counters there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.e2e import host
from tests.lab.host import LabHost

from specconsole.bench.spec import PATHS
from specconsole.engine.metrics import Scrape, parse

PANDAS = ("pandas==2.3.3", "python-dateutil==2.9.0.post0", "pytz==2025.2", "tzdata==2025.2", "six==1.17.0")
"""What its custom data set reads JSON lines with; the server's environment has numpy, and needs none of these."""
BACKENDS = {"chat": "openai-chat", "completions": "openai"}
PROMPTS = "/opt/peer/prompts.jsonl"
METRICS = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8000/metrics').read().decode())"

# No request goes ahead of the measured ones, so that the server's counters are those of the measured ones alone. The salt
# keeps one round's prompts out of the cache of another; a prompt that is repeated within a round is cached, which
# changes the time to its first token and none after it.
UNIT = """[Service]
Type=oneshot
ExecStart=/opt/vllm/venv/bin/python /opt/vllm/venv/bin/vllm bench serve --backend {backend} --endpoint {path} \\
    --host 127.0.0.1 --port 8000 --model /opt/vllm/tiny --served-model-name tiny \\
    --dataset-name custom --dataset-path {prompts} --disable-shuffle --skip-chat-template --num-prompts {count} \\
    --custom-output-len {tokens} --ignore-eos --temperature 0 --max-concurrency 1 --num-warmups 0 \\
    --ready-check-timeout-sec 0 --disable-tqdm --extra-body '{{"cache_salt": "peer-%i"}}' \\
    --percentile-metrics ttft,tpot,itl,e2el --save-result --save-detailed --result-dir /opt/peer --result-filename %i.json
Environment=HOME=/root PYTHONPATH=/opt/peer/site HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1
Environment=OPENAI_API_KEY={key}
"""


def layer(venv: Path) -> Path:
    """A layer of a lab host with what the peer needs on top of the server's environment; made once a machine."""
    cache = Path(os.environ.get("SPECCONSOLE_E2E_CACHE", "/var/cache/specconsole-e2e"))
    dest = cache / f"peer-{PANDAS[0]}"
    if not dest.exists():
        made = Path(tempfile.mkdtemp(prefix="peer-", dir=cache))
        words = ("install", "-q", "--disable-pip-version-check", "--no-compile", "--no-deps", "--target")
        # An environment that was moved has scripts that name its old place, so pip is run as a module.
        command = [str(venv / "bin/python"), "-m", "pip", *words, str(made / "opt/peer/site"), *PANDAS]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        made.chmod(0o755)
        try:
            made.rename(dest)
        except OSError:  # somebody else was first
            shutil.rmtree(made)
    return dest


def files(prompts: Sequence[str], *, repeat: int, max_tokens: int, api: str) -> dict[str, str]:
    """The peer's unit and its prompts, by path: all prompts, then all again, as ours sends them."""
    unit = UNIT.format(
        backend=BACKENDS[api],
        path=PATHS[api],
        prompts=PROMPTS,
        count=len(prompts) * repeat,
        tokens=max_tokens,
        key=host.KEY,
    )
    lines = "".join(json.dumps({"prompt": text}) + "\n" for text in prompts) * repeat
    return {"/etc/systemd/system/peer@.service": unit, PROMPTS: lines}


def run(server: LabHost, name: str) -> tuple[dict[str, Any], str]:
    """Run it to its end; returns its result file and what it printed."""
    done = server.run(f"systemctl start peer@{name}", check=False)
    printed = server.run(f"journalctl -u peer@{name} -o cat").stdout
    if done.returncode:
        raise RuntimeError(f"vllm bench serve failed:\n{printed[-4000:]}")
    told: dict[str, Any] = json.loads(server.path(f"/opt/peer/{name}.json").read_text())
    return told, printed


def scrape(server: LabHost) -> Scrape:
    """The server's counters, read by neither of the two."""
    return parse(server.run(f'/usr/bin/python3 -c "{METRICS}"').stdout)

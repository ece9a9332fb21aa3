"""The trees that lab hosts are made of: a Debian once a machine, a fake GPU driver and a fake vLLM once a test session."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.lab.programs import output

HERE = Path(__file__).resolve().parent
SUITES = ("bookworm", "trixie")
"""systemd 252 with OpenSSH 9.2, and systemd 257 with OpenSSH 10.0."""

PACKAGES = (
    "systemd-sysv,dbus,libpam-systemd,polkitd,openssh-server,python3,sudo,iproute2,procps,"
    "libpam-oath"  # a real second factor
)
OPTIONS = (
    "--variant=minbase",
    f"--include={PACKAGES}",
    "--dpkgopt=force-unsafe-io",
    '--aptopt=Acquire::Languages "none"',
    *(f"--dpkgopt=path-exclude=/usr/share/{folder}/*" for folder in ("man", "locale", "doc")),
)
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
"""Told to mmdebstrap, which finds it by itself only where gpg is: not on a bare Ubuntu."""
FAKE = "usr/lib/fakegpu"
"""Where the stand-in for nvidia-smi keeps its own library, pynvml and interpreter."""


def cache() -> Path:
    """Where the images are kept between sessions."""
    return Path(os.environ.get("SPECCONSOLE_LAB_CACHE", "/var/cache/specconsole-lab"))


def missing() -> str | None:
    """Say why this machine cannot run the lab; None: it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "the lab needs Linux and root (namespaces, overlay mounts)"
    programs = ("ip", "unshare", "nsenter", "setpriv", "ssh-keygen", "gcc", *(() if all_built() else ("mmdebstrap",)))
    absent = [program for program in programs if not shutil.which(program)]
    return f"the lab needs {', '.join(absent)}: see tests/lab/README.md" if absent else None


def _tree(suite: str, extra: Sequence[str] = ()) -> Path:
    recipe = hashlib.sha256(" ".join((*OPTIONS, *extra)).encode()).hexdigest()[:12]
    return cache() / f"{suite}-{recipe}"


def all_built() -> bool:
    """Whether no package registry is needed any more."""
    return all(_tree(suite).exists() for suite in SUITES)


def base_image(suite: str, extra: Sequence[str] = ()) -> Path:
    """Return a Debian tree, made by mmdebstrap the first time (20 to 60 s); needs the network, so before isolation.

    `extra`: Debian packages beyond those of every lab host.
    """
    tree = _tree(suite, extra)
    tree.parent.mkdir(parents=True, exist_ok=True)
    with (tree.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not tree.exists():
            for stale in tree.parent.glob("building-*"):  # of a build that was killed: the lock says that none runs
                shutil.rmtree(stale)
            making = tree.parent / f"building-{suite}"
            # The lock is passed on: as long as an orphan of a killed build writes, nobody else begins.
            subprocess.run(
                [
                    *("mmdebstrap", "--quiet", f"--keyring={KEYRING}", *OPTIONS),
                    *(f"--include={name}" for name in extra),
                    *(suite, str(making)),
                ],
                check=True,
                stdin=subprocess.DEVNULL,
                pass_fds=(lock.fileno(),),
            )
            making.rename(tree)
    return tree


def gpu_layer(tree: Path) -> Path:
    """Make a tree with the NVML stub where the loader finds it and the stand-in for nvidia-smi; cards are files of a host.

    pynvml lies where only the stand-in finds it: what the console needs of it, it must bring along.
    """
    import pynvml

    machine = output("gcc", "-print-multiarch").strip() or "x86_64-linux-gnu"
    home, lib, bin_ = tree / FAKE, tree / "usr/lib" / machine, tree / "usr/bin"
    for folder in (home, lib, bin_):
        folder.mkdir(parents=True, exist_ok=True)
    library = home / "libnvidia-ml.so.1"
    flags = ("-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1")
    output("gcc", *flags, "-o", library, HERE / "nvml_stub.c")
    (lib / "libnvidia-ml.so.1").symlink_to(f"/{FAKE}/libnvidia-ml.so.1")
    (home / "python3").symlink_to("/usr/bin/python3")
    shutil.copy(pynvml.__file__, home / "pynvml.py")
    shutil.copy(HERE / "nvidia_smi.py", bin_ / "nvidia-smi")
    (bin_ / "nvidia-smi").chmod(0o755)
    return tree


def vllm_layer(tree: Path) -> Path:
    """Make a tree with the fake vLLM as /opt/vllm, laid out like a virtual environment."""
    bin_, lib = tree / "opt/vllm/bin", tree / "opt/vllm/lib"
    bin_.mkdir(parents=True, exist_ok=True)
    shutil.copytree(HERE / "fakevllm", lib / "fakevllm", ignore=shutil.ignore_patterns("__pycache__"))
    (bin_ / "python3").symlink_to("/usr/bin/python3")
    (bin_ / "vllm").write_text(
        "#!/opt/vllm/bin/python3\n"
        "import sys\n"
        "sys.dont_write_bytecode = True\n"
        'sys.path.insert(0, "/opt/vllm/lib")\n'
        "from fakevllm.server import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    (bin_ / "vllm").chmod(0o755)
    return tree

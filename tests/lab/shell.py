"""A shell beside a disposable GPU host: python -m tests.lab.shell [--suite SUITE] [--gpus N] [--load S] [-- COMMAND …]

It boots a host with the fake vLLM's two units (baseline, n-gram) and runs a shell, or the command, in the host's isolated
network. In its environment: HOST_IP, HOST_KEY, KNOWN_HOSTS, and SSH_CONFIG, a file that knows the host as gpu-1 (root),
ops, reader and guest. When the shell ends, all of it is gone.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.lab.cards import cards
from tests.lab.host import LabHost
from tests.lab.image import SUITES, base_image, gpu_layer, missing, vllm_layer
from tests.lab.network import isolated
from tests.lab.programs import ROOT
from tests.lab.units import deployment

ALIASES = {"gpu-1": "root", "ops": "ops", "reader": "reader", "guest": "guest"}


def ssh_config(host: LabHost) -> str:
    """Return a configuration for OpenSSH and for the console that knows the host by the aliases."""
    common = f"HostName {host.ip}\n  IdentityFile {host.key}\n  IdentitiesOnly yes\n  UserKnownHostsFile {host.known_hosts}\n"
    return "".join(f"Host {alias}\n  User {user}\n  {common}" for alias, user in ALIASES.items())


def environment(host: LabHost, config: Path) -> dict[str, str]:
    """Return what the shell finds in its environment."""
    binaries = str(Path(sys.executable).parent)
    return {
        **os.environ,
        "PATH": f"{binaries}{os.pathsep}{os.environ.get('PATH', '')}",
        "HOST_IP": host.ip,
        "HOST_KEY": str(host.key),
        "KNOWN_HOSTS": str(host.known_hosts),
        "SSH_CONFIG": str(config),
    }


def greet(host: LabHost) -> None:
    """Say what there is and how to reach it."""
    print(
        f"\n{host.name} is up at {host.ip}: {host.run('systemctl --version | head -1').stdout.strip()}\n\n"
        '  specconsole connect -F "$SSH_CONFIG" gpu-1      as root; also: ops (sudo), reader (journal), guest (nothing)\n'
        '  ssh -F "$SSH_CONFIG" gpu-1                      a login there\n'
        '  ssh -F "$SSH_CONFIG" gpu-1 systemctl start vllm-kimi-k25-int4          the baseline; with -ngram the variant\n\n'
        "Leave with exit or ctrl+d; nothing of it stays.\n"
    )


def main(words: Sequence[str]) -> int:
    """Run one command line."""
    ours, dash, command = list(words), "--" in words, []
    if dash:
        ours, command = ours[: ours.index("--")], ours[ours.index("--") + 1 :]
    parser = argparse.ArgumentParser(
        prog="./dev lab", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--suite", choices=SUITES, default=SUITES[0], help="the host's Debian release")
    parser.add_argument("--gpus", type=int, default=8, metavar="N", help="how many fake GPUs it has (8)")
    parser.add_argument("--load", type=float, default=20, metavar="S", help="how long a start of a unit takes (20)")
    parser.add_argument("--no-python", action="store_true", help="hide the host's python3")
    args = parser.parse_args(ours)
    if reason := missing():
        print(reason, file=sys.stderr)
        return 2
    image = base_image(args.suite)
    with tempfile.TemporaryDirectory(prefix="lab-shell-") as folder, isolated():
        place = Path(folder)
        layers = (gpu_layer(place / "gpu"), vllm_layer(place / "vllm"), image)
        files = {**cards(args.gpus, power=81000), **deployment(args.load, tensor_parallel=max(args.gpus, 1))}
        with LabHost("gpu-1", *layers, files=files, python=not args.no_python) as host:
            config = place / "ssh_config"
            config.write_text(ssh_config(host))
            if not command:
                greet(host)
            shell = command or [os.environ.get("SHELL", "/bin/bash")]
            return subprocess.run(shell, env=environment(host, config), cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

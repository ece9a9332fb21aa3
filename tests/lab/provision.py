"""What differs from host to host, written into its tree before the first boot."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.lab.image import FAKE
from tests.lab.programs import output
from tests.lab.spec import HostSpec

MASKED = """
dev-hugepages.mount dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount
sys-fs-fuse-connections.mount proc-sys-fs-binfmt_misc.automount systemd-binfmt.service systemd-sysctl.service
systemd-modules-load.service systemd-remount-fs.service systemd-firstboot.service systemd-udevd.service getty.target
systemd-udev-trigger.service systemd-timesyncd.service systemd-pstore.service systemd-journald-audit.socket
systemd-machine-id-commit.service systemd-update-utmp.service systemd-update-utmp-runlevel.service
"""
"""Units that want a kernel, a console or a clock of their own."""

SSHD = "PasswordAuthentication no\nUseDNS no\nMaxStartups 100\nMaxSessions 50\n"
PENALTIES = "PerSourcePenalties no\n"
"""For an sshd that knows it (9.8): quick tests fail to log in more often than it lets one address."""
JOURNALD = "[Journal]\nStorage=persistent\nRateLimitIntervalSec=0\nSystemMaxUse=1G\n"


def provision(root: Path, spec: HostSpec) -> None:
    """Write names, keys, users, units and the spec's own files into a host's tree."""
    _units(root)
    for old in (*(root / "etc" / name for name in ("hostname", "machine-id", "hosts")), *_host_keys(root)):
        old.unlink(missing_ok=True)
    for user, groups in spec.users.items():
        _user(root, user, groups)
    strict = "trixie" in (root / "etc/os-release").read_text() and "PerSourcePenalties" not in spec.sshd
    for path, text in {**_files(spec, PENALTIES if strict else ""), **spec.files}.items():
        _write(root / path.lstrip("/"), text)
    key = root / "etc/ssh/ssh_host_ed25519_key"
    shutil.copy(Path(spec.directory, "hostkey"), key)
    key.chmod(0o600)
    for user in spec.users:
        _login(root, user, Path(spec.directory, "id.pub").read_text())
    for user, password in spec.passwords.items():
        output("chroot", root, "chpasswd", stdin=f"{user}:{password}\n")
    if not spec.python:
        hide_python(root)


def _host_keys(root: Path) -> list[Path]:
    return list((root / "etc/ssh").glob("ssh_host_*"))


def _units(root: Path) -> None:
    units = root / "etc/systemd/system"
    shutil.rmtree(units, ignore_errors=True)  # what the packages enabled
    (units / "multi-user.target.wants").mkdir(parents=True)
    (units / "multi-user.target.wants/ssh.service").symlink_to("/lib/systemd/system/ssh.service")
    for unit in MASKED.split():
        (units / unit).symlink_to("/dev/null")


def _files(spec: HostSpec, sshd: str) -> dict[str, str]:
    sudoers = {
        f"/etc/sudoers.d/{user}": f"{user} ALL=(ALL) NOPASSWD: ALL\n"
        for user, groups in spec.users.items()
        if "sudo" in groups
    }
    return {
        "/etc/hostname": f"{spec.name}\n",
        "/etc/hosts": f"127.0.0.1 localhost\n127.0.1.1 {spec.name}\n",
        "/etc/machine-id": os.urandom(16).hex() + "\n",
        "/etc/ssh/sshd_config.d/lab.conf": sshd + spec.sshd + SSHD,
        "/etc/systemd/journald.conf.d/lab.conf": JOURNALD,
        "/etc/default/locale": "",
        **sudoers,
    }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755 if text.startswith("#!") else 0o644)


def _user(root: Path, user: str, groups: Sequence[str]) -> None:
    if user != "root":
        more = ("-G", ",".join(groups)) if groups else ()
        output("chroot", root, "useradd", "-m", "-s", "/bin/bash", *more, user)


def _login(root: Path, user: str, key: str) -> None:
    home = root / ("root" if user == "root" else f"home/{user}")
    (home / ".ssh").mkdir(mode=0o700, exist_ok=True)
    (home / ".ssh/authorized_keys").write_text(key)
    output("chroot", root, "chown", "-R", f"{user}:", f"/{home.relative_to(root)}")


def hide_python(root: Path) -> None:
    """Take every python3 off the paths; the stand-in for nvidia-smi keeps it, since the real one needs none.

    A vLLM there keeps one too, where others may write: as root we must not run it.
    """
    binaries = root / "usr/bin"
    real = (binaries / "python3").resolve().name
    kept = root / FAKE / "python3"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.unlink(missing_ok=True)
    shutil.copy(binaries / real, kept)
    for found in binaries.glob("python*"):
        found.unlink()
    own = root / "opt/vllm/bin/python3"
    if own.is_symlink():
        own.unlink()
        own.symlink_to(f"/{FAKE}/python3")
        own.parent.chmod(0o777)

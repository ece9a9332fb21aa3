"""A fake host that answers systemctl as systemd 252 and 257 did on a real one, and reads files from a table."""

from __future__ import annotations

import fnmatch
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from specconsole.errors import DeadlineExceeded
from specconsole.host.base import Completed, Program, Rights
from specconsole.remote.prefetch import Answer, Prefetch
from tests.fakes import FakeHost, FakeProcess, Reply, failed

RECORDED = Path(__file__).parent / "recorded"
VERSIONS = ("252", "257")

FILES = {
    "/etc/systemd/system/vllm-kimi.service": """[Unit]
Description=Kimi "K2.5" – baseline
[Service]
Environment=PORT=8001 "OPTS=--enforce-eager --trust-remote-code"
EnvironmentFile=-/etc/vllm/kimi.env
ExecStart=/opt/vllm/bin/vllm serve /models/Kimi-K2.5 \\
  --served-model-name kimi-k2.5 \\
# on all cards
  --port ${PORT} -tp 8 $OPTS
Restart=on-failure
[Install]
WantedBy=multi-user.target
""",
    "/etc/systemd/system/vllm-kimi-ngram.service": """[Unit]
Description=Kimi n-gram
Conflicts=vllm-kimi.service
[Service]
ExecStart=/opt/vllm/bin/vllm serve /models/Kimi-K2.5 --served-model-name kimi-k2.5 --port 8001 -tp 8 \
--speculative-config '{"method": "ngram", "num_speculative_tokens": 5}'
""",
    "/etc/systemd/system/vllm-kimi-ngram.service.d/10-limits.conf": "[Service]\nLimitMEMLOCK=infinity\n",
    "/etc/systemd/system/vllm@.service": "[Service]\nExecStart=/opt/vllm/bin/vllm serve /models/%i --port 8002\n",
    "/etc/systemd/system/vllm-wrapped.service": (
        "[Service]\nExecStart=/opt/start.sh 8003\nStandardOutput=append:/var/log/vllm.log\n"
    ),
    "/opt/start.sh": """#!/bin/bash
set -e
source /etc/vllm/common.sh
ARGS=(--port "$1")
if [ -n "$DRAFT" ]; then ARGS+=(--spec-method eagle3 --spec-model "$DRAFT" --spec-tokens 3); fi
exec numactl --interleave=all vllm serve "$MODEL" "${ARGS[@]}"
""",
    "/etc/vllm/common.sh": "MODEL=/models/Qwen3-32B\nDRAFT=/models/qwen3-eagle3\n",
    "/etc/vllm/kimi.env": "PORT=8011\n",
    "/etc/systemd/system/web.service": ("[Service]\nExecStart=/usr/bin/python3 -m http.server --directory /srv/vllm\n"),
    "/etc/systemd/system/broken.service": "[Service]\nExecStart=relative vllm serve x\n",
    "/opt/vllm/bin/vllm": "#!/opt/vllm/bin/python3.12\nimport sys\n",
    "/home/ops/.config/systemd/user/vllm-mine.service": (
        "[Service]\nExecStart=/opt/vllm/bin/vllm serve /models/u --port 8010\n"
    ),
}


def recorded(version: str, name: str) -> str:
    return (RECORDED / f"{version}-{name}.txt").read_text(encoding="utf-8")


class Machine:
    """The files and units of a fake host; change `files` and `blocks` as the test goes."""

    prefetches = False
    """The host runs our program that answers what discovery is about to ask."""

    def __init__(self, version: str = "252", *, user: bool = True) -> None:
        self.files = dict(FILES)
        self.late: set[str] = set()
        """Files that give no answer: their disk's server is gone."""
        self.host = Prefetching(self) if self.prefetches else FakeHost()
        self.version = version
        self.blocks = {block_id(text): text for text in recorded(version, "show-searched").split("\n\n")}
        self.blocks |= {block_id(text): text for text in recorded(version, "show-vllm").split("\n\n")}
        self.blocks["vllm-mine.service"] = recorded(version, "user-show")
        self.units = recorded(version, "list-units")
        self.unit_files = recorded(version, "list-unit-files")
        if not user:
            self.units = self.units.replace("user@1000.service", "other@1000.service")
        self.uptime = recorded(version, "uptime")
        self.reload_stamp = "UnitsLoadTimestampMonotonic=0\n"
        self.folders = "UnitPath=/etc/systemd/system /run/systemd/transient /usr/lib/systemd/system\n"
        host = self.host
        host.answer("cat -- *", self._read)
        host.answer("head -c * -- *", self._read)
        host.answer("grep -lsIF --devices=skip -e vllm -- *", self.grep)
        host.answer("grep -qsE *", failed(1, ""))
        host.answer("find *", "")
        host.answer("find * -maxdepth 1 -name [*].service", self._find)
        host.answer("busctl *", failed(1, "no bus"))
        host.answer("getent passwd *", recorded(version, "passwd"))
        host.answer("systemctl list-unit-files *", lambda *_: self.unit_files)
        host.answer("systemctl list-units *", lambda *_: self.units)
        host.answer("systemctl show *", self._show)
        as_ops = "setpriv --reuid=1000 --regid=1000 --init-groups env XDG_RUNTIME_DIR=/run/user/1000 systemctl --user "
        host.answer(f"{as_ops}list-unit-files *", recorded(version, "user-list-unit-files"))
        host.answer(f"{as_ops}list-units *", recorded(version, "user-list-units"))
        host.answer(f"{as_ops}show *", self._show)
        host.answer(f"{as_ops}show * --property=UnitPath", "UnitPath=/run/user/1000/x /home/ops/.config/systemd/user\n")
        host.answer(f"{as_ops}show * --property=UnitsLoad*", "")
        host.answer(f"{as_ops.partition('systemctl')[0]}find *", self._find)

    def _read(self, argv: tuple[str, ...], _: bytes) -> Reply:
        if argv[-1] == "/proc/uptime":
            return self.uptime
        if argv[-1] in self.late:
            raise DeadlineExceeded("cat on gpu-1 did not end within 10 s.")
        text = self.files.get(argv[-1])
        return failed(1, f"cat: {argv[-1]}: No such file or directory") if text is None else text

    def grep(self, argv: tuple[str, ...], _: bytes) -> Reply:
        found = [path for path in argv[6:] if "vllm" in self.files.get(path, "")]
        return "".join(f"{path}\n" for path in found) if found else failed(1, "")

    def _find(self, argv: tuple[str, ...], _: bytes) -> Reply:
        of_user = "/home/ops/.config/systemd/user" in argv
        listed = recorded(self.version, "user-list-unit-files") if of_user else self.unit_files
        found = "".join(f"{argv[-5]}/{line.split()[0]}\n" for line in listed.splitlines())
        return Completed((), 1, found.encode(), b"find: '/run/systemd/transient': No such file or directory\n")

    def _show(self, argv: tuple[str, ...], _: bytes) -> Reply:
        if "--" not in argv:
            return self.folders if argv[-1].endswith("UnitPath") else self.reload_stamp
        wanted = next(word for word in argv if word.startswith("--property=")).removeprefix("--property=").split(",")
        names = argv[argv.index("--") + 1 :]
        return "\n".join(self._block(name, wanted) for name in names)

    def _block(self, name: str, wanted: list[str]) -> str:
        text = self.blocks.get(
            name, f"Id={name}\nLoadState=not-found\nActiveState=inactive\nSubState=dead\nMainPID=0\n"
        )
        return "".join(f"{line}\n" for line in text.splitlines() if line.partition("=")[0] in wanted)

    def change(self, unit: str, **properties: str) -> None:
        """Change a unit's properties as `systemctl show` prints them."""
        lines = self.blocks[unit].splitlines()
        kept = [line for line in lines if line.partition("=")[0] not in properties]
        self.blocks[unit] = "\n".join([*kept, *(f"{key}={value}" for key, value in properties.items())])

    def add(self, unit: str, file: str, command: str) -> None:
        """Add a unit that is not loaded; `command` as systemctl shows it."""
        path = f"/etc/systemd/system/{unit}"
        self.files[path] = file
        self.unit_files += f"{unit} static -\n"
        shown = f"{{ path={command.split()[0]} ; argv[]={command} ; ignore_errors=no ; start_time=[n/a] ; pid=0 }}"
        self.blocks[unit] = (
            f"Id={unit}\nLoadState=loaded\nActiveState=inactive\nSubState=dead\nFragmentPath={path}\n"
            f"DropInPaths=\nExecStart={shown}\nUnitFileState=static\n"
        )

    def asked(self, pattern: str) -> list[tuple[str, ...]]:
        return [argv for argv in self.host.calls if fnmatch.fnmatchcase(" ".join(argv), pattern)]


class Prefetching(FakeHost):
    """Runs the real program over the machine's answers, all at once."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine = machine

    @asynccontextmanager
    async def process(self, what: Sequence[str] | Program) -> AsyncGenerator[FakeProcess, None]:
        if isinstance(what, Program) and what.name == "prefetch":
            lines: list[bytes] = []
            wanted = {manager: set(units) for manager, units in what.arguments["wanted"].items()}  # type: ignore[attr-defined]
            Prefetch(self._run, self._read, lines.append, wanted, self._uid).all()
            self.script("prefetch", lines)
        async with super().process(what) as process:
            yield process

    @property
    def _uid(self) -> int:
        """Whose rights our programs have."""
        assert self.facts is not None
        return self.facts.uid if self.facts.rights is Rights.USER else 0

    def _run(self, argv: Sequence[str]) -> Answer | None:
        words = tuple(argv)
        self.calls.append(words)
        try:
            done = self.answered(words)
        except DeadlineExceeded:
            return None
        return None if done is None else (done.status, done.stdout.decode(), done.stderr.decode())

    def _read(self, path: str, limit: int) -> bytes:
        if path in self.machine.late:
            raise TimeoutError
        text = self.machine.uptime if path == "/proc/uptime" else self.machine.files.get(path)
        if text is None:
            raise FileNotFoundError(path)
        return text.encode()[:limit]


def block_id(text: str) -> str:
    return next(line.removeprefix("Id=") for line in text.splitlines() if line.startswith("Id="))


def completed(text: str) -> Completed:
    return Completed((), 0, text.encode(), b"")

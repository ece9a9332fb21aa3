"""`specconsole bundle HOST`: logs, samples, units, GPUs, metrics, doctor and history in one archive, secrets masked."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import aclosing
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from specconsole import __version__, paths
from specconsole.clock import SystemClock
from specconsole.errors import UsageError
from specconsole.history.memory import Memory, path_for
from specconsole.host.base import Host
from specconsole.logs import since
from specconsole.logs.redact import mask, mask_value
from specconsole.text import clean, one_line
from specconsole.verb import output
from specconsole.verb.session import add_host_arguments, drive, open_host, profile_for


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Collect what a question about a host needs into one archive: the logs of its vLLM units, samples of GPUs and processes,"
        " states of units, metrics, doctor's checks and what this machine remembers. Secrets are masked; nothing on the host is"
        " changed. `specconsole explain FILE` reads it."
    )
    add_host_arguments(parser, json=False)
    parser.add_argument(
        "-S",
        "--since",
        metavar="WHEN",
        help="logs from then on: 10m, 2h, 14:00 …; else from each unit's newest start on",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write it there (specconsole-HOST-DATE.tar.gz); - is standard output"
    )
    parser.add_argument(
        "--seconds", type=float, default=20.0, metavar="N", help="sample the host for so long, 0 to 300 (20)"
    )


def run(args: argparse.Namespace) -> int:
    """Collect, and say where it is."""
    if not 0 <= args.seconds <= 300:
        raise UsageError(f"--seconds {args.seconds:g} is out of range.", hint="It takes 0 to 300.")
    if args.output == "-":
        output.check_open()
        if sys.stdout.isatty():
            raise UsageError("A bundle is packed, which a terminal cannot show.", hint="Send it on: -o - > FILE.")
    begin = None if args.since in (None, since.LAST_START) else since.parse(args.since, SystemClock().now())
    return drive(_run(args, begin))


async def _run(args: argparse.Namespace, begin: float | None) -> int:
    async with open_host(args) as host:
        name = (host.facts.hostname if host.facts else "") or host.name
        if args.output == "-":
            output.write_bytes(await _made(args, host, name, begin))
            return 0
        path = Path(args.output or _file(name, host.clock.now()))
        with paths.new_file(path) as file:  # before minutes are spent on what has no place
            file.write(await _made(args, host, name, begin))
    output.write_text(str(path))
    return 0


async def _made(args: argparse.Namespace, host: Host, name: str, begin: float | None) -> bytes:
    """The archive; what cannot be had is said, and named in it."""
    from specconsole.explain.archive import packed
    from specconsole.explain.collect import Wanted, collect

    missing: list[str] = []

    def say(text: str) -> None:
        print(f"specconsole: {clean(one_line(text, 300))}", file=sys.stderr)  # noqa: T201
        if "cannot" in text or "ended early" in text or "only the newest" in text:
            missing.append(one_line(text, 300))

    wanted = Wanted(begin, args.seconds)
    async with aclosing(collect(host, profile_for(args, host), wanted, host.clock, say)) as found:
        parts = [part async for part in found]
    parts.append(("history.json", await _history(host)))
    about = {
        "bundle": 1,
        "host": name,
        "typed": mask(host.typed),
        "made": (made := host.clock.now()),
        "since": begin,
        "specconsole": __version__,
        "missing": missing,
    }
    parts.insert(0, ("bundle.json", (json.dumps(about, indent=1) + "\n").encode()))
    parts.append(("report.json", _report(parts)))
    return packed(iter(parts), made)


def _file(host: str, at: float) -> str:
    stamp = datetime.fromtimestamp(at).strftime("%Y%m%d-%H%M%S")
    plain = "".join(character if character.isalnum() or character in "-_." else "_" for character in host)[:80]
    return f"specconsole-{plain}-{stamp}.tar.gz"


async def _history(host: Host) -> bytes:
    """What this machine remembers of the host."""
    memory = Memory(path_for(host.name))
    name = host.facts.hostname if host.facts else None
    try:
        loads, swaps = await memory.loads(name, None, 50), await memory.swaps(name, None, 50)
    finally:
        await memory.close()
    value = mask_value(output.plain({"bundle": 1, "loads": loads, "swaps": swaps}))
    return (json.dumps(value, indent=1) + "\n").encode()


def _report(parts: list[tuple[str, bytes]]) -> bytes:
    """What `explain` says of it now."""
    from specconsole.explain.document import document
    from specconsole.explain.files import explain

    files: list[tuple[str, BinaryIO]] = [(name, BytesIO(content)) for name, content in parts]
    return (json.dumps({"bundle": 1, **document(explain(iter(files)))}, indent=1) + "\n").encode()

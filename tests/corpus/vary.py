"""Other wrappings of a log, as collectors, terminals and people put them around it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

_BASE_US = 1742201931000000


def _each(text: str, wrap: Callable[[int, str], str]) -> str:
    return "\n".join(wrap(place, line) for place, line in enumerate(text.split("\n")) if line)


def compose(text: str) -> str:
    return _each(text, lambda _, line: f"vllm-server-1  | {line}")


def kubernetes(text: str) -> str:
    return _each(text, lambda place, line: f"2026-03-04T05:06:07.{place:09d}Z {line}")


def cri(text: str) -> str:
    return _each(text, lambda place, line: f"2026-03-04T05:06:07.{place:09d}+02:00 stdout F {line}")


def piped(text: str) -> str:
    return _each(text, lambda place, line: f"2026-03-04 05:06:07.{place:03d} {line}")


def precise(text: str) -> str:
    return _each(text, lambda place, line: f"Mar 04 05:06:07.{place:06d} gpu04 vllm[8733]: {line}")


def full(text: str) -> str:
    return _each(text, lambda _, line: f"Wed 2026-03-04 05:06:07 CET gpu04 vllm[8733]: {line}")


def unix(text: str) -> str:
    return _each(text, lambda place, line: f"1772597167.{place:06d} gpu04 vllm[8733]: {line}")


def monotonic(text: str) -> str:
    return _each(text, lambda place, line: f"[12345.{place:06d}] gpu04 vllm[8733]: {line}")


def pod(text: str) -> str:
    return _each(text, lambda _, line: f"[pod/vllm-0/vllm] {line}")


def docker(text: str) -> str:
    return _each(
        text, lambda _, line: json.dumps({"log": line + "\n", "stream": "stderr", "time": "2026-03-04T05:06:07Z"})
    )


def journal(text: str) -> str:
    return _each(text, lambda place, line: json.dumps({**_fields(place), "MESSAGE": line}))


def journal_bytes(text: str) -> str:
    return _each(text, lambda place, line: json.dumps({**_fields(place), "MESSAGE": list(line.encode())}))


def _fields(place: int) -> dict[str, str]:
    return {"__REALTIME_TIMESTAMP": str(_BASE_US + place * 1000), "_SYSTEMD_UNIT": "vllm.service", "_PID": "77"}


def coloured(text: str) -> str:
    text = re.sub(r"^(\([^)\n]*\)) ?", "\x1b[1;36m\\1\x1b[0;0m ", text, flags=re.MULTILINE)
    return re.sub(r"(INFO|WARNING|ERROR) (\d\d-\d\d \d\d:\d\d:\d\d)", "\x1b[32m\\1\x1b[0m \x1b[90m\\2\x1b[0m", text)


def dos(text: str) -> str:
    return text.replace("\n", "\r\n")


def padded(text: str) -> str:
    return "\n".join(line.ljust(220) for line in text.split("\n"))


def fenced(text: str) -> str:
    return f"```text\n$ journalctl -u vllm\n\n{text}\n```\nroot@gpu:~# \n"


def quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.split("\n"))


def cut(text: str) -> str:
    return "\n".join(line[at : at + 120] for line in text.split("\n") for at in range(0, max(len(line), 1), 120))


def batch(text: str) -> str:
    return _each(text, lambda _, line: f"0: {line}")


def supervised(text: str) -> str:
    return _each(text, lambda place, line: f"2026-03-04 05:06:07,{place:03d} INFO  {line}")


def cloud(text: str) -> str:
    said = "INFO 2026-03-04T05:06:07.{:09d}Z [resource.labels.containerName: vllm] {}"
    return _each(text, lambda place, line: said.format(place, line))


def relayed(text: str) -> str:
    return _each(text, lambda place, line: f"<30>1 2026-03-04T05:06:07.{place:06d}+01:00 gpu04 vllm 8733 - - {line}")


def followed(text: str) -> str:
    return _each(text, lambda _, line: f"vllm-7c9d6 vllm {line}")


def indented(text: str) -> str:
    return _each(text, lambda _, line: f"    {line}")


def page(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("  ", "\u00a0 ")


def exported(text: str) -> str:
    return _each(text, lambda _, line: json.dumps({"@timestamp": "2026-03-04T05:06:07Z", "message": line}))


OF_MANY = (batch, supervised, cloud, relayed, followed, indented, page, exported)
"""What nobody knows beforehand: that it stands before each of several lines tells it."""
WRAPPINGS = (
    compose,
    kubernetes,
    cri,
    piped,
    precise,
    full,
    unix,
    monotonic,
    pod,
    docker,
    journal,
    journal_bytes,
    coloured,
    dos,
    padded,
    fenced,
    quoted,
    cut,
)

"""`docker run` and `podman run`: which image with which command, and how its ports are reached from the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from specconsole.text import whole_number

PROGRAMS = ("docker", "podman", "nerdctl")

_SWITCHES = (
    *("--detach", "--interactive", "--tty", "--rm", "--privileged", "--init", "--read-only", "--no-healthcheck"),
    *("--oom-kill-disable", "--publish-all", "--sig-proxy", "--disable-content-trust", "--quiet", "--replace"),
    *("--env-host", "--no-hosts", "--no-hostname", "--rmi", "--unsetenv-all", "--passwd", "--tls-verify"),
    *("--http-proxy", "--rootfs", "--help"),
)
"""Options without a value; every other one has one, in the same word after = or in the next."""
_SHORT_SWITCHES = frozenset("ditPq")
_NAMES = {"-e": "--env", "-p": "--publish", "--net": "--network", "-v": "--volume"}


@dataclass
class Container:
    """What a run command says."""

    image: str
    command: list[str] = field(repr=False)
    """The entry point, where one is given, and the words after the image."""
    environment: dict[str, str | None] = field(default_factory=dict, repr=False)
    """None: passed on from the caller's environment."""
    environment_files: list[str] = field(default_factory=list)
    program: str = ""
    """What runs it: docker, podman or nerdctl, as the command names it."""
    published: list[tuple[str, str]] = field(default_factory=list)
    """Host side ("8000", "127.0.0.1:8000", "" for any) and container port of each published port."""
    host_network: bool = False
    volumes: list[tuple[str, str]] = field(default_factory=list)
    """Folder of the host and of the container, for each that is mounted."""

    def outside(self, path: str) -> str | None:
        """Where a path of the container lies on the host; None: inside the container, or in a named volume."""
        for host, inside in sorted(self.volumes, key=lambda pair: -len(pair[1])):
            if path == inside or path.startswith(f"{inside}/"):
                return host + path[len(inside) :] if host.startswith("/") else None
        return None

    def reached(self, port: int) -> tuple[str, int] | None:
        """Address and port on the host that lead to a port of the container; None: it is not published."""
        if self.host_network:
            return "", port
        for outside, inside in self.published:
            address, _, host_port = outside.rpartition(":")
            if found := _within(host_port, inside, port):
                return address.strip("[]"), found
        return None


def parse(argv: Sequence[str], program: str = "") -> Container | None:
    """Read the words after `docker`, global options included; None: this runs no new container."""
    words = list(argv)
    while words and words[0] != "run":
        if words[0] in ("container", "--debug", "-D") or (words[0].startswith("-") and "=" in words[0]):
            words.pop(0)
        elif words[0].startswith("-"):
            del words[:2]
        else:
            return None
    options, rest = _options(words[1:])
    if not rest:
        return None
    container = Container(rest[0], rest[1:], program=program)
    for name, value in options:
        _apply(container, name, value)
    return container


def _options(words: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    options: list[tuple[str, str]] = []
    while words and words[0].startswith("-") and words[0] != "--":
        word = words.pop(0)
        if not word.startswith("--") and set(word[1:]) <= _SHORT_SWITCHES:
            continue
        name, equals, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        if not equals and name not in _SWITCHES:
            value = words.pop(0) if words else ""
        options.append((_NAMES.get(name, name), value.removeprefix("=") if not word.startswith("--") else value))
    return options, words[1:] if words[:1] == ["--"] else words


def _apply(container: Container, name: str, value: str) -> None:
    if name == "--env":
        key, equals, text = value.partition("=")
        container.environment[key] = text if equals else None
    elif name == "--env-file":
        container.environment_files.append(value)
    elif name == "--network":
        container.host_network = value == "host"
    elif name == "--publish":
        outside, _, inside = value.partition("/")[0].rpartition(":")
        container.published.append((outside, inside))
    elif name == "--volume" and ":" in value:
        outside, inside = value.split(":")[:2]
        container.volumes.append((outside.rstrip("/") or "/", inside.rstrip("/")))
    elif name == "--mount":
        pairs = {key: said for key, _, said in (part.partition("=") for part in value.split(","))}
        outside, inside = pairs.get("source") or pairs.get("src", ""), pairs.get("target") or pairs.get("dst", "")
        container.volumes.append((outside.rstrip("/"), (inside or pairs.get("destination", "")).rstrip("/")))
    elif name == "--entrypoint" and value:
        container.command = [value, *container.command]


def _within(outside: str, inside: str, port: int) -> int | None:
    """The host's port for a container's, where both may be ranges; None when it is not in there, or chosen at random."""
    low, _, high = inside.partition("-")
    first, last = whole_number(low), whole_number(high or low)
    if first is None or last is None or not first <= port <= last:
        return None
    start = whole_number(outside.partition("-")[0])
    return None if start is None else start + port - first

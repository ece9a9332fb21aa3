"""One hop on the way to a host: everything that the SSH library must be told of it, from command line and configuration."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from specconsole import paths
from specconsole.errors import ConfigError, UsageError
from specconsole.host import target
from specconsole.host.known_hosts import DEFAULT_PORT, name_of
from specconsole.host.ssh_config import Asker, Found, Reader, expand
from specconsole.host.target import Target
from specconsole.host.way import Way

CONNECT_S = 10.0
MOST_HOPS = 8
_DEFAULT_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa", "id_ed25519_sk", "id_ecdsa_sk")
_TIMES = re.compile(r"(\d+)([smhdw]?)", re.IGNORECASE)
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


@dataclass(frozen=True)
class Hop:
    """A host to log in to."""

    name: str
    """As typed or as the configuration calls it."""
    host: str
    port: int
    user: str
    known_as: str
    """Its name in the known_hosts files."""
    alias: str | None
    """HostKeyAlias: the name in its certificate."""
    identities: tuple[Path, ...]
    identities_given: bool
    """Named by the user: a file that cannot be read is worth a word."""
    certificates: tuple[Path, ...]
    identities_only: bool
    agent: str | None
    jumps: tuple[Target, ...]
    proxy_command: str | None
    known_hosts: tuple[Path, ...]
    """The user's files; a new key goes into the first."""
    global_known_hosts: tuple[Path, ...]
    revoked: tuple[Path, ...]
    strict: str
    """"ask", "yes": unknown keys refuse, "accept-new": unknown keys are taken and said."""
    hash_names: bool
    ciphers: str | None
    macs: str | None
    kex: str | None
    host_key_algorithms: str | None
    publickey: bool
    password: bool
    keyboard: bool
    preferred: tuple[str, ...]
    attempts: int
    """How often a password may be typed."""
    address_family: str
    bind_address: str | None
    connect_s: float
    compression: bool
    ignored: tuple[str, ...]

    @property
    def login(self) -> str:
        """user@host as people read it."""
        return f"{self.user}@{self.host}" + (f":{self.port}" if self.port != DEFAULT_PORT else "")


def chain(where: Target, way: Way) -> tuple[Hop, ...]:
    """Resolve a host and the jump hosts before it, the first one to connect to first.

    Raises:
        ConfigError: the configuration makes no sense, or its jumps lead in a circle.
    """
    return _chain(where, way, (), None)


def _chain(where: Target, way: Way, seen: tuple[str, ...], jumps: tuple[Target, ...] | None) -> tuple[Hop, ...]:
    if where.text in seen or len(seen) >= MOST_HOPS:
        raise ConfigError(f"ProxyJump leads in a circle: {' → '.join((*seen, where.text))}.")
    hop = resolve(where, way if not seen else _for_a_jump(way))
    hops: tuple[Hop, ...] = ()
    for jump in hop.jumps if jumps is None else jumps:
        # The first jump may have a jump of its own; the others are reached through the one before them.
        hops += _chain(jump, way, (*seen, where.text), None if not hops else ())
    return (*hops, hop)


def _for_a_jump(way: Way) -> Way:
    """The command line is about the host, not about the jumps before it (ssh(1), -J); accepting new keys is about all."""
    from dataclasses import replace

    return replace(way, user=None, port=None, identities=(), jump=None)


def resolve(where: Target, way: Way) -> Hop:
    """Evaluate the configuration for one host; raises ConfigError."""
    found = _read(where, way)
    return _Resolver(where, way, found).hop()


def _read(where: Target, way: Way) -> Found:
    asker = Asker(where.host, where.user or way.user, where.port or way.port, way.local_user, _runner(where, way))
    found = Found()
    for final in (False, True):
        reader = Reader(asker, way.folder, final=final, found=found)
        if way.config:
            owner = None if way.config_is_asked_for else way.local_uid
            reader.read(way.config, base=way.folder, needed=way.config_is_asked_for, owner=owner)
            if way.system_config:
                reader.read(way.system_config, base=way.system_config.parent)
        if not found.wants_final:
            break
    return found


def _runner(where: Target, way: Way) -> Callable[[str, Found], bool]:
    """How Match exec runs its command: by the user's own configuration, as ssh does."""

    def run(command: str, found: Found) -> bool:
        tokens = _Resolver(where, way, found).tokens()
        shell = ["/bin/sh", "-c", expand(command, tokens)]
        try:
            done = subprocess.run(shell, stdin=subprocess.DEVNULL, capture_output=True, timeout=CONNECT_S, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0

    return run


class _Resolver:
    """Turns the values that were found into a hop."""

    def __init__(self, where: Target, way: Way, found: Found) -> None:
        self.where = where
        self.way = way
        self.found = found
        self.notes = list(found.ignored)

    def hop(self) -> Hop:
        """Make the hop."""
        tokens, way = self.tokens(), self.way
        identities = self._identities(tokens)
        return Hop(
            name=self.where.text,
            host=tokens["h"],
            port=int(tokens["p"]),
            user=tokens["r"],
            known_as=name_of(tokens["h"], int(tokens["p"]), self.found.first("hostkeyalias")),
            alias=self.found.first("hostkeyalias"),
            identities=identities or tuple(way.folder / name for name in _DEFAULT_KEYS),
            identities_given=bool(identities),
            certificates=self._paths("certificatefile", tokens),
            identities_only=self._flag("identitiesonly", False),
            agent=self._agent(tokens),
            jumps=self._jumps(),
            proxy_command=self._proxy_command(tokens),
            known_hosts=self._known_hosts(tokens),
            global_known_hosts=self._paths("globalknownhostsfile", tokens)
            or (Path("/etc/ssh/ssh_known_hosts"), Path("/etc/ssh/ssh_known_hosts2")),
            revoked=self._paths("revokedhostkeys", tokens),
            strict=self._strict(),
            hash_names=self._flag("hashknownhosts", False),
            ciphers=self.found.first("ciphers"),
            macs=self.found.first("macs"),
            kex=self.found.first("kexalgorithms"),
            host_key_algorithms=self.found.first("hostkeyalgorithms"),
            publickey=self._flag("pubkeyauthentication", True),
            password=self._flag("passwordauthentication", True) and not self._flag("batchmode", False),
            keyboard=self._flag("kbdinteractiveauthentication", self._flag("challengeresponseauthentication", True))
            and not self._flag("batchmode", False),
            preferred=tuple((self.found.first("preferredauthentications") or "").split(",")) if self.found.first("preferredauthentications") else (),
            attempts=self._number("numberofpasswordprompts", 3),
            address_family=(self.found.first("addressfamily") or "any").lower(),
            bind_address=self.found.first("bindaddress"),
            connect_s=self._seconds("connecttimeout", CONNECT_S),
            compression=self._flag("compression", False),
            ignored=tuple(self.notes),
        )  # fmt: skip

    def tokens(self) -> dict[str, str]:
        """What %h and its like stand for (ssh_config(5), TOKENS)."""
        way, where, first = self.way, self.where, self.found.first
        host = expand(first("hostname") or where.host, {"%": "%", "h": where.host})
        user = where.user or way.user or first("user") or way.local_user
        port = str(where.port or way.port or self._number("port", DEFAULT_PORT))
        jump = way.jump or first("proxyjump") or ""
        whole = f"{way.local_host}{host}{port}{user}{jump}"
        return {
            "%": "%", "h": host, "n": where.host, "p": port, "r": user, "u": way.local_user, "i": str(way.local_uid),
            "d": str(way.folder.parent), "l": way.local_host, "L": way.local_host.partition(".")[0], "j": jump,
            "k": first("hostkeyalias") or where.host, "C": hashlib.sha1(whole.encode()).hexdigest(),  # noqa: S324
        }  # fmt: skip

    def _paths(self, keyword: str, tokens: dict[str, str]) -> tuple[Path, ...]:
        values = [word for words in self.found.values.get(keyword, []) for word in words if word.lower() != "none"]
        return tuple(self._path(value, tokens) for value in values)

    def _path(self, value: str, tokens: dict[str, str]) -> Path:
        expanded = expand(value, tokens, self.way.environment)
        home = self.way.folder.parent
        return home / expanded[2:] if expanded.startswith("~/") else paths.typed(expanded)

    def _identities(self, tokens: dict[str, str]) -> tuple[Path, ...]:
        typed = [paths.typed(name) for name in self.way.identities]
        for path in typed:
            if not path.is_file():
                raise UsageError(f"There is no key file {path}.")
        return (*typed, *(path for path in self._paths("identityfile", tokens) if path not in typed))

    def _agent(self, tokens: dict[str, str]) -> str | None:
        value = self.found.first("identityagent")
        if value is None or value == "SSH_AUTH_SOCK":
            return self.way.agent
        if value.lower() == "none":
            return None
        return (
            self.way.environment.get(value[1:])
            if value.startswith("$") and "{" not in value
            else str(self._path(value, tokens))
        )

    def _known_hosts(self, tokens: dict[str, str]) -> tuple[Path, ...]:
        """The user's files; `none` keeps nothing, so that every key is unknown, and never means that none is checked."""
        if "userknownhostsfile" in self.found.values:
            return self._paths("userknownhostsfile", tokens)
        return (self.way.folder / "known_hosts", self.way.folder / "known_hosts2")

    def _jumps(self) -> tuple[Target, ...]:
        value = self.way.jump or self.found.first("proxyjump") or "none"
        if value.lower() == "none":
            return ()
        return tuple(target.parse(part) for part in value.split(","))

    def _proxy_command(self, tokens: dict[str, str]) -> str | None:
        value = self.found.first("proxycommand")
        if value is None or value.lower() == "none" or self._jumps():
            return None
        return expand(value, {name: tokens[name] for name in "%hnpr"})

    def _strict(self) -> str:
        value = (self.found.first("stricthostkeychecking") or "ask").lower()
        if value in ("no", "off"):
            self.notes.append("StrictHostKeyChecking no is ignored: host keys are always verified.")
            value = "ask"
        if value == "ask" and self.way.accept_new:
            return "accept-new"
        return {"true": "yes"}.get(value, value) if value in ("yes", "true", "ask", "accept-new") else "ask"

    def _flag(self, keyword: str, default: bool) -> bool:
        value = self.found.first(keyword)
        if value is None:
            return default
        if value.lower() not in ("yes", "true", "no", "false"):
            raise ConfigError(f"{keyword} in the SSH configuration is {value!r}, neither yes nor no.")
        return value.lower() in ("yes", "true")

    def _number(self, keyword: str, default: int) -> int:
        value = self.found.first(keyword)
        if value is None:
            return default
        if not value.isascii() or not value.isdecimal():
            raise ConfigError(f"{keyword} in the SSH configuration is {value!r}, no number.")
        return int(value)

    def _seconds(self, keyword: str, default: float) -> float:
        """A time as sshd_config(5), TIME FORMATS, has it: 90, 5m, 1h30m."""
        value = self.found.first(keyword)
        if value is None or value.lower() == "none":
            return default
        parts = _TIMES.findall(value)
        if not parts or "".join(number + unit for number, unit in parts) != value:
            raise ConfigError(f"{keyword} in the SSH configuration is {value!r}, no time.")
        return float(sum(int(number) * _SECONDS[unit.lower()] for number, unit in parts)) or default

"""What a unit is and how it is; frozen values, no commands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from specconsole.host.base import Endpoint


class Role(Enum):
    """A unit's part in a deployment."""

    BASELINE = "baseline"
    """No speculation."""
    VARIANT = "variant"
    """With speculative decoding."""
    UNKNOWN = "unknown"
    """Its command could not be read in full, so that speculation may be on or off."""


@dataclass(frozen=True)
class Speculation:
    """The speculative configuration of a unit, as its command line gives it."""

    method: str
    """Free text: ngram, eagle3, mtp …; "draft_model" where only a model is named."""
    tokens: int | None
    """num_speculative_tokens, k."""
    model: str | None
    config: str
    """The JSON (or the old flags) as given."""


@dataclass(frozen=True)
class Serving:
    """What a unit's command serves, read from its effective ExecStart."""

    argv: tuple[str, ...]
    """With secrets masked."""
    launcher: str
    """serve, module, docker, or shell (a wrapper that could not be looked into: then much is unknown)."""
    model: str | None
    served_names: tuple[str, ...]
    """What /v1/models will list; the model's path where none is given."""
    endpoint: Endpoint
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    data_parallel: int = 1
    api_server_count: int | None = None
    speculation: Speculation | None = None
    eager: bool = False
    has_api_key: bool = False
    log_file: str | None = None
    """Where the unit's output goes when it is not the journal (StandardOutput=file:, append:, or a redirect)."""
    image: str | None = None
    unknown: tuple[str, ...] = ()
    """What the command leaves open, in words: "speculation", "model", "port", "TLS", "parallelism"."""

    @property
    def role(self) -> Role:
        """Variant with speculation, baseline without; unknown where the command does not tell."""
        if self.speculation:
            return Role.VARIANT
        return Role.UNKNOWN if "speculation" in self.unknown else Role.BASELINE

    @property
    def parallelism(self) -> str:
        """TP8, TP8 PP2, DP4; "" for a single GPU."""
        sizes = (("TP", self.tensor_parallel), ("PP", self.pipeline_parallel), ("DP", self.data_parallel))
        return " ".join(f"{name}{size}" for name, size in sizes if size > 1)


@dataclass(frozen=True)
class UnitState:
    """systemd's view of a unit at one moment."""

    load: str
    """loaded, not-found, masked, error, bad-setting."""
    active: str
    """active, activating, deactivating, inactive, failed, reloading."""
    sub: str
    result: str
    main_pid: int | None
    restarts: int | None
    exit_code: str | None
    """exited, killed or dumped, of the main process's last end."""
    exit_status: int | None
    since_s: float | None
    """Seconds in the present state, by the host's boot clock, when `mono` was read."""
    mono: float | None
    """The host's boot clock at that reading, in seconds."""
    invocation: str
    enabled: str
    """enabled, disabled, static, masked, generated …"""
    need_reload: bool = False
    status_text: str = ""
    cgroup: str = ""
    cpu_s: float | None = None
    started_mono: float | None = None
    """The host's boot clock when the main process of this invocation started (ExecMainStartTimestampMonotonic)."""
    job: str = ""
    """The job that waits or runs for it: start, stop, restart; "" for none."""
    read: float | None = None
    """Our own monotonic seconds when it was asked for; None: not noted."""

    @property
    def running(self) -> bool:
        """The unit has, or is about to have, processes."""
        return self.active in ("active", "activating", "deactivating", "reloading")


@dataclass(frozen=True)
class Unit:
    """A service that runs vLLM."""

    name: str
    """With its suffix: vllm-kimi.service."""
    manager: str
    """system, or user:NAME for a user's manager."""
    description: str
    fragment: str
    """Path of the unit file; "" for a transient one."""
    drop_ins: tuple[str, ...]
    serving: Serving
    state: UnitState
    group: str = ""
    """Units that serve the same model share a group: baseline and variants."""
    label: str = ""
    """A short name from the profile, or made from the unit's."""
    stated_role: Role | None = None
    """Its role by the profile, for where the command does not tell."""
    version: str | None = None
    """vLLM's version, from the installed package or the image's tag, without running anything; None: not known."""
    expected_load_s: tuple[float, float] | None = None
    """From start to ready, page cache cold, as the profile expects; None: it does not say."""
    unread: tuple[str, ...] = ()
    """Files that its command rests on and that could not be read, or not in time."""
    derivable: bool = False
    """The profile says what it would be derived as."""

    @property
    def role(self) -> Role:
        """By its command; where that does not tell, by the profile."""
        told = self.serving.role
        return self.stated_role or told if told is Role.UNKNOWN else told

    @property
    def underived(self) -> bool:
        """Described by the profile, and not written yet."""
        return self.derivable and self.state.load == "not-found" and not self.state.running

    @property
    def key(self) -> str:
        """What tells units of several managers apart: name, and user where it is a user's."""
        return self.name if self.manager == "system" else f"{self.manager.removeprefix('user:')}/{self.name}"

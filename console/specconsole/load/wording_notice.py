"""Lines that are worth an operator's eye, and facts that stand outside the milestones; data.

Benign look-alikes (`SymmMemCommunicator`, custom all-reduce on PCIe, ulimit, "Free memory on device … Replace
gpu_memory_utilization") are in no row.
"""

from __future__ import annotations

from dataclasses import dataclass

from specconsole.load.wording import Table, Wording

_METHOD = r"(?P<method_said>[\w/+.-]+)"

SCHEDULING = Table(
    (
        Wording("Async scheduling not supported with ", rf"{_METHOD}-based speculative decoding and will be disabled", since="0.14.0", until="0.32.0", facts=(("async_scheduling", False),)),
        Wording("Async scheduling is disabled because ", r"(?P<async_why>.{1,200})", since="0.33.0", facts=(("async_scheduling", False),)),
        Wording("Currently, async scheduling is only supported with ", "", since="0.11.1", until="0.13.0", facts=(("async_scheduling", False),)),
        Wording("Asynchronous scheduling is enabled.", since="0.14.0", until="0.26.0", facts=(("async_scheduling", True),)),
        Wording("Asynchronous scheduling is disabled.", since="0.14.0", until="0.26.0", facts=(("async_scheduling", False),)),
        Wording("Model Runner V2 ", r"(?P<runner_why>.{1,300}?); using the V1 model runner instead", since="0.23.0", facts=(("runner", "V1"),)),
        Wording("Model Runner v2 ", r"(?P<runner_why>.{1,300}?); using the v1 model runner instead", since="0.22.1", until="0.22.1", facts=(("runner", "V1"),)),
    )
)  # fmt: skip
"""Scheduling and runner: they change with speculation, and are part of every difference that a benchmark shows."""

PARAMETERS = Table(
    (
        Wording("min_p, logit_bias, and min_tokens parameters won't ", since="0.11.1", until="0.16.0", facts=(("ineffective", ("min_p", "logit_bias", "min_tokens")),)),
        Wording("min_p and logit_bias parameters won't work ", since="0.17.1", facts=(("ineffective", ("min_p", "logit_bias")),)),
    )
)  # fmt: skip


@dataclass(frozen=True)
class Remark:
    """A line worth reading, by its kind, and what it means."""

    kind: str
    says: str
    means: str
    inside: bool = False


REMARKS = (
    Remark("async_off", "Async scheduling not supported with ", "async scheduling is off with this method: part of any slowdown is that"),
    Remark("async_off", "Async scheduling is disabled because ", "async scheduling is off with this method: part of any slowdown is that"),
    Remark("async_off", "Currently, async scheduling is only supported with ", "async scheduling is off with this method: part of any slowdown is that"),
    Remark("runner_fallback", "Model Runner V2 ", "it runs on the V1 model runner, the baseline perhaps on V2"),
    Remark("ineffective", "min_p, logit_bias, and min_tokens parameters won't ", "min_p, logit_bias and min_tokens do not work with speculation"),
    Remark("ineffective", "min_p and logit_bias parameters won't work ", "min_p and logit_bias do not work with speculation"),
    Remark("scheduled_tokens", "max_num_scheduled_tokens is set to ", "speculation lowers the tokens scheduled a step: consider a larger --max-num-batched-tokens"),
    Remark("trace_function", "VLLM_TRACE_FUNCTION is enabled", "VLLM_TRACE_FUNCTION is set: every Python call is logged, and the start takes many times longer"),
    Remark("v0_fallback", " is experimental on VLLM_USE_V1=1. Falling back to V0 Engine", "it runs on the old V0 engine", inside=True),
    Remark("v0_fallback", " is not supported by the V1 Engine. Falling back to V0", "it runs on the old V0 engine", inside=True),
    Remark("method_renamed", " is deprecated and replaced with mtp", "this name of the method is deprecated: mtp is the new one", inside=True),
    Remark("p2p_cache", "generating GPU P2P access cache in ", "first start on this host: GPU peer access is tested, which can take a minute"),
)  # fmt: skip
"""Kinds in the order of their weight; each kind is told once a start."""
REMARK_STARTS = tuple(remark.says for remark in REMARKS if not remark.inside)
REMARK_WORDS = tuple(remark.says for remark in REMARKS if remark.inside)
"""A line that begins with none of those and holds none of these is no remark."""

"""A unit that fails half a minute after each start, and that systemd starts again for ever."""

from __future__ import annotations

from specconsole.host.simulated.scenario import kimi, usual
from specconsole.host.simulated.scenario.load import until
from specconsole.host.simulated.scenario.phase import Phase, Say
from specconsole.host.simulated.scenario.scenario import Scenario, Start
from specconsole.host.simulated.script import Ending

_SAID = (
    "Traceback (most recent call last):",
    '  File "/opt/vllm/bin/vllm", line 10, in <module>',
    "    sys.exit(main())",
    '  File "/opt/vllm/lib/python3.12/site-packages/vllm/engine/arg_utils.py", line 1389, in create_speculative_config',
    "    return SpeculativeConfig(**self.speculative_config)",
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for SpeculativeConfig",
    "  Value error, prompt_lookup_min=5 must be <= prompt_lookup_max=4 [type=value_error, input_type=ArgsKwargs]",
    "    For further information visit https://errors.pydantic.dev/2.12/v/value_error",
)


def _course(phases: tuple[Phase, ...]) -> tuple[Phase, ...]:
    (imports,) = until(phases, "config")
    config = next(phase for phase in phases if phase.name == "config")
    says = (*config.says[:4], *(Say(6.2, "api", line) for line in _SAID))
    return (imports, Phase("config", 8.0, says, alive=1, api=0.9))


def _fate(length: float) -> Ending:
    return Ending(length, length + 0.2, status=1, result="exit-code")


SCENARIO = Scenario(
    name="crash-loop",
    title="the n-gram unit refuses its own settings, and systemd starts it again every half minute",
    baseline=usual.BASELINE,
    ngram=Start(usual.NGRAM, usual.LOSING, course=_course, fate=_fate),
    opens=kimi.NGRAM,
    speed=10.0,
    speculation={"method": "ngram", "num_speculative_tokens": kimi.K, "prompt_lookup_max": 4, "prompt_lookup_min": 5},
    restart="on-failure",
)

"""Which unit a name means: full names first, then labels, then what is left of a name without what all have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specconsole.errors import NotRunning, UsageError
from specconsole.service.choose import failed, named
from tests.ui.scene import unit

UNITS = (
    unit("vllm-moe-eagle3.service", label="eagle3"),
    unit("vllm-eagle3.service"),
    unit("vllm-moe.service", label="moe"),
)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("vllm-moe-eagle3.service", "vllm-moe-eagle3.service"),
        ("vllm-moe-eagle3", "vllm-moe-eagle3.service"),
        ("moe-eagle3", "vllm-moe-eagle3.service"),
        ("eagle3", "vllm-moe-eagle3.service"),
        ("moe", "vllm-moe.service"),
    ],
)
def test_a_name_means_one_unit(wanted: str, found: str) -> None:
    assert named(UNITS, wanted).name == found


def test_a_label_of_two_units_is_not_guessed() -> None:
    with pytest.raises(UsageError, match="names 2 units"):
        named((*UNITS, unit("other.service", label="moe")), "moe")


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(NotRunning, match="no vLLM unit ngram"):
        named(UNITS, "ngram")


def test_the_last_that_failed_is_meant_where_none_runs() -> None:
    gone = unit("gone.service", "failed", label="gone", since_s=10.0)
    older = unit("older.service", "failed", label="older", since_s=900.0)
    stopped, running = unit("stopped.service", label="stopped", since_s=1.0), unit("running.service", "active")
    assert failed((older, gone, stopped), None) == gone
    assert failed((older, gone, running), None) is None
    assert failed((older, gone, running), "older") == older
    assert failed((older, gone, stopped), "stopped") is None
    queued = replace(gone, state=replace(gone.state, job="start"))
    assert failed((queued,), None) is None, "it is about to be started"

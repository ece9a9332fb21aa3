"""What a swap tells of a failure: its cause once whole, and never cut inside a word."""

from __future__ import annotations

from typing import Any

import pytest

from specconsole.remote.swap_record import Step, Story
from specconsole.service.swap import SwapView
from specconsole.verb.swap_teller import Teller, causeless, shortened

CAUSE = "torch.OutOfMemoryError: CUDA out of memory. " + "Tried to allocate 1.96 GiB. " * 12 + "allocated in p"
NOTE: dict[str, Any] = {"text": f"ngram.service: it exited with status 1; {CAUSE}", "cause": CAUSE}
WHY = f"ngram.service failed: it exited with status 1; {CAUSE}"
STORY = Story(
    steps=(Step("watch", back=False, state="failed", began=1.0, ended=2.0, why=WHY, notes=(NOTE,)),),
    outcome="rolled_back",
    why=WHY,
)


def test_the_steps_tell_the_error_s_beginning_once(capsys: pytest.CaptureFixture[str]) -> None:
    Teller(as_json=False)(SwapView(STORY))
    noted, failed = capsys.readouterr().out.splitlines()[1:]
    assert noted.strip().startswith(
        "ngram.service: it exited with status 1; torch.OutOfMemoryError: CUDA out of memory."
    )
    assert len(noted) < 180
    assert noted.endswith(" …")
    assert failed.endswith("watch  ngram.service failed: it exited with status 1")


def test_a_reason_is_told_without_what_was_told_and_another_one_whole() -> None:
    assert causeless(STORY, STORY.why) == "ngram.service failed: it exited with status 1"
    assert causeless(STORY, "cancelled") == "cancelled"


@pytest.mark.parametrize(
    ("text", "short"), [("one two", "one two"), ("one two three", "one two …"), ("one two, three", "one two …"), ("x" * 12, "xxxxxxxx…")]
)  # fmt: skip
def test_a_text_is_never_cut_inside_a_word(text: str, short: str) -> None:
    assert shortened(text, 8) == short

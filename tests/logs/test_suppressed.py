"""journald's word of missing lines, in each spelling."""

from __future__ import annotations

import pytest

from specconsole.logs.suppressed import dropped, suppressed


@pytest.mark.parametrize(
    ("text", "count", "unit"),
    [
        (
            "Nov 29 20:10:51 gpu01 systemd-journald[26393]: Suppressed 4312 messages from vllm-spec.service",
            4312,
            "vllm-spec.service",
        ),
        (
            "Feb 14 19:59:53 gpu01 systemd-journal[27521]: Suppressed 23 messages from /system.slice/vllm-x.service",
            23,
            "vllm-x.service",
        ),
        ("Nov 29 20:07:32 gpu01 systemd-journald[18804]: N_DROPPED=5256047", 5256047, None),
        ('{"_COMM":"systemd-journald","N_DROPPED":"17","OBJECT_SYSTEMD_UNIT":"a.service"}', 17, "a.service"),
    ],
)
def test_spellings(text: str, count: int, unit: str | None) -> None:
    found = suppressed(text, 3)
    assert found
    assert (found.line, found.count, found.unit) == (3, count, unit)


def test_other_lines_are_none() -> None:
    assert suppressed("vllm[1]: dropped 12 requests") is None
    assert dropped("nothing missing here", "u") is None
    told = dropped("4,312 lines missing here: journald's rate limit dropped them.", "u", 9)
    assert told
    assert (told.count, told.unit, told.line) == (4312, "u", 9)

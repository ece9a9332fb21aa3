"""What the user may type for a host, and what is refused before anything is tried."""

from __future__ import annotations

import pytest

from specconsole.errors import UsageError
from specconsole.host.target import Demo, Target, demo, parse


@pytest.mark.parametrize(
    ("text", "host", "user", "port"),
    [
        ("gpu", "gpu", None, None),
        ("root@gpu-1", "gpu-1", "root", None),
        ("root@gpu-1:2222", "gpu-1", "root", 2222),
        ("ssh://ops@gpu-1:22/", "gpu-1", "ops", 22),
        ("[2001:db8::1]:22", "2001:db8::1", None, 22),
        ("root@[::1]", "::1", "root", None),
        ("root@fe80::1%eth0", "fe80::1%eth0", "root", None),
        ("ops@corp.example@gpu", "gpu", "ops@corp.example", None),
        ("  gpu  ", "gpu", None, None),
    ],
)
def test_forms_of_a_host(text: str, host: str, user: str | None, port: int | None) -> None:
    assert parse(text) == Target(text.strip(), host, user, port)


@pytest.mark.parametrize(
    "text",
    ["", "@gpu", "-oProxyCommand=x", "-x@gpu", "a b", "gpu:", "gpu:0", "gpu:65536", "gpu:2x", "gpu:²", "a\x1b[2Jb"],
)
def test_no_host(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("demo", Demo("")),
        ("demo@60", Demo("", "", 60.0)),
        ("demo@0.5", Demo("", "", 0.5)),
        ("demo:oom@60", Demo("oom", "", 60.0)),
        ("demo:oom:ngram@60", Demo("oom", "ngram", 60.0)),
        ("demo:22", None),
        ("demo@gpu-1", None),
        ("demo@10.0.0.7", None),
        ("demo@60:22", None),
    ],
)
def test_the_demo_and_a_host_of_its_name(text: str, found: Demo | None) -> None:
    assert demo(text) == found
    assert found is None or demo(found.text) == found, "what is told to be typed leads there again"

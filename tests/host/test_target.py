"""What the user may type for a host, and what is refused before anything is tried."""

from __future__ import annotations

import pytest

from specconsole.errors import UsageError
from specconsole.host.target import Target, parse


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

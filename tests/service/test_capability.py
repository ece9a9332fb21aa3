"""What an old systemd refuses is known for what it is, not for an absent unit."""

from __future__ import annotations

from specconsole.service.capability import capability


def test_refused_options() -> None:
    found = capability(
        [
            (
                ["systemctl", "show", "a", "--timestamp=unix"],
                1,
                "",
                "systemctl: unrecognized option '--timestamp=unix'\n",
            ),
            (["systemctl", "--version"], 0, "systemd 237\n+PAM\n", ""),
        ]
    )
    assert (found.version, found.refused, found.unanswered) == (237, ("--timestamp",), True)
    assert found.can == {"timestamp_unix": False, "value": True, "output_fields": True}


def test_nothing_asked_nothing_known() -> None:
    assert capability([]) == capability([(["ls"], 0, "x", "")])
    assert capability([]).can is None

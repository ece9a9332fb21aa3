"""The client configuration by OpenSSH's rules; where ssh is installed, its own reading of the same file is the judge."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.errors import ConfigError, UsageError
from specconsole.host.ssh_algorithm import choose
from specconsole.host.ssh_config import expand, matches, split
from specconsole.host.ssh_hop import Hop, chain, resolve
from specconsole.host.target import parse
from tests.host.server import way


def hop(home: Path, text: str, typed: str = "gpu", **values: object) -> Hop:
    mine = way(home, **values)
    mine.folder.joinpath("config").write_text(text)
    return resolve(parse(typed), mine)


@pytest.mark.parametrize(
    ("line", "keyword", "words"),
    [
        ("HostName gpu.example", "hostname", ("gpu.example",)),
        ("  Port=22", "port", ("22",)),
        ("Port = 22 # the usual", "port", ("22",)),
        ('IdentityFile "~/my key"  # mine', "identityfile", ("~/my key",)),
        ("IdentityFile ~/.ssh/key#2", "identityfile", ("~/.ssh/key#2",)),
        ("Host a b\t!c", "host", ("a", "b", "!c")),
        ("ProxyCommand nc %h 22 # not a comment", "proxycommand", ("nc %h 22 # not a comment",)),
        ("ProxyCommand=ssh -W '%h:%p' gw", "proxycommand", ("ssh -W '%h:%p' gw",)),
        ("Compression", "compression", ()),
    ],
)
def test_lines(line: str, keyword: str, words: tuple[str, ...]) -> None:
    assert split(line) == (keyword, words)


@pytest.mark.parametrize("line", ["", "   ", "# x", "\t#x"])
def test_lines_that_say_nothing(line: str) -> None:
    assert split(line) is None


@pytest.mark.parametrize("line", ['IdentityFile "open', "=5", "!x"])
def test_lines_that_make_no_sense(line: str) -> None:
    with pytest.raises(ValueError):
        split(line)


@pytest.mark.parametrize(
    ("patterns", "subject", "fits"),
    [
        (("*",), "gpu", True),
        (("gpu-?",), "gpu-1", True),
        (("gpu-?",), "gpu-12", False),
        (("*", "!gpu-1"), "gpu-1", False),
        (("!gpu-1",), "gpu-2", False),
        (("a.b",), "axb", False),
        (("GPU",), "gpu", False),
    ],
)
def test_patterns(patterns: tuple[str, ...], subject: str, fits: bool) -> None:
    assert matches(patterns, subject) is fits


def test_the_first_value_wins_and_keys_add_up(own_home: Path) -> None:
    found = hop(
        own_home,
        """
        User before  # outside of any block
        IdentityFile ~/.ssh/first
        Host gpu
            HostName 10.0.0.1
            User ops
            IdentityFile ~/.ssh/second
        Host *
            HostName wrong
            Port 2222
        """,
    )
    assert (found.user, found.host, found.port) == ("before", "10.0.0.1", 2222)
    assert [path.name for path in found.identities] == ["first", "second"]
    assert found.known_as == "[10.0.0.1]:2222"


def test_what_was_typed_wins_over_the_file(own_home: Path) -> None:
    text = "User ops\nPort 2222\n"
    assert hop(own_home, text, "root@gpu:22").login == "root@gpu"
    assert hop(own_home, text, user="x", port=1).login == "x@gpu:1"
    assert hop(own_home, "").login == "me@gpu"


def test_blocks(own_home: Path) -> None:
    text = """
        Match originalhost gpu host 10.*
            Port 1
        Host gpu
            HostName 10.0.0.1
        Match host 10.* user ops,root
            Port 2
        Match !host 10.*
            Port 3
        Match all
            Port 4
        """
    assert hop(own_home, text, "root@gpu").port == 2
    assert hop(own_home, text, "gpu").port == 4
    assert hop(own_home, text, "other").port == 3


def test_final_blocks_see_the_host_name(own_home: Path) -> None:
    assert hop(own_home, "Match final host 10.*\nPort 7\nHost gpu\nHostName 10.0.0.1\nIdentityFile a\n").port == 7


def test_commands_decide_with_their_tokens_and_only_when_the_rest_holds(own_home: Path) -> None:
    text = f'Match host gpu exec "test %n = gpu"\nPort 5\nMatch host other exec "touch {own_home}/ran"\nPort 6\n'
    assert hop(own_home, text).port == 5
    assert not (own_home / "ran").exists()


def test_a_criterion_that_cannot_be_judged_leaves_its_block_out_and_says_so(own_home: Path) -> None:
    found = hop(own_home, "Match localnetwork 10.0.0.0/8\nPort 9\nMatch all\nCompression yes\n")
    assert (found.port, found.compression) == (22, True)
    assert "Match localnetwork" in found.ignored[0]
    assert "line 1" in found.ignored[0]


def test_included_files(own_home: Path) -> None:
    folder = way(own_home).folder
    (folder / "conf.d").mkdir()
    (folder / "conf.d" / "b").write_text("Host gpu\nPort 2\n")
    (folder / "conf.d" / "a").write_text("Host other\nPort 1\n")
    (folder / "inner").write_text("User inner\nInclude deeper\n")
    (folder / "deeper").write_text("Compression yes\n")
    text = "Include conf.d/* missing\nHost nobody\nInclude never\nHost gpu\nInclude ~/.ssh/inner\nPort 3\n"
    (folder / "never").write_text("User never\n")
    found = hop(own_home, text)
    assert (found.port, found.user, found.compression) == (2, "inner", True)


def test_files_that_include_themselves(own_home: Path) -> None:
    with pytest.raises(ConfigError, match="deep"):
        hop(own_home, "Include config\n")


def test_a_file_that_others_may_write_refuses(own_home: Path) -> None:
    mine = way(own_home)
    path = mine.folder / "config"
    path.write_text("ProxyCommand evil\n")
    path.chmod(0o666)
    with pytest.raises(ConfigError, match="written by others"):
        resolve(parse("gpu"), mine)


def test_a_file_that_was_asked_for_must_be_there(own_home: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        resolve(parse("gpu"), way(own_home, config=tmp_path / "none", config_is_asked_for=True))


@pytest.mark.parametrize(
    "text",
    ["Port x\n", "Compression maybe\n", "User\n", "Host\n", "Match host\n", "ConnectTimeout soon\n", "HostName %x\n"],
)
def test_values_that_make_no_sense(own_home: Path, text: str) -> None:
    with pytest.raises(ConfigError):
        hop(own_home, text)


@pytest.mark.parametrize(("value", "seconds"), [("5", 5), ("2m", 120), ("1h30m", 5400), ("none", 10), ("0", 10)])
def test_times(own_home: Path, value: str, seconds: float) -> None:
    assert hop(own_home, f"ConnectTimeout {value}\n").connect_s == seconds


def test_tokens_and_variables(own_home: Path) -> None:
    found = hop(
        own_home,
        "HostName %h.example\nPort 2200\nUser ops\nIdentityFile ${KEYS}/%r@%h:%p\nProxyCommand nc %h %p\n"
        "UserKnownHostsFile ~/.ssh/%k ~/.ssh/two\nIdentityAgent $AGENT\n",
        environment={"KEYS": "/keys", "AGENT": "/run/agent"},
    )
    assert str(found.identities[0]) == "/keys/ops@gpu.example:2200"
    assert found.proxy_command == "nc gpu.example 2200"
    assert found.known_hosts == (own_home / ".ssh" / "gpu", own_home / ".ssh" / "two")
    assert found.agent == "/run/agent"
    with pytest.raises(ConfigError):
        expand("${NOPE}", {}, {})


def test_options_without_effect_are_named_and_shell_options_are_not(own_home: Path) -> None:
    found = hop(
        own_home,
        "ControlMaster auto\nForwardAgent yes\nGSSAPIAuthentication yes\nFrobnicate 5\nStrictHostKeyChecking no\n",
    )
    assert [text.split()[0].lower() for text in found.ignored] == [
        "gssapiauthentication",
        "frobnicate",
        "stricthostkeychecking",
    ]
    assert found.strict == "ask"


def test_jumps_are_resolved_each_by_its_own_block(own_home: Path) -> None:
    mine = way(own_home, user="root", port=2022)
    mine.folder.joinpath("config").write_text(
        "Host gpu\nProxyJump a:2201,ops@b\nHost a\nHostName a.example\nProxyJump outer\nHost b\nProxyJump never\nUser x\n"
    )
    assert [one.login for one in chain(parse("gpu"), mine)] == [
        "me@outer",
        "me@a.example:2201",
        "ops@b",
        "root@gpu:2022",
    ]


def test_a_jump_of_the_command_line_wins_and_none_is_none(own_home: Path) -> None:
    mine = way(own_home, jump="ssh://j@c:99")
    mine.folder.joinpath("config").write_text("Host gpu\nProxyJump a\n")
    assert [one.login for one in chain(parse("gpu"), mine)] == ["j@c:99", "me@gpu"]
    assert len(chain(parse("gpu"), way(own_home, jump="none"))) == 1


def test_jumps_in_a_circle(own_home: Path) -> None:
    mine = way(own_home)
    mine.folder.joinpath("config").write_text("Host a\nProxyJump b\nHost b\nProxyJump a\n")
    with pytest.raises(ConfigError, match="circle"):
        chain(parse("a"), mine)


def test_a_key_file_that_is_not_there(own_home: Path) -> None:
    with pytest.raises(UsageError, match="no key file"):
        hop(own_home, "", identities=("/nowhere/key",))


@pytest.mark.parametrize(
    ("wish", "chosen"),
    [
        (None, ["a", "b"]),
        ("c", ["c"]),
        ("+c", ["a", "b", "c"]),
        ("-a", ["b"]),
        ("^c,b", ["c", "b", "a"]),
        ("b,nonsense", ["b"]),
        ("nonsense", ["a", "b"]),
    ],
)
def test_algorithms(wish: str | None, chosen: list[str]) -> None:
    assert choose(["a", "b", "x"], wish, ["a", "b", "c"]) == chosen


CONFIGS = [
    "Host gpu\n HostName 10.1.2.3\n Port 2222\n User ops # x\nHost *\n Port 1\n User y\n Compression yes\n",
    "Match host gpu\n User a\nMatch originalhost g*\n Port 5\nHost !gpu *\n Port 6\n",
    'Host "gpu"\n IdentityFile "~/a b"\n IdentityFile ~/c#d\n HostKeyAlias=z\n ConnectTimeout 1m\n',
    "ProxyJump a,b:22\nHost gpu\n ProxyJump none\n NumberOfPasswordPrompts 1\n",
    "Host gpu\n ProxyCommand nc -x '1 2' %h %p # y\n StrictHostKeyChecking accept-new\n",
    "Match final host 10.*\n Port 7\nHost gpu\n HostName 10.0.0.1\n",
]


@pytest.mark.skipif(not shutil.which("ssh"), reason="compares with the OpenSSH client where there is one")
@pytest.mark.parametrize("text", CONFIGS)
def test_ssh_itself_reads_the_same(own_home: Path, text: str) -> None:
    mine = way(own_home)
    path = mine.folder / "config"
    path.write_text(text)
    done = subprocess.run(
        ["ssh", "-G", "-F", path, "gpu"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HOME": str(own_home)},
    )
    theirs: dict[str, str] = {}
    for line in done.stdout.splitlines():
        keyword, _, value = line.partition(" ")
        theirs.setdefault(keyword, value)
    ours = resolve(parse("gpu"), mine)
    assert (ours.host, str(ours.port)) == (theirs["hostname"], theirs["port"])
    assert "user" in theirs
    assert ours.user == theirs["user"] or ours.user == "me"
    assert ours.compression is (theirs["compression"] == "yes")
    assert ",".join(jump.text for jump in ours.jumps) == theirs.get("proxyjump", "")
    assert (
        ours.proxy_command == expand(theirs["proxycommand"], {"h": ours.host, "p": str(ours.port)})
        if "proxycommand" in theirs
        else True
    )
    assert ours.connect_s == float(theirs["connecttimeout"] if theirs["connecttimeout"] != "none" else 10)
    assert str(ours.attempts) == theirs["numberofpasswordprompts"]
    if ours.identities_given:
        assert ours.identities[0].name == Path(theirs["identityfile"]).name


@given(st.text(max_size=60))
def test_no_line_breaks_the_parser_but_by_saying_so(line: str) -> None:
    try:
        found = split(line)
    except ValueError:
        return
    assert found is None or found[0] == found[0].lower()

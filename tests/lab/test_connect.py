"""Who may come in and how: keys, certificates, passphrases, passwords, second factors, aliases, host keys, jumps."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import struct
from pathlib import Path

import pytest

from specconsole.errors import CommandFailed, DeadlineExceeded, LinkLost, LinkRefused
from specconsole.host.base import LinkKind, Rights
from tests.lab.conftest import MakeHost
from tests.lab.host import LabHost
from tests.lab.programs import output
from tests.lab.reach import User, agent, gone, host_key, known, locked_key, reach, until, way

PASSWORD = "correct horse battery"
SEED = b"12345678901234567890"
SECOND_FACTOR = {
    "/etc/users.oath": f"HOTP twice - {SEED.hex()}\n",
    "/etc/pam.d/sshd": (
        "auth required pam_unix.so nodelay\nauth [success=1 default=ignore] pam_succeed_if.so quiet user != twice\n"
        "auth required pam_oath.so usersfile=/etc/users.oath window=5 digits=6\n"
        "account required pam_unix.so\nsession required pam_unix.so\nsession optional pam_systemd.so\n"
    ),
}
SSHD = "KbdInteractiveAuthentication yes\nMatch User pass\n  PasswordAuthentication yes\nMatch all\n"


def hotp(counter: int) -> str:
    """The code that a token shows (RFC 4226)."""
    digest = hmac.new(SEED, struct.pack(">Q", counter), hashlib.sha1).digest()
    number = struct.unpack(">I", digest[digest[-1] & 15 :][:4])[0] & 0x7FFFFFFF
    return f"{number % 10**6:06}"


@pytest.fixture(scope="module")
def host(make_shared: MakeHost) -> LabHost:
    users = {"root": (), "ops": ("sudo",), "guest": (), "pass": (), "twice": ()}
    return make_shared(
        gpu=False,
        vllm=False,
        users=users,
        passwords={"pass": PASSWORD, "twice": PASSWORD},
        sshd=SSHD,
        files=SECOND_FACTOR,
    )


@pytest.mark.parametrize(
    ("user", "rights", "uid"), [("root", Rights.ROOT, "0"), ("ops", Rights.SUDO, "0"), ("guest", Rights.USER, None)]
)
async def test_a_key_is_enough_and_rights_are_the_best_there_are(
    host: LabHost, user: str, rights: Rights, uid: str | None
) -> None:
    async with reach(host, user) as console:
        assert console.facts
        assert (console.facts.user, console.facts.rights, console.facts.hostname) == (user, rights, "gpu-1")
        assert console.read_only == (rights is Rights.USER)
        done = (await console.run(["id", "-u"])).check()
        assert done.text.strip() == (uid or host.run(f"id -u {user}").stdout.strip())


async def test_read_only_is_a_wish_that_counts(host: LabHost) -> None:
    async with reach(host, read_only=True) as console:
        assert console.read_only


async def test_an_alias_of_the_configuration(host: LabHost, tmp_path: Path) -> None:
    config = f"Host gpu # the big one\n  HostName {host.ip}\n  User ops\n  IdentityFile {host.key}\n"
    async with reach(host, to="gpu", by=way(known(tmp_path, host), config=config)) as console:
        assert console.name == "gpu"
        assert console.facts
        assert console.facts.user == "ops"


async def test_an_unknown_host_key_asks_and_no_is_no(host: LabHost, tmp_path: Path) -> None:
    who = User()
    with pytest.raises(LinkRefused):
        async with reach(host, by=way(known(tmp_path), host.key), who=who):
            pass
    asked = f"{who.asked[0].text} {who.asked[0].context}"
    assert output("ssh-keygen", "-lf", host.key.with_name("hostkey.pub")).split()[1] in asked
    assert (tmp_path / "known_hosts").read_text() == ""


async def test_an_accepted_host_key_is_kept(host: LabHost, tmp_path: Path) -> None:
    who = User(right_host=True)
    folder = known(tmp_path)
    async with reach(host, by=way(folder, host.key), who=who):
        assert len(who.asked) == 1
    async with reach(host, by=way(folder, host.key), who=who):
        assert len(who.asked) == 1


async def test_accept_new_trusts_only_what_was_never_seen(host: LabHost, tmp_path: Path) -> None:
    async with reach(host, by=way(known(tmp_path / "new"), host.key, accept_new=True)):
        assert host.ip in (tmp_path / "new" / "known_hosts").read_text()
    output("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "other")
    changed = f"{host.ip} {(tmp_path / 'other.pub').read_text()}"
    who = User(right_host=True)
    with pytest.raises(LinkRefused):
        async with reach(host, by=way(known(tmp_path, more=changed), host.key, accept_new=True), who=who):
            pass
    assert who.asked == [], "a changed key is refused, not asked about"


async def test_a_key_with_a_passphrase(host: LabHost, tmp_path: Path) -> None:
    who = User(passphrase="open sesame")
    key = locked_key(host.key, tmp_path, "open sesame")
    async with reach(host, by=way(known(tmp_path, host), key), who=who):
        assert [question.secret for question in who.asked] == [True]


async def test_a_key_of_the_agent(host: LabHost, tmp_path: Path) -> None:
    with agent(tmp_path, host.key) as socket:
        async with reach(host, by=way(known(tmp_path, host), agent=socket)) as console:
            assert console.facts


async def test_a_certificate(make_host: MakeHost, tmp_path: Path) -> None:
    output("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "ca")
    output("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "id")
    output("ssh-keygen", "-q", "-s", tmp_path / "ca", "-I", "me", "-n", "ops", tmp_path / "id.pub")
    files = {"/etc/ssh/ca.pub": (tmp_path / "ca.pub").read_text()}
    host = make_host(gpu=False, vllm=False, files=files, sshd="TrustedUserCAKeys /etc/ssh/ca.pub\n")
    async with reach(host, "ops", by=way(known(tmp_path, host), tmp_path / "id")) as console:
        assert console.facts
        assert console.facts.user == "ops"


async def test_a_password_is_asked_once_and_a_wrong_one_refuses(host: LabHost, tmp_path: Path) -> None:
    who = User(password=PASSWORD)
    async with reach(host, "pass", by=way(known(tmp_path, host)), who=who) as console:
        assert console.facts
        assert [question.secret for question in who.asked] == [True]
    who = User(password="wrong")
    with pytest.raises(LinkRefused):
        async with reach(host, "pass", by=way(known(tmp_path, host)), who=who):
            pass
    assert 1 <= len(who.asked) <= 6, "asked again as OpenSSH does, three times in each of two ways, and not for ever"


async def test_a_second_factor(host: LabHost, tmp_path: Path) -> None:
    who = User(OATH=hotp(0), password=PASSWORD)  # the second question holds the word password too
    async with reach(host, "twice", by=way(known(tmp_path, host)), who=who) as console:
        assert console.facts
        assert console.facts.user == "twice"
    assert [question.secret for question in who.asked] == [True, True]


async def test_a_reconnect_asks_again_and_a_refusal_ends_the_trying(make_host: MakeHost, tmp_path: Path) -> None:
    users = {"root": (), "pass": ()}
    host = make_host(gpu=False, vllm=False, users=users, passwords={"pass": PASSWORD}, sshd=SSHD)
    who = User(password=PASSWORD)
    async with reach(host, "pass", by=way(known(tmp_path, host)), who=who) as console:
        for asked in (2, 3):
            await asyncio.to_thread(host.cut_ssh)
            await until(console, lambda link: link.kind is LinkKind.LOST)
            await until(console, lambda link: link.kind is LinkKind.UP)
            assert len(who.asked) == asked
        host.run("echo pass:changed | chpasswd")
        await asyncio.to_thread(host.cut_ssh)
        await until(console, lambda link: link.kind is LinkKind.REFUSED, 40)
        asked = len(who.asked)
        tries = host.run("journalctl -u ssh -o cat | grep -c 'Connection\\|Failed'", check=False).stdout
        await asyncio.sleep(4)
        assert len(who.asked) == asked
        assert host.run("journalctl -u ssh -o cat | grep -c 'Connection\\|Failed'", check=False).stdout == tries
        with pytest.raises(LinkRefused):
            await console.up()


async def test_a_host_without_python_is_served_with_less(make_host: MakeHost) -> None:
    host = make_host(gpu=False, vllm=False, python=False)
    async with reach(host, "ops") as console:
        facts = await console.up()
        assert (facts.python, facts.rights) == (None, Rights.SUDO)
        assert (await console.run(["id", "-u"])).text == "0\n"
        data = bytes(range(256)) * 512
        assert (await console.run(["cat"], stdin=data)).stdout == data
        with pytest.raises(CommandFailed):
            await console.run(["no-such-program"])
        with pytest.raises(DeadlineExceeded):
            await console.run(["sleep", "30"], deadline_s=0.5)
        await console.send_file("/etc/sent", b"whole\n", 0o600)
        assert host.run("cat /etc/sent; stat -c %a:%U /etc/sent").stdout == "whole\n600:root\n"
        async with console.process(["sh", "-c", "echo begun; sleep 600"]) as process:
            assert await anext(process.read()) == b"begun\n"
    await gone(host, 5)


async def test_nobody_there_is_lost_within_ten_seconds(host: LabHost, tmp_path: Path) -> None:
    with pytest.raises(LinkLost, match=r"refused|10"):
        async with reach(host, to=f"root@{host.ip}:23", by=way(known(tmp_path, host), host.key)):
            pass


async def test_through_a_jump_host(make_host: MakeHost, tmp_path: Path) -> None:
    gate, inner = make_host("gate", gpu=False, vllm=False), make_host("inner", gpu=False, vllm=False, cable=False)
    address = gate.link(inner)
    config = (
        f"Host gate\n  HostName {gate.ip}\n  User ops\n  IdentityFile {gate.key}\n"
        f"Host inner\n  HostName {address}\n  User root\n  IdentityFile {inner.key}\n  ProxyJump gate\n"
    )
    async with reach(inner, to="inner", by=way(known(tmp_path / "a", gate, inner), config=config)) as console:
        assert (await console.run(["uname", "-n"])).text == "inner\n"
    # Each hop is checked by itself: a known gate does not vouch for what is behind it, nor the other way round.
    for name, some in (("b", gate), ("c", inner)):
        who = User()
        with pytest.raises(LinkRefused):
            async with reach(inner, to="inner", by=way(known(tmp_path / name, some), config=config), who=who):
                pass
        assert len(who.asked) == 1


async def test_through_two_jump_hosts_by_option(make_host: MakeHost, tmp_path: Path) -> None:
    names = ("first", "second", "third")
    first, second, third = (make_host(name, gpu=False, vllm=False, cable=name == "first") for name in names)
    to_second = first.link(second)
    to_third = second.link(third, device="lan1", net="10.215.0.")
    jump = f"ops@{first.ip},ops@{to_second}"
    with agent(tmp_path, first.key, second.key, third.key) as socket:
        by = way(known(tmp_path, first, second, third), agent=socket, jump=jump)
        async with reach(third, to=f"root@{to_third}", by=by) as console:
            assert (await console.run(["uname", "-n"])).text == "third\n"
            await until(console, lambda link: link.round_trip_s is not None)


async def test_another_port_has_its_own_key_entry(make_host: MakeHost, tmp_path: Path) -> None:
    host = make_host(gpu=False, vllm=False, sshd="Port 22\nPort 2222\n")
    folder = known(tmp_path, more=host_key(host, f"[{host.ip}]:2222"))
    async with reach(host, to=f"root@{host.ip}:2222", by=way(folder, host.key)) as console:
        assert console.facts

"""Host keys are always verified: unknown ones ask, changed and revoked ones refuse, whatever the configuration says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import asyncssh
import pytest

from specconsole.clock import SystemClock
from specconsole.errors import LinkRefused
from specconsole.host.base import LinkKind
from specconsole.host.prompts import NoPrompter
from specconsole.host.ssh import SshHost
from specconsole.host.target import parse
from tests.host.asking import Script
from tests.host.server import KEY, Running, running, until, way

OTHER = asyncssh.generate_private_key("ssh-ed25519")
RSA = asyncssh.generate_private_key("ssh-rsa", key_size=2048)


def public(key: asyncssh.SSHKey) -> str:
    return key.export_public_key().decode().strip()


def at(server: Running, asker: object, home: Path, name: str = "127.0.0.1", **values: object) -> SshHost:
    return SshHost(parse(f"{name}:{server.port}"), way(home, **values), clock=SystemClock(), prompter=asker)  # type: ignore[arg-type]


async def works(host: SshHost) -> bool:
    await host.open()
    try:
        return (await host.run(["echo", "hi"])).text == "hi\n"
    finally:
        await host.close()


async def refused(host: SshHost) -> str:
    with pytest.raises(LinkRefused) as caught:
        await host.open()
    await host.close()
    return str(caught.value)


async def test_an_unknown_key_is_shown_asked_for_and_remembered(own_home: Path) -> None:
    async with running() as server:
        asker = Script(True)
        assert await works(at(server, asker, own_home))
        (question,) = asker.asked
        assert f"ED25519 {KEY.get_fingerprint()}" in question.context
        known_hosts = own_home / ".ssh" / "known_hosts"
        assert known_hosts.read_text() == f"[127.0.0.1]:{server.port} {public(KEY)}\n"
        assert known_hosts.stat().st_mode & 0o777 == 0o600
        assert await works(at(server, Script(), own_home)), "a remembered key asks no more"
        assert _ssh_keygen_finds(known_hosts, f"[127.0.0.1]:{server.port}")


def _ssh_keygen_finds(known_hosts: Path, name: str) -> bool:
    return (
        subprocess.run(["ssh-keygen", "-F", name, "-f", known_hosts], capture_output=True, check=False).returncode == 0
    )


async def test_no_is_no_and_nothing_is_written(own_home: Path) -> None:
    async with running() as server:
        assert "was not accepted" in await refused(at(server, Script(False), own_home))
        assert "was not accepted" in await refused(at(server, NoPrompter(), own_home))
        assert not (own_home / ".ssh" / "known_hosts").exists()
        assert server.rules.logins == []


async def test_accept_new_says_what_it_accepted(own_home: Path) -> None:
    async with running() as server:
        asker = Script()
        host = at(server, asker, own_home, accept_new=True)
        assert await works(host)
        assert asker.asked == []
        assert KEY.get_fingerprint() in asker.told[0]


async def test_hashed_names_are_written_and_found(own_home: Path) -> None:
    async with running() as server:
        way(own_home).folder.joinpath("config").write_text("HashKnownHosts yes\n")
        assert await works(at(server, Script(True), own_home))
        known_hosts = own_home / ".ssh" / "known_hosts"
        assert known_hosts.read_text().startswith("|1|")
        assert _ssh_keygen_finds(known_hosts, f"[127.0.0.1]:{server.port}")
        assert await works(at(server, Script(), own_home))


@pytest.mark.parametrize(
    "config", ["", "StrictHostKeyChecking no\n", "UserKnownHostsFile none\nGlobalKnownHostsFile ~/.ssh/known_hosts\n"]
)
async def test_a_changed_key_refuses_before_any_login(own_home: Path, config: str) -> None:
    async with running(key=OTHER) as server:
        folder = way(own_home).folder
        folder.joinpath("config").write_text(config)
        folder.joinpath("known_hosts").write_text(f"# mine\n[127.0.0.1]:{server.port} {public(KEY)}\n")
        said = await refused(at(server, Script(), own_home, accept_new=True))
        assert OTHER.get_fingerprint() in said
        assert KEY.get_fingerprint() in said
        assert "known_hosts, line 2" in said
        assert f"ssh-keygen -R '[127.0.0.1]:{server.port}'" in said
        assert server.rules.logins == []


async def test_another_type_of_key_where_one_is_known_is_a_change(own_home: Path) -> None:
    async with running(key=RSA) as server:
        way(own_home).folder.joinpath("known_hosts").write_text(f"[127.0.0.1]:{server.port} {public(KEY)}\n")
        assert "has changed" in await refused(at(server, Script(), own_home, accept_new=True))


async def test_of_several_keys_the_known_one_is_compared(own_home: Path) -> None:
    async with running(key=[KEY, RSA]) as server:
        way(own_home).folder.joinpath("known_hosts").write_text(f"[127.0.0.1]:{server.port} {public(RSA)}\n")
        assert await works(at(server, Script(), own_home))


@pytest.mark.parametrize("mark", ["@revoked", "file", "krl", "fingerprint"])
async def test_a_revoked_key_refuses_though_it_is_known(own_home: Path, mark: str) -> None:
    async with running() as server:
        folder = way(own_home).folder
        known = f"[127.0.0.1]:{server.port} {public(KEY)}\n"
        folder.joinpath("key.pub").write_text(public(KEY) + "\n")
        if mark == "@revoked":
            known += f"@revoked * {public(KEY)}\n"
        else:
            folder.joinpath("config").write_text("RevokedHostKeys ~/.ssh/revoked\n")
            _revoke(folder, mark)
        folder.joinpath("known_hosts").write_text(known)
        assert "is revoked" in await refused(at(server, Script(), own_home))
        assert server.rules.logins == []


def _revoke(folder: Path, form: str) -> None:
    if form == "file":
        folder.joinpath("revoked").write_text(public(KEY) + "\n")
        return
    spec = folder / "key.pub"
    if form == "fingerprint":
        spec = folder / "spec"
        spec.write_text(f"hash: {KEY.get_fingerprint()}\n")
    subprocess.run(["ssh-keygen", "-q", "-k", "-f", folder / "revoked", spec], check=True, capture_output=True)


@pytest.mark.parametrize("content", [None, b"SSHKRL\n\0\0\0\0\1cut", b"no key at all\n"])
async def test_a_revocation_list_that_cannot_be_read_refuses(own_home: Path, content: bytes | None) -> None:
    async with running() as server:
        folder = way(own_home).folder
        folder.joinpath("config").write_text("RevokedHostKeys ~/.ssh/revoked\n")
        if content is not None:
            folder.joinpath("revoked").write_bytes(content)
        folder.joinpath("known_hosts").write_text(server.known_hosts_line)
        assert "cannot be read" in await refused(at(server, Script(), own_home))


def certified(
    authority: asyncssh.SSHKey, principal: str = "127.0.0.1"
) -> tuple[asyncssh.SSHKey, asyncssh.SSHCertificate]:
    return KEY, authority.generate_host_certificate(KEY, "test", principals=[principal])


async def test_a_certificate_of_a_known_authority_needs_no_question(own_home: Path) -> None:
    async with running(key=certified(OTHER)) as server:
        way(own_home).folder.joinpath("known_hosts").write_text(f"@cert-authority * {public(OTHER)}\n")
        assert await works(at(server, Script(), own_home))


async def test_a_certificate_for_another_host_refuses(own_home: Path) -> None:
    async with running(key=certified(OTHER, "elsewhere")) as server:
        way(own_home).folder.joinpath("known_hosts").write_text(f"@cert-authority * {public(OTHER)}\n")
        await refused(at(server, Script(), own_home))
        assert server.rules.logins == []


async def test_a_revoked_key_inside_a_good_certificate_refuses_before_the_login(own_home: Path) -> None:
    async with running(key=certified(OTHER)) as server:
        way(own_home).folder.joinpath("known_hosts").write_text(
            f"@cert-authority * {public(OTHER)}\n@revoked * {public(KEY)}\n"
        )
        assert "is revoked" in await refused(at(server, Script(), own_home))
        assert server.rules.logins == []


async def test_a_host_with_a_certificate_and_no_known_authority_shows_its_plain_key(own_home: Path) -> None:
    async with running(key=certified(OTHER)) as server:
        assert await works(at(server, Script(True), own_home))
        assert await works(at(server, Script(), own_home))


async def test_a_key_alias_stands_for_the_name_without_its_port(own_home: Path) -> None:
    async with running() as server:
        folder = way(own_home).folder
        folder.joinpath("config").write_text("HostKeyAlias the-gpu\n")
        folder.joinpath("known_hosts").write_text(f"the-gpu {public(KEY)}\n")
        assert await works(at(server, Script(), own_home))


async def test_a_key_of_the_plain_name_is_good_for_another_port(own_home: Path) -> None:
    async with running() as server:
        way(own_home).folder.joinpath("known_hosts").write_text(f"127.0.0.1 {public(KEY)}\n")
        assert await works(at(server, Script(), own_home))


async def test_strict_checking_asks_nobody(own_home: Path) -> None:
    async with running() as server:
        way(own_home).folder.joinpath("config").write_text("StrictHostKeyChecking yes\n")
        assert "is not known" in await refused(at(server, Script(), own_home, accept_new=True))


async def test_a_key_that_could_not_be_written_holds_until_the_end(own_home: Path) -> None:
    async with running() as server:
        way(own_home).folder.joinpath("config").write_text("UserKnownHostsFile none\n")
        asker = Script(True)
        host = at(server, asker, own_home)
        await host.open()
        server.drop()
        await until(host, lambda: len(server.rules.logins) == 2 and host.link.kind is LinkKind.UP)
        assert len(asker.asked) == 1
        await host.close()

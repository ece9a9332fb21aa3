"""Logging in: keys, agents, certificates, passphrases, passwords and second factors, each asked only when it is needed."""

from __future__ import annotations

import asyncio
import logging
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import asyncssh
import pytest

from specconsole.clock import SystemClock
from specconsole.errors import LinkRefused
from specconsole.host.prompts import NoPrompter, Prompter
from specconsole.host.ssh import SshHost
from specconsole.host.target import parse
from tests.fakes import until
from tests.host.asking import Script, Silent
from tests.host.server import Rules, Running, running, way

MINE = asyncssh.generate_private_key("ssh-ed25519")
SECOND = asyncssh.generate_private_key("ssh-ed25519")
AUTHORITY = asyncssh.generate_private_key("ssh-ed25519")


def host_at(server: Running, asker: Prompter, home: Path, **values: object) -> SshHost:
    """Make a host whose key is known."""
    mine = way(home, **values)
    mine.folder.joinpath("known_hosts").write_text(server.known_hosts_line)
    return SshHost(parse(f"ops@127.0.0.1:{server.port}"), mine, clock=SystemClock(), prompter=asker)


async def works(host: SshHost) -> bool:
    try:
        await host.open()
        return (await host.run(["echo", "hi"])).text == "hi\n"
    finally:
        await host.close()


async def refused(host: SshHost) -> str:
    with pytest.raises(LinkRefused) as caught:
        await works(host)
    return str(caught.value)


def save(home: Path, key: asyncssh.SSHKey, name: str, passphrase: str | None = None, form: str = "openssh") -> Path:
    path = way(home).folder / name
    key.write_private_key(str(path), form, passphrase)
    path.chmod(0o600)
    return path


async def test_a_default_key_logs_in_and_asks_nothing(own_home: Path) -> None:
    save(own_home, MINE, "id_ed25519")
    async with running(Rules(user_keys=[MINE])) as server:
        assert await works(host_at(server, Script(), own_home))
        assert server.rules.logins == ["ops"]


@pytest.mark.parametrize("form", ["openssh", "pkcs8-pem"])
async def test_a_locked_key_asks_only_when_the_host_wants_it(own_home: Path, form: str) -> None:
    save(own_home, MINE, "id_ed25519", "sesame", form)
    if form != "openssh":
        MINE.write_public_key(str(way(own_home).folder / "id_ed25519.pub"))
    async with running(Rules(user_keys=[SECOND])) as server:
        assert "1 key was tried" in await refused(host_at(server, Script(), own_home))
    async with running(Rules(user_keys=[MINE])) as server:
        asker = Script("wrong", "sesame")
        host = host_at(server, asker, own_home)
        await host.open()
        assert [question.secret for question in asker.asked] == [True, True]
        assert "id_ed25519" in asker.asked[0].text
        assert asker.asked[1].context == "That was not it."
        server.drop()
        while len(server.rules.logins) < 2:
            await asyncio.sleep(0.01)
        assert len(asker.asked) == 2, "an unlocked key stays unlocked for the next connect"
        await host.close()


async def test_a_locked_key_of_unknown_kind_is_asked_for_last(own_home: Path) -> None:
    save(own_home, MINE, "id_ed25519", "sesame", "pkcs8-pem")
    save(own_home, SECOND, "id_rsa")
    async with running(Rules(user_keys=[SECOND])) as server:
        assert await works(host_at(server, Script(), own_home))
    async with running(Rules(user_keys=[MINE])) as server:
        assert await works(host_at(server, Script("sesame"), own_home))


async def test_a_passphrase_given_up_goes_on_with_the_next_way(own_home: Path) -> None:
    save(own_home, MINE, "id_ed25519", "sesame")
    async with running(Rules(user_keys=[MINE], password="pw")) as server:
        assert await works(host_at(server, Script(None, "pw"), own_home))


async def test_a_key_from_the_command_line(own_home: Path, tmp_path: Path) -> None:
    MINE.write_private_key(str(tmp_path / "key"))
    async with running(Rules(user_keys=[MINE])) as server:
        assert await works(host_at(server, Script(), own_home, identities=(str(tmp_path / "key"),)))


async def test_a_certificate_beside_the_key(own_home: Path) -> None:
    path = save(own_home, MINE, "id_ed25519")
    AUTHORITY.generate_user_certificate(MINE, "ops", principals=["ops"]).write_certificate(f"{path}-cert.pub")
    async with running(Rules(user_keys=[AUTHORITY])) as server:
        assert await works(host_at(server, Script(), own_home))


async def test_a_password_is_asked_for_by_user_and_host(own_home: Path) -> None:
    async with running(Rules(password="sesame", banner="Authorised use only.\x1b[2J")) as server:
        asker = Script("sesame")
        assert await works(host_at(server, asker, own_home))
        assert (asker.asked[0].text, asker.asked[0].secret) == (f"Password of ops@127.0.0.1:{server.port}", True)
        assert "Authorised use only." in asker.asked[0].context


async def test_no_answer_reaches_a_log(own_home: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    save(own_home, SECOND, "id_ed25519", "open-sesame")
    rules = Rules(user_keys=[MINE], password="sesame", challenge={"Code: ": "314159"})
    async with running(rules) as server:
        asker = Script("open-sesame", "314159")
        host = host_at(server, asker, own_home)
        rules.user_keys.append(SECOND)
        assert await works(host)
        rules.user_keys.clear()
        assert await works(host_at(server, Script("314159"), own_home))
        rules.challenge.clear()
        assert await works(host_at(server, Script("sesame"), own_home))
    assert "Auth" in caplog.text, "the library's own log is looked at"
    assert not [secret for secret in ("sesame", "314159") if secret in caplog.text]


async def test_three_wrong_passwords_are_the_end(own_home: Path) -> None:
    async with running(Rules(password="sesame")) as server:
        asker = Script("a", "b", "c", "d")
        assert "refused the login" in await refused(host_at(server, asker, own_home))
        assert server.rules.tried == ["a", "b", "c"]
        assert asker.asked[1].context == "Permission denied, please try again."


async def test_nobody_to_ask_tries_nothing(own_home: Path) -> None:
    async with running(Rules(password="sesame", challenge={"Code: ": "1"})) as server:
        assert "refused the login" in await refused(host_at(server, NoPrompter(), own_home))
        assert server.rules.tried == []


async def test_batch_mode_asks_nothing(own_home: Path) -> None:
    way(own_home).folder.joinpath("config").write_text("BatchMode yes\n")
    async with running(Rules(password="sesame", challenge={"Code: ": "1"})) as server:
        await refused(host_at(server, Script(), own_home))


async def test_second_factors_are_asked_one_by_one(own_home: Path) -> None:
    async with running(Rules(challenge={"Password: ": "sesame", "Code: ": "123456"})) as server:
        asker = Script("sesame", "123456")
        assert await works(host_at(server, asker, own_home))
        assert [question.text.partition(": ")[2] for question in asker.asked] == ["Password", "Code"]
        assert "Two questions." in asker.asked[0].context


async def test_a_host_that_hangs_up_on_a_silent_user_is_not_asked_again_by_itself(own_home: Path) -> None:
    async with running(Rules(password="sesame")) as server:
        asker = Silent()
        host = host_at(server, asker, own_home)
        opening = asyncio.create_task(host.open())
        await until(lambda: asker.asked, opening)
        server.drop()
        with pytest.raises(LinkRefused, match="hung up before the question was answered"):
            await opening
        await host.close()


async def test_the_time_that_somebody_types_does_not_count(own_home: Path) -> None:
    way(own_home).folder.joinpath("config").write_text("ConnectTimeout 1\n")
    async with running(Rules(password="sesame")) as server:
        asker = Silent()

        async def type_slowly() -> None:
            await asyncio.sleep(1.5)
            asker.never.set()

        typing = asyncio.create_task(type_slowly())
        assert "refused the login" in await refused(host_at(server, asker, own_home)), "and not: no answer in 1 s"
        await typing


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[str]:
    """Run an agent that holds MINE and SECOND."""
    socket = tmp_path / "agent"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()  # it listens now
    try:
        for name, key in (("second", SECOND), ("mine", MINE)):
            key.write_private_key(str(tmp_path / name))
            tmp_path.joinpath(name).chmod(0o600)
            subprocess.run(["ssh-add", "-q", str(tmp_path / name)], env={"SSH_AUTH_SOCK": str(socket)}, check=True)
        yield str(socket)
    finally:
        process.stdout.close()
        process.terminate()
        process.wait()


async def test_keys_of_the_agent(own_home: Path, agent: str) -> None:
    async with running(Rules(user_keys=[MINE])) as server:
        assert await works(host_at(server, Script(), own_home, agent=agent))
        way(own_home).folder.joinpath("config").write_text("IdentityAgent none\n")
        await refused(host_at(server, Script(), own_home, agent=agent))


async def test_identities_only_leaves_other_agent_keys_alone(own_home: Path, agent: str) -> None:
    folder = way(own_home).folder
    folder.joinpath("config").write_text("IdentitiesOnly yes\nIdentityFile ~/.ssh/work\n")
    SECOND.write_public_key(str(folder / "work.pub"))
    folder.joinpath("work").write_bytes(SECOND.export_public_key())
    async with running(Rules(user_keys=[MINE])) as server:
        await refused(host_at(server, Script(), own_home, agent=agent))
    async with running(Rules(user_keys=[SECOND])) as server:
        assert await works(host_at(server, Script(), own_home, agent=agent)), "a public key names one of the agent"


async def test_an_agent_that_is_gone_is_no_obstacle(own_home: Path, tmp_path: Path) -> None:
    save(own_home, MINE, "id_ed25519")
    async with running(Rules(user_keys=[MINE])) as server:
        assert await works(host_at(server, Script(), own_home, agent=str(tmp_path / "nothing")))


async def test_an_agent_that_waits_for_a_touch_has_its_time_and_says_so(
    own_home: Path, agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specconsole.host.prompts.AGENT_S", 0.1)
    way(own_home).folder.joinpath("config").write_text("ConnectTimeout 1\n")
    touched = asyncio.Event()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Hold a request to sign (13) back until the key is touched."""
        inner, outer = await asyncio.open_unix_connection(agent)
        with suppress(asyncio.IncompleteReadError):
            while True:
                for source, sink in ((reader, outer), (inner, writer)):
                    size = await source.readexactly(4)
                    body = await source.readexactly(int.from_bytes(size, "big"))
                    if body[0] == 13:
                        await touched.wait()
                    sink.write(size + body)
        outer.close()
        writer.close()

    async def touch() -> None:
        await asyncio.sleep(1.5)
        touched.set()

    rules = Rules(user_keys=[MINE])
    async with await asyncio.start_unix_server(relay, tmp_path / "slow"), running(rules) as server:
        touching = asyncio.create_task(touch())
        asker = Script()
        assert await works(host_at(server, asker, own_home, agent=str(tmp_path / "slow")))
        assert "touch the security key" in asker.told[0]
        await touching


async def test_too_many_keys_say_what_to_do(own_home: Path) -> None:
    folder = way(own_home).folder
    names = [f"key{i}" for i in range(12)]
    for name in names:
        asyncssh.generate_private_key("ssh-ed25519").write_private_key(str(folder / name))
    folder.joinpath("config").write_text("".join(f"IdentityFile ~/.ssh/{name}\n" for name in names))
    async with running(Rules(user_keys=[MINE])) as server:
        assert "12 keys were tried" in await refused(host_at(server, Script(), own_home))

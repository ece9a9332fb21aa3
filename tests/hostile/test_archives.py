"""Archives from anybody, given to `explain` and the replay: bombs, links, devices, names that lead out, lying sizes."""

from __future__ import annotations

import gzip
import struct
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from specconsole.errors import UsageError
from specconsole.explain import archive
from specconsole.explain.archive import contents
from specconsole.explain.files import explain
from specconsole.explain.report import Report
from specconsole.host.simulated.replay import bundle

LOG = b"INFO 05-06 21:59:57 [x.py:1] Loading weights took 2.5 seconds\n"


def told(data: bytes) -> Report:
    return explain(iter([("a.tar.gz", BytesIO(data))]))


def member(
    name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = "", pax: dict[str, str] | None = None
) -> tuple[tarfile.TarInfo, bytes]:
    made = tarfile.TarInfo(name)
    made.size, made.type, made.linkname, made.pax_headers = len(data), kind, link, pax or {}
    return made, data


def tar(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    out = BytesIO()
    with tarfile.open(fileobj=out, mode="w") as made:
        for info, data in members:
            made.addfile(info, BytesIO(data) if data else None)
    return out.getvalue()


def header(size: bytes, kind: bytes = b"0") -> bytes:
    """A member's head with a size that no library would write."""
    made = tarfile.TarInfo("x")
    made.type = kind
    head = bytearray(made.tobuf(tarfile.GNU_FORMAT))
    head[124:136] = size
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head[:512])
    return bytes(head)


def test_links_devices_and_pipes_are_passed_over_and_names_lead_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = tar(
        member("soft", kind=tarfile.SYMTYPE, link="/etc/passwd"),
        member("hard", kind=tarfile.LNKTYPE, link="/etc/passwd"),
        member("device", kind=tarfile.CHRTYPE),
        member("pipe", kind=tarfile.FIFOTYPE),
        member("../../a.log", LOG),
        member("/etc/b.log", LOG),
    )
    assert [(file.name, file.kind) for file in told(data).files] == [("../../a.log", "log"), ("/etc/b.log", "log")]
    assert not list(tmp_path.iterdir()), "nothing is unpacked"


EXABYTE = b"\x80" + (8 * 10**18).to_bytes(11, "big")
BELOW_ZERO = b"\xff" * 4 + struct.pack(">q", -100_000)


@pytest.mark.parametrize("size", [EXABYTE, BELOW_ZERO], ids=["exabyte", "below zero"])
@pytest.mark.parametrize("kind", [b"0", b"5", b"x", b"L", b"g", b"S"])
def test_a_size_that_lies_is_a_broken_archive(size: bytes, kind: bytes) -> None:
    with pytest.raises(UsageError, match=r"broken archive"):
        told(header(size, kind) + LOG * 100)


def test_a_sparse_file_is_not_read_as_what_it_calls_itself() -> None:
    pax = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": "s",
        "GNU.sparse.realsize": str(1 << 35),
    }
    data = tar(member("s", b"1\n0\n1\n".ljust(512, b"\0"), pax=pax), member("a.log", LOG))
    assert [file.name for file in told(data).files] == ["a.log"]


@pytest.mark.parametrize("kind", [b"L", b"x"])
def test_a_name_of_gigabytes_is_not_read_into_memory(kind: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    plain = archive._Headers.read

    def counted(self: archive._Headers, size: int) -> bytes:
        read.append(size)
        return plain(self, size)

    monkeypatch.setattr(archive._Headers, "read", counted)
    with pytest.raises(UsageError, match="broken archive"):
        told(gzip.compress(header(b"%011o\0" % (2 << 30), kind) + b"A" * (8 << 20)))
    assert sum(read) <= archive.MOST_HEADER + (1 << 16)


def test_a_file_packed_into_itself_has_an_end() -> None:
    data = LOG
    for _ in range(archive.MOST_PACKINGS):
        data = gzip.compress(data)
    assert told(data).files[0].kind == "log"
    with pytest.raises(UsageError, match="packed more than"):
        told(gzip.compress(data))


def test_what_unpacks_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_UNPACKED", 1 << 16)
    with pytest.raises(UsageError, match="unpacks to more than"):
        told(gzip.compress(LOG * 5000))


def test_what_is_held_in_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 1 << 16)
    (tmp_path / "b.tgz").write_bytes(gzip.compress(tar(member("a", b"\0" * (1 << 15)), member("b", b"\0" * (1 << 16)))))
    with pytest.raises(UsageError, match="holds more than"):
        contents(tmp_path / "b.tgz")


@pytest.mark.parametrize(
    "part", [b"[" * 100_000, b'{"bundle": 1, "made": 1e999}', b'{"bundle": 1, "made": true}', b"\xff", b""]
)
def test_a_bundle_that_is_none_is_one_sentence(part: bytes) -> None:
    with pytest.raises(UsageError):
        bundle.read({"bundle.json": part, "units.json": b'{"units": ' + b"[" * 5000})

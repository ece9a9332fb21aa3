"""`specconsole profile list|show|validate|init`: the descriptions of deployments that this machine has, and a new one."""

from __future__ import annotations

import argparse
from pathlib import Path

from specconsole import paths, profile, resources
from specconsole.errors import ConfigError, UsageError
from specconsole.text import reason
from specconsole.verb import output
from specconsole.verb.link import say
from specconsole.verb.session import add_way_arguments, drive, open_host


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Profiles describe a deployment: hosts, units, where the key is, what is usual, how it is swapped. Yours lie in"
        " ~/.config/specconsole/profiles/NAME.toml; `init HOST` writes one from what it finds there, to be read and changed."
    )
    parser.add_argument(
        "what", choices=("list", "show", "validate", "init"), help="all there are, one whole, one checked, or a new one"
    )
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="a profile's name, or the path of a file; for init the HOST to look at"
    )
    parser.add_argument("--json", action="store_true", help="write JSON; its keys stand under schema 1")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="of init: write this file, never over one that is there; - prints it"
    )
    add_way_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Do it; validate ends with 2 when something is wrong, and names file, line and the nearest right key."""
    if args.what == "list":
        return _list(as_json=args.json)
    if args.what == "init":
        if not args.name:
            raise UsageError("Which host?", hint="specconsole profile init HOST.")
        args.host, args.read_only = args.name, True
        return drive(_init(args))
    if not args.name and args.what == "show":
        raise UsageError("Which profile?", hint="specconsole profile list names them.")
    names = [args.name] if args.name else list(resources.find("profiles"))
    found = [profile.named(name) for name in names]
    if args.json:
        output.write_json({"profiles": found})
    elif args.what == "validate":
        output.write_text("\n".join(f"{one.source}: good" for one in found))
    else:
        output.write_text(text_of(args.name))
    return 0


async def _init(args: argparse.Namespace) -> int:
    """Write a profile of what is there; the same text is read back, so that it is known to be good."""
    from specconsole.history.memory import Memory, path_for
    from specconsole.service import portrait
    from specconsole.service.discover import discover

    memory = Memory(path_for(args.host))
    try:
        async with open_host(args) as host:
            facts = await host.up()
            units = await discover(host)
            loads = await portrait.loads_of(memory, facts.hostname, units)
    finally:
        await memory.close()
    path = _path(args.output, portrait.file_name(facts.hostname))
    text = portrait.toml(args.host, facts.hostname, units, str(path), loads)
    if args.output == "-":
        output.write_text(text.rstrip("\n"))
        return 0
    _create(path, text)
    found = profile.load(path)
    if args.json:
        output.write_json({"path": path, "profile": found})
    else:
        of = " and ".join(found.hosts)
        own = path.suffix == ".toml" and path.resolve().parent == _own().resolve()
        use = f"used by itself for {of}" if own else f"for {of}, where --profile {path} names it"
        say(f"wrote {path}: {len(found.units)} unit(s); {use}")
    return 0


def _path(output_: str | None, name: str) -> Path:
    if output_ and output_ != "-":
        return paths.typed(output_)
    return _own() / f"{name}.toml"


def _own() -> Path:
    """Where the user's profiles lie that are used by themselves."""
    return paths.config_dir() / "profiles"


def _create(path: Path, text: str) -> None:
    """Write a file that is not there yet. Raises UsageError where one is, or where none can be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path.parent} cannot be made.", f"{reason(error)}.", "Give another place.") from error
    with paths.new_file(path) as file:
        file.write(text.encode())


def text_of(name: str) -> str:
    """The file of a profile, as it is written."""
    known = resources.find("profiles")
    source = known[name] if name in known else paths.typed(name)
    return source.read_text(encoding="utf-8").rstrip()


def _list(*, as_json: bool) -> int:
    """Every profile; one that is wrong is listed with what is wrong, and hides no other."""
    rows: list[tuple[str, str, str, str]] = []
    for name, source in resources.find("profiles").items():
        try:
            one = profile.load(source)
        except ConfigError as error:
            rows.append((name, "", str(source), f"WRONG: {error}"))
            continue
        rows.append((name, " ".join(one.hosts), str(source), one.description))
    if as_json:
        keys = ("name", "hosts", "source", "description")
        output.write_json({"profiles": [dict(zip(keys, row, strict=True)) for row in rows]})
    else:
        output.write_text(output.table(("NAME", "HOSTS", "FROM", "WHAT"), rows))
    return 0

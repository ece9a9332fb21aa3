"""`specconsole profile list|show|validate`: the descriptions of deployments that this machine has."""

from __future__ import annotations

import argparse
from pathlib import Path

from specconsole import profile, resources
from specconsole.errors import ConfigError, UsageError
from specconsole.verb import output


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Profiles describe a deployment: hosts, units, where the key is, what is usual, how it is swapped. Yours lie in"
        " ~/.config/specconsole/profiles/NAME.toml; copy one that is shipped and change it."
    )
    parser.add_argument("what", choices=("list", "show", "validate"), help="all there are, one whole, or one checked")
    parser.add_argument("name", nargs="?", metavar="NAME", help="a profile's name, or the path of a file")
    parser.add_argument("--json", action="store_true", help="write JSON; its keys stand under schema 1")


def run(args: argparse.Namespace) -> int:
    """Do it; validate ends with 2 when something is wrong, and names file, line and the nearest right key."""
    if args.what == "list":
        return _list(as_json=args.json)
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


def text_of(name: str) -> str:
    """The file of a profile, as it is written."""
    known = resources.find("profiles")
    source = known[name] if name in known else Path(name).expanduser()
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

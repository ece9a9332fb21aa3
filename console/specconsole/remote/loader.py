"""How our programs get onto the host without a file: an interpreter that reads its modules from standard input.

`LOADER` is the whole command line argument. It stands in single quotes for whatever login shell the account has, so it
holds no single quote, newline, "!" or backslash. It reads one line, the JSON list [size, module, arguments], then `size`
bytes of zlib-compressed JSON {module name: source}, and not one byte more: the rest of standard input is the program's.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import sys
from types import ModuleType
from typing import Any, Dict, Optional, Sequence

PACKAGE = "specconsole.remote"
LOADER = (
    "import sys,json,zlib;"
    'f=open(0,"rb",0,closefd=False);'
    "n,e,a=json.loads(f.readline());"
    "b=bytearray();"
    "[b.extend(f.read(n-len(b))or sys.exit(3))for _ in iter(lambda:len(b)<n,False)];"
    "m=json.loads(zlib.decompress(b));"
    'g={"__name__":"specconsole.remote.loader"};'
    'exec(m[g["__name__"]],g);'
    'g["run"](m,bytes(b),e,a)'
)


class Modules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports from the sources that were sent; the packages around them are empty."""

    def __init__(self, sources: Dict[str, str]) -> None:
        self.sources = sources

    def find_spec(
        self,
        fullname: str,
        path: Optional[Sequence[str]] = None,  # noqa: ARG002  the protocol's names
        target: Optional[ModuleType] = None,  # noqa: ARG002
    ) -> Optional[importlib.machinery.ModuleSpec]:
        """Find a module that was sent, or one of the packages that hold them."""
        package = (PACKAGE + ".").startswith(fullname + ".")
        if not package and fullname not in self.sources:
            return None
        return importlib.util.spec_from_loader(fullname, self, is_package=package)

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's source; its name stands in tracebacks in place of a path."""
        source = self.sources.get(module.__name__, "")
        exec(compile(source, "<%s>" % module.__name__, "exec"), module.__dict__)  # noqa: S102


def run(sources: Dict[str, str], blob: bytes, entry: str, arguments: Dict[str, Any]) -> None:
    """Make the sources importable and end with what `specconsole.remote.ENTRY.main(arguments)` returns."""
    sys.meta_path.insert(0, Modules(sources))
    importlib.import_module(PACKAGE + ".loader").blob = blob  # type: ignore[attr-defined]
    sys.exit(importlib.import_module(PACKAGE + "." + entry).main(arguments))


def prologue(blob: bytes, entry: str, arguments: Dict[str, Any]) -> bytes:
    """What to send first to an interpreter that runs LOADER."""
    return json.dumps([len(blob), entry, arguments]).encode() + b"\n" + blob


def own_blob() -> bytes:
    """The blob that this interpreter was started with; empty where it was not."""
    found = getattr(sys.modules.get(PACKAGE + ".loader"), "blob", b"")
    return found if isinstance(found, bytes) else b""

"""Where the program keeps its own files, by the XDG rules; the only reader of the home directory."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from specconsole.errors import ConfigError, UsageError
from specconsole.text import reason

APP = "specconsole"


def home() -> Path:
    """The user's home. A HOME that is empty or relative would scatter our files over wherever one stands; it counts as unset.

    Raises:
        ConfigError: it is unset, and this machine does not know the user, as in a container that runs as any number.
    """
    said = os.environ.get("HOME", "")
    if said.startswith("/"):
        return Path(said)
    try:
        return Path("/", pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        raise ConfigError("Your user has no home on this machine.", hint="Set HOME to a folder of yours.") from None


def typed(name: str) -> Path:
    """The path that a user means by `~/x` or `~somebody/x`; where nobody lives so it is what was typed, as for a shell."""
    try:
        return home() / name[2:] if name == "~" or name.startswith("~/") else Path(name).expanduser()
    except (ConfigError, RuntimeError):
        return Path(name)


def _xdg(variable: str, default: str) -> Path:
    value = os.environ.get(variable, "")
    base = Path(value) if value.startswith("/") else home() / default
    return base / APP


def config_dir() -> Path:
    """The user's own profiles, themes and settings; may not exist."""
    return _xdg("XDG_CONFIG_HOME", ".config")


def state_dir() -> Path:
    """History, remembered layout, logs; may not exist."""
    return _xdg("XDG_STATE_HOME", ".local/state")


def cache_dir() -> Path:
    """What can be made again: spool files; may not exist."""
    return _xdg("XDG_CACHE_HOME", ".cache")


def ssh_dir() -> Path:
    """The user's SSH folder: configuration, keys, known hosts; may not exist."""
    return home() / ".ssh"


def private_dir(path: Path) -> Path:
    """Make a directory that only its owner can enter, and return it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def write_private(path: Path, content: bytes) -> None:
    """Write a file for its owner alone, whole or not at all, also when two consoles do it at once. Raises OSError."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(content)
        new.replace(path)
    except BaseException:  # half of it would fill a full disk further
        new.unlink(missing_ok=True)
        raise


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Give a file that was not there, for its owner alone; it goes again where it is not written whole.

    Never over one that is there: it may be the user's, or a device (a file moved over /dev/null breaks the machine).

    Raises:
        UsageError: it is there already, or cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(f"{path} exists already.", hint="Give the name of a new file.") from None
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):  # that is our output's
            raise _unwritable(path, error) from error
        raise


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path} cannot be written.", f"{reason(error)}.", "Give another place.")

"""The load generator as a unit of the host: its lines go into a file and wait there for whoever comes; Python 3.8."""

from __future__ import annotations

import os
from typing import Any, Dict

from specconsole.remote.drive import drive
from specconsole.remote.drive_folder import folder_of, load
from specconsole.remote.drive_input import Folder


def main(arguments: Dict[str, Any]) -> int:
    """Run what lies ready in the folder `id`; ends as `drive.main` does."""
    folder = folder_of(arguments["id"])
    stamps = os.open(os.path.join(folder, "stamps"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(stamps, 1)
    os.close(stamps)
    return drive(load(folder, "arguments"), Folder(folder))

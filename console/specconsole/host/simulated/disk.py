"""The files that programs make on the simulated host: they lie in memory and go with it."""

from __future__ import annotations


class Disk:
    """Files by path; all methods raise OSError as the kernel would."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def append(self, path: str, data: bytes) -> None:
        """Append to a file."""
        self.files[path] = self.files.get(path, b"") + data

    def read(self, path: str, offset: int = 0, limit: int = -1) -> bytes:
        """What is in a file, from an offset on."""
        if path not in self.files:
            raise FileNotFoundError(2, "No such file or directory", path)
        return self.files[path][offset : None if limit < 0 else offset + limit]

    def within(self, folder: str) -> list[str]:
        """The files below a folder; a folder without any is none."""
        return [path for path in self.files if path.startswith(f"{folder}/")]

    def names(self, folder: str) -> list[str]:
        """What lies in a folder, files and folders, sorted."""
        return sorted({path.removeprefix(f"{folder}/").partition("/")[0] for path in self.within(folder)})

    def clear(self, folder: str) -> None:
        """Take away all that is below a folder."""
        for path in self.within(folder):
            del self.files[path]

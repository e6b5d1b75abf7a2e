"""Files that jobs make for a folder of the driver, which a worker elsewhere may not see."""

from __future__ import annotations

import os
import platform
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from piase_gym.core.files import require_folder, write_whole

TOKEN = ".driver-"
Files = Mapping[str, bytes]
"""Contents by path; empty if the files are where they belong already."""


@dataclass(frozen=True)
class OutFolder:
    """A folder of the driver, as it is passed to jobs.

    Attributes:
        path: Where it is on the driver's machine.
        token: Name of a folder in it, by which a worker knows that it sees the same folder, and in
            which it makes files that are not complete yet.
    """

    path: Path
    token: str

    def scratch(self, place: Path) -> Path:
        """Return where a worker that writes to `place` makes files that are not complete yet."""
        own = place / self.token
        return own if own.is_dir() else place

    @contextmanager
    def work(self) -> Iterator[tuple[Path, Callable[[], Files]]]:
        """Give a worker the folder, or one of its own whose files are sent to the driver.

        Yields:
            Where to write, and a function that returns the files to send.
        """
        if (self.path / self.token).exists():
            yield self.path, dict
            return
        with tempfile.TemporaryDirectory() as name:
            own = Path(name)

            def files() -> Files:
                paths = (path for path in sorted(own.rglob("*")) if path.is_file())
                return {path.relative_to(own).as_posix(): path.read_bytes() for path in paths}

            yield own, files

    def take(self, files: Files) -> None:
        """Write files that were sent to the driver, each whole or not at all.

        Raises:
            StorageError: If one cannot be written.
        """
        for name, content in files.items():
            write_whole(self.path / name, content)


@contextmanager
def out_folder(path: Path) -> Iterator[OutFolder]:
    """Offer a folder to jobs.

    Raises:
        StorageError: If it cannot be written to.
    """
    require_folder(path)
    host = f"{TOKEN}{platform.node()}-"
    for left in path.glob(f"{host}*-*"):
        if not _runs(left.name.removeprefix(host).partition("-")[0]):
            shutil.rmtree(left, ignore_errors=True)  # of a driver that was killed
    folder = OutFolder(path.absolute(), f"{host}{os.getpid()}-{secrets.token_hex(8)}")
    require_folder(path / folder.token)
    try:
        yield folder
    finally:
        shutil.rmtree(path / folder.token, ignore_errors=True)


def _runs(process: str) -> bool:
    """Return whether this machine has a process with this number; true if in doubt."""
    if os.name == "nt":  # where signal 0 is Ctrl-C
        return True
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except (OSError, ValueError):
        pass
    return True

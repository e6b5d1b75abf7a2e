"""Files that jobs make for a folder of the driver's, which a worker elsewhere may not see."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from piase_gym.core.files import require_folder, write_whole

Files = Mapping[str, bytes]
"""Contents by path; nothing if they are where they belong already."""


@dataclass(frozen=True)
class OutFolder:
    """A folder of the driver's, as jobs are told it.

    Attributes:
        path: Where it is on the driver's machine.
        token: Name of a file in it, by which a worker knows that it sees the same folder.
    """

    path: Path
    token: str

    @contextmanager
    def work(self) -> Iterator[tuple[Path, Callable[[], Files]]]:
        """Give a worker the folder, or one of its own whose files are sent to the driver.

        Yields:
            Where to write, and what returns the files to be sent.
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
    folder = OutFolder(path.absolute(), f".driver-{secrets.token_hex(8)}")
    token = path / folder.token
    write_whole(token, b"")
    try:
        yield folder
    finally:
        token.unlink(missing_ok=True)

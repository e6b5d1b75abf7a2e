"""Files that are written whole or not at all, folders that can be written to, and users' files."""

from __future__ import annotations

import errno
import io
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from piase_gym.errors import LogWriteError, StorageError

SCENARIO_SUFFIXES = (".yaml", ".yml", ".json")
"""The suffixes of the files of scenarios and curricula."""


def is_file(path: Path) -> bool:
    """Return whether there is such a file; no file has an impossible name, such as a long text."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def expand_user(path: str | Path) -> Path:
    """Return a path with its ``~`` expanded, or as it is if no such home is known."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


@contextmanager
def replacing(
    path: Path,
    *,
    overwrite: bool = True,
    error: type[StorageError | LogWriteError] = StorageError,
    scratch: Path | None = None,
) -> Iterator[Path]:
    """Yield a new file next to `path`, which takes the place of `path` when the block has ended.

    If the block raises, the new file is removed, and what was at `path` before is still there.

    Args:
        path: The file to be written; its folder is made if need be.
        overwrite: Whether a file that is there already may be replaced.
        scratch: A folder on the same file system that holds the new file instead.
        error: The class of the exception that is raised.

    Raises:
        StorageError: If `path` is there already, is no file, or cannot be written.
    """
    new: Path | None = None
    try:
        if path.exists() and not path.is_file():
            raise error(f"{path} is {'a folder' if path.is_dir() else 'no file'}; name a file")
        if path.exists() and not overwrite:
            raise error(f"{path} exists; give another name, or overwrite=True")
        new = _new_file(path, scratch or path.parent)
        yield new
        with new.open("rb+") as file:
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as problem:
        if isinstance(problem, StorageError | LogWriteError):
            raise
        raise error(f"{path} could not be written: {_write_problem(problem, path)}") from problem
    finally:
        if new is not None:
            new.unlink(missing_ok=True)


def _new_file(path: Path, folder: Path) -> Path:
    """Make an empty file in a folder for what is to take the place of `path`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # The suffix stays: some writers go by it.
        new = folder / f".{path.stem[:40]}.{secrets.token_hex(8)}{path.suffix}"
        new.touch(exist_ok=False)  # with the rights that the umask leaves
    except ValueError as problem:  # no file has such a name
        raise OSError(errno.EINVAL, str(problem)) from None
    return new


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is either there in full or as it was before.

    Raises:
        StorageError: If it cannot be written.
    """
    with replacing(path) as new:
        new.write_bytes(content)


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file whole or not at all, readable and with sorted keys.

    Raises:
        StorageError: If it cannot be written.
    """
    options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY
    write_whole(path, orjson.dumps(value, option=options | orjson.OPT_APPEND_NEWLINE))


class NotRegularError(OSError):
    """A path leads to a folder, a pipe or a device."""


class _Bytes(io.FileIO):
    """The bytes of a file; if none are available yet, reading raises instead of waiting."""

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as far as there are bytes, and return how many there were."""
        count = super().readinto(buffer)
        if count is None:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return count

    def readall(self) -> bytes:
        """Return all bytes up to the end."""
        return b"".join(iter(self._some, b""))

    def _some(self) -> bytes:
        buffer = bytearray(io.DEFAULT_BUFFER_SIZE)
        return bytes(buffer[: self.readinto(buffer)])


def open_regular(path: Path) -> BinaryIO:
    """Open a file that a user named, for reading; nothing that the path leads to can block.

    Some kernel files are regular by name and never end, such as ``/proc/kmsg``.

    Raises:
        NotRegularError: If it is a folder, a pipe or a device.
        OSError, ValueError: If it cannot be opened.
    """
    refusal = NotRegularError(errno.EINVAL, "it is not a file")
    if not stat.S_ISREG(path.stat().st_mode):  # opening a device can have effects already
        raise refusal
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = io.BufferedReader(_Bytes(os.open(path, flags)))
    try:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise refusal
        file.peek(1)
    except OSError:
        file.close()
        raise
    return file


def require_folder(path: Path) -> None:
    """Make a folder if need be, and check that files can be written there.

    Long computations call this first, so that nothing is computed that cannot be stored.

    Raises:
        StorageError: If it is a file, or cannot be made or written to.
    """
    try:
        if path.exists() and not path.is_dir():
            raise StorageError(f"{path} is a file; name a folder")
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except StorageError:
        raise
    except (OSError, ValueError) as problem:
        raise StorageError(
            f"{path} cannot be written to: {_write_problem(problem, path)}"
        ) from problem


def _write_problem(problem: OSError | ValueError, path: Path) -> str:
    """Say why something could not be written, naming a file where its path needs a folder."""
    file = next((str(parent) for parent in path.parents if is_file(parent)), None)
    return f"{file} is a file" if file else getattr(problem, "strerror", None) or str(problem)

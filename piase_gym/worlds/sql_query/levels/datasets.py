"""Datasets from folders, which are loaded once and used often."""

from __future__ import annotations

import functools

from piase_gym.core.files import expand_user
from piase_gym.errors import ConfigError
from piase_gym.worlds.sql_query.levels.dataset import Dataset

LONGEST_NAME = 64


def load(folder: str) -> Dataset:
    """Return the dataset of a folder; files that have changed are read again.

    Raises:
        ConfigError: If there is no such folder, or the dataset cannot be read.
    """
    place = expand_user(folder)
    try:
        if not place.is_dir():
            raise ConfigError(f"SqlQuery: dataset {folder!r} is no folder")
        found = [file for file in sorted(place.iterdir()) if file.is_file()]
        files = tuple((str(file), file.stat().st_mtime_ns) for file in found)
    except OSError as error:
        raise ConfigError(f"SqlQuery: cannot read {folder!r:.200}: {error.strerror}") from None
    return _load(str(place), files)


@functools.lru_cache(maxsize=4)
def _load(folder: str, _files: tuple[tuple[str, int], ...]) -> Dataset:
    """Load a dataset, and check what the world relies on."""
    from piase_gym.worlds.sql_query.levels import intercode

    found = intercode.load(folder)
    for database in found.databases.values():
        for table in database.schema:
            for name in (table.name, *(column.name for column in table.columns)):
                if len(name) > LONGEST_NAME:
                    raise ConfigError(f"SqlQuery: the name {name!r:.90} is too long to be shown")
    return found


@functools.lru_cache(maxsize=64)
def chosen(dataset: Dataset, hardness: tuple[str, ...]) -> tuple[int, ...]:
    """Return the numbers of the tasks with one of these degrees of hardness."""
    return tuple(k for k, task in enumerate(dataset.tasks) if task.hardness in hardness)

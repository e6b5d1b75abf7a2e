"""The folder that a studio shows: the runs, trainings, curricula and scenarios in it."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from piase_gym import curricula, scenarios
from piase_gym.core.files import is_file, replacing
from piase_gym.curricula import loader as loader_of_curricula
from piase_gym.curricula.learning_path import PROGRESS
from piase_gym.curricula.loader import MOST_BYTES
from piase_gym.errors import ConfigError, PiaseError, StorageError
from piase_gym.runs import Run, read
from piase_gym.scenarios import loader as loader_of_scenarios
from piase_gym.scenarios.reading import read_file

LOGS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".arrow")
SOURCES = (".json", ".yaml", ".yml")
"""The endings of curricula and scenarios."""
POLICIES = ("policy.pt", "policy.zip")
MOST_FILES = 2000
"""The most files of one kind that are looked at: those that were changed last."""
SKIPPED = ("node_modules", "__pycache__", "site-packages")

CURRICULUM_KEYS = ("name", "steps")
"""The keys that all curricula have."""
SCENARIO_KEYS = ("scenario_name", "environment_type", "initial_state")
"""Keys of which each scenario has one or more."""
MARKS = {"curriculum": b"completion_criteria", "scenario": b"environment_type"}
"""A key that hardly any other file has."""

Kind = Literal["curriculum", "scenario"]


@dataclass(frozen=True)
class Source:
    """A curriculum or scenario: one that ships, or a file of the workspace.

    Attributes:
        name: The name of one that ships, or the path in the workspace.
        title: What it calls itself.
        world: The world that it is for; ``any`` if it does not say.
        about: Its description, or nothing.
        ships: Whether it ships with the package.
    """

    name: str
    title: str
    world: str
    about: str
    ships: bool


@dataclass(frozen=True)
class Workspace:
    """A folder. No file outside of it is listed or written, or read by its own name.

    What policies, settings, the bases of scenarios and prompts name is read wherever it is.

    Attributes:
        folder: The folder.
    """

    folder: Path

    def path(self, name: str) -> Path:
        """Return the place of a file or folder in the workspace.

        Raises:
            ConfigError: If the name leads out of it.
        """
        folder = self.folder.resolve()
        try:
            place = (folder / name).resolve()
        except (OSError, ValueError) as error:
            raise ConfigError(f"{name!r:.100} is no path: {error}") from None
        if not name or place == folder or not place.is_relative_to(folder):
            raise ConfigError(f"{name!r:.100} is not in {folder}; only what is in it can be used")
        return place

    def name(self, place: Path) -> str:
        """Return what `path` finds a place by."""
        return place.relative_to(self.folder).as_posix()

    def _files(self, endings: tuple[str, ...]) -> list[Path]:
        """Return the files with some endings that were changed last, the last first."""
        found = []
        for place in _walk(self.folder):
            if place.name.endswith(endings):
                with suppress(OSError):  # it is gone again
                    found.append((-place.stat().st_mtime, place))
        return [place for _, place in sorted(found)[:MOST_FILES]]

    def runs(self) -> list[tuple[str, Run]]:
        """Return the logs, by name, those that were changed last first."""
        found = []
        for place in self._files(LOGS):
            try:
                found.append((self.name(place), read(place)))
            except PiaseError:
                continue  # another file of this ending, or one that was just begun
        return found

    def trainings(self) -> list[str]:
        """Return the folders of trainings through a curriculum."""
        return [self.name(place.parent) for place in self._files((PROGRESS,))]

    def policies(self) -> list[str]:
        """Return the policies that trainings have left, by the names that stand for them."""
        return [f"ppo:{self.name(place)}" for place in self._files(POLICIES)]

    def policy(self, name: str) -> str:
        """Return the name of a policy with the whole path of its file, if that is in the folder."""
        family, _, path = name.partition(":")
        inside = path and is_file(self.folder / path)
        return f"{family}:{self.folder / path}" if inside else name

    def sources(self, kind: Kind) -> list[Source]:
        """Return the curricula or scenarios: those that ship, then those of the workspace."""
        names = curricula.names() if kind == "curriculum" else scenarios.names()
        found = [describe(kind, name, name, True) for name in names]
        for place in self._files(SOURCES):
            if _is_kind(kind, place):
                try:
                    found.append(describe(kind, place, self.name(place), False))
                except PiaseError as error:
                    found.append(Source(self.name(place), place.stem, "?", str(error), False))
        return found

    def text(self, kind: Kind, name: str) -> str:
        """Return the text of a curriculum or scenario.

        Raises:
            ConfigError: If the name leads out of the workspace.
            StorageError: If there is no such file, or it cannot be read.
        """
        place = self.place(kind, name)
        try:
            return place.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise StorageError(f"{name} cannot be read: {error}") from None

    def place(self, kind: Kind, name: str) -> Path:
        """Return the file of a curriculum or scenario: one that ships, or one of the workspace."""
        if kind == "curriculum" and name in curricula.names():
            return loader_of_curricula.find_file(name)
        if kind == "scenario" and name in scenarios.names():
            return loader_of_scenarios.find_file(name)
        return self.path(name)

    def save(self, name: str, text: str, overwrite: bool = False) -> Path:
        """Write a curriculum or scenario into the workspace.

        Raises:
            ConfigError: If the name leads out of it or has another ending.
            StorageError: If the file exists and may not be overwritten, or cannot be written.
        """
        if not name.lower().endswith(SOURCES):
            raise ConfigError(f"a file here ends with {', '.join(SOURCES)}, not {name!r:.100}")
        place = self.path(name)
        with replacing(place, overwrite=overwrite, error=StorageError) as new:
            new.write_text(text, "utf-8")
        return place


def describe(kind: Kind, given: Any, name: str, ships: bool) -> Source:
    """Return what is listed of a curriculum or scenario."""
    if kind == "curriculum":
        made = curricula.load(given)
        return Source(name, made.name, made.world or "any", made.description or "", ships)
    found = scenarios.load(given)
    return Source(name, found.title, found.world, found.head.description or "", ships)


def _is_kind(kind: Kind, place: Path) -> bool:
    """Return whether a file looks like a curriculum or like a scenario, by its keys."""
    keys, enough = (CURRICULUM_KEYS, all) if kind == "curriculum" else (SCENARIO_KEYS, any)
    try:
        if place.stat().st_size > MOST_BYTES:
            return False
        content = place.read_bytes()
        if not any(key.encode() in content for key in keys):
            return False  # most files are something else, and YAML is read slowly
        data = read_file(place, MOST_BYTES).data
    except OSError:
        return False
    except PiaseError:  # it is listed with what is wrong, if it is likely to be one
        return MARKS[kind] in content
    if not isinstance(data, dict) or not enough(key in data for key in keys):
        return False
    return kind == "scenario" or isinstance(data["steps"], list)


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder that can be reached.

    Links, hidden folders and installed packages are left out.
    """
    try:
        inside = [*folder.iterdir()]
    except OSError:
        return
    for place in inside:
        if place.name.startswith(".") or place.name in SKIPPED:
            continue
        try:
            kind = place.lstat().st_mode
        except OSError:
            continue
        if stat.S_ISDIR(kind):
            yield from _walk(place)
        elif stat.S_ISREG(kind):
            yield place

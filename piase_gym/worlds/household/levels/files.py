"""Loads the games of ALFWorld: ``game.tw-pddl`` files, folders of them, and ``ALFWORLD_DATA``."""

from __future__ import annotations

import functools
import json
import os
import re
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from piase_gym.core.files import expand_user
from piase_gym.errors import ConfigError
from piase_gym.worlds.household.levels.game import Game, compile_problem
from piase_gym.worlds.household.levels.pddl import read_problem

FILE: Final = "game.tw-pddl"
MOST_BYTES = 20_000_000
"""The largest file that is read."""
MOST_KEPT: Final = 512
"""How many loaded games are kept."""
SPLITS: Final = ("train", "valid_train", "valid_seen", "valid_unseen")
_TASK = re.compile(r"Your task is to: (.*?)\"\s*\}", re.DOTALL)
_PUT = re.compile(r"template\s*::\s*\"put \{o\} in/on \{r\}\"")
_MOVE = re.compile(r"template\s*::\s*\"move \{o\} to \{r\}\"")


class GameFile(NamedTuple):
    """A file of a game: the game, and the wording that it is written in."""

    game: Game
    grammar: Literal["2.1.1", "2.1.3"]


def load_game(path: str) -> GameFile:
    """Load a game; one that was loaded before and has not changed is taken from the cache.

    Raises:
        ConfigError: If the file cannot be read or is not a game.
    """
    try:
        stat = Path(path).stat()
    except (OSError, ValueError) as error:
        raise ConfigError(f"Household: cannot read {path!r:.200}: {error}") from None
    if stat.st_size > MOST_BYTES:
        raise ConfigError(f"Household: {path!r:.200} is larger than {MOST_BYTES} bytes")
    return _load(path, stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=MOST_KEPT)
def _load(path: str, _changed: int, _size: int) -> GameFile:
    """Load a game from its file."""
    try:
        text = Path(path).read_text("utf-8")
        found = read_game(json.loads(text))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"Household: cannot read {path!r:.200}: {error}") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise ConfigError(f"Household: {path!r:.200} is no JSON: {error}") from None
    except ConfigError as error:
        raise ConfigError(f"Household: {path!r:.200}: {error}") from None
    return found


def read_game(data: Any) -> GameFile:
    """Read the data of a game file.

    Raises:
        ConfigError: If a part is missing or damaged.
    """
    if not isinstance(data, dict):
        raise ConfigError(f"a game is a JSON object, not {type(data).__name__}")
    for key in ("pddl_problem", "grammar"):
        if not isinstance(data.get(key), str):
            raise ConfigError(f"a game has the text {key!r}, which is missing here")
    grammar = data["grammar"]
    if not (_MOVE.search(grammar) or _PUT.search(grammar)):
        raise ConfigError("the grammar has neither 'move {o} to {r}' nor 'put {o} in/on {r}'")
    task = _TASK.search(grammar)
    if task is None:
        raise ConfigError("the grammar does not say 'Your task is to: ...'")
    try:
        words = str(json.loads(f'"{task.group(1)}"'))
    except json.JSONDecodeError:
        words = task.group(1)
    game = compile_problem(read_problem(data["pddl_problem"]), words)
    return GameFile(game, "2.1.3" if _MOVE.search(grammar) else "2.1.1")


@functools.lru_cache(maxsize=64)
def _games_in(folder: str, _changed: int) -> tuple[str, ...]:
    return tuple(sorted(str(path) for path in Path(folder).rglob(FILE)))


def games_in(folder: str | Path) -> tuple[str, ...]:
    """Return the paths of all games in a folder, sorted.

    Raises:
        ConfigError: If there is no such folder, or no game in it.
    """
    place = Path(folder)
    if not place.is_dir():
        raise ConfigError(f"Household: there is no folder {str(folder)!r:.200}")
    found = _games_in(str(place), place.stat().st_mtime_ns)
    if not found:
        raise ConfigError(f"Household: there is no {FILE} in {str(folder)!r:.200}")
    return found


def paths_of(path: str, split: str) -> tuple[str, ...]:
    """Return the games that a path stands for: a file, a folder, or a split of ALFWorld's data.

    Args:
        path: The path, in which variables such as ``$ALFWORLD_DATA`` are expanded.
        split: The split to take, if the folder has splits.

    Raises:
        ConfigError: If there are no such games.
    """
    place = expand_user(os.path.expandvars(path))
    if "$" in str(place):
        raise ConfigError(f"Household: the environment variable in {path!r:.200} is not set")
    try:
        if not place.is_dir():
            return (str(place),)
        for folder in (place / "json_2.1.1", place):
            if any((folder / name).is_dir() for name in SPLITS):
                if not (folder / split).is_dir():
                    raise ConfigError(f"Household: {str(folder)!r:.200} has no split {split!r}")
                return games_in(folder / split)
        return games_in(place)
    except OSError as error:
        raise ConfigError(f"Household: cannot read {path!r:.200}: {error.strerror}") from None

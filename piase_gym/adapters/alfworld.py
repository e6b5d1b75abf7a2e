"""A drop-in for ALFWorld's text environment: the same calls, on the native engine.

Scripts that are written for ALFWorld change one line::

    from piase_gym.adapters.alfworld import get_environment  # alfworld.agents.environment

    config = load_config("base_config.yaml")
    env = get_environment(config["env"]["type"])(config, train_eval="eval_out_of_distribution")
    env = env.init_env(batch_size=1)
    observations, infos = env.reset()
    observations, scores, dones, infos = env.step(["look"])

The games of ``$ALFWORLD_DATA`` are played if the config's paths lead to them; otherwise homes
are generated, with paths of the same shape. Games come in the order in which ALFWorld shuffles
the sorted list of its files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from piase_gym.errors import (
    ActionError,
    ConfigError,
    ResetNeededError,
    UnsupportedError,
    require_count,
    require_known,
)
from piase_gym.worlds.household.config import HouseholdConfig
from piase_gym.worlds.household.levels.files import FILE
from piase_gym.worlds.household.levels.words import TASKS, TaskName
from piase_gym.worlds.household.players.planner import find_plan
from piase_gym.worlds.household.players.scripted import HouseholdScript
from piase_gym.worlds.household.world import Household

TASK_TYPES: Final[Mapping[int, TaskName]] = {
    1: "pick",
    2: "look",
    3: "clean",
    4: "heat",
    5: "cool",
    6: "two",
}
"""The tasks by their numbers in ``env.task_types`` of the config."""
SPLITS: Final = {
    "train": ("data_path", "num_train_games", "train"),
    "eval_in_distribution": ("eval_id_data_path", "num_eval_games", "valid_seen"),
    "eval_out_of_distribution": ("eval_ood_data_path", "num_eval_games", "valid_unseen"),
}
"""By ``train_eval``: the config's keys of the path and the number of games, and the split."""
GENERATED: Final = 140
"""How many homes are generated if the config does not say."""
STEPS: Final = 50
"""The steps of a game if the config does not say."""

DEFAULT_CONFIG: Final[Mapping[str, Any]] = {
    "dataset": {
        "data_path": "$ALFWORLD_DATA/json_2.1.1/train",
        "eval_id_data_path": "$ALFWORLD_DATA/json_2.1.1/valid_seen",
        "eval_ood_data_path": "$ALFWORLD_DATA/json_2.1.1/valid_unseen",
        "num_train_games": -1,
        "num_eval_games": -1,
    },
    "env": {"type": "AlfredTWEnv", "task_types": [1, 2, 3, 4, 5, 6], "expert_type": "handcoded"},
    "general": {"training_method": "dagger"},
    "dagger": {"training": {"max_nb_steps_per_episode": STEPS}},
    "rl": {"training": {"max_nb_steps_per_episode": STEPS}},
}
"""The parts of ``base_config.yaml`` that are read."""


def load_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a ``base_config.yaml``.

    Raises:
        ConfigError: If it cannot be read, or is no mapping.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        found = YAML(typ="safe").load(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise ConfigError(f"cannot read {str(path)!r:.200}: {error}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{str(path)!r:.200} is no mapping")
    return found


def get_environment(env_type: str = "AlfredTWEnv") -> type[AlfredTWEnv]:
    """Return the environment's class, as ``alfworld.agents.environment`` does.

    Raises:
        UnsupportedError: If it is one of those with a simulator, which do not exist here.
    """
    if env_type in ("AlfredThorEnv", "AlfredHybrid"):
        raise UnsupportedError(f"{env_type} needs ALFWorld's simulator; there is AlfredTWEnv")
    if env_type != "AlfredTWEnv":
        raise ConfigError(f"unknown environment {env_type!r:.60}; allowed: 'AlfredTWEnv'")
    return AlfredTWEnv


class AlfredTWEnv:
    """The games of one split; `init_env` makes the batch that plays them.

    Args:
        config: The mapping of a ``base_config.yaml``, or its path. Entries that it
            lacks are those of `DEFAULT_CONFIG`.
        train_eval: ``train``, ``eval_in_distribution`` or ``eval_out_of_distribution``.

    Attributes:
        game_files: The paths of the games.
        num_games: How many there are.
        generated: Whether they are generated homes, because there is no data where the config says.
    """

    def __init__(
        self,
        config: Mapping[str, Any] | str | os.PathLike[str] | None = None,
        train_eval: str = "train",
    ) -> None:
        """Find the games.

        Raises:
            ConfigError: If an entry of the config makes no sense, or there is no such game.
        """
        if isinstance(config, str | os.PathLike):
            config = load_config(config)
        if not isinstance(config, Mapping | None):
            raise ConfigError(f"a config is a mapping or its path, not {config!r:.60}")
        require_known("train_eval", train_eval, list(SPLITS))
        self.config, self.train_eval = _merged(DEFAULT_CONFIG, config or {}), train_eval
        key, count, self._split = SPLITS[train_eval]
        tasks, known = _entry(self.config, "env", "task_types"), list(TASK_TYPES)
        if not (isinstance(tasks, Sequence) and tasks and all(task in known for task in tasks)):
            raise ConfigError(f"env.task_types is a list of numbers from 1 to 6, not {tasks!r:.60}")
        self._tasks = tuple(TASK_TYPES[task] for task in tasks)
        self._seeds: dict[str, int] = {}
        folder = os.path.expandvars(str(_entry(self.config, "dataset", key)))
        most = _whole(self.config, "dataset", count)
        self.generated = not Path(folder).is_dir()
        if self.generated:
            self.game_files = self._homes(most if most > 0 else GENERATED)
        else:
            self.game_files = list(_games(Path(folder), {TASKS[task] for task in self._tasks}))
            self.game_files = self.game_files[:most] if most > 0 else self.game_files
        if not self.game_files:
            raise ConfigError(f"{folder!r:.200} has no game that the config asks for")
        self.num_games = len(self.game_files)

    def _homes(self, count: int) -> list[str]:
        """Return the paths of generated homes, and keep their seeds."""
        world = Household(self.world_config(None, STEPS))
        for seed in range(count):
            world.reset(seed)
            self._seeds[world.gamefile] = seed
        return list(self._seeds)

    def world_config(self, path: str | None, steps: int) -> HouseholdConfig:
        """Return the config that plays one game."""
        if path is not None and path not in self._seeds:
            return HouseholdConfig(game=path, max_steps=steps)
        seed = None if path is None else self._seeds[path]
        split: Any = self._split
        return HouseholdConfig(
            problem_id=seed,
            split=split,
            tasks=self._tasks,
            receptacles=20,
            objects=30,
            max_steps=steps,
        )

    def init_env(self, batch_size: int = 1) -> TextGames:
        """Return a batch that plays `batch_size` games side by side."""
        batch_size = require_count("batch_size is an integer from 1 on", batch_size)
        method = _entry(self.config, "general", "training_method")
        if method not in ("dagger", "dqn"):
            raise ConfigError(f"general.training_method is 'dagger' or 'dqn', not {method!r:.60}")
        part = "rl" if method == "dqn" else "dagger"
        steps = _whole(self.config, part, "training", "max_nb_steps_per_episode")
        expert = None
        if method == "dagger" and self.train_eval == "train":
            expert = _entry(self.config, "env", "expert_type")
            if expert not in ("handcoded", "planner"):
                raise ConfigError(
                    f"env.expert_type is 'handcoded' or 'planner', not {expert!r:.60}"
                )
        return TextGames(self, batch_size, steps, expert)


def _merged(base: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config with the given values in place of the defaults."""
    found = {**base, **given}
    for key, value in base.items():
        if isinstance(value, Mapping) and isinstance(given.get(key), Mapping):
            found[key] = _merged(value, given[key])
    return found


def _entry(config: Any, *path: str) -> Any:
    """Return the entry of a config at a path of keys.

    Raises:
        ConfigError: If what it should be in is no mapping.
    """
    for depth, key in enumerate(path):
        if not isinstance(config, Mapping):
            raise ConfigError(f"{'.'.join(path[:depth])} is a mapping, not {config!r:.60}")
        config = config[key]
    return config


def _whole(config: Any, *path: str) -> int:
    """Return an entry of a config that is an integer.

    Raises:
        ConfigError: If it is none.
    """
    value = _entry(config, *path)
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(f"{'.'.join(path)} is an integer, not {value!r:.60}") from None


def _games(folder: Path, tasks: set[str]) -> Iterator[str]:
    """Yield the solvable games of some tasks, sorted by their paths."""
    for path in sorted(folder.rglob(FILE)):
        kind = path.parent.parent.name
        if "movable" in str(path) or "Sliced" in kind:
            continue
        described = path.with_name("traj_data.json")
        if described.exists():
            kind = str(_read(described).get("task_type", kind))
        if kind.split("-")[0] not in tasks:
            continue
        if _read(path).get("solvable"):
            yield str(path)


def _read(path: Path) -> dict[str, Any]:
    """Return the mapping in a JSON file.

    Raises:
        ConfigError: If it cannot be read, or is no mapping.
    """
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"cannot read {str(path)!r:.200}: {error}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{str(path)!r:.200} is no mapping")
    return found


class TextGames:
    """A batch of games behind the calls of TextWorld's Gym environments.

    A game that is over stays as it is until the next `reset`, which takes the next games.

    Attributes:
        batch_size: How many games are played side by side.
        gamefiles: The paths of all games.
    """

    def __init__(self, games: AlfredTWEnv, batch_size: int, steps: int, expert: str | None) -> None:
        """Put the games into their first order."""
        self.games, self.batch_size, self._steps, self._expert = games, batch_size, steps, expert
        self.gamefiles = list(games.game_files)
        self._worlds: list[Household] = []
        self._searchers: list[HouseholdScript] = []
        self._shown: list[tuple[str, float, bool]] = []
        self.seed(1234)

    @property
    def num_games(self) -> int:
        """How many games there are."""
        return len(self.gamefiles)

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Shuffle the games into a new order.

        Raises:
            ConfigError: If the seed is no integer of 32 bits.
        """
        try:
            rng = np.random.RandomState(seed)
        except (TypeError, ValueError):
            raise ConfigError(
                f"a seed is an integer from 0 to 2**32 - 1, not {seed!r:.60}"
            ) from None
        order = list(self.gamefiles)
        rng.shuffle(order)
        self._order = _cycle(order, rng)
        return [seed]

    def skip(self, nb_games: int = 1) -> None:
        """Leave out the next games."""
        for _ in range(require_count("nb_games is an integer from 0 on", nb_games, 0)):
            next(self._order)

    def reset(self) -> tuple[list[str], dict[str, list[Any]]]:
        """Start the next games, and return observations and infos, one entry per game."""
        files = [next(self._order) for _ in range(self.batch_size)]
        worlds = [Household(self.games.world_config(file, self._steps)) for file in files]
        for world in worlds:
            world.reset(0)
        self._worlds = worlds
        self._searchers = [HouseholdScript(world) for world in self._worlds]
        self._shown = [(world.state_of.feedback[0], 0.0, False) for world in self._worlds]
        return [text for text, _, _ in self._shown], self._infos()

    def step(
        self, commands: Sequence[str]
    ) -> tuple[list[str], list[float], list[bool], dict[str, list[Any]]]:
        """Send a command to each game.

        Returns:
            Observations, scores (1 for a game that is won), whether each is over, and infos.
        """
        if not self._worlds:
            raise ResetNeededError("this environment was never reset, or is closed; call reset()")
        listed = isinstance(commands, Sequence | np.ndarray) and not isinstance(commands, str)
        if not listed or len(commands) != self.batch_size:
            raise ActionError(f"step takes a list of {self.batch_size} commands")
        for k, (world, command) in enumerate(zip(self._worlds, commands, strict=True)):
            if world.alive[0]:
                result = world.step([world.read(0, command)])
                over = result.terminated[0] or result.truncated[0]
                said = world.state_of.feedback[0]
                self._shown[k] = (said, float(result.terminated[0]), over)
        texts, scores, dones = (list(column) for column in zip(*self._shown, strict=True))
        return texts, scores, dones, self._infos()

    def _infos(self) -> dict[str, list[Any]]:
        """Return what ALFWorld's infos have."""
        worlds = self._worlds
        infos: dict[str, list[Any]] = {
            "won": [world.game.goal.reached(world.state_of) for world in worlds],
            "admissible_commands": [world.admissible_lines(0) for world in worlds],
            "extra.gamefile": [world.gamefile for world in worlds],
        }
        if self._expert is not None:
            infos["extra.expert_plan"] = [self._plan(k) for k in range(len(worlds))]
        return infos

    def _plan(self, number: int) -> list[str]:
        """Return what the expert does next (``handcoded``), or all that it does (``planner``)."""
        world = self._worlds[number]
        if not world.alive[0]:
            return ["look"]
        if self._expert == "planner":
            rows = find_plan(world.game, world.state_of, 0, world.placing)
            return [row.line for row in rows or ()]
        return [world.write(self._searchers[number].act(0))]

    def close(self) -> None:
        """Forget the games that are played; `reset` starts others."""
        self._worlds, self._searchers, self._shown = [], [], []


def _cycle(games: list[str], rng: Any) -> Iterator[str]:
    """Yield all games again and again, shuffled after each round."""
    while True:
        yield from games
        rng.shuffle(games)


__all__ = ["AlfredTWEnv", "TextGames", "get_environment", "load_config"]

"""Settings of a training through a curriculum, what it reports, and the files of its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ConfigDict

from piase_gym.core.jsonable import jsonable
from piase_gym.core.rng import check_seed
from piase_gym.curricula.decisions import Decision
from piase_gym.curricula.directors import make_director
from piase_gym.curricula.progress import typed
from piase_gym.curricula.schema import DevelopmentalCurriculum
from piase_gym.curricula.simulated_learner import base_fields, world_of
from piase_gym.envs.arguments import resolve
from piase_gym.errors import ConfigError, MissingExtraError, StorageError, require_count

SETTINGS, POLICY, LOG = "settings.json", "policy.pt", "log.jsonl"
CURRICULUM = "curriculum.json"
PPO: Mapping[str, Any] = {"minibatch": 512, "epochs": 3}
"""Where these trainings differ from the defaults of the example: many small updates."""
LATER = ("steps", "whole", "log")
"""The settings that may change when a run is continued."""


@dataclass(frozen=True, kw_only=True)
class CurriculumTrainingSettings:
    """The settings of a training through a curriculum.

    Attributes:
        curriculum: A name or a path.
        world: The world, if the curriculum names none.
        config: Fields of the world's config; fields of the curriculum's steps override them.
        director: What chooses the next step: a name in
            `piase_gym.curricula.directors.DIRECTORS`, or a mapping with name and options; by
            default that of the curriculum.
        steps: The budget of environment steps.
        seed: The seed of everything.
        num_envs: Number of environments side by side.
        num_steps: Steps in each environment between two updates.
        whole: Whether the budget is used up even after every curriculum is over.
        log: Whether everything is logged.
        ppo: Further settings of the PPO.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    curriculum: str
    world: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    director: str | Mapping[str, Any] | None = None
    steps: int = 1_000_000
    seed: int = 0
    num_envs: int = 64
    num_steps: int = 64
    whole: bool = False
    log: bool = False
    ppo: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take NumPy's numbers for Python's, which files can hold."""
        for own in fields(self):
            if isinstance(value := getattr(self, own.name), np.generic):
                object.__setattr__(self, own.name, value.item())

    def check_goes_on(self, folder: str | Path) -> None:
        """Check that the run in a folder can continue with these settings.

        Raises:
            StorageError: If there is no run, or its settings are damaged.
            ConfigError: If a setting had another value when the run began.
        """
        kept = read_settings_of(folder)
        for name in (own.name for own in fields(self) if own.name not in LATER):
            mine, theirs = (jsonable(getattr(of, name)) for of in (self, kept))
            if name != "curriculum" and mine != theirs:
                raise ConfigError(
                    f"the run in {folder} has {name} {theirs!r}, so it cannot go on with {mine!r}; "
                    f"only {', '.join(LATER)} may change"
                )

    def check(self) -> None:
        """Check the numbers and mappings.

        Raises:
            ConfigError: If one is not allowed.
        """
        check_seed(self.seed)
        for name in ("steps", "num_envs", "num_steps"):
            require_count(f"{name} is a positive number", getattr(self, name))
        for name in ("config", "ppo"):
            if not isinstance(value := getattr(self, name), Mapping):
                raise ConfigError(f"{name} is a mapping, not {value!r:.60}")

    def check_names(self, curriculum: DevelopmentalCurriculum) -> None:
        """Check that director, world and fields of its config exist, without making anything.

        Raises:
            UnknownNameError: If there is no such director or world.
            ConfigError: If there is no world, or the config is not allowed.
        """
        made = make_director(curriculum.director if self.director is None else self.director)
        made.check_curriculum(curriculum)
        fields = base_fields(curriculum, self.config, self.world)
        resolve(world_of(curriculum, self.world), None, None, fields)


@dataclass(frozen=True)
class TrainingStatus:
    """Where a training is after an update.

    Attributes:
        steps: Environment steps so far.
        episodes: Counted episodes that have ended since the last update.
        won: The share of these episodes that were won.
        order: Order of the step that the learner is in, or tried last.
        name: Name of that step.
        attempt: Number of the attempt at it.
        ended: Number of episodes of that attempt that have ended.
        wanted: Number of episodes that the attempt needs.
        outcome: ``running``, ``finished`` or ``failed``.
        decided: The last decision, if there is one.
    """

    steps: int
    episodes: int
    won: float
    order: int
    name: str
    attempt: int
    ended: int
    wanted: int
    outcome: str
    decided: Decision | None = None


def import_ppo() -> Any:
    """Return the PPO module.

    Raises:
        MissingExtraError: If torch or Stable-Baselines3 is not installed.
    """
    try:
        from piase_gym.training import ppo
    except ModuleNotFoundError as error:
        raise MissingExtraError("training through a curriculum", "train") from error
    return ppo


def load_policy(folder: Path) -> Any:
    """Return the checkpoint in a folder.

    Raises:
        StorageError: If it is missing or damaged.
    """
    import torch

    path = Path(folder) / POLICY
    try:
        found = torch.load(path, weights_only=True)
    except FileNotFoundError:
        raise StorageError(f"{path} is missing") from None
    except Exception as error:  # torch raises whatever its readers raise
        raise StorageError(f"{path} is damaged: {type(error).__name__}") from error
    counts = [found.get(name) for name in ("steps", "updates")] if isinstance(found, dict) else []
    if not counts or not all(type(count) is int and count >= 0 for count in counts):
        raise StorageError(f"{path} is damaged: it is no checkpoint of a training")
    return found


def read_settings_of(folder: str | Path) -> CurriculumTrainingSettings:
    """Return the settings of the run in a folder.

    Raises:
        StorageError: If there is none, or it is damaged.
    """
    path = Path(folder) / SETTINGS
    try:
        settings = typed(CurriculumTrainingSettings, json.loads(path.read_text("utf-8")))
        settings.check()
        return settings
    except FileNotFoundError:
        raise StorageError(f"there is no run in {folder} to go on with") from None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}") from None
    except (ConfigError, RecursionError, ValueError) as error:
        raise StorageError(f"{path} is damaged: {error}") from None

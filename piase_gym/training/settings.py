"""The settings of a training run, checked once."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from piase_gym.agents.policy_registry import check_policy
from piase_gym.benchmarks.evaluation.protocol import SEEDS
from piase_gym.core.config import explain
from piase_gym.core.files import require_folder
from piase_gym.core.jsonable import python_value
from piase_gym.core.limits import Share
from piase_gym.core.world import World
from piase_gym.envs.arguments import partners_around
from piase_gym.errors import AgentError, ConfigError, TrainingError, UnknownNameError
from piase_gym.names import task_fields
from piase_gym.registry import find, load, make_config
from piase_gym.training.checkpoints import Folder
from piase_gym.training.ppo_settings import (
    Count,
    Positive,
    Size,
    Weight,
    check_self_play,
)
from piase_gym.worlds.array_world import steps_in_batches

ALGORITHMS = ("batch_ppo", "ippo", "maskable_ppo", "ppo")
"""``ppo`` and ``maskable_ppo`` train the first agent alongside partners, ``maskable_ppo`` with
masks; ``ippo`` trains one policy that all agents share, with masks where actions are discrete.
``batch_ppo`` does the same with the PPO of `piase_gym.training.ppo`, many times as fast where a
kernel steps the world; only it has the settings `OF_BATCH_PPO`, and only the others have
`OF_SB3`."""
SHARED = ("ippo", "batch_ppo")
"""Algorithms that train every agent that is not a partner."""
OF_BATCH_PPO = ("reward_scale", "training_reward", "memory", "roles", "central", "self_play")
OF_SB3 = ("layers", "normalize_rewards")


class TrainSettings(BaseModel):
    """Everything about a training run; the defaults learn GridWorld's small tasks.

    Steps are agent steps: a step of an environment with three learners counts as three.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    task: str = Field(description="a world or an id")
    algo: str = Field("ppo", description="ppo, maskable_ppo, ippo or batch_ppo")
    steps: Count = Field(3_000_000, description="agent steps")
    seed: int = Field(
        0, ge=0, lt=SEEDS["train"].stop, description="seed of levels, weights and draws"
    )
    config: dict[str, Any] = Field(default_factory=dict, description="fields of the world's config")
    partners: dict[str, str] = Field(
        default_factory=dict, description="policies of agents that do not learn"
    )
    num_envs: Count = Field(256, le=1 << 16, description="environments")
    num_steps: Count = Field(64, description="steps in each environment before every update")
    minibatch: int = Field(4096, ge=2, description="samples per gradient step")
    epochs: Count = Field(3, description="passes over the samples per update")
    learning_rate: Positive = Field(
        1e-3, description="initial value; falls linearly, update by update"
    )
    gamma: Share = Field(0.99, description="discount factor")
    gae_lambda: Share = Field(0.95, description="lambda of generalised advantages")
    clip: Positive = Field(0.2, description="how far an update may move a policy (clip range)")
    entropy: Weight = Field(0.01, description="weight of the entropy bonus")
    value_weight: Weight = Field(0.5, description="weight of the value loss")
    normalize_rewards: bool = Field(True, description="divide rewards by the std of returns")
    width: Count = Field(128, description="length of the encoding of symbols")
    layers: tuple[Count, ...] = Field((128,), description="widths of the hidden layers")
    reward_scale: Positive = Field(0.1, description="factor by which rewards are multiplied")
    training_reward: Literal[
        "own", "small_costs", "own_costs_later", "shaped", "small_costs_shaped", "prosocial"
    ] = Field(
        "own",
        description="own, small_costs, own_costs_later, shaped, small_costs_shaped or prosocial: "
        "the reward for learning, never for testing",
    )
    memory: Size = Field(0, description="size of a recurrent state; 0: none")
    roles: tuple[int, ...] = Field((), description="index of each agent's policy; default: all 0")
    central: bool = Field(False, description="whether the critic sees the whole state")
    self_play: Share = Field(
        0.0, description="share of environments in which past policies play the others"
    )
    eval_every: Count = Field(100_000, description="steps between evaluations on the dev seeds")
    eval_episodes: int = Field(100, ge=1, le=1000, description="dev seeds per evaluation")
    stop_at: float | None = Field(None, gt=0, le=1, description="success rate at which to stop")
    save_every: Count = Field(200_000, description="steps between checkpoints")
    threads: Count = Field(1, description="torch threads; networks are small, so 1 is fast")

    def __init__(self, **data: Any) -> None:
        """Check the fields.

        Raises:
            ConfigError: If a field is unknown, of a wrong type or out of range, or fields do not
                fit together.
            UnknownNameError: If task, algorithm or a partner's policy does not exist.
            AgentError: If a partner has no seat, or no seat is left to the learner.
        """
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise ConfigError(explain(error, type(self))) from None
        if self.algo not in ALGORITHMS:
            raise UnknownNameError("algorithm", self.algo, ALGORITHMS)
        fast = self.algo == "batch_ppo"
        for name in OF_SB3 if fast else OF_BATCH_PPO:
            if getattr(self, name) != type(self).model_fields[name].default:
                whose = "the other algorithms" if fast else "batch_ppo alone"
                raise ConfigError(f"{name} is a setting of {whose}, not of {self.algo}")
        config = self._config()
        agents = config.names(config.fixed_envelope().agents)
        learners = len(agents) - len(partners_of(self, agents))
        self.make_world().close()
        if fast:
            check_self_play(self.self_play, learners)
        else:
            equal_minibatch(self.minibatch, self.num_envs * self.num_steps * learners)

    @field_validator("config")
    @classmethod
    def _without_numpy(cls, config: dict[str, Any]) -> dict[str, Any]:
        """Take NumPy's numbers for Python's, which files can hold."""
        return {key: _of_python(value) for key, value in config.items()}

    def _config(self) -> Any:
        """Return the checked config of the world that is trained in."""
        spec, task = find(self.task)
        base = task_fields(task) if task else {}
        return make_config(spec, {**base, **load(spec.config, spec).plain(self.config)})

    def make_world(self) -> World[Any, Any]:
        """Make the world that is trained in.

        Raises:
            UnknownNameError: If the task does not exist.
            ConfigError: If the config is not allowed, or the actions do not fit the algorithm.
        """
        spec, _ = find(self.task)
        world: World[Any, Any] = load(spec.world, spec)(self._config())
        if self.algo == "maskable_ppo" and not world.capabilities.discrete:
            raise ConfigError(
                f"maskable_ppo needs discrete actions; {world.name} has none: use ppo"
            )
        if self.algo == "batch_ppo" and not world.capabilities.discrete:
            raise ConfigError(f"batch_ppo needs discrete actions; {world.name} has none: use ippo")
        later = self.training_reward == "own_costs_later"
        if (self.central or later) and not steps_in_batches(world):
            what = "central" if self.central else "training_reward 'own_costs_later'"
            raise ConfigError(f"{what} needs a batched kernel; {world.name} has none")
        return world

    def differences(self, other: TrainSettings) -> list[str]:
        """Return how another run differs, as ``name is THEIRS there and OURS here`` per field.

        Both are compared as they are stored.
        """
        mine, theirs = self.model_dump(mode="json"), other.model_dump(mode="json")
        rows = [key for key in mine if mine[key] != theirs[key]]
        return [f"{key} is {theirs[key]!r} there and {mine[key]!r} here" for key in rows]


def _of_python(value: Any) -> Any:
    """Return a value of a config without NumPy's numbers and arrays."""
    if isinstance(value, np.ndarray | np.generic):
        return python_value(value)
    if isinstance(value, Mapping):
        return {key: _of_python(part) for key, part in value.items()}
    return [_of_python(part) for part in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes:
        steps: Agent steps so far.
        total: Agent steps in all: those of the settings, rounded up to whole updates.
        dev: Share of the dev episodes won at the last look.
        best: The best such share.
        train: Share of the latest training episodes won, ``None`` before the first.
    """

    steps: int
    total: int
    dev: float
    best: float
    train: float | None


@dataclass(frozen=True)
class TrainResult:
    """The result of a run.

    Attributes:
        policy: The file of the best policy; `name` is the policy that plays it.
        steps: Agent steps done.
        reason: ``finished``, ``solved`` (early) or ``interrupted``.
        dev: Success of the best policy on the dev seeds.
        wilson95: Wilson's interval of that share, with one trial for each episode.
        best_steps: Number of steps after which the best policy was found.
        cpu_seconds: CPU-seconds of all sessions of the run together.
    """

    policy: Path
    steps: int
    reason: str
    dev: float
    wilson95: tuple[float, float]
    best_steps: int
    cpu_seconds: float

    @property
    def name(self) -> str:
        """The name of the best policy, as `make_agent` takes it."""
        return f"{'sb3' if self.policy.suffix == '.zip' else 'ppo'}:{self.policy}"


def equal_minibatch(asked: int, samples: int) -> int:
    """Return the largest size up to `asked` that divides the samples of an update.

    Stable-Baselines3 takes a whole gradient step on what is left over, however little that is.

    Raises:
        ConfigError: If it is less than half of what was asked for, which would be another training,
            or 1. The message names the next sizes that fit.
    """
    small = [size for size in range(1, math.isqrt(samples) + 1) if samples % size == 0]
    sizes = [*small, *(samples // size for size in reversed(small))]
    most = min(asked, samples)
    below = max(size for size in sizes if size <= most)
    if below >= max(2, most / 2):
        return below
    above = [size for size in sizes if size > most][:1]
    fitting = ", ".join(str(size) for size in (below, *above) if size > 1)
    raise ConfigError(
        f"minibatch is {asked}, and the {samples} samples of an update (num_envs times num_steps, "
        f"for each learner) have no equal parts of at least half that size; sizes that fit: "
        f"{fitting or 'none'}. Or change num_steps"
    )


def partners_of(settings: TrainSettings, agents: Sequence[str]) -> dict[str, str]:
    """Return the policies that play the seats that do not learn.

    With ``ippo`` and ``batch_ppo`` these are the given partners; otherwise they play every agent
    except the first one without a partner.

    Raises:
        AgentError: If a partner has no seat, or no seat is left to the learner.
        UnknownNameError, PolicyError: If there is no such policy, or no such model.
    """
    given = settings.partners
    for policy in given.values():
        check_policy(policy, files=True)
    free = [name for name in agents if name not in given]
    for name in given:
        if name not in agents and (name != "*" or settings.algo in SHARED):
            names = ", ".join(agents)
            raise AgentError(f"there is no agent {name!r}; agents are {names}")
    if not free:
        raise AgentError("every agent is played by a partner; leave at least one to the learner")
    if settings.algo in SHARED:
        return dict(given)
    _, task = find(settings.task)
    seated = partners_around(agents, task, given, free[0])
    return {name: str(policy) for name, policy in seated.items()}


def check_run_folder(folder: Folder, settings: TrainSettings, resume: bool) -> None:
    """Check that a folder is free for a run, or holds the run to continue.

    Raises:
        ConfigError: If it holds a run already, or, with `resume`, another one.
        TrainingError: If there is no run to continue, or its settings are damaged.
        StorageError: If it is a file, or cannot be written to.
    """
    if resume:
        if differences := settings.differences(read_settings_of(folder.path)):
            raise ConfigError(f"{folder.path} holds another run: {'; '.join(differences)}")
    elif folder.settings.exists():
        raise ConfigError(f"{folder.path} holds a run already; resume it or choose another folder")
    else:
        require_folder(folder.path)


def read_settings_of(path: str | Path) -> TrainSettings:
    """Return the settings of the run in a folder.

    Raises:
        TrainingError: If there is none, or its settings are damaged.
    """
    folder = Folder(path)
    try:
        return TrainSettings(**json.loads(folder.settings.read_text("utf-8")))
    except OSError:
        raise TrainingError(f"{folder.path} holds no run that could go on") from None
    except (ValueError, TypeError) as error:
        raise TrainingError(f"{folder.settings} cannot be read: {error}") from None

"""What a training run can be told, checked once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from piase_gym.agents.policy_registry import check_policy
from piase_gym.benchmarks.evaluation.protocol import SEEDS
from piase_gym.core.config import explain
from piase_gym.core.files import require_folder
from piase_gym.core.world import World
from piase_gym.envs.arguments import partners_around
from piase_gym.errors import AgentError, ConfigError, TrainingError, UnknownNameError
from piase_gym.names import task_fields
from piase_gym.registry import find, load, make_config
from piase_gym.training.checkpoints import Folder

ALGORITHMS = ("ippo", "maskable_ppo", "ppo")
"""``ppo`` and ``maskable_ppo`` train the first agent beside partners, the second with masks;
``ippo`` trains one policy that all agents share, with masks where actions are discrete."""


class TrainSettings(BaseModel):
    """Everything about a training run; the defaults learn GridWorld's small tasks.

    Steps are those of agents: a step of an environment with three learners counts three.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    task: str = Field(description="a world or an id")
    algo: str = Field("ppo", description="ppo, maskable_ppo or ippo")
    steps: int = Field(3_000_000, ge=1, description="agent steps")
    seed: int = Field(
        0, ge=0, lt=SEEDS["train"].stop, description="seed of levels, weights and draws"
    )
    config: dict[str, Any] = Field(default_factory=dict, description="fields of the world's config")
    partners: dict[str, str] = Field(
        default_factory=dict, description="policies of agents that do not learn"
    )
    num_envs: int = Field(256, ge=1, le=1 << 16, description="environments")
    num_steps: int = Field(64, ge=1, description="steps in each before every update")
    minibatch: int = Field(4096, ge=2, description="samples of a gradient step")
    epochs: int = Field(3, ge=1, description="passes over the samples of an update")
    learning_rate: float = Field(1e-3, gt=0, description="at the start; falls linearly to 0")
    gamma: float = Field(0.99, ge=0, le=1, description="discount")
    gae_lambda: float = Field(0.95, ge=0, le=1, description="of generalised advantages")
    clip: float = Field(0.2, gt=0, description="how far a policy may move in an update")
    entropy: float = Field(0.01, ge=0, description="weight of the entropy bonus")
    value_weight: float = Field(0.5, ge=0, description="weight of the value loss")
    normalize_rewards: bool = Field(True, description="divide rewards by the spread of returns")
    width: int = Field(128, ge=1, description="length of the encoding of symbols")
    layers: tuple[int, ...] = Field((128,), description="widths of the hidden layers")
    eval_every: int = Field(100_000, ge=1, description="steps between looks at the dev seeds")
    eval_episodes: int = Field(100, ge=1, le=1000, description="dev seeds of a look")
    stop_at: float | None = Field(None, gt=0, le=1, description="success at which to stop early")
    save_every: int = Field(200_000, ge=1, description="steps between checkpoints")
    threads: int = Field(1, ge=1, description="threads of torch; networks are small, so 1 is fast")

    def __init__(self, **data: Any) -> None:
        """Check the fields.

        Raises:
            ConfigError: If a field is unknown, of a wrong type or out of range.
            UnknownNameError: If task, algorithm or a partner's policy do not exist.
            AgentError: If a partner has no seat, or no seat is left to the learner.
        """
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise ConfigError(explain(error, type(self))) from None
        if self.algo not in ALGORITHMS:
            raise UnknownNameError("algorithm", self.algo, ALGORITHMS)
        config = self._config()
        seats_of(self, config.names(config.fixed_envelope().agents))
        self.make_world().close()

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
        return world

    def differences(self, other: TrainSettings) -> list[str]:
        """Return the names of fields in which another run differs, as ``name: ours, not theirs``.

        Both are compared as they are stored.
        """
        mine, theirs = self.model_dump(mode="json"), other.model_dump(mode="json")
        rows = [key for key in mine if mine[key] != theirs[key]]
        return [f"{key} is {theirs[key]!r} there and {mine[key]!r} here" for key in rows]


def seats_of(settings: TrainSettings, agents: Sequence[str]) -> dict[str, str]:
    """Return who plays the seats that do not learn.

    With ``ippo`` these are the given partners; else everybody but the first agent without one.

    Raises:
        AgentError: If a partner has no seat, or no seat is left to the learner.
        UnknownNameError, PolicyError: If there is no such policy, or no such model.
    """
    given = settings.partners
    for policy in given.values():
        check_policy(policy, files=True)
    free = [name for name in agents if name not in given]
    for name in given:
        if name not in agents and (name != "*" or settings.algo == "ippo"):
            names = ", ".join(agents)
            raise AgentError(f"there is no agent {name!r}; agents are {names}")
    if not free:
        raise AgentError("every agent is played by a partner; leave at least one to the learner")
    if settings.algo == "ippo":
        return dict(given)
    _, task = find(settings.task)
    seated = partners_around(agents, task, given, free[0])
    return {name: str(policy) for name, policy in seated.items()}


def require_claim(folder: Folder, settings: TrainSettings, resume: bool) -> None:
    """See that a folder is free for a run, or holds the run that is to go on.

    Raises:
        ConfigError: If it holds a run already, or, with `resume`, another one.
        TrainingError: If there is no run to go on with, or its settings are damaged.
        StorageError: If it is a file, or cannot be written to.
    """
    if not folder.settings.exists():
        if resume:
            raise TrainingError(f"{folder.path} holds no run that could go on")
        require_folder(folder.path)
        return
    if not resume:
        raise ConfigError(f"{folder.path} holds a run already; resume it or choose another folder")
    differences = settings.differences(read_settings_of(folder.path))
    if differences:
        raise ConfigError(f"{folder.path} holds another run: {'; '.join(differences)}")


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

"""The settings of the PPO in `piase_gym.training.ppo`.

The kinds of numbers stand here for `piase_gym.training.settings.TrainSettings` too.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Annotated, Any, get_origin, get_type_hints

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

from piase_gym.core.limits import Share
from piase_gym.core.validation_messages import in_words, short
from piase_gym.errors import ConfigError
from piase_gym.training.rewards import REWARDS

Count = Annotated[int, Field(ge=1)]
Size = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
PositiveShare = Annotated[float, Field(gt=0, le=1)]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of PPO; the defaults solve the tasks that `piase_gym.training.ppo` names."""

    num_envs: Count = 1024
    num_steps: Count = 32
    total_steps: Size = 3_000_000
    learning_rate: Positive = 1e-3
    gamma: Share = 0.99
    gae_lambda: Share = 0.95
    epochs: Count = 2
    minibatch: Count = 4096
    clip: Positive = 0.2
    entropy: Weight = 0.01
    value_weight: Weight = 0.5
    max_grad_norm: Positive = 0.5
    reward_scale: Positive = 0.1
    width: Count = 128
    training_reward: str = "own"
    shaping: Weight = 0.1
    shaping_until: PositiveShare = 0.5
    memory: Size = 0
    roles: tuple[int, ...] = ()
    central: bool = False
    self_play: Share = 0.0
    past_every: Count = 10
    past_kept: Count = 10
    threads: Count = 1

    def __post_init__(self) -> None:
        """Check the values, and take NumPy's numbers for Python's, which checkpoints can hold.

        Raises:
            ConfigError: If one is no number of its kind, or there is no such reward.
        """
        if self.training_reward not in REWARDS:
            allowed = ", ".join(REWARDS)
            raise ConfigError(f"training_reward is {self.training_reward!r}; allowed: {allowed}")
        for name, kind in _numbers().items():
            if isinstance(value := getattr(self, name), np.generic):
                object.__setattr__(self, name, value.item())
            try:
                kind.validate_python(getattr(self, name), strict=True)
            except ValidationError as error:
                item = error.errors(include_url=False)[0]
                message = f"{name}: {in_words(item)} (got {short(item['input'])})"
                raise ConfigError(message) from None

    def stored_fields(self) -> dict[str, Any]:
        """Return all settings except those of `OPTIONS` that have their default value."""
        usual = {f.name: f.default for f in dataclasses.fields(self)}
        given = dataclasses.asdict(self)
        return {k: v for k, v in given.items() if k not in OPTIONS or v != usual[k]}


def check_self_play(share: float, learners: int) -> None:
    """Check that past selves have somebody to play against.

    Raises:
        ConfigError: If there is self-play, and only one agent learns.
    """
    if share and learners < 2:
        raise ConfigError(
            f"self_play is {share}, and only one agent learns, so past selves would play nobody; "
            "allowed: 0.0, or more agents that learn"
        )


@functools.cache
def _numbers() -> dict[str, TypeAdapter[Any]]:
    """Return what checks each setting that is a number of a kind."""
    hints = get_type_hints(Settings, include_extras=True)
    return {
        name: TypeAdapter(hint) for name, hint in hints.items() if get_origin(hint) is Annotated
    }


OPTIONS = (
    *("training_reward", "shaping", "shaping_until", "memory", "roles", "central"),
    *("self_play", "past_every", "past_kept", "threads"),
)
"""Settings that were added later: results stored without them were made with their defaults."""

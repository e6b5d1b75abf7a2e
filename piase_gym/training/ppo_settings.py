"""The settings of the PPO in `piase_gym.training.ppo`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from piase_gym.errors import ConfigError
from piase_gym.training.rewards import REWARDS


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of PPO; the defaults solve the tasks that `piase_gym.training.ppo` names."""

    num_envs: int = 1024
    num_steps: int = 32
    total_steps: int = 3_000_000
    learning_rate: float = 1e-3
    gamma: float = 0.99
    gae_lambda: float = 0.95
    epochs: int = 2
    minibatch: int = 4096
    clip: float = 0.2
    entropy: float = 0.01
    value_weight: float = 0.5
    max_grad_norm: float = 0.5
    reward_scale: float = 0.1
    width: int = 128
    training_reward: str = "own"
    shaping: float = 0.1
    shaping_until: float = 0.5
    memory: int = 0
    roles: tuple[int, ...] = ()
    central: bool = False
    self_play: float = 0.0
    past_every: int = 10
    past_kept: int = 10

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ConfigError: If one is out of its range.
        """
        wrong = [
            (self.training_reward not in REWARDS, "training_reward", ", ".join(REWARDS)),
            (not 0.0 <= self.self_play <= 1.0, "self_play", "a share from 0 to 1"),
            (not 0.0 < self.shaping_until <= 1.0, "shaping_until", "a share above 0, up to 1"),
            (self.memory < 0, "memory", "0 (none) or the length of the recurrent state"),
            (self.past_every < 1, "past_every", "1 or more updates"),
            (self.past_kept < 1, "past_kept", "1 or more"),
        ]
        wrong += [
            (getattr(self, name) < 1, name, "1 or more")
            for name in ("num_envs", "num_steps", "epochs", "minibatch", "width")
        ]
        for is_wrong, name, allowed in wrong:
            if is_wrong:
                raise ConfigError(f"{name} is {getattr(self, name)!r}; allowed: {allowed}")

    def told(self) -> dict[str, Any]:
        """Return all settings except those of `OPTIONS` that have their default value."""
        usual = {f.name: f.default for f in dataclasses.fields(self)}
        given = dataclasses.asdict(self)
        return {k: v for k, v in given.items() if k not in OPTIONS or v != usual[k]}


OPTIONS = (
    *("training_reward", "shaping", "shaping_until", "memory", "roles", "central"),
    *("self_play", "past_every", "past_kept"),
)
"""Settings that were added later: results stored without them were made with their defaults."""

"""The configs of a batch: which slots have which, and which they take at their next reset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from piase_gym.errors import ConfigError, UnsupportedError
from piase_gym.faces.slots import Slots, find_slots


class BatchConfigs(Slots):
    """The part of a `BatchEnv` that is about configs."""

    _focal: int

    def reconfigure(self, config: int | Mapping[str, Any], which: Any = slice(None)) -> None:
        """Let slots take another config at their next reset.

        Args:
            config: A number in `configs`, or fields to change in the first one; a new config is
                added to `configs`.
            which: The slots: a flag for each, their numbers, or a slice; default all.

        Raises:
            EnvelopeError: If the config does not fit the envelope.
            ConfigError: If there is no such config or slot.
        """
        slots = which if isinstance(which, slice) else find_slots(which, self.num_envs)
        if isinstance(config, Mapping):
            changed = self.configs[0].changed(config)
            self.world.admit(changed)
            config = self.add_config(changed)
        if type(config) is not int or not 0 <= config < len(self.configs):
            raise ConfigError(f"config {config!r} does not exist; there are {len(self.configs)}")
        self.batch.states["next_config"][slots] = config

    def add_config(self, config: Any) -> int:
        """Add a config that the world admits to `configs`; returns its number.

        Raises:
            UnsupportedError: If the only learner is not there at the reset under it.
        """
        self._require_learner(config)
        self.configs.append(config)
        self.expecting |= self._comes_late(config)
        table = self.world.new_batch(1, [config]).tables
        self.batch.tables = np.concatenate([self.batch.tables, table])
        return len(self.configs) - 1

    def _require_learner(self, config: Any) -> None:
        """Require that the agent whose end is the episode's is there from its start."""
        if self._focal >= 0 and not self.world.opens(config, self._focal):
            raise UnsupportedError(
                f"the learner {self.world.agents[self._focal]!r} is not there at the reset, as a "
                "batched kernel needs it; let it be there, or use gymnasium.make or parallel_env"
            )

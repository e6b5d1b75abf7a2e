"""What policies see and do between two updates, in arrays that are reused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from piase_gym.training.ppo_settings import Settings


@dataclass
class View:
    """What all slots of one policy see in one step; slot ``e * seats + a`` is seat a of env e.

    Attributes:
        shown: Observations (slots, length).
        masks: Action masks (slots, actions).
        alive: Slots in play (slots).
        fresh: Slots in which an episode begins, or whose agent was not in play before (slots).
        states: The state of each slot's environment (slots, size), for a central critic.
        frozen: Slots that a past self plays (slots).
    """

    shown: Tensor
    masks: Tensor
    alive: Tensor
    fresh: Tensor
    states: Tensor
    frozen: Tensor


class Rollout:
    """What the slots of one policy saw and did, in arrays that are reused; (steps, slots, ...)."""

    def __init__(
        self,
        settings: Settings,
        slots: int,
        length: int,
        actions: int,
        kind: torch.dtype = torch.uint8,
        state: int = 0,
    ) -> None:
        def shape(*more: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros((settings.num_steps, slots, *more), dtype=dtype)

        self.observations = shape(length, dtype=kind)
        self.masks = shape(actions, dtype=torch.int8)
        self.actions = shape(dtype=torch.int64)
        self.log_probs, self.values, self.rewards = shape(), shape(), shape()
        self.dones, self.alive = shape(), shape(dtype=torch.bool)
        self.advantages = shape()
        self.fresh = shape(dtype=torch.bool)
        self.states, self.seats = shape(state), shape(dtype=torch.int64)
        self.memory = torch.zeros(slots, settings.memory)

    def estimate(self, last_value: Tensor, gamma: float, gae_lambda: float) -> None:
        """Fill in generalised advantages, from the end backwards."""
        ahead, value = torch.zeros_like(last_value), last_value
        for t in reversed(range(len(self.rewards))):
            going = 1.0 - self.dones[t]
            delta = self.rewards[t] + gamma * going * value - self.values[t]
            ahead = delta + gamma * gae_lambda * going * ahead
            self.advantages[t], value = ahead, self.values[t]

    def samples(self) -> dict[str, Tensor]:
        """Return all steps of agents in play as flat arrays."""
        if self.alive.all():
            return {name: getattr(self, name).flatten(0, 1) for name in SAMPLED}
        return {name: getattr(self, name)[self.alive] for name in SAMPLED}

    def minibatches(self, size: int) -> Iterator[dict[str, Tensor]]:
        """Yield samples in random order; with memory, the whole sequences of random slots.

        Slots whose agents were never in play are left out.
        """
        if self.memory.shape[1]:
            slots, played = max(1, size // len(self.rewards)), self.alive.any(0).nonzero()[:, 0]
            for part in played[torch.randperm(len(played))].split(slots):
                batch = {name: getattr(self, name)[:, part] for name in (*SAMPLED, *UNROLLED)}
                yield {**batch, "memory": self.memory[part]}
            return
        samples = self.samples()
        for part in torch.randperm(len(samples["actions"])).split(size):
            yield {name: values.index_select(0, part) for name, values in samples.items()}


SAMPLED = (
    *("observations", "masks", "actions", "log_probs", "values", "advantages"),
    *("states", "seats"),
)
UNROLLED = ("fresh", "alive")

"""The environments that `piase_gym.training.ppo` plays: a batch of any world with commands."""

from __future__ import annotations

from typing import Any

import piase_gym
from piase_gym.envs.batch import BatchEnv
from piase_gym.envs.partners import Partners
from piase_gym.envs.sync_batch import SyncBatch, sync_batch
from piase_gym.worlds.array_world import steps_in_batches


def make_envs(
    task: Any, num_envs: int, autoreset: str, partners: Partners | None = None, **config: Any
) -> BatchEnv | SyncBatch:
    """Return a `BatchEnv` or, of a world that no kernel steps, a `SyncBatch`.

    Args:
        task: An id, a world's name or a config.
        num_envs: Number of environments.
        autoreset: ``"same_step"``, ``"next_step"`` (of a `BatchEnv`) or ``"disabled"``.
        partners: Policies of agents that do not learn.
        config: Fields of the world's config.

    Raises:
        ConfigError: If something is not allowed.
    """
    options: dict[str, Any] = {"partners": partners, **config}
    one = piase_gym.parallel_env(task, view="vector", actions="discrete", **options)
    world, seats = one.world, {one.world.agents[i]: p for i, p in one.runner.partners.items()}
    one.close()
    if steps_in_batches(world):
        return piase_gym.batch_env(task, num_envs=num_envs, autoreset=autoreset, **options)
    return sync_batch(world.config, num_envs, autoreset=autoreset, partners=seats)


def has_kernel(task: Any, **config: Any) -> bool:
    """Return whether `make_envs` returns a `BatchEnv`."""
    envs = make_envs(task, 1, "disabled", **config)
    envs.close()
    return isinstance(envs, BatchEnv)

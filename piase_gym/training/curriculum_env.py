"""Environments that follow a curriculum, for the trainer of `piase_gym.training.ppo`."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

import piase_gym
from piase_gym.agents import make_agent
from piase_gym.benchmarks.evaluation.levels import keep_to
from piase_gym.core.commands import RESULTS
from piase_gym.core.world import World
from piase_gym.curricula import ProgressStore
from piase_gym.curricula.schema import DevelopmentalCurriculum
from piase_gym.curricula.simulated_learner import agent_of, base_fields, world_of
from piase_gym.errors import ConfigError, UnsupportedError

Infos = dict[str, Any]


class SlotBatch:
    """The slots of a VectorEnv with `NEXT_STEP` autoreset, as environments of one agent.

    Args:
        env: The slots; action masks are taken from ``infos["action_mask"]``.
        agent: Name of the learner.
        world: A world like theirs.

    Attributes:
        env: The slots.
        world: A world like theirs.
        agents: The learner alone.
        num_envs: Number of slots.
        observation_space: The space of one vector.
        action_space: The space of one action.
    """

    def __init__(self, env: Any, agent: str, world: World[Any, Any]) -> None:
        """Take the slots.

        Raises:
            UnsupportedError: If actions are not indices of commands.
        """
        if not isinstance(env.single_action_space, Discrete):
            env.close()
            raise UnsupportedError(
                f"this trainer chooses among commands, and the actions here are "
                f"{env.single_action_space}; train it with Stable-Baselines3, through "
                "piase_gym.wrappers.CurriculumWrapper"
            )
        self.env, self.agents, self.num_envs, self.world = env, (agent,), env.num_envs, world
        self.observation_space: Any = env.single_observation_space
        self.action_space: Any = env.single_action_space
        self._free = np.ones((env.num_envs, 1, int(self.action_space.n)), np.int8)

    def reset(self, seed: int | None = None) -> tuple[NDArray[Any], Infos]:
        """Start episodes; arrays have a second axis of length 1, for the learner."""
        shown, infos = self.env.reset(seed=seed)
        return shown[:, None], self._infos(infos, np.ones(self.num_envs, np.bool_))

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], Infos]:
        """Act once in every slot; where an episode has ended, the next one begins instead."""
        shown, rewards, terminated, truncated, infos = self.env.step(actions[:, 0])
        over = terminated | truncated
        more = {"final_obs": shown[:, None], "_final_obs": over}
        more["result"] = np.array([[RESULTS.index(result)] for result in infos["result"]], np.uint8)
        ends = terminated[:, None], truncated[:, None]
        return shown[:, None], rewards[:, None], *ends, {**self._infos(infos, ~over), **more}

    def _infos(self, infos: Infos, alive: NDArray[np.bool_]) -> Infos:
        """Return the infos that accompany the observations."""
        masks = infos.get("action_mask")
        shown = self._free if masks is None else np.asarray(masks, np.int8)[:, None].copy()
        shown[~shown.any(axis=-1)] = 1  # between two episodes, a slot's mask allows nothing
        return {"action_mask": shown, "alive": alive[:, None]}

    def close(self) -> None:
        """Close the slots."""
        self.env.close()


def make_curriculum_env(
    curriculum: DevelopmentalCurriculum,
    *,
    num_envs: int,
    world: str | None = None,
    config: Mapping[str, Any] | None = None,
    director: Any = None,
    seed: int = 0,
    progress: Path | ProgressStore | None = None,
    log: Path | None = None,
    part: str | None = None,
) -> Any:
    """Return environments that follow a curriculum and step as a batch with same-step autoreset.

    Array worlds are stepped by their kernel, others slot by slot.

    Args:
        curriculum: The curriculum.
        num_envs: Number of environments.
        world: The world, if the curriculum names none.
        config: Fields of the world's config.
        director: A director or its name.
        seed: The seed of the director's draws.
        progress: Where progress is kept.
        log: Where everything is logged.
        part: The part of the levels that is played; by default the training levels, or all levels
            of a task that has few. See `piase_gym.benchmarks.evaluation.levels`.

    Raises:
        ConfigError: If there is no world, or something is not allowed in it.
        PolicyError: If a partner is a model that cannot be loaded without trust: it was named by
            the author of the curriculum.
    """
    from piase_gym.curricula.parallel import ParallelCurricula
    from piase_gym.registry import find
    from piase_gym.registry import load as load_part
    from piase_gym.worlds.array_world import ArrayWorld
    from piase_gym.wrappers.avt_log import AvtLogger
    from piase_gym.wrappers.curriculum import CurriculumWrapper

    keep = functools.partial(keep_to, part=part or "train", spare_fixed=part is None)
    for policy in curriculum.partners.values():
        make_agent(policy, trusted=False)
    name, fields = world_of(curriculum, world), base_fields(curriculum, config, world)
    spec = find(name)[0]
    options = {"director": director, "seed": seed, "progress": progress}
    if not issubclass(load_part(spec.world, spec), ArrayWorld):
        if log is not None:
            raise ConfigError(f"{spec.name} is played in slots, whose steps are not logged")
        seats = {"agent": curriculum.agent, "partners": dict(curriculum.partners) or None}
        slots = ParallelCurricula(
            name, curriculum, slots=num_envs, workers=0, **options, **seats, **fields
        )
        runners = slots.controller.workers.runners
        for runner in runners:
            keep(runner)
        return SlotBatch(slots, slots.controller.agent, runners[0].world)
    batch = piase_gym.batch_env(
        name,
        num_envs=num_envs,
        autoreset="same_step",
        partners=dict(curriculum.partners) or None,
        **fields,
    )
    keep(batch)  # before the curriculum hears that an episode begins
    agent = agent_of(curriculum, batch.agents)
    inner = batch if log is None else AvtLogger(batch, log, level="actions")
    try:
        return CurriculumWrapper(inner, {agent: curriculum}, **options)
    except BaseException:  # such as progress in another curriculum
        inner.close()
        raise


def controller_of(env: Any) -> Any:
    """Return the controller that the environments of `make_curriculum_env` follow."""
    return env.env.controller if isinstance(env, SlotBatch) else env.controller

"""Environments that follow a curriculum, for the trainer of `examples/ppo_batch.py`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import piase_gym
from piase_gym.agents import make_agent
from piase_gym.curricula import ProgressStore
from piase_gym.curricula.schema import DevelopmentalCurriculum
from piase_gym.curricula.simulated_learner import agent_of, base_fields, world_of
from piase_gym.errors import ConfigError
from piase_gym.training.slots import SlotBatch


def make_course(
    curriculum: DevelopmentalCurriculum,
    *,
    num_envs: int,
    world: str | None = None,
    config: Mapping[str, Any] | None = None,
    director: Any = None,
    seed: int = 0,
    progress: Path | ProgressStore | None = None,
    log: Path | None = None,
) -> Any:
    """Return environments that follow a curriculum and step as a batch with same-step autoreset.

    Array worlds are stepped by their kernel, others slot by slot.

    Args:
        curriculum: The curriculum.
        num_envs: How many environments.
        world: The world, if the curriculum names none.
        config: Fields of the world's config.
        director: A director or its name.
        seed: Of the director's draws.
        progress: Where progress is kept.
        log: Where everything is logged.

    Raises:
        ConfigError: If there is no world, or something is not allowed in it.
        PolicyError: If a partner is a model that cannot be loaded without trust: who wrote the
            curriculum named it.
    """
    from piase_gym.curricula.parallel import ParallelCurricula
    from piase_gym.registry import find
    from piase_gym.registry import load as load_part
    from piase_gym.worlds.array_world import ArrayWorld
    from piase_gym.wrappers.avt_log import AvtLogger
    from piase_gym.wrappers.curriculum import CurriculumWrapper

    for policy in curriculum.partners.values():
        make_agent(policy, trusted=False)
    name, fields = world_of(curriculum, world), base_fields(curriculum, config)
    spec = find(name)[0]
    options = {"director": director, "seed": seed, "progress": progress}
    if not issubclass(load_part(spec.world, spec), ArrayWorld):
        if log is not None:
            raise ConfigError(f"{spec.name} is played in slots, whose steps are not logged")
        seats: dict[str, Any] = {} if curriculum.agent is None else {"agent": curriculum.agent}
        if curriculum.partners:
            seats["partners"] = dict(curriculum.partners)
        slots = ParallelCurricula(
            name, curriculum, slots=num_envs, workers=0, **options, **seats, **fields
        )
        return SlotBatch(slots, slots.controller.agent)
    batch = piase_gym.batch_env(
        name,
        num_envs=num_envs,
        autoreset="same_step",
        partners=dict(curriculum.partners) or None,
        **fields,
    )
    agent = agent_of(curriculum, batch.agents)
    inner = batch if log is None else AvtLogger(batch, log, level="actions")
    return CurriculumWrapper(inner, {agent: curriculum}, **options)


def course_of(env: Any) -> Any:
    """Return the course that environments of `make_course` follow."""
    return env.env.controller if isinstance(env, SlotBatch) else env.controller


__all__ = ["course_of", "make_course"]

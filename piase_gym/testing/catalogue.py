"""Every check of the kit, in the order in which they run."""

from __future__ import annotations

from piase_gym.testing import (
    base_env_checks,
    env_episodes,
    env_objects,
    env_seeds,
    world_actions,
    world_config,
    world_faces,
    world_secrets,
    world_seeds,
    world_state,
    world_views,
)
from piase_gym.testing.kit import Check, checks_of

ENV_CHECKS: tuple[Check, ...] = checks_of(env_episodes, env_seeds, env_objects)
"""What any PettingZoo ParallelEnv is held to."""
WORLD_CHECKS: tuple[Check, ...] = (
    *ENV_CHECKS,
    *checks_of(
        world_views,
        world_actions,
        world_state,
        world_config,
        world_faces,
        world_seeds,
        world_secrets,
    ),
)
"""What worlds of piase_gym are held to."""
BASE_ENV_CHECKS: tuple[Check, ...] = checks_of(base_env_checks)
"""What subclasses of `BaseEnv` are held to."""

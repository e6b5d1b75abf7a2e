"""The conformance kit: the contract of worlds and environments as a test that anyone can run.

`check_world` holds a world to the whole contract of `docs/contract.md`, through the same
environments that its users see. `check_parallel_env` holds any PettingZoo ParallelEnv to the part
of it that makes sense without a world, and `check_base_env` any environment for LLM agents to the
interface of the LLM-environment document. `run_checks` returns a `Report` and raises nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from piase_gym.core.config import WorldConfig
from piase_gym.interfaces import BaseEnv
from piase_gym.testing import (
    base_env_checks,
    env_episodes,
    env_objects,
    env_seeds,
    world_actions,
    world_config,
    world_envs,
    world_interfaces,
    world_secrets,
    world_state,
    world_views,
)
from piase_gym.testing.base_env_checks import base_env_subject
from piase_gym.testing.kit import (
    Check,
    ConformanceError,
    Finding,
    Progress,
    Report,
    checks_of,
    choose_checks,
    run_all,
)
from piase_gym.testing.subject import env_subject, world_subject

ENV_CHECKS: tuple[Check, ...] = checks_of(env_episodes, env_seeds, env_objects)
"""What any PettingZoo ParallelEnv is held to."""
WORLD_CHECKS: tuple[Check, ...] = (
    *ENV_CHECKS,
    *checks_of(
        world_views,
        world_actions,
        world_state,
        world_config,
        world_envs,
        world_interfaces,
        world_secrets,
    ),
)
"""What worlds of piase_gym are held to."""
BASE_ENV_CHECKS: tuple[Check, ...] = checks_of(base_env_checks)
"""What subclasses of `BaseEnv` are held to."""

__all__ = [
    "BASE_ENV_CHECKS",
    "ENV_CHECKS",
    "WORLD_CHECKS",
    "Check",
    "ConformanceError",
    "Finding",
    "Report",
    "check_base_env",
    "check_parallel_env",
    "check_world",
    "run_base_env_checks",
    "run_checks",
    "run_env_checks",
]


def run_checks(
    name: str | WorldConfig,
    *,
    checks: Sequence[str] | None = None,
    modules: Sequence[str] = (),
    progress: Progress = lambda finding: None,
    **config: Any,
) -> Report:
    """Hold a world to the contract and return what was found.

    Args:
        name: A world (``"GridWorld"``), an id (``"piase/GridWorld-v1"``) or a config object.
        checks: Names of checks; by default all of them.
        modules: Modules to import first, here and in the other processes of the kit.
        progress: Called with each `Finding` as soon as it is known.
        config: Fields of the world's config, and ``envelope``.

    Returns:
        What each check found. Nothing is raised for a world that fails.

    Raises:
        UnknownNameError, ConfigError: If there is no such world, check or config.
    """
    for module in modules:
        importlib.import_module(module)
    chosen = choose_checks(WORLD_CHECKS, checks)
    return run_all(world_subject(name, config, modules), chosen, progress)


def check_world(
    name: str | WorldConfig,
    *,
    checks: Sequence[str] | None = None,
    modules: Sequence[str] = (),
    **config: Any,
) -> Report:
    """Hold a world to the contract; the arguments are those of `run_checks`.

    Returns:
        What each check found.

    Raises:
        ConformanceError: If a check failed; the message has one line for each failure.
    """
    return run_checks(name, checks=checks, modules=modules, **config).raise_failures()


def run_env_checks(make: Callable[..., Any], *, checks: Sequence[str] | None = None) -> Report:
    """Hold any PettingZoo ParallelEnv to what can be checked without knowing its world.

    Args:
        make: Function that returns a new environment at each call. If it can be imported by name,
            other processes are asked too; if it takes `render_mode`, pictures are checked.
        checks: Names of checks; by default all of `ENV_CHECKS`.

    Returns:
        What each check found.
    """
    return run_all(env_subject(make), choose_checks(ENV_CHECKS, checks))


def check_parallel_env(make: Callable[..., Any], *, checks: Sequence[str] | None = None) -> Report:
    """Hold any PettingZoo ParallelEnv to the kit; the arguments are those of `run_env_checks`.

    Returns:
        What each check found.

    Raises:
        ConformanceError: If a check failed; the message has one line for each failure.
    """
    return run_env_checks(make, checks=checks).raise_failures()


def run_base_env_checks(
    env: str | Callable[[dict[str, Any]], BaseEnv],
    config: Mapping[str, Any] | None = None,
    *,
    checks: Sequence[str] | None = None,
) -> Report:
    """Hold an environment for LLM agents to the interface of the LLM-environment document.

    Args:
        env: A name of `piase_gym.interfaces.base_envs`, a world or an id, or the subclass of
            `BaseEnv`.
        config: The settings that the environment is made with.
        checks: Names of checks; by default all of `BASE_ENV_CHECKS`.

    Returns:
        What each check found.
    """
    return run_all(base_env_subject(env, config), choose_checks(BASE_ENV_CHECKS, checks))


def check_base_env(
    env: str | Callable[[dict[str, Any]], BaseEnv],
    config: Mapping[str, Any] | None = None,
    *,
    checks: Sequence[str] | None = None,
) -> Report:
    """Hold an environment for LLM agents to the kit; arguments as for `run_base_env_checks`.

    Returns:
        What each check found.

    Raises:
        ConformanceError: If a check failed; the message has one line for each failure.
    """
    return run_base_env_checks(env, config, checks=checks).raise_failures()

"""Which backend the options of a command ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from piase_gym.errors import ConfigError
from piase_gym.jobs.backend import Backend
from piase_gym.jobs.local import Here, Processes


def choose_backend(
    workers: int = 1,
    ray: str | None = None,
    *,
    modules: Sequence[str] = (),
    timeout: float | Callable[[Any], float] | None = None,
) -> Backend:
    """Return who does jobs.

    Args:
        workers: Processes of this machine; 1 is this process.
        ray: The address of a Ray cluster, which takes the place of processes: ``auto`` or a host.
        modules: Modules that workers import first.
        timeout: Seconds that a job may take in a process, or what tells them of a job.

    Raises:
        ConfigError: If `workers` is no positive integer.
        MissingExtraError, ClusterError: See `piase_gym.jobs.RayCluster`.
    """
    if type(workers) is not int or workers < 1:
        raise ConfigError(f"workers must be a positive integer, not {workers!r}")
    if ray is not None:
        from piase_gym.jobs.ray import RayCluster

        return RayCluster(ray, modules, timeout)
    return Processes(workers, modules, timeout) if workers > 1 else Here()

"""Independent jobs: done here, in threads, in processes of this machine, or on a Ray cluster.

`run_jobs` hands named jobs to a backend and yields what came of each. A result depends on its job
alone: not on the backend, the number of workers, or the order in which jobs are done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from piase_gym.lazy import lazy

if TYPE_CHECKING:
    from piase_gym.jobs.backend import Answer, Backend
    from piase_gym.jobs.choose import choose_backend
    from piase_gym.jobs.journal import LineFile
    from piase_gym.jobs.local import Here, Processes, Threads
    from piase_gym.jobs.ray import RayCluster
    from piase_gym.jobs.run import Outcome, run_jobs
    from piase_gym.jobs.together import do_all

__all__ = [
    "Answer",
    "Backend",
    "Here",
    "LineFile",
    "Outcome",
    "Processes",
    "RayCluster",
    "Threads",
    "choose_backend",
    "do_all",
    "run_jobs",
]

__getattr__, __dir__ = lazy(__name__)

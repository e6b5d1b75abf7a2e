"""Independent jobs: done here, in threads, in processes of this machine, or on a Ray cluster.

`run_jobs` hands named jobs to a backend and yields the outcome of each. A result depends on its job
alone: not on the backend, the number of workers, or the order in which jobs are done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from piase_gym.lazy import lazy

if TYPE_CHECKING:
    from piase_gym.core.line_file import LineFile as LineFile
    from piase_gym.jobs.backend import Answer as Answer
    from piase_gym.jobs.backend import Backend as Backend
    from piase_gym.jobs.local import InProcess as InProcess
    from piase_gym.jobs.local import Processes as Processes
    from piase_gym.jobs.local import Threads as Threads
    from piase_gym.jobs.local import choose_backend as choose_backend
    from piase_gym.jobs.missing_lines import do_missing as do_missing
    from piase_gym.jobs.ray import RayCluster as RayCluster
    from piase_gym.jobs.run import Outcome as Outcome
    from piase_gym.jobs.run import run_jobs as run_jobs

__getattr__, __dir__ = lazy(__name__)

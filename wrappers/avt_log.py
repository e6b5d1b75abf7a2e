"""`AvtLogger`: log every run of an environment in the format of the PiaAVT toolkit."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
from gymnasium.vector import VectorEnv, VectorWrapper
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import BaseParallelWrapper, BaseWrapper

from piase_gym.interfaces.own import adapted
from piase_gym.runs.columns import ColumnRecorder
from piase_gym.runs.recorder import Recorder
from piase_gym.runs.recording import record

if TYPE_CHECKING:
    from piase_gym.envs.batch import BatchEnv

AnyRecorder = Recorder | ColumnRecorder


def AvtLogger(  # the wrapper's name in the words of the design document, whatever it returns
    env: Any, path: str | os.PathLike[str] | None = None, **options: Any
) -> Any:
    """Wrap an environment so that what happens in it is written to a PiaAVT log.

    It listens to the event bus, so it may go inside, between or around other wrappers.
    Closing the environment completes the log with a summary.

    Args:
        env: A ParallelEnv, AECEnv, Gymnasium Env, VectorEnv or `batch_env` of one of our worlds,
            or a wrapper around one; or an environment of your own (see `piase_gym.as_parallel`).
        path: A file that ends with ``.jsonl``, ``.jsonl.gz`` or ``.jsonl.zst``, or for batches with
            ``.arrow``, for columns; ``None`` if there are `sinks`.
        options: See `piase_gym.runs.recording`: `level`, `levels`, `experiment_id`, `run_id`,
            `sinks`, `snapshot_every`, `digest_every`, `on_error`, `overwrite`, `more`.

    Returns:
        A wrapper of the same kind as `env`, with the attribute `recorder`.

    Raises:
        ConfigError: If the environment is not one of ours, or an option is not allowed.
        LogWriteError: If the file exists, has another writer, or cannot be opened.
    """
    env = adapted(env)
    recorder = record(env, path, **options)
    for kind, wrapper in WRAPPERS.items():
        if isinstance(env, kind):
            return wrapper(env, recorder)
    return BatchLogger(env, recorder)


class _Logged:
    """What the wrappers of all kinds share."""

    def __init__(self, env: Any, recorder: AnyRecorder) -> None:
        """Wrap `env`, whose bus `recorder` listens to."""
        super().__init__(env)  # type: ignore[call-arg]  # of the kind's own wrapper
        self.recorder = recorder

    def post_event(
        self, event_type: str, data: Mapping[str, Any] | None = None, agent: str | None = None
    ) -> None:
        """Post an event of one's own, which the log writes; see `WorldAccess.post_event`."""
        env: Any = self.env  # type: ignore[attr-defined]  # of the kind's own wrapper
        getattr(env, "unwrapped", env).post_event(event_type, data, agent)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the log with the original when an environment is copied or pickled."""
        return {**self.__dict__, "recorder": None}


class ParallelLogger(_Logged, BaseParallelWrapper[Any, Any, Any]):
    """A logged ParallelEnv."""

    def __init__(self, env: ParallelEnv[Any, Any, Any], recorder: AnyRecorder) -> None:
        """Wrap `env`, whose bus `recorder` listens to."""
        super().__init__(env, recorder)
        # PettingZoo's wrapper looks every attribute up twice; the busiest ones take a shortcut
        # straight to the environment, which tells its bus what happens.
        self.__dict__.update(step=self.env.step, reset=self.env.reset)

    agents = property(operator.attrgetter("env.agents"), doc="The agents in play.")


class AecLogger(_Logged, BaseWrapper[Any, Any, Any]):
    """A logged AECEnv."""


class GymLogger(_Logged, gymnasium.Wrapper[Any, Any, Any, Any]):
    """A logged Gymnasium Env."""


class VectorLogger(_Logged, VectorWrapper):
    """A logged VectorEnv."""


class BatchLogger(_Logged):
    """A logged `batch_env`; everything else is that of the batch."""

    def __init__(self, env: BatchEnv, recorder: AnyRecorder) -> None:
        """Wrap `env`, whose bus `recorder` listens to."""
        self.env, self.recorder = env, recorder

    @property
    def unwrapped(self) -> BatchEnv:
        """The batch itself."""
        batch: BatchEnv = getattr(self.env, "unwrapped", self.env)
        return batch

    def __getattr__(self, name: str) -> Any:
        """Offer what the batch offers."""
        if name.startswith("__") or name == "env":
            raise AttributeError(name)
        return getattr(self.env, name)


WRAPPERS: dict[type, Any] = {
    ParallelEnv: ParallelLogger,
    AECEnv: AecLogger,
    gymnasium.Env: GymLogger,
    VectorEnv: VectorLogger,
}

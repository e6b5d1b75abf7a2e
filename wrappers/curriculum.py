"""`CurriculumWrapper`: let agents follow curricula, whatever kind of environment they are in."""

from __future__ import annotations

import operator
from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper
from pettingzoo import ParallelEnv
from pettingzoo.utils import BaseParallelWrapper

from piase_gym.curricula.batch_controller import BatchController
from piase_gym.curricula.controller import CurriculumProperties
from piase_gym.curricula.env_controller import EnvController
from piase_gym.curricula.options import CURRICULUM_OPTIONS, CurriculumOptions
from piase_gym.envs.batch import BatchEnv
from piase_gym.envs.parallel import WorldParallelEnv
from piase_gym.envs.single import GymEnv
from piase_gym.envs.vector import BatchVectorEnv
from piase_gym.errors import ConfigError, UnknownFieldError, suggest
from piase_gym.interfaces.own import adapted
from piase_gym.wrappers.avt_log import BatchLogger

OPTIONS = (*CURRICULUM_OPTIONS, "agents")
"""The options of `CurriculumWrapper`."""


def CurriculumWrapper(  # the wrapper's name in the words of users, whatever it returns
    env: Any, curricula: Any, **options: Any
) -> Any:
    """Wrap an environment so that its agents follow curricula.

    Between two episodes the environment is reconfigured to the steps that the agents are in. An
    environment that was never reset is given the spaces that all steps need. Spaces never change
    after that.

    Args:
        env: A ParallelEnv, Gymnasium Env, `batch_env` or batched VectorEnv of one of our worlds, or
            a wrapper around one; or an environment of your own (see `piase_gym.as_parallel`).
        curricula: Agent -> curriculum (an object, a name, or a path). A single curriculum is for
            the agent that it is written for, for the caller's only agent, or, if it names a
            `lead`, for all of the caller's agents.
        options: `director` (a `Director`, a name of `piase_gym.curricula.directors.DIRECTORS`, or
            a mapping of ``name`` and options; default: that of the curriculum), `tutor`,
            `progress` (a file in which progress is kept, and from which it goes on), `agents`
            (agent -> `Agent` to be configured when it reaches a step), `seed` (of the director's
            draws; default 0), `metrics` (your own, by name), `lag` (for batches; default 1).

    Returns:
        A wrapper of the same kind as `env`, with `progress`, `decisions`, `prompts`, `modifier` and
        `controller`.

    Raises:
        AgentError: If there is a curriculum for an agent that is not there.
        CurriculumError: If a curriculum is wrong, or sets what the world does not know.
        EnvelopeError: If the environment was reset and is too small; the message has the line to
            write.
        ProgressError: If the progress in the file is of another curriculum or version.
        ConfigError: If the environment is not one of ours, or an option is not allowed.

    Example:
        >>> import piase_gym
        >>> from piase_gym.curricula import DevelopmentalCurriculum
        >>> won = {"metric": "task_success", "operator": "==", "value": True}
        >>> corridor = {"width": 4, "height": 2, "start_pos": (0, 0), "goal_pos": (3, 0)}
        >>> step = {"order": 1, "name": "Walk", "environment_config_overrides": corridor}
        >>> step["completion_criteria"] = [won]
        >>> env = CurriculumWrapper(
        ...     piase_gym.parallel_env("GridWorld"), DevelopmentalCurriculum(name="c", steps=[step])
        ... )
        >>> _ = env.reset(seed=0)
        >>> while env.agents:
        ...     _ = env.step({"agent_0": 3})
        >>> [(decision.step, decision.decision) for decision in env.decisions]
        [(1, 'PROCEED')]
        >>> env.progress["agent_0"].finished
        True
    """
    env = adapted(env, over_worlds=True)
    for name in options:
        if name not in OPTIONS:
            hint = suggest(name, OPTIONS)
            raise UnknownFieldError(f"CurriculumWrapper has no option {name!r}; {hint}")
    layer = env
    while layer is not None:
        if isinstance(layer, _CurriculumWrapper):
            raise ConfigError(
                "the agents of this environment follow curricula already; one CurriculumWrapper "
                "takes those of all agents, as a mapping"
            )
        layer = getattr(layer, "env", None)
    for kind, wrapper in WRAPPERS.items():
        if isinstance(env, kind):
            return wrapper(env, curricula, **options)
    raise ConfigError(
        f"CurriculumWrapper takes a ParallelEnv, a Gymnasium Env or a batch of piase_gym, wrapped "
        f"or not, not {type(env).__name__}"
    )


class _CurriculumWrapper(CurriculumProperties):
    """What the wrappers of all kinds share."""

    env: Any

    def close(self, **kwargs: Any) -> None:
        """Make the decisions that are left, and close the environment."""
        try:
            self.controller.close()
        finally:
            self.env.close(**kwargs)


class ParallelCurriculum(_CurriculumWrapper, BaseParallelWrapper[Any, Any, Any]):
    """A ParallelEnv whose agents follow curricula."""

    def __init__(self, env: ParallelEnv[Any, Any, Any], curricula: Any, **options: Any) -> None:
        """Wrap `env`; see `CurriculumWrapper`."""
        super().__init__(env)
        inner = _inner_env(env, WorldParallelEnv)
        spaces = [
            (env.observation_space(n), inner.observation_space(n)) for n in env.possible_agents
        ]
        fixed = None if all(one is other for one, other in spaces) else type(env).__name__
        plan = CurriculumOptions(curricula, inner.possible_agents, **options)
        self.controller: EnvController = EnvController(inner, plan, fixed)
        # A step costs eight microseconds, so what each step needs is looked up once, here.
        self._step, self._after_step = env.step, self.controller.after_step

    # PettingZoo's wrapper looks every attribute up twice; the busiest one takes a shortcut.
    agents = property(operator.attrgetter("env.agents"), doc="The agents in play.")

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start an episode of the steps that the agents are in.

        `seed` seeds the world, as always; it never picks the step.
        """
        self.controller.before_reset()
        observations, infos = self.env.reset(seed=seed, options=options)
        self.controller.after_reset()
        return observations, infos

    def step(self, actions: Any) -> Any:
        """Let every agent in play act once; at the end of an episode, decide."""
        found = self._step(actions)
        self._after_step()
        return found


class GymCurriculum(
    _CurriculumWrapper, gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs
):
    """A Gymnasium Env whose learner follows a curriculum.

    Its spec can make it again, from the beginning of the curriculum or from the kept progress.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], curricula: Any, **options: Any) -> None:
        """Wrap `env`; see `CurriculumWrapper`."""
        RecordConstructorArgs.__init__(self, curricula=curricula, _disable_deepcopy=True, **options)
        inner = _inner_env(env, GymEnv)
        fixed = None if env.observation_space is inner.observation_space else type(env).__name__
        plan = CurriculumOptions(curricula, (inner.agent,), **options)
        self.controller: EnvController = EnvController(inner, plan, fixed)
        super().__init__(env)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode of the step that the learner is in; see `ParallelCurriculum.reset`."""
        self.controller.before_reset()
        found: tuple[Any, dict[str, Any]] = self.env.reset(seed=seed, options=options)
        self.controller.after_reset()
        return found

    def step(self, action: Any) -> Any:
        """Let the learner act once; at the end of an episode, decide."""
        found = self.env.step(action)
        self.controller.after_step()
        return found


class BatchCurriculum(_CurriculumWrapper):
    """A `batch_env` whose agents follow curricula; everything else is that of the batch."""

    def __init__(self, env: Any, curricula: Any, **options: Any) -> None:
        """Wrap `env`; see `CurriculumWrapper`."""
        batch = _inner_env(env, BatchEnv)
        self.env = env
        plan = CurriculumOptions(curricula, batch.agents, **options)
        self.controller: BatchController = BatchController(batch, plan, batch.grow_envelope)

    @property
    def unwrapped(self) -> BatchEnv:
        """The batch itself."""
        return self.controller.batch

    def reset(self, seed: Any = None, *, which: Any = None) -> Any:
        """Start episodes of the steps that the agents are in; see `BatchEnv.reset`."""
        self.controller.before_reset(which)
        return self.env.reset(seed, which=which)

    def step(self, actions: Any) -> Any:
        """Let every agent act once; decide where an attempt is over."""
        found = self.env.step(actions)
        self.controller.after_step()
        return found

    def __getattr__(self, name: str) -> Any:
        """Offer what the batch offers."""
        if name.startswith("__") or name in ("env", "controller"):
            raise AttributeError(name)
        return getattr(self.env, name)


class VectorCurriculum(_CurriculumWrapper, VectorWrapper):
    """A VectorEnv over a batch whose learner follows a curriculum."""

    def __init__(self, env: VectorEnv[Any, Any, Any], curricula: Any, **options: Any) -> None:
        """Wrap `env`; see `CurriculumWrapper`."""
        inner = _inner_env(env, BatchVectorEnv)
        plan = CurriculumOptions(curricula, inner.batch.agents, **options)
        self.controller: BatchController = BatchController(inner.batch, plan, inner.grow_envelope)
        super().__init__(env)

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start episodes of the step that the learner is in."""
        self.controller.before_reset((options or {}).get("reset_mask"))
        found: tuple[Any, dict[str, Any]] = self.env.reset(seed=seed, options=options)
        return found

    def step(self, actions: Any) -> Any:
        """Let the learner act once in every environment; decide where an attempt is over."""
        found = self.env.step(actions)
        self.controller.after_step()
        return found


def _inner_env(env: Any, kind: type) -> Any:
    """Return the piase_gym environment behind wrappers.

    Raises:
        ConfigError: If it is not one of this kind.
    """
    inner = getattr(env, "unwrapped", env)  # a batch is its own
    if isinstance(inner, kind):
        return inner
    message = f"{type(inner).__name__} is not an environment of piase_gym"
    if kind in (BatchEnv, BatchVectorEnv):
        raise ConfigError(
            f"{message} with a batched kernel; worlds without one are led by "
            "piase_gym.curricula.ParallelCurricula"
        )
    raise ConfigError(
        f"{message}; allowed: what parallel_env, gymnasium.make and batch_env return, "
        "wrapped or not"
    )


WRAPPERS: dict[type, Any] = {
    ParallelEnv: ParallelCurriculum,
    gymnasium.Env: GymCurriculum,
    VectorEnv: VectorCurriculum,
    BatchEnv: BatchCurriculum,
    BatchLogger: BatchCurriculum,
}

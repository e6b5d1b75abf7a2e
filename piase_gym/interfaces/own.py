"""The adapter for environments of one's own, and their registration."""

from __future__ import annotations

from typing import Any

from piase_gym.core.documents import OwnEnvironment, is_own
from piase_gym.core.world import World
from piase_gym.envs.arguments import build_runner
from piase_gym.envs.base import WorldAccess
from piase_gym.envs.observations import ObservationStyle
from piase_gym.envs.parallel import WorldParallelEnv
from piase_gym.envs.partners import Partners
from piase_gym.errors import ConfigError
from piase_gym.registry import TaskSpec, load_named, own_row, register_task, register_world

NAMESPACE = "own"
"""The namespace of the ids of environments that are registered without an id."""


def usual_actions(world: World[Any, Any]) -> str:
    """Return the kind of actions that a world is usually played with."""
    offered = world.capabilities
    return "discrete" if offered.discrete else "continuous" if offered.continuous else "text"


def as_parallel(
    env: Any,
    *,
    actions: str | None = None,
    view: str = "both",
    mask: str | None = None,
    wording: str = "canonical",
    texts: str = "eager",
    infos: str = "full",
    dtype: str | None = None,
    ended_actions: str = "error",
    strict: bool = False,
    render_mode: str | None = None,
    partners: Partners | None = None,
    scenario: object = None,
    envelope: object = None,
    **config: Any,
) -> WorldParallelEnv:
    """Make a PettingZoo ParallelEnv of an environment behind any of the documents' interfaces.

    An environment of one's own is reset once, to learn what it is like. One of our worlds behind a
    document's interface goes on where it is.

    Args:
        env: A subclass of `Environment`, `AbstractEnvironment`, `PerceptionInterface` or `BaseEnv`,
            as a class or an object; or one of these over a world.
        actions: ``"discrete"``, ``"text"`` or ``"continuous"``; default: the first that it has.
        view: ``"both"``, ``"vector"`` or ``"text"``.
        mask: ``None`` (masks are in the infos) or ``"obs"``.
        wording: The dialect of texts.
        texts: ``"eager"`` or ``"lazy"``, as for `piase_gym.parallel_env`; so are the next three.
        infos: ``"full"``, ``"mask"`` or ``"none"``.
        dtype: ``"float32"``, or the world's own type.
        ended_actions: ``"error"`` or ``"ignore"``.
        strict: Whether a text action must be the bare command.
        render_mode: ``"human"``, ``"ansi"`` or ``"rgb_array"``.
        partners: Policies for agents that the caller does not play, by agent.
        scenario: A scenario of this environment: its path, or the object.
        envelope: The largest sizes that later configs may have: ``{"agents": 4}``.
        config: Fields of `piase_gym.worlds.own.config.OwnConfig`, such as `agents`, `agent_ids`,
            `max_steps`, `timeout`; others are settings that the environment is made with.

    Returns:
        The environment.

    Raises:
        OwnEnvironmentError: If the environment cannot be made, reset or asked.
        ConfigError: If it is none of these, or an argument is not allowed.

    Example:
        >>> from piase_gym.interfaces import BaseEnv, Observation
        >>> class Coin(BaseEnv):
        ...     def reset(self):
        ...         return Observation({"text": "Call it."})
        ...
        ...     def step(self, action):
        ...         return Observation({"text": "Heads."}), float(action.text == "heads"), True, {}
        ...
        ...     def get_action_space(self):
        ...         return {"properties": {"action": {"enum": ["heads", "tails"]}}}
        >>> env = as_parallel(Coin())
        >>> observations, infos = env.reset(seed=0)
        >>> env.step({"agent_0": 0})[1]
        {'agent_0': 1.0}
    """
    if isinstance(env, WorldParallelEnv):
        return env
    if isinstance(env, WorldAccess):
        if config or any(given is not None for given in (partners, scenario, envelope)):
            raise ConfigError(
                "it has a world already; settings and partners are those of the world"
            )
        runner = env.runner
    elif is_own(env):
        runner = build_runner(env, partners, scenario, envelope, config)
    else:
        raise ConfigError(
            "as_parallel takes an Environment, AbstractEnvironment, PerceptionInterface or "
            f"BaseEnv, not {type(env).__name__}"
        )
    return WorldParallelEnv(
        runner,
        style=ObservationStyle(view, mask, wording, texts, infos, dtype),
        actions=actions or usual_actions(runner.world),
        render_mode=render_mode,
        ended_actions=ended_actions,
        strict=strict,
    )


def adapted(env: Any, over_worlds: bool = False) -> Any:
    """Return an environment of one's own as a ParallelEnv, and everything else as it is.

    Args:
        env: The environment.
        over_worlds: Whether to do so with the documents' interfaces over our worlds, too.
    """
    fitting = isinstance(env, OwnEnvironment) if over_worlds else is_own(env)
    return as_parallel(env) if fitting else env


def register_env(env: str | type[OwnEnvironment], id: str | None = None, **config: Any) -> str:
    """List an environment of one's own, and give it an id in Gymnasium and PettingZoo.

    Args:
        env: The class, or where it is, as ``"module:Class"``.
        id: The id; default ``own/<class>-v0``.
        config: Fields of its config, and settings that it is made with.

    Returns:
        The id.

    Raises:
        ConfigError: If it cannot be loaded, or is no class of an environment of one's own.
    """
    kind: Any = load_named(id or "register_env", env) if isinstance(env, str) else env
    row = own_row(kind.__name__) if isinstance(kind, type) and is_own(kind) else None
    if row is None:
        raise ConfigError(f"{env!r:.80} is no class of an environment of one's own")
    register_world(row)
    name = id or f"{NAMESPACE}/{row.name}-v0"
    register_task(TaskSpec(id=name, world=row.name, config=config))
    return name
